"""Merges dense marks, places heads of bands in rows, and chooses round times for an axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from audit.report.report_timeline import Band, Operation

CLUSTER_PX = 7.0
"""Operations with one result that are closer than this are one mark."""
BAND_ROWS_MAX = 4


def result_of(operation: Operation) -> str:
    if operation.outcome == "ok":
        return "lost" if operation.lost else "kept"
    return operation.outcome


def clusters(operations: list[Operation], x: Callable[[float], float]) -> Iterable[list[Operation]]:
    cluster: list[Operation] = []
    for one in sorted(operations, key=lambda operation: operation.at_ms):
        if cluster and (x(one.at_ms) - x(cluster[0].at_ms) > CLUSTER_PX or result_of(one) != result_of(cluster[0])):
            yield cluster
            cluster = []
        cluster.append(one)
    if cluster:
        yield cluster


_TICKS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, *(m * 10**e for e in range(3, 12) for m in (1, 2, 5)))
TICKS_MAX = 12


def ticks(end_ms: float) -> list[float]:
    """Round times, at most TICKS_MAX and one."""
    step = next(step for step in _TICKS_MS if end_ms / step <= TICKS_MAX)
    return [n * float(step) for n in range(int(end_ms // step) + 1)]


def band_rows(bands: Sequence[Band]) -> list[int]:
    """Row of each band's head, so that heads do not overlap; the last row takes the rest."""
    free_from = [float("-inf")] * BAND_ROWS_MAX
    rows = []
    for band in bands:
        row = next((n for n, free in enumerate(free_from) if free <= band.from_ms), BAND_ROWS_MAX - 1)
        free_from[row] = max(free_from[row], band.to_ms)
        rows.append(row)
    return rows
