"""A shell's time: its machine's timers and its own deadlines, with their lateness."""

from collections.abc import Callable

from emulator.worlds.network.clock import Clock
from emulator.worlds.network.timers import Alarm, Lateness, TimerHeap
from protocol.events import TimerLateness
from protocol.lateness import REPORT_EVERY_MS
from protocol.machine import Now, TimerKey

PROBE_EVERY_REAL_S = 0.02
"""Interval of probes: a machine may set few timers; these show that the process ran."""
PROBES_AT_ONCE_MAX = 1_000
"""Of those that were due while the process did not run, beside the first."""


class Timekeeper:
    """`look`: reads the clock.

    `fired`: a machine's timer (key, number, due ms), to be claimed in turn.

    `report`: called with the lateness of timers from time to time.
    """

    def __init__(
        self,
        clock: Clock,
        look: Callable[[], Now],
        fired: Callable[[TimerKey, int, float], None],
        report: Callable[[TimerLateness], None],
    ) -> None:
        self._clock = clock
        self._look = look
        self._fired = fired
        self._report = report
        self._timers = TimerHeap()
        self._lateness = Lateness()
        self._alarm = Alarm()
        self._ring_ms = float("inf")

    def begin(self) -> None:
        """Begin to measure whether the process is punctual."""
        now_ms = self._look().mono_ms
        self.call_at(now_ms + REPORT_EVERY_MS, self._report_again)
        self._probe(now_ms)

    def set(self, key: TimerKey, due_ms: float) -> None:
        """Set or move the machine's timer `key`."""
        self._timers.set(key, due_ms)
        self._ring_by(due_ms)

    def cancel(self, key: TimerKey) -> None:
        self._timers.cancel(key)

    def claim(self, key: TimerKey, number: int, due_ms: float, now_ms: float) -> bool:
        """Claim a timer just before TimerFired; count its lateness.

        False if the timer was cancelled or moved since it fired.
        """
        if not self._timers.claim(key, number):
            return False
        self._lateness.add(due_ms, now_ms)
        return True

    def call_at(self, due_ms: float, callback: Callable[[], None]) -> None:
        """A deadline of the shell."""
        self._timers.call_at(due_ms, callback)
        self._ring_by(due_ms)

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self._alarm.wait()
            for key, number, due_ms in self._timers.due(self._look().mono_ms):
                self._fired(key, number, due_ms)
            self._ring_ms = float("inf")
            if self._timers.next_ms is not None:
                self._ring_by(self._timers.next_ms)

    def announce_pause(self) -> None:
        """The injector is about to stop this process."""
        self._lateness.announce_pause()

    def paused(self, from_ms: float, to_ms: float) -> None:
        """The injector had stopped this process from `from_ms` to `to_ms`."""
        self._lateness.paused(from_ms, to_ms)

    def held(self, from_ms: float, to_ms: float) -> None:
        """A disk that is slow on purpose held the machine."""
        self._lateness.held(from_ms, to_ms)

    def report_now(self) -> None:
        """Report the lateness since the last report, if any timer fired."""
        report = self._lateness.report()
        if report is not None:
            self._report(report)

    def close(self) -> None:
        self._alarm.close()

    def _ring_by(self, due_ms: float) -> None:
        if due_ms < self._ring_ms:
            self._ring_ms = due_ms
            self._alarm.ring_at(self._clock.epoch_s + self._clock.real_s(due_ms))

    def _probe(self, due_ms: float) -> None:
        """Count the probes that are due by now, and set the next."""
        every_ms = PROBE_EVERY_REAL_S * 1000.0 * self._clock.speed
        now_ms = self._look().mono_ms
        if now_ms - due_ms > PROBES_AT_ONCE_MAX * every_ms:
            self._lateness.add(due_ms, now_ms)
            due_ms = now_ms - PROBES_AT_ONCE_MAX * every_ms
        while due_ms <= now_ms:
            self._lateness.add(due_ms, now_ms)
            due_ms += every_ms
        self.call_at(due_ms, lambda: self._probe(due_ms))

    def _report_again(self) -> None:
        self.report_now()
        self.call_at(self._look().mono_ms + REPORT_EVERY_MS, self._report_again)
