"""The line of those whose turn has come."""

from collections import deque
from collections.abc import Callable


class ReadyQueue(deque[Callable[[], None]]):
    """What goes on next, in order; other things than work may stand there, too. `goes_on`: it is being drained."""

    goes_on = False
