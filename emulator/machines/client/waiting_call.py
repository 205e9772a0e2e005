"""A call that waits for a connection of the session client."""

import msgspec

from emulator.machines.client.session_client import Done
from protocol.messages.session_messages import SessionRequest


class WaitingCall(msgspec.Struct):
    """A waiting call. `number`: in the order of the calls."""

    number: int
    request: SessionRequest
    done: Done
    ends_at_expiry: bool
