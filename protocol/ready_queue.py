"""Queue of work that is ready to continue."""

from collections import deque
from collections.abc import Callable


class ReadyQueue(deque[Callable[[], None]]):
    """Work to continue, in order; may hold other callables too. `goes_on`: it is being drained."""

    goes_on = False
