"""Allowed lateness of timers, and the clock speed that it permits.

At speed N all work of a machine takes N times as long in scenario time, lateness too. A run is judged only if its
timers were late (p99.9) by less than a tenth of its shortest time-out (`emulator.runs.timeout_limits`); of most
scenarios of the catalogue that is 1.5 s.
"""

from collections.abc import Sequence

SHORTEST_TIME_OUT_MS = 1500.0
SHARE = 0.1
NICENESS = -10
"""A node's niceness, where permitted; a constant here, since nodes' imports may be missing."""
NODES_TRIED = 9
"""Number of processes whose timers are measured, beside busy ones: three zones of three."""
SPEEDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Speeds worth recommending."""


def safe_speed(late_ms: Sequence[float]) -> float:
    """The highest speed at which these latenesses would not make a run unknown; else the lowest.
    none is."""
    worst_ms = max(late_ms, default=0.0)
    return max((speed for speed in SPEEDS if worst_ms <= allowed_ms(speed)), default=SPEEDS[0])


def allowed_ms(speed: float) -> float:
    """Allowed lateness at that speed, in wall-clock ms."""
    return SHARE * SHORTEST_TIME_OUT_MS / speed
