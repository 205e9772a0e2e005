"""What a procedure waits for: answers of the session service, or a channel's end (semantics 11.13)."""

from collections.abc import Sequence

import msgspec

from protocol.ids import BrokerId
from protocol.messages.session import SessionRequest


class Asked(msgspec.Struct, frozen=True):
    """Wait for the answers to all of these, asked at once. `end_with_session`: if the session expires they are answered
    so, in every version, and nothing is raised."""

    requests: Sequence[SessionRequest]
    end_with_session: bool = False

    @property
    def what(self) -> str:
        return "the session service"


class SenderEnded(msgspec.Struct, frozen=True):
    """Wait until the channel to `broker` has ended what it was doing."""

    broker: BrokerId

    @property
    def what(self) -> str:
        return f"the end of the channel to broker-{self.broker}"
