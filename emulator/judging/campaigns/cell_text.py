"""Texts of a cell's numbers, for a terminal's table and a page. Pure."""

from typing import Final

from emulator.judging.campaigns.cells import UNAVAILABLE, Spread
from emulator.judging.campaigns.row import Row, described

TITLES: Final = {
    "time_to_new_leader_ms": "new leader",
    "dual_leader_ms": "two leaders",
    "dual_controller_ms": "two controllers",
    "isr_shrinks": "ISR shrinks",
    "isr_expands": "ISR expands",
}
ABSENT: Final = "–"
"""Text of a measure without a value."""


def title_of(measure: str) -> str:
    """Title of a measure: `unavailable az-0`."""
    if measure.startswith(f"{UNAVAILABLE}."):
        return f"unavailable {measure.partition('.')[2]}"
    return TITLES.get(measure, measure)


def meaning_of(measure: str) -> str:
    if measure.startswith(f"{UNAVAILABLE}."):
        return f"total time of failing writes of the worst client in {measure.partition('.')[2]}"
    return described(Row)[measure][1]


def spread_words(measure: str, spread: Spread, runs: int) -> str:
    """Text of a spread: `3`, `0–4 in 40%` (above zero in 40%), `5.1–6.2 s`, `5.1 s in 80%`.

    The last one has a value in 80% of `runs`.
    """
    if spread.low is None or spread.high is None:
        return ABSENT
    low, high = _number(measure, spread.low), _number(measure, spread.high)
    unit = " s" if measure.endswith("_ms") or measure.startswith(UNAVAILABLE) else ""
    words = f"{low}{unit}" if low == high else f"{low}–{high}{unit}"
    if 0 < spread.above < spread.runs:
        return f"{words} in {percent(spread.above, spread.runs)}"
    return words if spread.runs == runs else f"{words} in {percent(spread.runs, runs)}"


def percent(part: int, whole: int) -> str:
    """A percentage that is 0% for zero only, and 100% for all only."""
    share = 100 * part / whole if whole else 0.0
    if 0 < share < 1:
        return "<1%"
    if 99 < share < 100:
        return ">99%"
    return f"{share:.0f}%"


def _number(measure: str, value: float) -> str:
    if measure.endswith("_ms") or measure.startswith(UNAVAILABLE):
        seconds = value / 1000
        if 0 < seconds < 0.05:
            return "<0.1"
        return "0" if value == 0 else f"{seconds:.1f}" if seconds < 100 else f"{seconds:.0f}"
    return f"{value:g}"
