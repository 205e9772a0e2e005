"""The run's clock: scenario time is real time since a shared epoch, times the speed."""

import time

from protocol.machine import Now


class Clock:
    """The same clock in all processes of a run.

    `epoch_s`: CLOCK_MONOTONIC at scenario time 0; `wall_epoch_ms`: the wall clock then.
    """

    __slots__ = ("epoch_s", "speed", "wall_epoch_ms")

    def __init__(self, epoch_s: float, wall_epoch_ms: float, speed: float) -> None:
        assert speed > 0, speed
        self.epoch_s = epoch_s
        self.speed = speed
        self.wall_epoch_ms = wall_epoch_ms

    def now_ms(self) -> float:
        """Scenario milliseconds since the launch."""
        return (time.monotonic() - self.epoch_s) * 1000.0 * self.speed

    def now(self) -> Now:
        """Both clocks; the wall clock runs at the same speed."""
        mono_ms = round((time.monotonic() - self.epoch_s) * 1000.0 * self.speed, 3)
        return Now(mono_ms, round(self.wall_epoch_ms + mono_ms, 3))

    def real_s(self, scenario_ms: float) -> float:
        """Duration of `scenario_ms` in real seconds."""
        return scenario_ms / 1000.0 / self.speed
