"""Brokers: logs. Flushes, segments' size and checkpoints are modelled; logs keep everything."""

from emulator.settings.bearing import (
    CONTENT,
    RECORDS,
    WRITES,
    Group,
    below,
    from_itself,
    modelled,
    not_modelled,
    without_bearing,
)
from emulator.settings.log_bearing import COMPACTS, COMPRESSES, EXPIRES, FORMATS, OUTGROWS, ROLLS
from emulator.settings.setting import (
    CLUSTER_WIDE,
    DOUBLE_MAX,
    INT_MAX,
    LONG_MAX,
    boolean,
    double,
    integer,
    listing,
    long,
    text,
)

FOLDERS = (r"|[\w-]+( *, *[\w-]+)*", "names of folders, separated by commas")

_SINCE_3_6 = {**CLUSTER_WIDE, "update_since": "3.6"}
_SINCE_3_8 = {**CLUSTER_WIDE, "update_since": "3.8"}

GROUPS: tuple[Group, ...] = (
    modelled(
        "Logs",
        text("log.dirs", form=FOLDERS),
        integer("log.segment.bytes", 1024**3, low=14, **CLUSTER_WIDE),
        integer("message.max.bytes", (1000012, ("2.5", 1048588)), low=0, **CLUSTER_WIDE),
    ),
    modelled(
        "Deleted records",
        integer("log.flush.start.offset.checkpoint.interval.ms", 60000, low=0, since="0.11"),
        long("log.retention.check.interval.ms", 300000, low=1),
    ),
    modelled(
        "Flushes",
        long("log.flush.interval.messages", LONG_MAX, low=1, **CLUSTER_WIDE, unit="messages"),
        long("log.flush.interval.ms", LONG_MAX, low=0, follows="log.flush.scheduler.interval.ms", **CLUSTER_WIDE),
        long("log.flush.scheduler.interval.ms", LONG_MAX, low=0),
        integer("log.flush.offset.checkpoint.interval.ms", 60000, low=0),
    ),
    not_modelled(
        "Retention",
        "logs keep everything",
        RECORDS,
        (
            long("log.retention.ms", None, low=(1, ("0.9", None)), high=(INT_MAX, ("0.9", None)), **CLUSTER_WIDE),
            EXPIRES,
        ),
        (integer("log.retention.minutes", None, low=(1, ("0.9", None))), EXPIRES),
        (integer("log.retention.hours", 168, low=(1, ("0.9", None))), EXPIRES),
        (long("log.retention.bytes", -1, **CLUSTER_WIDE), OUTGROWS),
    ),
    not_modelled(
        "Compaction",
        "logs keep everything",
        RECORDS,
        (listing("log.cleanup.policy", "delete", words=("compact", "delete"), **CLUSTER_WIDE), COMPACTS),
    ),
    not_modelled(
        "Rolling by age",
        "segments are rolled by size; the one before is then on disk",
        RECORDS,
        (long("log.roll.ms", None, low=1, high=(INT_MAX, ("0.9", None)), **CLUSTER_WIDE), ROLLS),
        (integer("log.roll.hours", 168, low=1), ROLLS),
        (
            long("log.roll.jitter.ms", None, low=0, high=(INT_MAX, ("0.9", None)), **CLUSTER_WIDE),
            ROLLS,
        ),
        (integer("log.roll.jitter.hours", 0, low=0), ROLLS),
    ),
    not_modelled(
        "Rolling by a full index",
        "an index has no end",
        RECORDS,
        (integer("log.index.size.max.bytes", 10 * 1024**2, low=4, **CLUSTER_WIDE), below(1024**2)),
    ),
    not_modelled(
        "Record formats",
        "logs have the format of inter.broker.protocol.version, and batches stay as they came",
        CONTENT,
        (text("log.message.format.version", since="0.10.0", until="3.9"), FORMATS),
        (
            text(
                "compression.type",
                "producer",
                words=("uncompressed", "gzip", "snappy", "lz4", "producer"),
                words_since=(("zstd", "2.1"),),
                since="0.9",
                **CLUSTER_WIDE,
            ),
            COMPRESSES,
        ),
    ),
    not_modelled(
        "Timestamps that are refused",
        "a record may be of any time",
        WRITES,
        (
            long(
                "log.message.timestamp.difference.max.ms",
                LONG_MAX,
                low=(0, ("0.11", None)),
                since="0.10.0",
                until="3.9",
                **CLUSTER_WIDE,
            ),
            from_itself(),
        ),
        (long("log.message.timestamp.before.max.ms", LONG_MAX, low=0, since="3.6", **_SINCE_3_6), from_itself()),
        (long("log.message.timestamp.after.max.ms", LONG_MAX, low=0, since="3.6", **_SINCE_3_6), from_itself()),
    ),
    without_bearing(
        "Retention and compaction, how",
        "by themselves they delete nothing",
        integer("compression.gzip.level", -1, low=-1, high=9, since="3.8", **_SINCE_3_8),
        integer("compression.lz4.level", 9, low=1, high=17, since="3.8", **_SINCE_3_8),
        integer("compression.zstd.level", 3, low=-131072, high=22, since="3.8", **_SINCE_3_8),
        long("log.segment.delete.delay.ms", 60000, low=0, **CLUSTER_WIDE),
        boolean("log.cleaner.enable", (False, ("0.9", True))),
        integer("log.cleaner.threads", 1, low=0, **CLUSTER_WIDE),
        long("log.cleaner.backoff.ms", 15000, low=0, **CLUSTER_WIDE),
        double("log.cleaner.min.cleanable.ratio", 0.5, **CLUSTER_WIDE),
        long("log.cleaner.min.compaction.lag.ms", 0, since="0.10.1", **CLUSTER_WIDE),
        long("log.cleaner.max.compaction.lag.ms", LONG_MAX, since="2.3", **CLUSTER_WIDE),
        long("log.cleaner.delete.retention.ms", 24 * 3_600_000, **CLUSTER_WIDE),
        long(
            "log.cleaner.dedupe.buffer.size",
            (500 * 1024**2, ("0.9", 128 * 1024**2)),
            low=(0, ("0.9", None)),
            **CLUSTER_WIDE,
        ),
        integer("log.cleaner.io.buffer.size", 512 * 1024, low=0, **CLUSTER_WIDE),
        double("log.cleaner.io.buffer.load.factor", 0.9, **CLUSTER_WIDE),
        double("log.cleaner.io.max.bytes.per.second", DOUBLE_MAX, **CLUSTER_WIDE),
    ),
    without_bearing(
        "Files and indexes",
        "records are the same",
        text("log.dir", "/tmp/kafka-logs"),
        integer("log.index.interval.bytes", 4 * 1024, low=0, **CLUSTER_WIDE),
        boolean("log.preallocate", False, since="0.9", **CLUSTER_WIDE),
        boolean("log.message.downconversion.enable", True, since="2.0.0", **CLUSTER_WIDE),
    ),
    without_bearing(
        "Timestamps",
        "which time a record bears is no question of replication",
        text(
            "log.message.timestamp.type",
            "CreateTime",
            words=("CreateTime", "LogAppendTime"),
            since="0.10.0",
            **CLUSTER_WIDE,
        ),
    ),
)
