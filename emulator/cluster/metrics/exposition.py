"""Samples as text: OpenMetrics 1.0, and the text format of Prometheus before it. Pure.

All samples of a metric stand together, behind its type and help. A label's value is escaped as the formats require.
"""

from collections.abc import Iterable
from typing import Final

from emulator.cluster.metrics.metric_table import METRICS, Metric, Sample

OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROMETHEUS_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
END: Final = "# EOF\n"
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def series_name(sample: Sample) -> str:
    """Name and labels of a sample: `kafka_log_log_logendoffset{node="broker-0",topic="t"}`."""
    labels = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in sample.labels if value)
    return sample.metric.sample_name + (f"{{{labels}}}" if labels else "")


def number(value: float) -> str:
    """Shortest spelling of a figure."""
    return str(int(value)) if value == int(value) else repr(float(value))


def head(metric: Metric, *, openmetrics: bool) -> str:
    """Lines of a metric's type and help. Only OpenMetrics names a counter without `_total`."""
    name = metric.name if openmetrics else metric.sample_name
    return f"# TYPE {name} {metric.kind}\n# HELP {name} {metric.help.translate(_ESCAPES)}\n"


def text_of(samples: Iterable[Sample], *, openmetrics: bool) -> str:
    """The present samples, as a scrape returns them."""
    lines: dict[str, list[str]] = {}
    for sample in samples:
        lines.setdefault(sample.metric.name, []).append(f"{series_name(sample)} {number(sample.value)}\n")
    parts = [
        part
        for metric in METRICS
        if metric.name in lines
        for part in (head(metric, openmetrics=openmetrics), *lines[metric.name])
    ]
    return "".join([*parts, END] if openmetrics else parts)


def prefers_openmetrics(accept: str) -> bool:
    """Whether a scraper's Accept header names OpenMetrics, as Prometheus's does."""
    return any(part.strip().startswith("application/openmetrics-text") for part in accept.split(","))
