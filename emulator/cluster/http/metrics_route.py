"""`GET /metrics`: the status of a cluster as Prometheus reads it. Pure."""

from typing import Any, Final

import msgspec

from emulator.cluster import control_requests as r
from emulator.cluster.cluster_status import ClusterStatus
from emulator.cluster.http.route import Route
from emulator.cluster.metrics.exposition import OPENMETRICS, PROMETHEUS_TEXT, prefers_openmetrics, text_of
from emulator.cluster.metrics.status_samples import samples_of

PATH: Final = "/metrics"


def metrics_text(result: dict[str, Any], accept: str) -> tuple[str, str]:
    """Content type and text of a status's metrics, in the format that the scraper prefers."""
    status = msgspec.convert(result, ClusterStatus)
    openmetrics = prefers_openmetrics(accept)
    return (OPENMETRICS if openmetrics else PROMETHEUS_TEXT), text_of(samples_of(status), openmetrics=openmetrics)


METRICS_ROUTE: Final = Route(
    "GET", PATH, "Metrics", "Metrics for Prometheus: Kafka's under the JMX exporter's names, and the emulator's.",
    make=lambda _inputs, _body: r.Status(), text=metrics_text, media_type="text/plain",
)  # fmt: skip
