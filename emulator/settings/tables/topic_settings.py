"""Topics: settings of a single topic; by default the broker's hold (LogConfig)."""

from emulator.settings.bearing import (
    ALWAYS,
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
from emulator.settings.setting import LONG_MAX, TOPIC, boolean, double, integer, listing, long, text

GROUPS: tuple[Group, ...] = (
    modelled(
        "Topics",
        integer("min.insync.replicas", 1, "replicas", low=1, follows="min.insync.replicas"),
        boolean("unclean.leader.election.enable", (True, ("0.11", False)), follows="unclean.leader.election.enable"),
        integer("segment.bytes", 1024**3, low=14, follows="log.segment.bytes"),
        integer("max.message.bytes", (1000012, ("2.5", 1048588)), low=0, follows="message.max.bytes"),
        long("flush.messages", LONG_MAX, "messages", low=0, follows="log.flush.interval.messages"),
        long("flush.ms", LONG_MAX, low=0, follows="log.flush.interval.ms"),
        scope=TOPIC,
    ),
    not_modelled(
        "Retention and compaction",
        "logs keep everything",
        RECORDS,
        (long("retention.ms", 7 * 24 * 3_600_000, low=(None, ("2.2", -1)), follows="log.retention.ms"), EXPIRES),
        (long("retention.bytes", -1, follows="log.retention.bytes"), OUTGROWS),
        (listing("cleanup.policy", "delete", words=("compact", "delete"), follows="log.cleanup.policy"), COMPACTS),
        scope=TOPIC,
    ),
    not_modelled(
        "Rolling",
        "segments are rolled only by size",
        RECORDS,
        (long("segment.ms", 7 * 24 * 3_600_000, low=(0, ("2.0.0", 1)), follows="log.roll.ms"), ROLLS),
        (long("segment.jitter.ms", 0, low=0, follows="log.roll.jitter.ms"), ROLLS),
        (integer("segment.index.bytes", 10 * 1024**2, low=0, follows="log.index.size.max.bytes"), below(1024**2)),
        scope=TOPIC,
    ),
    not_modelled(
        "Record formats",
        "logs have the format of inter.broker.protocol.version, and batches stay as they came",
        CONTENT,
        (text("message.format.version", since="0.10.0", follows="log.message.format.version"), FORMATS),
        (
            text(
                "compression.type",
                "producer",
                words=("uncompressed", "gzip", "snappy", "lz4", "producer"),
                words_since=(("zstd", "2.1"),),
                since="0.9",
                follows="compression.type",
            ),
            COMPRESSES,
        ),
        scope=TOPIC,
    ),
    not_modelled(
        "Timestamps that are refused",
        "a record may be of any time",
        WRITES,
        (
            long(
                "message.timestamp.difference.max.ms",
                LONG_MAX,
                low=0,
                since="0.10.0",
                follows="log.message.timestamp.difference.max.ms",
            ),
            from_itself(),
        ),
        scope=TOPIC,
    ),
    not_modelled(
        "Replicas that are slowed down",
        "no client is throttled",
        RECORDS,
        (listing("leader.replication.throttled.replicas", since="0.10.1"), ALWAYS),
        (listing("follower.replication.throttled.replicas", since="0.10.1"), ALWAYS),
        scope=TOPIC,
    ),
    without_bearing(
        "Compaction, files, timestamps",
        "no record becomes another by them",
        long("delete.retention.ms", 24 * 3_600_000, low=0, follows="log.cleaner.delete.retention.ms"),
        long("min.compaction.lag.ms", 0, low=0, since="0.10.1", follows="log.cleaner.min.compaction.lag.ms"),
        long("max.compaction.lag.ms", LONG_MAX, low=1, since="2.3", follows="log.cleaner.max.compaction.lag.ms"),
        double("min.cleanable.dirty.ratio", 0.5, low=0, high=1, follows="log.cleaner.min.cleanable.ratio"),
        long("file.delete.delay.ms", 60000, low=0, follows="log.segment.delete.delay.ms"),
        integer("index.interval.bytes", 4096, low=0, follows="log.index.interval.bytes"),
        boolean("preallocate", False, since="0.9", follows="log.preallocate"),
        text(
            "message.timestamp.type",
            "CreateTime",
            words=("CreateTime", "LogAppendTime"),
            since="0.10.0",
            follows="log.message.timestamp.type",
        ),
        boolean("message.downconversion.enable", True, since="2.0.0", follows="log.message.downconversion.enable"),
        scope=TOPIC,
    ),
)
