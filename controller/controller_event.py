"""What the controller does at once, to its end: one event of its queue."""

from collections.abc import Callable
from typing import Any

import msgspec

from controller.session_calls import Procedure
from protocol.machine import Now
from protocol.outbox import Outbox

Then = Callable[[Now, Outbox], None]


class ControllerEvent(msgspec.Struct, frozen=True):
    """`begin` makes the procedure when its turn comes. `preempted` instead, if the session expires first.
    `then` follows when it is over, however it ended."""

    name: str
    begin: Callable[[], Procedure[Any]]
    preempted: Then | None = None
    then: Then | None = None
