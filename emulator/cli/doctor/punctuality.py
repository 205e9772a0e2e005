"""How late timers may be, and the clock speed that this allows.

At speed N everything a machine does takes N times as long in scenario time, lateness too. A run is judged only if its
timers were late (p99.9) by less than a tenth of its shortest time-out (`emulator.runs.time_outs`); of most scenarios of
the catalogue that is 1.5 s.
"""

from collections.abc import Sequence

SHORTEST_TIME_OUT_MS = 1500.0
SHARE = 0.1
NICENESS = -10
"""Of a node, where it has the right to it; not imported from there, for a machine may lack what that imports."""
NODES_TRIED = 9
"""Processes whose timers are looked at, beside others that are busy: three zones of three."""
SPEEDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Those worth recommending."""


def safe_speed(late_ms: Sequence[float]) -> float:
    """The highest recommended speed at which the latest of these timers would not make a run unknown; the lowest, if
    none is."""
    worst_ms = max(late_ms, default=0.0)
    return max((speed for speed in SPEEDS if worst_ms <= allowed_ms(speed)), default=SPEEDS[0])


def allowed_ms(speed: float) -> float:
    """How late timers may be at that speed, as the wall has it."""
    return SHARE * SHORTEST_TIME_OUT_MS / speed
