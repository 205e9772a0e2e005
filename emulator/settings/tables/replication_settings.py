"""Brokers: sessions, replication, the controller, topics; nearly all modelled."""

from emulator.settings.bearing import (
    ALWAYS,
    READS,
    RECORDS,
    TERMS,
    Around,
    Bears,
    Group,
    below,
    modelled,
    modelled_in_part,
    not_modelled,
    without_bearing,
)
from emulator.settings.setting import CLUSTER_WIDE, INT_MAX, Value, boolean, integer, long, text
from protocol.gates import gates_for


def _one_thread_fails_all(value: Value, around: Around) -> float | None:
    """Before 2.3 a failed append ends its fetcher's thread.

    The thread's other partitions stop; those of other threads continue.
    """
    return None if gates_for(around.version).append_error_fails_partition else 0.0


def _selects(value: Value, around: Around) -> float | None:
    return None if value in ("", LEADERS, RACK_AWARE) else 0.0


LEADERS = "org.apache.kafka.common.replica.LeaderSelector"
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
FETCHERS = Bears("more than 1, before 2.3", _one_thread_fails_all)
SELECTOR = Bears("a class of your own", _selects)

GROUPS: tuple[Group, ...] = (
    modelled(
        "Sessions",
        integer("zookeeper.session.timeout.ms", (6000, ("2.5", 18000)), low=1, until="3.9"),
        integer(
            "zookeeper.connection.timeout.ms", (6000, ("2.5", 18000)), low=1, follows="zookeeper.session.timeout.ms",
            until="3.9",
        ),
    ),
    modelled(
        "Replication",
        long("replica.lag.time.max.ms", (10000, ("2.5", 30000)), low=1),
        long("replica.lag.max.messages", 4000, until="0.8.2", low=1, unit="messages"),
        integer("replica.fetch.wait.max.ms", 500, low=0),
        integer("replica.fetch.min.bytes", 1, low=0),
        integer("replica.fetch.max.bytes", 1024**2, low=0),
        integer("replica.fetch.response.max.bytes", 10 * 1024**2, low=0, since="0.10.1"),
        integer("replica.fetch.backoff.ms", 1000, low=0, since="0.9"),
        integer("replica.socket.timeout.ms", 30000, low=1),
        long("replica.high.watermark.checkpoint.interval.ms", 5000, low=1),
        integer("min.insync.replicas", 1, low=1, **CLUSTER_WIDE, unit="replicas"),
        integer("default.replication.factor", 1, unit="replicas", low=1),
        integer("num.partitions", 1, low=1, unit="partitions"),
    ),
    modelled(
        "Controller",
        boolean("unclean.leader.election.enable", (True, ("0.11", False)), **CLUSTER_WIDE),
        boolean("auto.leader.rebalance.enable", True),
        integer("leader.imbalance.per.broker.percentage", 10, unit="percent", low=0, until="3.9"),
        long("leader.imbalance.check.interval.seconds", 300, high=(INT_MAX, ("0.9", None)), low=1),
        integer("controller.socket.timeout.ms", 30000, low=1),
        integer("request.timeout.ms", 30000, since="0.9", low=1),
        boolean("controlled.shutdown.enable", True),
        integer("controlled.shutdown.max.retries", 3, unit="tries", low=0, until="3.9"),
        long("controlled.shutdown.retry.backoff.ms", 5000, high=(INT_MAX, ("0.9", None)), low=0, until="3.9"),
        boolean("delete.topic.enable", (False, ("1.0", True))),
        boolean("auto.create.topics.enable", True),
    ),
    modelled(
        "Protocol",
        text("inter.broker.protocol.version", since="0.9", until="3.9"),
    ),
    not_modelled(
        "Several fetchers",
        "one fetcher follows each source broker",
        RECORDS,
        (integer("num.replica.fetchers", 1, **CLUSTER_WIDE, unit="threads", low=1), FETCHERS),
    ),
    not_modelled(
        "Orders apart from clients' requests",
        "orders of the controller wait behind other requests",
        (*RECORDS, *TERMS),
        (text("control.plane.listener.name", since="2.2", until="3.9"), ALWAYS),
        (integer("controller.message.queue.size", INT_MAX, until="0.8.2", unit="orders"), below(1000)),
    ),
    modelled_in_part(
        "Reading from followers",
        "with a class of your own every consumer reads from leaders",
        READS,
        (text("replica.selector.class", since="2.4"), SELECTOR),
    ),
    without_bearing(
        "Speed of replication",
        "how fast bytes come, not which, or in which order",
        integer("replica.socket.receive.buffer.bytes", 64 * 1024),
        integer("zookeeper.max.in.flight.requests", 10, low=1, since="1.1", until="3.9"),
        integer("zookeeper.sync.time.ms", 2000, until="3.1"),
        integer("fetch.purgatory.purge.interval.requests", 1000),
        integer("producer.purgatory.purge.interval.requests", 1000),
        integer("delete.records.purgatory.purge.interval.requests", 1, since="0.11"),
    ),
)
