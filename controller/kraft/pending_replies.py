"""Responses that wait until the metadata log has committed what they report.

Kraft-semantics 2.1.

Source: QuorumController.ControllerWriteEvent, DeferredEventQueue.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from protocol.ids import NO_OFFSET, Offset

PENDING_MAX: Final = 10_000
"""Bound of the waiting responses; an isolated controller collects them until it resigns."""
Complete = Callable[[bool], None]
"""Completes a response: with its result (True), or with NOT_CONTROLLER (False)."""


class PendingReplies:
    """Waiting responses, in the order of their offsets."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Offset, Complete]] = deque()
        self._written = NO_OFFSET
        self._committed = NO_OFFSET

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= PENDING_MAX

    @property
    def highest_pending(self) -> Offset | None:
        """The last offset that is written and not yet committed."""
        return self._written if self._written > self._committed else None

    def written(self, last: Offset) -> None:
        """Note the last offset of a write."""
        self._written = last

    def add(self, offset: Offset | None, complete: Complete) -> None:
        """Complete when `offset` is committed; None: at once. Offsets never decrease."""
        if offset is None or offset <= self._committed:
            complete(True)
        else:
            self._waiting.append((offset, complete))

    def committed(self, last: Offset) -> None:
        """Complete all up to `last`, in order."""
        self._committed = max(self._committed, last)
        while self._waiting and self._waiting[0][0] <= self._committed:
            self._waiting.popleft()[1](True)

    def fail_all(self) -> None:
        """Complete all as failed: this controller has renounced."""
        waiting, self._waiting = self._waiting, deque()
        self._written = self._committed
        for _, complete in waiting:
            complete(False)
