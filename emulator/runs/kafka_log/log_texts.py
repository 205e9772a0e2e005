"""Log lines of logs and partitions in server.log (semantics 9).

`{tp}` is `t-0`, `{old_tp}` is `[t,0]`; the other names are fields of events, or explained beside the pattern. Each text
has the first version that writes it. Checked against the releases 0.8.2.2, 0.10.2.2, 0.11.0.2, 1.0.2, 1.1.1, 2.0.0,
2.0.1, 2.1.1 and the last of each line from 2.2 to 2.8.
"""

from emulator.runs.kafka_log.pattern import ERROR, STATE_CHANGE_LOGGER, WARN, Pattern, pattern

# --- kafka.log.Log --------------------------------------------------------------------------------------------------

_LOG = (
    ("0.8.2", "kafka.log.Log"), ("3.1", "kafka.log.UnifiedLog"),
    ("4.1", "org.apache.kafka.storage.internals.log.UnifiedLog"),
)  # fmt: skip
_LOG_PREFIX = (
    ("0.8.2", ""), ("1.0", "[Log partition={tp}, dir={dir}] "), ("3.1", "[UnifiedLog partition={tp}, dir={dir}] "),
)  # fmt: skip
_LOADER = (
    *_LOG[:1], ("3.0", "kafka.log.LogLoader$"), ("3.3", "kafka.log.LogLoader"),
    ("4.1", "org.apache.kafka.storage.internals.log.LogLoader"),
)  # fmt: skip
_LOADER_PREFIX = (*_LOG_PREFIX[:2], ("3.0", "[LogLoader partition={tp}, dir={dir}] "))
_IN_VAIN = "Truncating {tp} to {to} has no effect as the largest offset in the log is {largest}."

LOG: dict[str, Pattern] = {
    # Up to 0.10.2 Kafka writes the first line in any case, and the second only for an offset beyond the end.
    "truncating": pattern(_LOG, (("0.8.2", "Truncating log {tp} to offset {to}."), ("0.11", ""))),
    "truncating-beyond-end": pattern(_LOG, (("0.8.2", _IN_VAIN), ("0.11", ""))),
    "truncated": pattern(
        _LOG,
        (("0.11", "Truncating log {tp} to offset {to}."), ("1.0", "Truncating to offset {to}")),
        prefix=_LOG_PREFIX,
    ),
    "truncated-nothing": pattern(
        _LOG,
        (
            ("0.11", _IN_VAIN),
            ("1.0", "Truncating to {to} has no effect as the largest offset in the log is {largest}"),
        ),
        prefix=_LOG_PREFIX,
    ),
    # `{done}` of `{segments}` unflushed segments are recovered already.
    "recovering": pattern(
        _LOADER,
        (
            ("0.8.2", "Recovering unflushed segment {segment} in log {tp}."),
            ("1.0", "Recovering unflushed segment {segment}"),
            ("3.3", "Recovering unflushed segment {segment}. {done}/{segments} recovered for {tp}."),
            ("4.1", "Recovering unflushed segment {segment}. {done} recovered for {tp}."),
        ),
        prefix=_LOADER_PREFIX,
    ),
    "corrupted": pattern(
        _LOADER,
        (
            ("0.8.2", "Corruption found in segment {segment} of log {tp}, truncating to offset {log_end}."),
            ("1.0", "Corruption found in segment {segment}, truncating to offset {log_end}"),
        ),
        prefix=_LOADER_PREFIX,
        level=WARN,
    ),
    "loaded": pattern(_LOG, (("0.8.2", "Completed load of log {tp} with log end offset {log_end}"), ("0.10.2", ""))),
}

# --- kafka.cluster.Partition ----------------------------------------------------------------------------------------

_PARTITION = "kafka.cluster.Partition"
_PARTITION_PREFIX = (
    ("0.8.2", "Partition {old_tp} on broker {broker}: "),
    ("1.0", "[Partition {tp} broker={broker}] "),
)
_ROLE_LOGGER = (("0.8.2", _PARTITION), ("2.6", STATE_CHANGE_LOGGER))
_ROLE_PREFIX = (*_PARTITION_PREFIX, ("2.6", "[Broker id={broker}] "))
_STARTS = "{tp} starts at leader epoch {leader_epoch} from offset {log_end} with high watermark {high_watermark}"
_PREVIOUS = ". Previous leader epoch was {previous_epoch}."
_STATE_PREVIOUS = "Previous leader {previous} and previous leader epoch was {previous_epoch}."
_LEADER = (
    "Leader {tp} with topic id Some({topic_id}) starts at leader epoch {leader_epoch} from offset {log_end} with "
    "partition epoch {zk_version}, high watermark {high_watermark}, ISR [{isr}], adding replicas [{adding}] and "
    "removing replicas [{removing}]"
)
_FOLLOWER = (
    "Follower {tp} starts at leader epoch {leader_epoch} from offset {log_end} with partition epoch {zk_version} and "
    "high watermark {high_watermark}. Current leader is {leader}. "
)
_UPDATED = "ISR updated to {isr} and version updated to [{zk_version}]"
_UPDATED_BARE = "ISR updated to {isr} and version updated to {zk_version}"

PARTITION: dict[str, Pattern] = {
    "shrinking-isr": pattern(
        _PARTITION,
        (
            ("0.8.2", "Shrinking ISR for partition {old_tp} from {was} to {now}"),
            ("0.11", "Shrinking ISR from {was} to {now}"),
            (
                "2.2",
                "Shrinking ISR from {was} to {now}. Leader: (highWatermark: {high_watermark}, endOffset: {log_end}). "
                "Out of sync replicas: {replicas}.",
            ),
        ),
        prefix=_PARTITION_PREFIX,
    ),
    # For a write directly to the session service; through the controller (AlterIsr) Kafka logs no such line.
    "expanding-isr": pattern(
        _PARTITION,
        (
            ("0.8.2", "Expanding ISR for partition {old_tp} from {was} to {now}"),
            ("0.10.2", "Expanding ISR for partition {tp} from {was} to {now}"),
            ("0.11", "Expanding ISR from {was} to {now}"),
            ("2.8", ""),
        ),
        prefix=_PARTITION_PREFIX,
    ),
    "isr-written": pattern(
        _PARTITION,
        (
            ("2.4", "ISR updated to [{isr}] and zkVersion updated to [{zk_version}]"),
            ("2.8", _UPDATED),
            ("3.1", _UPDATED_BARE),
        ),
        prefix=_PARTITION_PREFIX,
    ),
    "isr-altered": pattern(
        _PARTITION,
        (
            ("2.7", "ISR updated from AlterIsr to {isr} and version updated to [{zk_version}]"),
            ("2.8", _UPDATED),
            ("3.1", _UPDATED_BARE),
            ("3.5", "ISR updated to {isr} {under} and version updated to {zk_version}"),
        ),
        prefix=_PARTITION_PREFIX,
    ),
    "zk-version-outdated": pattern(
        _PARTITION,
        (
            ("0.8.2", "Cached zkVersion [{zk_version}] not equal to that in zookeeper, skip updating ISR"),
            ("2.4", "Cached zkVersion {zk_version} not equal to that in zookeeper, skip updating ISR"),
            ("2.8", ""),
        ),
        prefix=_PARTITION_PREFIX,
    ),
    "leads": pattern(
        _ROLE_LOGGER,
        (
            (
                "0.11",
                "{tp} starts at Leader Epoch {leader_epoch} from offset {log_end}. "
                "Previous Leader Epoch was: {previous_epoch}",
            ),
            ("2.4", _STARTS + _PREVIOUS),
            (
                "2.6",
                "Leader "
                + _STARTS
                + " ISR [{isr}] addingReplicas [{adding}] removingReplicas [{removing}]"
                + _PREVIOUS,
            ),
            ("3.3", _LEADER + _PREVIOUS),
            ("3.5", _LEADER + " {under}" + _PREVIOUS),
            ("3.6", _LEADER + " {under}. " + _STATE_PREVIOUS),
        ),
        prefix=_ROLE_PREFIX,
    ),
    # `{previous}` of 3.6 to 3.9 is the new leader, and its previous epoch the new one: both are set before the line.
    "follows": pattern(
        _ROLE_LOGGER,
        (
            ("2.6", "Follower " + _STARTS + _PREVIOUS),
            ("3.3", _FOLLOWER + "Previous leader epoch was {previous_epoch}."),
            ("3.6", _FOLLOWER + "Previous leader Some({leader}) and previous leader epoch was {leader_epoch}."),
            ("4.0", _FOLLOWER + _STATE_PREVIOUS),
        ),
        prefix=_ROLE_PREFIX,
    ),
    "epoch-cached": pattern(
        "kafka.server.epoch.LeaderEpochFileCache",
        (
            (
                "0.11",
                "Updated PartitionLeaderEpoch. New: {{epoch:{leader_epoch}, offset:{offset}}}, "
                "Current: {{epoch:{previous_epoch}, offset{previous_offset}}} for Partition: {tp}. "
                "Cache now contains {entries} entries.",
            ),
            ("2.0.1", ""),
        ),
    ),
    "fetch-out-of-range": pattern(
        "kafka.server.ReplicaManager",
        (
            (
                "0.8.2",
                "Error when processing fetch request for partition {old_tp} offset {offset} from follower with "
                "correlation id {correlation}. Possible cause: Request for offset {offset} but we only have log "
                "segments in the range {log_start} to {log_end}.",
            ),
            ("0.10.2", ""),
        ),
        prefix="[Replica Manager on Broker {broker}]: ",
        level=ERROR,
    ),
}
