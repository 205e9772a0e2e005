"""A condition under watch, with its callback."""

from collections.abc import Callable

import msgspec

from emulator.scenario.conditions import Condition


class Waiter(msgspec.Struct):
    """`done(True)`: the condition was seen to hold; `done(False)`: the deadline has passed."""

    condition: Condition
    deadline_ms: float
    done: Callable[[bool], None]
