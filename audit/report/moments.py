"""Moments: when something rare happened. Where a page has no room for all of a run, it has what was around these."""

from __future__ import annotations

from collections.abc import Iterable

from audit.report.timeline import Timeline

MOMENTS_MAX = 500
"""Of a run in which more happens, every so many."""

Window = tuple[float, float]
"""(from_ms, to_ms)."""


def moments(timeline: Timeline) -> list[float]:
    """Faults and their heals, leaders that begin, logs that are cut, deaths and starts; in order."""
    found = {at_ms for band in timeline.bands for at_ms in (band.from_ms, band.to_ms)}
    for node in timeline.nodes.values():
        found.update(mark.at_ms for mark in node.marks)
        found.update(span.from_ms for span in node.controls)
    for replicas in timeline.replicas.values():
        for replica in replicas.values():
            found.update(mark.at_ms for mark in replica.truncations)
            found.update(span.from_ms for span in replica.leads)
    ordered = sorted(found)
    return ordered[:: -(-len(ordered) // MOMENTS_MAX) or 1]


def windows(at: Iterable[float], half_ms: float) -> list[Window]:
    """Those moments, each with as much before as after it; what overlaps is one."""
    merged: list[Window] = []
    for at_ms in at:
        begin, end = max(0.0, at_ms - half_ms), at_ms + half_ms
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], end
        else:
            merged.append((begin, end))
    return merged


def length(of: Iterable[Window]) -> float:
    return sum(end - begin for begin, end in of)
