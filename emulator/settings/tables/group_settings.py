"""Brokers: committed offsets, groups and transactions."""

from emulator.settings.bearing import Group, modelled, without_bearing
from emulator.settings.setting import INT_MAX, boolean, integer, long, short, text

GROUPS: tuple[Group, ...] = (
    modelled(
        "Committed offsets",
        integer("offsets.topic.num.partitions", 50, low=1, unit="partitions"),
        short("offsets.topic.replication.factor", 3, low=1, high=(32767, ("0.9", None)), unit="replicas"),
        integer("offsets.topic.segment.bytes", 100 * 1024**2, low=14),
        text("offsets.commit.required.acks", "-1", words=("-1", "1"), until="3.9"),
        integer("offsets.commit.timeout.ms", 5000, low=1),
        integer("offsets.retention.minutes", (1440, ("2.0.0", 10080)), low=1),
        integer("offset.metadata.max.bytes", 4 * 1024, low=0),
    ),
    without_bearing(
        "Committed offsets, how",
        "when they are thrown away or loaded, no record of a topic",
        integer("offsets.load.buffer.size", 5 * 1024**2, low=1),
        long("offsets.retention.check.interval.ms", 600000, low=1),
        integer("offsets.topic.compression.codec", 0),
    ),
    modelled(
        "Members of groups",
        integer("group.min.session.timeout.ms", 6000, since="0.9"),
        integer("group.max.session.timeout.ms", (30000, ("0.10.0", 300000), ("2.3", 1800000)), since="0.9"),
        integer("group.initial.rebalance.delay.ms", 3000, since="0.11"),
        integer("group.max.size", INT_MAX, low=1, since="2.2"),
    ),
    modelled(
        "Transactions",
        integer("transaction.max.timeout.ms", 900000, low=1, since="0.11"),
        integer("transactional.id.expiration.ms", 604800000, low=1, since="0.11"),
        integer("transaction.state.log.num.partitions", 50, low=1, unit="partitions", since="0.11"),
        short("transaction.state.log.replication.factor", 3, low=1, unit="replicas", since="0.11"),
        integer("transaction.state.log.min.isr", 2, low=1, unit="replicas", since="0.11"),
        integer("transaction.state.log.segment.bytes", 100 * 1024**2, low=1, since="0.11"),
        integer(
            "transaction.abort.timed.out.transaction.cleanup.interval.ms", (60000, ("2.5", 10000)), low=1, since="0.11"
        ),
        integer("transaction.remove.expired.transaction.cleanup.interval.ms", 3600000, low=1, since="0.11"),
        boolean("transaction.partition.verification.enable", True, since="3.6"),
    ),
    without_bearing(
        "Transactions, how",
        "when their log is loaded, no record of a topic",
        integer("transaction.state.log.load.buffer.size", 5 * 1024**2, low=1, since="0.11"),
    ),
)
