"""Waits of a procedure: responses of ZooKeeper, or a channel's end (semantics 11.13)."""

from collections.abc import Sequence

import msgspec

from protocol.ids import BrokerId
from protocol.messages.session_messages import SessionRequest


class SessionRequests(msgspec.Struct, frozen=True):
    """Wait for the responses to all requests, which are pipelined.

    `end_with_session`: if the session expires the responses say so, in every version, and no exception is raised.
    """

    requests: Sequence[SessionRequest]
    end_with_session: bool = False

    @property
    def what(self) -> str:
        return "the session service"


class SenderEnded(msgspec.Struct, frozen=True):
    """Wait until the channel to `broker` has ended its current request."""

    broker: BrokerId

    @property
    def what(self) -> str:
        return f"the end of the channel to broker-{self.broker}"
