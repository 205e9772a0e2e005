"""Metrics of a finished run at intervals of scenario time.

Two formats: OpenMetrics with timestamps, and series for promtool's rule tests.

`promtool tsdb create-blocks-from openmetrics` reads the first. `promtool test rules` reads the second as its
`input_series`, in which a series ends (`stale`) where a live scrape would end it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from emulator.cluster.metrics.event_fold import EVENTS, EventFold
from emulator.cluster.metrics.exposition import END, head, number, series_name
from emulator.cluster.metrics.metric_table import METRICS, OPERATIONS, Metric, Sample
from emulator.cluster.metrics.status_samples import samples_of
from emulator.runs.run_events import in_order_of_time

POINTS_MAX: Final = 1_000_000
"""Limit of the figures in one export.

They stay in memory, because a format has all figures of a metric together.
"""
STALE: Final = "stale"
NOTHING: Final = "_"


class TooManyPoints(ValueError):
    """More figures than an export holds."""


class RunSeries:
    """Figures of a run, each `every_ms` of scenario time from 0 on.

    `series`: {metric: {name and labels: {number of the interval: value}}}. `start_ms`: wall clock at scenario time 0.
    """

    def __init__(self, run: Path, every_ms: float) -> None:
        """Raises NoEvents, TooManyPoints."""
        self.every_ms = every_ms
        self.start_ms = 0.0
        self.intervals = 0
        self.series: dict[Metric, dict[str, dict[int, float]]] = {}
        self._points = 0
        fold, begun = EventFold(), False
        for event in in_order_of_time(run, EVENTS, wire=True):
            if not begun:
                begun, self.start_ms = True, event["wall_ms"] - event["at_ms"]
            while self.intervals * every_ms < event["at_ms"]:
                self._sample(fold)
            fold.add(event)
        self._sample(fold)

    def _sample(self, fold: EventFold) -> None:
        for sample in (*samples_of(fold.status(self.intervals * self.every_ms)), *_operations(fold)):
            self.series.setdefault(sample.metric, {}).setdefault(series_name(sample), {})[self.intervals] = sample.value
            self._points += 1
        if self._points > POINTS_MAX:
            raise TooManyPoints(f"more than {POINTS_MAX} figures; choose a longer --every-ms than {self.every_ms:g} ms")
        self.intervals += 1

    def openmetrics(self) -> Iterator[str]:
        """The text, metric by metric. Timestamps are of the run's wall clock."""
        for metric in METRICS:
            if metric not in self.series:
                continue
            yield head(metric, openmetrics=True)
            for name, points in self.series[metric].items():
                for interval, value in points.items():
                    at_s = (self.start_ms + interval * self.every_ms) / 1000.0
                    yield f"{name} {number(value)} {at_s:.3f}\n"
        yield END

    def rule_tests(self) -> dict[str, Any]:
        """Body of a file for `promtool test rules`, without `rule_files` and expected alerts."""
        interval = f"{self.every_ms:g}ms"
        series = [
            {"series": name, "values": " ".join(_values(points, self.intervals))}
            for metric in METRICS
            for name, points in self.series.get(metric, {}).items()
        ]
        return {"evaluation_interval": interval, "tests": [{"interval": interval, "input_series": series}]}


def _values(points: dict[int, float], intervals: int) -> Iterator[str]:
    """Values of a series in promtool's notation."""
    for interval in range(intervals):
        if interval in points:
            yield number(points[interval])
        else:
            yield STALE if interval - 1 in points else NOTHING


def _operations(fold: EventFold) -> Iterator[Sample]:
    for (node, kind, outcome), count in sorted(fold.operations.items()):
        yield Sample(OPERATIONS, (("node", node), ("kind", kind), ("outcome", outcome)), count)
