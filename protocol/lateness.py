"""Lateness of timers as counts that can be summed over time, and over a process's files.

A run is judged by the p99.9 of all of a process's timers. The p99.9 of five seconds is close to their maximum, and such
figures cannot be merged. So a report holds, for each bound, the number of timers that were late by at most that much.
Neighbouring bounds differ by a quarter of an octave: a quantile from counts is at most 19 % too high, never too low.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

REPORT_EVERY_MS = 5_000.0
"""Interval of a process's lateness reports, in scenario ms; they also show that it lives."""
BOUNDS_PER_OCTAVE = 4
LEAST_MS = 1.0
"""Bound of all smaller latenesses."""


class BadBuckets(ValueError):
    """Not a text of `buckets_text`."""


def bound_ms(late_ms: float) -> float:
    """Bound that counts a timer late by `late_ms`: the next one up, in whole hundredths."""
    if late_ms <= LEAST_MS:
        return LEAST_MS
    octaves = math.ceil(math.log2(late_ms) * BOUNDS_PER_OCTAVE) / BOUNDS_PER_OCTAVE
    return float(math.ceil(math.pow(2.0, octaves) * 100.0) / 100.0)


def buckets_text(late_ms: Iterable[float]) -> str:
    """Counts as text.

    `1:40 119:2`: 40 timers were late by at most 1 ms, and 2 more by at most 119 ms.
    """
    counts = Counter(map(bound_ms, late_ms))
    return " ".join(f"{bound:g}:{count}" for bound, count in sorted(counts.items()))


def merged(texts: Iterable[str]) -> Counter[float]:
    """{bound in ms: timers} of several reports. Raises BadBuckets."""
    counts: Counter[float] = Counter()
    for text in texts:
        for part in text.split():
            bound, _, count = part.partition(":")
            try:
                counts[float(bound)] += int(count)
            except ValueError as error:
                raise BadBuckets(f"{part!r} in {text!r}: expected BOUND_MS:TIMERS") from error
    return counts


def share_ms(counts: Mapping[float, int], share: float) -> float:
    """Lowest bound kept by at least `share` (of 1) of the timers; 0 without timers."""
    needed = share * sum(counts.values())
    kept = 0
    for bound in sorted(counts):
        kept += counts[bound]
        if kept >= needed:
            return bound
    return 0.0
