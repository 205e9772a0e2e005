"""Brokers and controllers: Kafka without ZooKeeper (KRaft).

Early access is in 2.8, production use from 3.3 on. A scenario plays it with `metadata: kraft`, and from 4.0 on always.
"""

from emulator.settings.bearing import Group, modelled, without_bearing
from emulator.settings.setting import boolean, integer, listing, long, text

TITLE = "Kafka without ZooKeeper (KRaft)"

ACTING = "The quorum of KRaft, its controller and its brokers"
"""Title of those that act in KRaft mode. With ZooKeeper they have no effect."""

_NEWEST = (
    7, ("3.4", 8), ("3.5", 11), ("3.6", 14), ("3.7", 19), ("3.8", 20), ("3.9", 21), ("4.0", 25), ("4.1", 27),
    ("4.2", 29), ("4.3", 30), ("4.4", 33),
)  # fmt: skip
"""Level of `metadata.version` of a new cluster, which `kafka-storage format --feature` sets."""

GROUPS: tuple[Group, ...] = (
    modelled(
        ACTING,
        integer("controller.quorum.election.timeout.ms", 1000, low=(None, ("4.0", 0)), since="2.8"),
        integer("controller.quorum.election.backoff.max.ms", 1000, low=(None, ("4.0", 0)), since="2.8"),
        integer("controller.quorum.fetch.timeout.ms", 2000, low=(None, ("4.0", 0)), since="2.8"),
        integer("controller.quorum.append.linger.ms", 25, low=(None, ("4.0", 0)), since="2.8"),
        integer("controller.quorum.request.timeout.ms", 2000, low=(None, ("4.0", 0)), since="2.8"),
        integer("controller.quorum.retry.backoff.ms", 20, low=(None, ("4.0", 0)), since="2.8"),
        boolean("controller.quorum.auto.join.enable", False, since="4.2"),
        integer("metadata.log.segment.bytes", 1024**3, low=12, since="3.0"),
        long("metadata.log.max.record.bytes.between.snapshots", 20 * 1024**2, low=1, since="3.0"),
        long("metadata.log.max.snapshot.interval.ms", 3_600_000, low=0, since="3.4"),
        long("metadata.max.retention.bytes", (-1, ("3.4", 100 * 1024**2)), since="3.0"),
        long("metadata.max.retention.ms", 7 * 24 * 3_600_000, since="3.0"),
        integer("metadata.max.idle.interval.ms", 500, low=0, since="3.3"),
        integer("broker.heartbeat.interval.ms", 2000, since="2.8"),
        integer("broker.session.timeout.ms", 9000, since="2.8"),
        integer("initial.broker.registration.timeout.ms", 60000, since="2.8"),
        long("unclean.leader.election.interval.ms", 300000, low=1, since="3.9"),
        integer("metadata.version", _NEWEST, low=7, high=33, since="3.3"),
        integer("eligible.leader.replicas.version", (0, ("4.1", 1)), low=0, high=1, since="4.0"),
    ),
    without_bearing(
        TITLE,
        "in KRaft mode the topology has the nodes and their roles; a broker with ZooKeeper does not use them",
        listing("process.roles", words=("broker", "controller"), since="2.8"),
        integer("node.id", -1, since="2.8"),
        listing("controller.quorum.voters", since="2.8"),
        listing("controller.quorum.bootstrap.servers", since="3.9"),
        text("controller.listener.names", since="2.8"),
        text("early.start.listeners", since="3.3"),
        text("metadata.log.dir", since="2.8"),
        integer("metadata.log.segment.min.bytes", 8 * 1024**2, low=12, since="3.0"),
        long("metadata.log.segment.ms", 7 * 24 * 3_600_000, since="3.0"),
        long("log.dir.failure.timeout.ms", 30000, low=1, since="3.8"),
        boolean("eligible.leader.replicas.enable", False, since="3.7", until="3.9"),
    ),
    without_bearing(
        "Migration to KRaft",
        "a cluster stays with ZooKeeper",
        boolean("zookeeper.metadata.migration.enable", False, since="3.4", until="3.9"),
        integer("zookeeper.metadata.migration.min.batch.size", 200, low=1, since="3.6", until="3.9"),
    ),
)
