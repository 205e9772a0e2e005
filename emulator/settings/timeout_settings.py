"""Names of the time-outs of brokers and controllers.

After such a time another process counts as dead, out of sync or silent."""

from typing import Final

SESSION: Final = "zookeeper.session.timeout.ms"
TIMEOUT_SETTINGS: Final = (
    SESSION,
    "replica.lag.time.max.ms",
    "replica.socket.timeout.ms",
    "controller.socket.timeout.ms",
    "request.timeout.ms",
    "offsets.commit.timeout.ms",
)
BROKER_SESSION: Final = "broker.session.timeout.ms"
KRAFT_TIMEOUT_SETTINGS: Final = (
    BROKER_SESSION,
    "controller.quorum.election.timeout.ms",
    "controller.quorum.fetch.timeout.ms",
    "controller.quorum.request.timeout.ms",
)
"""Those of KRaft mode alone."""
