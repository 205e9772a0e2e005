"""How late timers may be, and the clock speed that this allows.

At speed N everything a machine does takes N times as long in scenario time, lateness too. A run is judged only if its
timers were late (p99.9) by less than a tenth of its shortest time-out (`emulator.runs.time_outs`); of most scenarios of
the catalogue that is 1.5 s.
"""

from collections.abc import Sequence

SHORTEST_TIME_OUT_MS = 1500.0
SHARE = 0.1
BUSY_FACTOR = 5.0
"""What is looked at is a machine without a cluster; a dozen node processes make it less punctual. An allowance."""
SPEEDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Those worth recommending."""


def safe_speed(late_ms: Sequence[float]) -> float:
    """The highest recommended speed at which the latest of these timers, made later by a cluster, would not make a run
    unknown; the lowest, if none is."""
    worst_ms = max(late_ms, default=0.0) * BUSY_FACTOR
    fitting = [speed for speed in SPEEDS if worst_ms * speed <= SHARE * SHORTEST_TIME_OUT_MS]
    return max(fitting, default=SPEEDS[0])
