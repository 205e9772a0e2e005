"""Brokers: groups of KIP-848 and KIP-932, and other settings that came with 3.x.

3.5 to 3.9 have these groups in KRaft mode only.
"""

from emulator.settings.bearing import Group, without_bearing
from emulator.settings.setting import INT_MAX, LONG_MAX, boolean, integer, listing, long, short, text

GROUPS: tuple[Group, ...] = (
    without_bearing(
        "Groups of the new protocol (KIP-848)",
        "a cluster with ZooKeeper has the classic protocol only",
        listing("group.coordinator.rebalance.protocols", "classic", since="3.7"),
        boolean("group.coordinator.new.enable", False, since="3.5"),
        integer("group.coordinator.threads", 1, low=1, since="3.5"),
        integer("group.coordinator.append.linger.ms", 10, low=0, since="3.8"),
        integer("group.consumer.session.timeout.ms", 45000, low=1, since="3.5"),
        integer("group.consumer.min.session.timeout.ms", 45000, low=1, since="3.5"),
        integer("group.consumer.max.session.timeout.ms", 60000, low=1, since="3.5"),
        integer("group.consumer.heartbeat.interval.ms", 5000, low=1, since="3.5"),
        integer("group.consumer.min.heartbeat.interval.ms", 5000, low=1, since="3.5"),
        integer("group.consumer.max.heartbeat.interval.ms", 15000, low=1, since="3.5"),
        integer("group.consumer.max.size", INT_MAX, low=1, since="3.5"),
        listing("group.consumer.assignors", since="3.5"),
        text("group.consumer.migration.policy", "disabled", since="3.8"),
    ),
    without_bearing(
        "Share groups (KIP-932)",
        "share groups are not emulated",
        boolean("group.share.enable", False, since="3.9"),
        integer("group.share.delivery.count.limit", 5, low=2, high=10, since="3.9"),
        short("group.share.max.groups", 10, low=1, high=100, since="3.9"),
        short("group.share.max.size", 200, low=10, high=1000, since="3.9"),
        integer("group.share.session.timeout.ms", 45000, low=1, since="3.9"),
        integer("group.share.min.session.timeout.ms", 45000, low=1, since="3.9"),
        integer("group.share.max.session.timeout.ms", 60000, low=1, since="3.9"),
        integer("group.share.heartbeat.interval.ms", 5000, low=1, since="3.9"),
        integer("group.share.min.heartbeat.interval.ms", 5000, low=1, since="3.9"),
        integer("group.share.max.heartbeat.interval.ms", 15000, low=1, since="3.9"),
        integer("group.share.record.lock.duration.ms", 30000, low=1000, high=60000, since="3.9"),
        integer("group.share.min.record.lock.duration.ms", 15000, low=1000, high=30000, since="3.9"),
        integer("group.share.max.record.lock.duration.ms", 60000, low=30000, high=3600000, since="3.9"),
        integer("group.share.partition.max.record.locks", 200, low=100, high=10000, since="3.9"),
        integer("share.coordinator.state.topic.num.partitions", 50, low=1, since="4.0"),
        short("share.coordinator.state.topic.replication.factor", 3, low=1, since="4.0"),
        short("share.coordinator.state.topic.min.isr", 2, low=1, since="4.0"),
        integer("share.coordinator.state.topic.segment.bytes", 100 * 1024**2, low=1, since="4.0"),
        integer("share.coordinator.state.topic.compression.codec", 0, since="4.0"),
        integer("share.coordinator.threads", 1, low=1, since="4.0"),
        integer("share.coordinator.snapshot.update.records.per.snapshot", 500, low=0, since="4.0"),
        integer("share.coordinator.write.timeout.ms", 5000, low=1, since="4.0"),
        integer("share.coordinator.load.buffer.size", 5 * 1024**2, low=1, since="4.0"),
        integer("share.coordinator.append.linger.ms", (10, ("4.1", 5)), since="4.0"),
    ),
    without_bearing(
        "Producer ids that expire",
        "an id stays in memory as long as its records in the log",
        integer("producer.id.expiration.ms", 86400000, low=1, since="3.4", update="cluster-wide", update_since="3.4"),
        integer("producer.id.expiration.check.interval.ms", 600000, low=1, since="3.4"),
    ),
    without_bearing(
        "Requests, metrics, versions under development",
        "no record becomes another by them",
        integer("socket.listen.backlog.size", 50, low=1, since="3.2"),
        integer("max.request.partition.size.limit", 2000, low=1, since="3.8"),
        integer("telemetry.max.bytes", 1024**2, low=1, since="3.7"),
        boolean("auto.include.jmx.reporter", True, since="3.4", until="3.9"),
        long("log.initial.task.delay.ms", 30000, low=0, since="3.8"),
        boolean("unstable.api.versions.enable", False, since="3.5"),
        boolean("unstable.metadata.versions.enable", False, since="3.7", until="3.7"),
        boolean("unstable.feature.versions.enable", False, since="3.8"),
        long("server.max.startup.time.ms", LONG_MAX, since="3.5"),
    ),
)
