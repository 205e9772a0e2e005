"""Waits for conditions, which are checked every 50 ms, as by the recordings' observer.

The player reacts after a delay, as a script does (`REACTION_MS`).
"""

from collections.abc import Callable
from typing import NamedTuple

from emulator.scenario.conditions import Before, Condition, View, holds
from emulator.scenario.player.metadata_view import MetadataView
from protocol.chance import Chance
from protocol.machine import Now
from protocol.outbox import Outbox

SAMPLE = ("player-sample",)
SAMPLE_EVERY_MS = 50.0
REACTION_MS = (12.0, 30.0)
"""Delay between an observation and the reaction, in ms.

Two more reads of the session service and a new client, in the recordings.
"""


class Waiter(NamedTuple):
    """`done(True)`: the condition was seen to hold; `done(False)`: the deadline has passed."""

    condition: Condition
    deadline_ms: float
    done: Callable[[bool], None]


class Waits:
    """Conditions under watch. `first` names the scenario's first partition once it is known."""

    def __init__(self, seen: MetadataView, out: Outbox) -> None:
        self._seen = seen
        self._out = out
        self._waiters: list[Waiter] = []
        self._phase_ms = 0.0
        self._chance = Chance(0)
        self.first = ""
        self.before = Before()
        self.changed_ms = 0.0
        self._added = False
        self.kraft = False
        """Whether views have each broker's live brokers."""

    def start(self, chance: Chance) -> None:
        self._chance = chance
        self._phase_ms = chance.fraction() * SAMPLE_EVERY_MS

    def view(self, now_ms: float) -> View:
        """All that conditions may ask about, now."""
        seen = self._seen
        return View(
            first=self.first,
            partitions=seen.partition_views(),
            answering=bool(seen.serving),
            topics=seen.topics,
            controller=seen.controller,
            controller_epoch=seen.controller_epoch,
            live=seen.live,
            before=self.before,
            unchanged_s=(now_ms - self.changed_ms) / 1000.0,
            broker_views=seen.broker_views(),
            live_views=seen.live_views() if self.kraft else {},
        )

    def fault_begins(self, now_ms: float) -> None:
        """From here "new" and "changed" are counted."""
        self.before = self.view(now_ms).as_before()

    def changed(self, now: Now) -> None:
        """Something the player observes changed."""
        self.changed_ms = now.mono_ms
        if self._waiters:
            self._sample_soon(now.mono_ms, now.mono_ms)

    def wait(self, now: Now, condition: Condition, limit_s: float, done: Callable[[bool], None]) -> None:
        """`done(True)` when the condition is seen to hold, `done(False)` when the limit has passed."""
        self._waiters.append(Waiter(condition, now.mono_ms + limit_s * 1000.0, done))
        self._added = True
        self._sample_soon(now.mono_ms, now.mono_ms)

    def reaction_ms(self) -> float:
        return self.between_ms(REACTION_MS)

    def between_ms(self, bounds: tuple[float, float]) -> float:
        """A time drawn from the player's own chance."""
        return self._chance.between(*bounds)

    def _sample_soon(self, now_ms: float, not_before_ms: float) -> None:
        """At the first point of the grid at or after a moment."""
        steps = max(0.0, not_before_ms - self._phase_ms) // SAMPLE_EVERY_MS
        at_ms = self._phase_ms + steps * SAMPLE_EVERY_MS
        while at_ms < not_before_ms or at_ms <= now_ms:
            at_ms += SAMPLE_EVERY_MS
        self._out.set_timer(SAMPLE, at_ms - now_ms, self.sample)

    def sample(self, now: Now, out: Outbox) -> None:
        """The grid's timer: look at every condition."""
        view = self.view(now.mono_ms)
        self._added = False
        for waiter in list(self._waiters):
            if holds(waiter.condition, view):
                self._waiters.remove(waiter)
                waiter.done(True)
            elif now.mono_ms >= waiter.deadline_ms:
                self._waiters.remove(waiter)
                waiter.done(False)
        if self._added:  # after the latest change: it may hold already
            self._sample_soon(now.mono_ms, now.mono_ms)
        elif self._waiters:
            soonest = min(waiter.deadline_ms for waiter in self._waiters)
            quiet = [q for waiter in self._waiters for q in quiet_times_s(waiter.condition)]
            for quiet_s in quiet:
                soonest = min(soonest, max(now.mono_ms, self.changed_ms + quiet_s * 1000.0))
            self._sample_soon(now.mono_ms, soonest)


def quiet_times_s(condition: Condition) -> list[float]:
    """The times of stillness that a condition speaks of: it may come true without any change."""
    found: list[float] = []
    pending: list[object] = [condition]
    while pending:
        part = pending.pop()
        quiet_s = getattr(part, "quiet_s", None)
        if quiet_s is not None:
            found.append(float(quiet_s))
        inner = getattr(part, "condition", None)
        pending += [inner] if inner is not None else []
        pending += list(getattr(part, "conditions", ()))
    return found
