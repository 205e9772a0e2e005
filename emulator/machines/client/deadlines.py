"""Deadlines of a client: the due ones, and the one timer for all of them."""

from collections.abc import Iterable

from protocol.machine import Now, TimerKey
from protocol.outbox import Due, Outbox

NEVER = float("inf")

DUE_SLACK_MS = 0.001
"""Tolerance: sums of floats may miss a deadline by an ulp."""


def is_due(now: Now, at_ms: float) -> bool:
    """Whether the deadline `at_ms` (mono_ms) has come."""
    return at_ms <= now.mono_ms + DUE_SLACK_MS


def earliest_ms(deadlines_ms: Iterable[float]) -> float:
    """The first of these, NEVER without any: `min`, at half its cost."""
    first_ms = NEVER
    for at_ms in deadlines_ms:
        if at_ms < first_ms:
            first_ms = at_ms
    return first_ms


class PollTimer:
    """The only timer of a component that does all possible work whenever it runs.

    `owner` begins the timer's key; `due` is called when it has fired.
    """

    def __init__(self, owner: str, due: Due) -> None:
        self._key: TimerKey = (owner, "poll")
        self._due = due
        self._at_ms = NEVER

    def _fired(self, now: Now, out: Outbox) -> None:
        self._at_ms = NEVER
        self._due(now, out)

    def set(self, now: Now, out: Outbox, deadlines_ms: Iterable[float]) -> None:
        """Fire at the first of these (mono_ms) that is still to come.

        A past deadline that is still there waits for another event than time.
        """
        due_ms, at_ms = now.mono_ms + DUE_SLACK_MS, NEVER
        for deadline_ms in deadlines_ms:
            if due_ms < deadline_ms < at_ms:
                at_ms = deadline_ms
        if at_ms == self._at_ms:
            return
        self._at_ms = at_ms
        if at_ms == NEVER:
            out.cancel_timer(self._key)
        else:
            out.set_timer(self._key, at_ms - now.mono_ms, self._fired)

    def cancel(self, out: Outbox) -> None:
        """Cancel the timer."""
        if self._at_ms != NEVER:
            self._at_ms = NEVER
            out.cancel_timer(self._key)
