"""Brokers: Kafka without ZooKeeper (KRaft), early in 2.8, complete from 3.3 on.

It is not emulated yet: process.roles is refused.
"""

from emulator.settings.bearing import Group, without_bearing
from emulator.settings.setting import boolean, integer, listing, long, text

TITLE = "Kafka without ZooKeeper (KRaft)"

GROUPS: tuple[Group, ...] = (
    without_bearing(
        TITLE,
        "KRaft mode is not played yet; a broker with ZooKeeper does not use them",
        listing("process.roles", words=("broker", "controller"), since="2.8"),
        integer("node.id", -1, since="2.8"),
        listing("controller.quorum.voters", since="2.8"),
        listing("controller.quorum.bootstrap.servers", since="3.9"),
        integer("controller.quorum.election.timeout.ms", 1000, since="2.8"),
        integer("controller.quorum.election.backoff.max.ms", 1000, since="2.8"),
        integer("controller.quorum.fetch.timeout.ms", 2000, since="2.8"),
        integer("controller.quorum.append.linger.ms", 25, since="2.8"),
        text("controller.listener.names", since="2.8"),
        text("early.start.listeners", since="3.3"),
        text("metadata.log.dir", since="2.8"),
        integer("metadata.log.segment.bytes", 1024**3, low=12, since="3.0"),
        integer("metadata.log.segment.min.bytes", 8 * 1024**2, low=12, since="3.0"),
        long("metadata.log.segment.ms", 7 * 24 * 3_600_000, since="3.0"),
        long("metadata.log.max.record.bytes.between.snapshots", 20 * 1024**2, low=1, since="3.0"),
        long("metadata.log.max.snapshot.interval.ms", 3_600_000, low=0, since="3.4"),
        long("metadata.max.retention.bytes", (-1, ("3.4", 100 * 1024**2)), since="3.0"),
        long("metadata.max.retention.ms", 7 * 24 * 3_600_000, since="3.0"),
        integer("metadata.max.idle.interval.ms", 500, low=0, since="3.3"),
        integer("broker.heartbeat.interval.ms", 2000, since="2.8"),
        integer("broker.session.timeout.ms", 9000, since="2.8"),
        integer("initial.broker.registration.timeout.ms", 60000, since="2.8"),
        integer("controller.quorum.request.timeout.ms", 2000, since="2.8"),
        integer("controller.quorum.retry.backoff.ms", 20, since="2.8"),
        long("log.dir.failure.timeout.ms", 30000, low=1, since="3.8"),
        long("unclean.leader.election.interval.ms", 300000, low=1, since="3.9"),
        boolean("eligible.leader.replicas.enable", False, since="3.7"),
    ),
    without_bearing(
        "Migration to KRaft",
        "a cluster stays with ZooKeeper",
        boolean("zookeeper.metadata.migration.enable", False, since="3.4"),
        integer("zookeeper.metadata.migration.min.batch.size", 200, low=1, since="3.6"),
    ),
)
