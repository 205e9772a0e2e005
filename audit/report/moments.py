"""Times of rare events, and windows around them for a page without room for all of a run."""

from __future__ import annotations

from collections.abc import Iterable

from audit.report.report_timeline import Timeline

MOMENTS_MAX = 500
"""Maximum of times; of more, a regular sample."""

Window = tuple[float, float]
"""(from_ms, to_ms)."""


def moments(timeline: Timeline) -> list[float]:
    """Times of faults and heals, begins of leaders, truncations, deaths and starts, in order."""
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
    """Windows around the times; overlapping ones are merged."""
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
