"""Event of the controller's queue; the controller runs each one to its end."""

from collections.abc import Callable
from typing import Any

import msgspec

from controller.session_calls import Procedure
from protocol.machine import Now
from protocol.outbox import Outbox

Then = Callable[[Now, Outbox], None]


class ControllerEvent(msgspec.Struct, frozen=True):
    """One event of the controller's queue.

    `begin` makes the procedure at the event's turn. `preempted` is called instead, if the session expires first.
    `then` is called at the event's end, however it ended.
    """

    name: str
    begin: Callable[[], Procedure[Any]]
    preempted: Then | None = None
    then: Then | None = None
