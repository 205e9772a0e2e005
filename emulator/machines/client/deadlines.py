"""Deadlines of a client: when one has come, and the one timer that watches all of them."""

from collections.abc import Iterable

from protocol.machine import Input, Now, Outbox, TimerFired, TimerKey

NEVER = float("inf")

DUE_SLACK_MS = 0.001
"""A deadline this near has come: sums of floats may miss it by an ulp."""


def is_due(now: Now, at_ms: float) -> bool:
    """Whether the deadline `at_ms` (mono_ms) has come."""
    return at_ms <= now.mono_ms + DUE_SLACK_MS


class PollTimer:
    """The only timer of a component that does all it can whenever it runs. `owner` begins the timer's key."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._key: TimerKey = (owner, "poll")
        self._at_ms = NEVER

    def handles(self, event: Input) -> bool:
        return isinstance(event, TimerFired) and event.key[0] == self._owner

    def fired(self) -> None:
        """It is not set any more."""
        self._at_ms = NEVER

    def set(self, now: Now, out: Outbox, deadlines_ms: Iterable[float]) -> None:
        """Fire at the first of these (mono_ms) that is still to come: what is due and still there waits for
        something else than time.
        """
        at_ms = min((at_ms for at_ms in deadlines_ms if not is_due(now, at_ms)), default=NEVER)
        if at_ms == self._at_ms:
            return
        self._at_ms = at_ms
        if at_ms == NEVER:
            out.cancel_timer(self._key)
        else:
            out.set_timer(self._key, at_ms - now.mono_ms)

    def cancel(self, out: Outbox) -> None:
        """Fire no more."""
        if self._at_ms != NEVER:
            self._at_ms = NEVER
            out.cancel_timer(self._key)
