"""Gates: Kafka's behaviour by version, one line of the table `Gates` each.

A broker has two versions. Its *binary* decides defaults and the behaviour of its controller and its log;
`inter.broker.protocol.version` (IBP, by default the binary's own, never newer) decides its protocol with other brokers.
All other code tests a named gate: `gates.truncates_on_fetch`, never `version >= 2.7`.

A gate is an attribute of `Gates`: its type, its `Gate` with the versions, and its meaning below. The page of versions
and the tests of the boundaries are derived from it (docs/how-to-add-a-gate.md).
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, get_type_hints

import msgspec

from protocol.versions import (
    UnusableProtocolVersion,
    ladder_name,
    message_format_magic,
    rank,
    releases,
    since,
)

By = Literal["binary", "protocol", "format"]
"""The deciding version: the binary's, inter.broker.protocol.version, or the record format's.

In KRaft the second is the metadata version's release.
"""

Plane = Literal["", "zookeeper", "kraft"]
"""Plane of the cluster's metadata; "": any."""

ALTER_PARTITION_NEWEST = 3

FORMATS = ("0.8.2", "0.10.2", "0.11")
"""The first version of the ladder with each record format, 0 to 2."""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Versions in a row, both ends included; without an end, as far as the ladder reaches.

    `metadata`: the plane in which they count. Raises ValueError for an end that is none of Kafka's minor releases. An
    alias or a patch release is no boundary: `2.0` stands for 2.0.1, so a gate that begins with it would
    silently leave out 2.0.0.
    """

    since: str = ""
    until: str = ""
    by: By = "binary"
    metadata: Plane = ""

    def __post_init__(self) -> None:
        for boundary in filter(None, (self.since, self.until)):
            _check_boundary(boundary)
        if self.since and self.until and not since(self.until, self.since):
            raise ValueError(f"gate boundaries {self.since!r} to {self.until!r}: in the wrong order; exchange them")

    def contains(self, versions: Mapping[By, str], metadata: str) -> bool:
        """Whether the version that decides is one of them, in this plane."""
        if self.metadata not in ("", metadata):
            return False
        version = versions[self.by]
        return (not self.since or since(version, self.since)) and (not self.until or since(self.until, version))


class Gate(Span, frozen=True, kw_only=True):
    """The versions of a gate, or its values by version, and the place in Kafka that shows them.

    `steps`: values with the version from which each holds, for a gate that is no bool. `and_within`, `or_within`:
    versions of another kind that must, or may, hold as well. `source`: classes and methods that were read at the tags
    of the last patch releases on both sides of the boundary, KAFKA and KIP numbers, or a section of semantics.
    """

    source: str
    steps: tuple[tuple[str, int | str], ...] = ()
    and_within: Span | None = None
    or_within: Span | None = None

    def __post_init__(self) -> None:
        Span.__post_init__(self)
        for boundary, _ in self.steps:
            _check_boundary(boundary)

    def value(self, versions: Mapping[By, str], metadata: str) -> bool | int | str:
        """The gate's value for a broker of these versions and this plane."""
        if self.steps:
            return [value for first, value in self.steps if since(versions[self.by], first)][-1]
        holds = self.contains(versions, metadata)
        holds = holds and (self.and_within is None or self.and_within.contains(versions, metadata))
        return holds or (self.or_within is not None and self.or_within.contains(versions, metadata))


def _check_boundary(version: str) -> None:
    if version not in releases():
        raise ValueError(f"gate boundary {version!r}: not a release's name; write one of: {', '.join(releases())}")


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """Behaviour of a broker of one (binary, inter.broker.protocol.version) pair, by rule.

    A gate with a boundary between the ladder's first two steps changes at the second.
    """

    binary: str
    inter_broker_protocol: str
    metadata: str = "zookeeper"

    # --- records (IBP) ---
    record_magic: Annotated[
        int, Gate(by="format", steps=(("0.8.2", 0), ("0.10.0", 1), ("0.11", 2)), source="KIP-32; KIP-98")
    ]
    """Format of batches: 0 (0.8.2), 1 (0.10.x), 2 (0.11+); log.message.format.version lowers it."""
    compacted_topics_need_keys: Annotated[bool, Gate(since="0.9", source="semantics 1.8")]
    """A compacted topic refuses a record without a key (semantics 1.8)."""
    invalid_record_named: Annotated[bool, Gate(since="2.4", source="semantics 1.8")]
    """That error is INVALID_RECORD, not retriable; before, CORRUPT_MESSAGE."""

    # --- truncation (semantics 2.1, table of eras) ---
    truncates_to_high_watermark: Annotated[bool, Gate(until="0.10.2", by="protocol", source="KIP-101")]
    """A new follower truncates to its own high watermark."""
    epoch_request_version: Annotated[
        int,
        Gate(
            by="protocol",
            steps=(("0.8.2", -1), ("0.11", 0), ("2.0.0", 1), ("2.1", 2), ("2.3", 3)),
            source="ReplicaFetcherThread.offsetForLeaderEpochRequestVersion",
        ),
    ]
    """Version of a follower's OFFSET_FOR_LEADER_EPOCH.

    -1 none, 0 (KIP-101), 1 (KIP-279), 2 fenced (KIP-320), 3; not 2.8's 4, which has the same content in another form.
    """
    truncates_on_fetch: Annotated[
        bool, Gate(since="2.7", by="protocol", source="ReplicaFetcherThread.fetchRequestVersion")
    ]
    """No separate request; the fetch response has the divergence (Fetch v12)."""
    fetch_version: Annotated[
        int,
        Gate(
            by="protocol",
            steps=(
                ("0.8.2", 0), ("0.10.2", 3), ("0.11", 5), ("1.1", 7), ("2.0.0", 8), ("2.1", 10), ("2.3", 11),
                ("2.7", 12), ("3.1", 13), ("3.5", 15), ("3.7", 16), ("3.9", 17),
            ),
            source="ReplicaFetcherThread.fetchRequestVersion",
        ),
    ]
    """Version of a follower's FETCH.

    13 and later have topic ids, 15 and later a broker epoch, which brokers with ZooKeeper do not check.
    """
    consumer_fetch_version: Annotated[
        int,
        Gate(
            steps=(("0.8.2", 0), ("0.10.2", 10), ("2.3", 11), ("2.7", 12)),
            source="Fetcher.createFetchRequests, ConsumerFetcherThread",
        ),
    ]
    """Version of a consumer's FETCH.

    0 in 0.8.2, which has only the old consumer. From 3 to 10 all are alike here; 11 has the consumer's rack (KIP-392).
    """
    consumers_read_from_followers: Annotated[
        bool, Gate(since="2.4", source="KIP-392, ReplicaManager.fetchMessages: fetchOnlyFromLeader")
    ]
    """A follower answers a consumer's FETCH from version 11 on."""
    absent_replica_is_not_available: Annotated[
        bool, Gate(since="2.4", until="2.5", source="ReplicaManager.getPartitionOrError: expectLeader")
    ]
    """Such a consumer gets REPLICA_NOT_AVAILABLE from a broker without the replica.

    In other versions it gets NOT_LEADER_OR_FOLLOWER.
    """
    preferred_replica_is_in_sync: Annotated[bool, Gate(since="3.3", source="KAFKA-14372, 3.3.2")]
    """The leader names only followers in the ISR; before, any with the requested offset."""
    answers_at_once_with_preferred_replica: Annotated[bool, Gate(since="3.2", source="KAFKA-13767")]
    """A response that names a replica is due at once; before, it was parked as an empty one."""
    follower_completes_parked_fetches: Annotated[bool, Gate(since="3.3", source="KAFKA-14334, 3.3.2")]
    """A follower checks parked fetches when its high watermark advances.

    Before, they waited for their deadline.
    """
    client_forgets_preferred_replica: Annotated[bool, Gate(since="3.3", source="KAFKA-14379, 3.3.2")]
    """Any error or lost connection sends a consumer back to the leader.

    Before, only an offset out of range did.
    """
    fences_by_epoch: Annotated[
        bool, Gate(since="2.1", by="protocol", source="AbstractFetcherThread.fetchTruncatingPartitions")
    ]
    """Requests carry the current leader epoch and are fenced by it (semantics 2.2)."""
    has_epoch_cache: Annotated[bool, Gate(since="0.11", by="format", source="KIP-101")]
    """leader-epoch-checkpoint is kept. Older records have no epoch."""
    truncates_without_epoch_request: Annotated[bool, Gate(since="2.1", source="AbstractFetcherThread.maybeTruncate")]
    """A follower without epochs truncates to the high watermark immediately.

    Before, it requests the epoch's end, and gets none.
    """
    drops_answers_of_older_epochs: Annotated[
        bool, Gate(since="2.1", source="AbstractFetcherThread.truncateToEpochEndOffsets")
    ]
    """An epoch response counts only in the leader epoch of its request."""
    fetch_start_at_log_end: Annotated[
        bool, Gate(since="0.11", until="1.0", source="ReplicaFetcherThread.initialFetchState, maybeTruncate")
    ]
    """A truncating follower starts at its log end (semantics 1.7)."""

    # --- leadership (binary; semantics 1.7, 3) ---
    assigns_epoch_on_election: Annotated[
        bool, Gate(since="2.0.1", and_within=Span(since="0.11", by="format"), source="Partition.makeLeader; KAFKA-7415")
    ]
    """A new leader writes (epoch, log end) immediately."""
    epoch_entry_below_first_answered: Annotated[bool, Gate(since="2.0.1", source="LeaderEpochFileCache.endOffsetFor")]
    """For an epoch older than all cached ones a leader returns the first start."""
    no_epochs_end_at_log_end: Annotated[
        bool, Gate(since="0.11", until="0.11", source="ReplicaManager.lastOffsetForLeaderEpoch")
    ]
    """A leader without epochs returns its log end to a follower without epochs (to 1.0.1)."""
    epoch_cache_strict_assign: Annotated[bool, Gate(since="2.0.1", source="LeaderEpochFileCache.assign")]
    """Assigning an epoch removes conflicting tail entries."""
    expand_needs_epoch_start: Annotated[bool, Gate(since="2.0.1", source="Partition.maybeExpandIsr; KAFKA-7128")]
    """A replica joins the ISR only at or beyond the leader epoch's start."""
    fetcher_restart: Annotated[
        str,
        Gate(
            steps=(("0.8.2", "leader-changed"), ("2.0.1", "leader-or-epoch-jump"), ("2.1", "leader-or-epoch")),
            source="Partition.makeFollower",
        ),
    ]
    """Rule that restarts a follower's fetcher at a LeaderAndIsr.

    `leader-changed` (E0-2.0.0), `leader-or-epoch-jump` (2.0.1), `leader-or-epoch` (2.1+).
    """
    truncates_epochs_beyond_log_end: Annotated[bool, Gate(since="2.6", source="semantics 2.1")]
    """Entries at or beyond the log end are dropped even without a truncation."""
    out_of_range_starts_over: Annotated[
        bool, Gate(until="0.8.2", source="ReplicaFetcherThread.handleOffsetOutOfRange; KAFKA-2477")
    ]
    """A follower out of its leader's range deletes its log and starts over.

    Unless the leader's log ends below it.
    """
    out_of_range_exits: Annotated[bool, Gate(until="2.0.0", source="ReplicaFetcherThread.handleOffsetOutOfRange")]
    """Unclean election off: a follower ahead of its leader exits (semantics 2.3)."""
    fetcher_shutdown_waits: Annotated[
        bool, Gate(until="1.0", source="AbstractFetcherThread.shutdown, ReplicaFetcherThread; KAFKA-6051")
    ]
    """A LeaderAndIsr that empties a fetcher waits for its fetch.

    The fetch in flight ends by its response or after up to request.timeout.ms.
    """
    elections_repeat_all_for_one: Annotated[
        bool, Gate(since="1.1", until="2.3", source="PartitionStateMachine.electLeaderForPartitions")
    ]
    """One stale partition state repeats the election of the whole batch.

    Where another request had written one partition's state, all partitions of the election are elected again, an
    epoch later.
    """
    damaged_batch_ends_fetcher: Annotated[bool, Gate(until="0.8.2", source="AbstractFetcherThread.processFetchRequest")]
    """A follower counts a batch with a bad checksum as fetched.

    The next response then does not fit.
    """
    alter_isr_every_50_ms: Annotated[bool, Gate(since="2.7", until="2.7", source="DefaultAlterIsrManager")]
    """A task sends pending ISR changes to the controller every 50 ms.

    2.8 sends them immediately.
    """
    served_partitions_move_to_end: Annotated[
        bool, Gate(since="0.10.1", source="AbstractFetcherThread.processFetchRequest")
    ]
    """A partition with records, or a delayed one, moves to the end of the fetch order."""
    lost_session_takes_partition_offline: Annotated[
        bool, Gate(since="2.7", until="3.0", source="Partition.makeLeader; KAFKA-9769")
    ]
    """A session that ends during a new log's configuration read takes it offline.

    The LeaderAndIsr continues without that partition, which stays offline; before, the order ends.
    """
    lost_session_skips_partition: Annotated[bool, Gate(since="3.1", source="ReplicaManager.becomeLeaderOrFollower")]
    """The LeaderAndIsr continues without that partition, which stays as it was."""
    lost_fetch_waits_twice: Annotated[
        bool, Gate(until="3.0", source="AbstractFetcherThread.processFetchRequest")
    ]
    """After a fetch without a response the fetcher waits for its backoff twice.

    (replica.fetch.backoff.ms) Later, once.
    """
    divergence_keeps_high_watermark: Annotated[
        bool, Gate(since="3.4", source="AbstractFetcherThread.processFetchRequest; KAFKA-14704")
    ]
    """A response that names a divergence moves neither high watermark nor log start.

    From 3.4.1 on.
    """
    first_empty_fetch_forgets_epoch: Annotated[
        bool, Gate(since="3.5", until="3.6", source="AbstractFetcherThread.processFetchRequest; KAFKA-15510")
    ]
    """After a first fetch without records the next one names no last fetched epoch.

    So the leader cannot find a divergence by it.
    """
    appends_up_to_fetched_epoch: Annotated[
        bool, Gate(since="3.9", source="UnifiedLog.appendAsFollower; KAFKA-18723")
    ]
    """A follower appends only batches up to the leader epoch that it fetched with.

    From 3.9.1 on; a leader that truncates and appends during the read may send later ones.
    """
    append_error_fails_partition: Annotated[bool, Gate(since="2.3", source="AbstractFetcherThread.markPartitionFailed")]
    """An unexpected append error fails one partition; before, the fetcher thread dies."""
    stop_replica_checks_epoch: Annotated[bool, Gate(since="2.6", source="semantics 1.7")]
    """StopReplica carries a leader epoch."""
    stop_replica_takes_equal_epoch: Annotated[
        bool, Gate(since="3.4", source="ReplicaManager.stopReplicas; KAFKA-13972")
    ]
    """A StopReplica with the replica's own leader epoch is executed.

    From 3.4.1 on; before, only one with a newer epoch.
    """
    cut_checkpoints_though_nothing_was_cut: Annotated[bool, Gate(until="0.11", source="LogManager.truncateTo")]
    """Recovery points are written after every ordered truncation.

    Also after one at or beyond the log end.
    """
    cut_checkpoints_all_directories: Annotated[bool, Gate(until="2.1", source="LogManager.truncateTo")]
    """A truncation writes recovery points in every log directory.

    From 2.2 only in that of the truncated logs.
    """
    start_over_checkpoints_all_directories: Annotated[
        bool, Gate(until="1.0", source="LogManager.truncateFullyAndStartAt")
    ]
    """The same for a log that starts over.

    From 1.1 only in its own directory.
    """
    deletions_checkpoint_recovery_points: Annotated[bool, Gate(since="1.1", source="LogManager.asyncDelete")]
    """Deleting a log writes recovery points of its directory."""
    checkpoints_directories_without_logs: Annotated[bool, Gate(since="2.7", source="LogManager.logsInDir")]
    """Recovery points and log starts of a directory without logs are written, too.

    Before, the files keep their content.
    """
    recovery_counts_as_flushed: Annotated[bool, Gate(since="1.0", until="2.7", source="Log.recoverLog")]
    """Recovery after an unclean stop sets the recovery point to the log's end.

    Although nothing was synced; before and after, it stays as checkpointed.
    """
    recovery_skips_epoch_zero: Annotated[bool, Gate(since="2.1", until="2.5", source="LogSegment.recover; KAFKA-10432")]
    """Recovery does not add epoch 0 from batches."""
    recovery_cuts_large_messages: Annotated[bool, Gate(until="0.10.2", source="LogSegment.recover")]
    """Recovery treats a message above max.message.bytes as damage."""
    followers_refuse_large_batches: Annotated[
        bool, Gate(until="2.5", source="Log.analyzeAndValidateRecords; KAFKA-9617")
    ]
    """A follower refuses a batch above max.message.bytes."""
    empty_log_begins_within_batch: Annotated[
        bool, Gate(since="1.0", source="Partition.appendRecordsToFollower; KAFKA-6975")
    ]
    """An empty follower accepts a batch that contains its log start, and begins with it."""
    rolls_before_producers_are_checked: Annotated[bool, Gate(since="2.4", source="Log.append")]
    """An append rolls a full segment before its producer is validated."""
    raised_log_start_counts_as_flushed: Annotated[bool, Gate(since="2.4", source="Log.updateLogStartOffset")]
    """The recovery point is never below the log's start."""
    beginning_anew_forgets_epochs: Annotated[bool, Gate(since="2.8", source="Log.recoverLog")]
    """A log that ends below its checkpointed start begins without epochs.

    Before, the newest epoch moves along.
    """
    wrapper_reads_whole: Annotated[bool, Gate(until="0.10.2", by="format", source="semantics 11.9")]
    """Magic 0 and 1: a read returns the first whole wrapper that ends at or above its offset.

    (semantics 11.9)
    """
    deposed_leader_answers_parked: Annotated[bool, Gate(since="0.9", source="ReplicaManager.makeFollowers")]
    """A broker that becomes follower completes its parked requests.

    0.8.2 leaves produces to the next fetch of a follower, and to their time-out.
    """
    deleted_replica_answers_parked: Annotated[bool, Gate(since="2.4", source="KAFKA-9198")]
    """So does a broker that loses its replica."""
    leaders_known_by_metadata: Annotated[
        bool, Gate(since="0.9", source="ReplicaManager.makeFollowers, getAliveBrokers")
    ]
    """UpdateMetadata has the live leaders; in 0.8.2 LeaderAndIsr has them."""
    fetcher_answer_within_request_timeout: Annotated[
        bool, Gate(since="0.10.0", source="ReplicaFetcherThread.sendRequest")
    ]
    """A fetcher's time limit for a response is request.timeout.ms.

    Before, replica.socket.timeout.ms.
    """

    # --- high watermark and ISR (binary) ---
    recently_caught_up_holds_high_watermark: Annotated[bool, Gate(since="0.10.2", source="KAFKA-4485")]
    """The high watermark waits for replicas that recently left the ISR caught up."""
    high_watermark_waits_for_eligible_only: Annotated[
        bool, Gate(since="3.6", source="Partition.maybeIncrementLeaderHW; KAFKA-15021")
    ]
    """Of those replicas only the ones on brokers alive in the leader's metadata count."""
    high_watermark_needs_min_isr: Annotated[
        bool, Gate(since="3.7", source="Partition.maybeIncrementLeaderHW; KAFKA-15583")
    ]
    """A leader's high watermark stands still while the ISR is below `min.insync.replicas`."""
    min_isr_at_most_replicas: Annotated[bool, Gate(since="3.7", source="Partition.effectiveMinIsr; KAFKA-15583")]
    """A `min.insync.replicas` above the number of replicas counts as that number."""
    leaders_new_epoch_forgets_followers: Annotated[bool, Gate(until="0.8.2", source="Partition.makeLeader")]
    """Every leader epoch makes followers' log ends unknown, even under the same leader.

    0.9: only a new leader's.
    """
    answers_at_once_when_high_watermark_moved: Annotated[bool, Gate(since="2.4", until="2.5", source="semantics 1.2")]
    """A parked fetch completes when its last sent high watermark is outdated."""
    failed_reads_keep_follower_state: Annotated[bool, Gate(since="2.4", source="KAFKA-8400")]
    """A failed read keeps the follower's state."""
    caught_up_replica_not_shrunk: Annotated[bool, Gate(since="2.1", source="Partition.getOutOfSyncReplicas")]
    """A follower at the leader's log end is never removed by time (semantics 1.3)."""
    lag_by_messages: Annotated[bool, Gate(until="0.8.2", source="semantics 1.3")]
    """replica.lag.max.messages; and silence counts from the last fetch of any outcome."""
    shrink_check_full_period: Annotated[bool, Gate(until="0.10.1", source="semantics 1.3")]
    """The check runs every replica.lag.time.max.ms instead of half of it."""
    fetch_blocks_on_partition_lock: Annotated[
        bool, Gate(since="2.1", source="Partition.readRecords, fetchOffsetForTimestamp")
    ]
    """Consumer fetches and ListOffsets also wait for the partition's lock.

    (semantics 1.6)
    """
    completes_delayed_requests_last: Annotated[
        bool, Gate(since="2.7", source="ReplicaManager.tryCompleteActions; KAFKA-8334")
    ]
    """The response to a produce precedes the completions by its append."""
    high_watermark_needs_moved_follower: Annotated[bool, Gate(since="2.4", source="Partition.updateFollowerFetchState")]
    """A follower's fetch moves the high watermark only at another offset than before."""
    fetch_above_high_watermark_fails: Annotated[bool, Gate(until="0.9", source="semantics 1.9")]
    """A consumer's fetch between high watermark and log end fails with -1.

    Later, it is empty, without an error.
    """
    unassigned_follower_fails_fetch: Annotated[bool, Gate(until="0.11", source="semantics 1.2")]
    """A follower's fetch with a partition not assigned to it fails whole, with -1.

    From 1.0 that partition is empty, until the fetch was parked (semantics 1.2).
    """

    isr_admits_live_brokers_only: Annotated[bool, Gate(since="3.3", source="Partition.isReplicaIsrEligible; KIP-841")]
    """A follower joins the ISR only if its broker is alive in the leader's metadata."""

    # --- ISR persistence (IBP and binary; semantics 1.6) ---
    alter_isr: Annotated[bool, Gate(since="2.7", by="protocol", source="ApiVersion.isAlterIsrSupported")]
    """Through the controller."""
    notifies_isr_changes: Annotated[
        bool, Gate(since="0.9", and_within=Span(until="2.6", by="protocol"), source="KAFKA-1367")
    ]
    """Brokers that write the ISR directly notify the controller."""
    alter_partition_version: Annotated[
        int,
        Gate(
            steps=(("0.8.2", -1), ("2.7", 0), ("3.2", 1), ("3.3", 2), ("3.5", 3)),
            source="AlterPartitionRequest.json; KIP-497; KIP-704; KIP-841; KIP-903",
        ),
    ]
    """Newest version of AlterIsr that a binary knows; the older one of two decides.

    From 3.2 it is named AlterPartition. 1 has the leader's recovery state, 2 topic ids, 3 broker epochs, unknown with
    ZooKeeper.
    """
    topics_have_ids: Annotated[bool, Gate(since="2.8", by="protocol", source="MetadataVersion.isTopicIdsSupported")]
    """Requests between brokers may name topics by id (KIP-516)."""
    new_state_clears_isr_queue: Annotated[
        bool, Gate(until="2.8", source="Partition.makeLeader, AlterIsrManager.clearPending")
    ]
    """A LeaderAndIsr removes the partition's queued ISR change.

    Later it stays queued until it is answered, and the leader can request no other one meanwhile.
    """
    unexpected_isr_error: Annotated[
        str,
        Gate(
            steps=(("0.8.2", "raises"), ("3.0", "pends"), ("3.1", "reverts"), ("3.2", "resends")),
            source="Partition.handleAlterIsrResponse, submitAlterPartition; AlterIsrManager.handleAlterIsrResponse",
        ),
    ]
    """Result of an unexpected error of an ISR change.

    `raises`: the change stays pending, and the rest of the response is ignored. `pends`: it stays pending. `reverts`:
    the last confirmed ISR counts again. `resends`: it is requested again.
    """
    alter_isr_moves_high_watermark: Annotated[
        bool, Gate(since="3.1", source="Partition.handleAlterIsrUpdate; KAFKA-13091")
    ]
    """A confirmed ISR change moves the high watermark.

    Before, it waits for an append or a follower's progress.
    """
    isr_changes_checked_by_epoch: Annotated[
        bool, Gate(since="3.3", source="KafkaController.tryProcessAlterPartition; KAFKA-14154")
    ]
    """The controller compares a requested ISR change with the state that it remembers.

    Epochs above its own: NOT_CONTROLLER. An older version: INVALID_UPDATE_VERSION, without a write.
    """
    isr_changes_need_live_brokers: Annotated[
        bool, Gate(since="3.3", source="KafkaController.tryProcessAlterPartition; KIP-841; KAFKA-14140")
    ]
    """The controller refuses an ISR with a broker that is not alive, or is shutting down."""
    leader_recovery_state: Annotated[
        bool, Gate(since="3.2", by="protocol", source="Election.leaderForOffline; KIP-704")
    ]
    """An unclean election marks the state (`leader_recovery_state` 1).

    The next ISR change removes the mark.
    """
    stuck_zk_version_pends: Annotated[
        bool, Gate(since="2.8", and_within=Span(until="2.6", by="protocol"), source="semantics 1.6")
    ]
    """A failed conditional write stays pending until a higher epoch."""
    session_wait_ends_at_expiry: Annotated[bool, Gate(since="1.1", source="semantics 1.6")]
    """A call that waits for the session service fails when the session expires.

    Before, it is retried in the new session.
    """
    fetches_configuration_of_held_logs: Annotated[
        bool, Gate(until="2.5", source="Partition.createLog, LogManager.getOrCreateLog")
    ]
    """An incarnation's first LeaderAndIsr reads a topic's configuration anew.

    Even where its log is present.
    """
    reassigns_to_live_brokers_only: Annotated[
        bool, Gate(until="0.10.0", source="KafkaController.initiateReassignReplicasForTopicPartition; KAFKA-4214")
    ]
    """A reassignment to a dead broker is refused."""
    ignores_reassignment_to_same_replicas: Annotated[
        bool, Gate(until="2.3", source="KafkaController.maybeTriggerPartitionReassignment")
    ]
    """A reassignment to the present replicas, in their order, is refused.

    From 2.4 it is executed, which costs a leader epoch.
    """
    needs_controller_to_try_shutdown_again: Annotated[bool, Gate(until="1.0", source="KafkaServer.controlledShutdown")]
    """An orderly stop without a controller continues without one immediately.

    From 1.1 it looks for one again.
    """
    shutdown_answer_within_request_timeout: Annotated[
        bool, Gate(since="0.9", by="protocol", or_within=Span(since="1.0"), source="semantics 4.2")
    ]
    """A controlled shutdown's limit is request.timeout.ms.

    Before, controller.socket.timeout.ms.
    """
    controlled_shutdown_occupies_handler: Annotated[
        bool, Gate(until="0.10.2", source="KafkaApis.handleControlledShutdownRequest; KAFKA-5028")
    ]
    """The request handler's thread handles ControlledShutdown."""

    # --- controller (binary; semantics 4) ---
    controller_epoch_multi: Annotated[
        bool, Gate(since="2.1", source="KafkaZkClient.registerControllerAndIncrementControllerEpoch; KAFKA-6082")
    ]
    """Election and writes are multis that check /controller_epoch."""
    broker_epochs: Annotated[bool, Gate(since="2.2", source="KafkaApis.isBrokerEpochStale; KIP-380")]
    """Requests carry the broker epoch; a bounced broker is detected."""
    startup_offlines_dead_replicas: Annotated[bool, Gate(since="2.3", source="ReplicaStateMachine.startup; KAFKA-3143")]
    """A new controller moves replicas on dead brokers offline first."""
    sole_isr_member_kept: Annotated[bool, Gate(since="1.1", source="semantics 4.2")]
    """The ISR's last member always stays; before, only with unclean election off."""
    live_brokers_to_all: Annotated[bool, Gate(since="0.9", source="KafkaController.onBrokerStartup")]
    """Every broker receives metadata when a broker joins, or leaves without leaderships."""
    shutdown_elects_by_isr: Annotated[bool, Gate(until="0.9", source="ControlledShutdownLeaderSelector.selectLeader")]
    """A controlled shutdown elects the first remaining ISR member.

    Later, the first of the assignment.
    """
    shutdown_leaves_deletions_alone: Annotated[bool, Gate(since="2.1", source="KafkaController.doControlledShutdown")]
    """A controlled shutdown ignores partitions of topics that wait for deletion.

    It neither moves nor counts them; before, it treats them like all others.
    """
    resends_after_ms: Annotated[int, Gate(steps=(("0.8.2", 300), ("0.10.1", 100)), source="RequestSendThread.doWork")]
    """Pause of the controller before it retries a request, in ms: 300 up to 0.10.0, then 100."""
    registration_waits_for_old_session: Annotated[
        bool, Gate(until="0.8.2", source="ZkUtils.createEphemeralPathExpectConflictHandleZKBug")
    ]
    """A broker whose znode of an earlier session still exists retries.

    It waits for zookeeper.session.timeout.ms first.
    """
    halts_when_stopped_while_starting: Annotated[bool, Gate(since="0.9", source="semantics 3")]
    """SIGTERM before the registration ends a broker immediately, as a kill does."""
    registration_retries_node_exists: Annotated[
        bool, Gate(since="2.2", source="KafkaZkClient.CheckedEphemeral.reCreate; KAFKA-7165")
    ]
    """A broker replaces its own stale ephemeral of an earlier session."""
    batched_controller_writes: Annotated[
        bool, Gate(since="1.1", source="PartitionStateMachine.doElectLeaderForPartitions")
    ]
    """The controller reads and writes states in pipelined batches."""
    failure_waits_for_sender_thread: Annotated[
        bool, Gate(since="0.10.2", until="2.0.1", source="ControllerChannelManager.removeExistingBroker; KAFKA-4959")
    ]
    """Removing a dead broker waits for its blocked sender thread.

    Semantics 11.13 observed it on 0.10.2. 2.1 closes the sender's client first; 0.8.2 interrupts the thread.
    """
    registers_rack: Annotated[bool, Gate(since="0.10.0", source="ZkUtils.registerBrokerInZk; KIP-36")]
    """A broker registers its rack, here its AZ, which places replicas.

    (semantics 4.4)
    """
    config_change_form: Annotated[
        int, Gate(steps=(("0.8.2", 0), ("0.10.1", 2)), source="AdminUtils.changeEntityConfig")
    ]
    """Form of a topic configuration's notification: 0 its name (0.8.2), 1 (0.9), 2 (0.10.1+)."""
    settings_change_while_running: Annotated[bool, Gate(since="1.1", source="DynamicBrokerConfig; KIP-226")]
    """Some broker settings can be altered at run time."""
    topic_config_lost_on_reload: Annotated[
        bool, Gate(until="2.3", source="DynamicLogConfig.reconfigure, Log.updateConfig; KAFKA-9254")
    ]
    """A change of broker settings makes a log forget its topic's overrides.

    The next change overrides them, too.
    """
    keeps_flush_ms_that_was_removed: Annotated[
        bool, Gate(until="2.5", source="DynamicLogConfig.reconfigure; KAFKA-10268")
    ]
    """A removed log.flush.interval.ms stays in force until the broker restarts."""
    unknown_topics_have_no_settings: Annotated[bool, Gate(since="2.0.0", source="AdminManager.describeConfigs")]
    """DescribeConfigs of a missing topic returns 3.

    Before, the settings of any topic.
    """
    no_names_mean_all_settings: Annotated[bool, Gate(since="2.7", source="AdminManager.describeConfigs")]
    """DescribeConfigs with an empty list of settings returns all; before, none."""
    altered_by_synonym: Annotated[bool, Gate(until="2.5", source="AdminManager.createBrokerConfigEntry")]
    """A setting with an alterable synonym is not read-only in DescribeConfigs."""
    names_settings_without_value: Annotated[bool, Gate(since="2.6", source="AdminManager.alterConfigs")]
    """A null in AlterConfigs returns 42 with its setting's name; before, -1."""
    altered_topics_are_looked_for: Annotated[bool, Gate(since="2.7", source="AdminZkClient.validateTopicConfig")]
    """AlterConfigs of a missing topic returns 3; before, -1."""
    reports_unneeded_elections: Annotated[
        bool, Gate(since="2.4", source="KafkaController.processReplicaLeaderElection; KIP-460")
    ]
    """ElectLeaders returns 84 if the preferred leader already leads.

    Before, success.
    """
    enables_unclean_election_of_all_at_once: Annotated[
        bool, Gate(since="2.0.0", source="DynamicLogConfig.reconfigure; KAFKA-6526")
    ]
    """Enabling unclean election for the controller's broker elects all missing leaders."""
    enables_unclean_election_at_once: Annotated[
        bool, Gate(since="2.1", source="KafkaController.TopicUncleanLeaderElectionEnable; KAFKA-6911")
    ]
    """Enabling a topic's unclean election elects its leaders immediately."""
    resigns_in_every_session: Annotated[
        bool, Gate(until="0.10.1", source="SessionExpirationListener.handleNewSession; KAFKA-4229")
    ]
    """A controller resigns in each new session.

    Also where it has been elected in that session already. Then no controller acts, although `/controller` names it.
    0.8.2, where leaders are balanced: a broker that is not controller fails to resign, and is elected once it has
    registered.
    """
    deposed_controller_goes_on: Annotated[
        bool, Gate(until="0.8.2", source="ZookeeperLeaderElector.LeaderChangeListener; KAFKA-2437")
    ]
    """A controller does not resign when `/controller` names another one."""
    ephemerals_end_with_session: Annotated[bool, Gate(since="0.9", until="1.0", source="ZKCheckedEphemeral.create")]
    """An ephemeral is created in its call's session or not at all.

    `/controller` and a broker's znode (ZKCheckedEphemeral); all other calls are retried in the next session. An
    election that fails so deletes `/controller`, whatever its owner; a process whose first registration fails ends.
    """
    registers_before_election: Annotated[bool, Gate(since="1.1", source="KafkaController.RegisterBrokerAndReelect")]
    """A broker registers, then its controller tries to be elected; before, vice versa."""
    metadata_refuses_invalid_names: Annotated[bool, Gate(since="2.8", source="KafkaApis.getTopicMetadata")]
    """Metadata of an invalid topic name returns 17; before 3."""
    broker_loggers: Annotated[bool, Gate(since="2.4", source="AdminManager.describeConfigs, BROKER_LOGGER; KIP-412")]
    """Levels of a broker's loggers are described and altered like settings."""
    serves_after_registration: Annotated[
        bool, Gate(since="1.0", source="KafkaServer.startup, SocketServer.startProcessors")
    ]
    """A broker reads clients' requests after its registration; before, immediately."""
    registers_beside_controller: Annotated[
        bool, Gate(since="0.11", until="1.0", source="KafkaHealthcheck.SessionExpireListener; KAFKA-5028")
    ]
    """In a new session a broker registers immediately.

    Its controller's thread may be busy. Before, it registers after its attempt to be elected, on the same thread.
    """
    offline_leaders_by_liveness: Annotated[bool, Gate(since="1.0", source="KafkaController.onReplicasBecomeOffline")]
    """A leader of -1 counts as offline when brokers fail.

    Before, only leaders on the failed brokers.
    """
    watches_isr_changes: Annotated[bool, Gate(since="0.9", source="IsrChangeNotificationListener; KAFKA-1367")]
    """The controller watches `/isr_change_notification`.

    Brokers create the path.
    """
    deletes_old_notifications: Annotated[bool, Gate(since="1.1", source="semantics 4.1")]
    """A new controller deletes earlier notifications (semantics 4.1).

    1.0: only those of failed log directories.
    """
    preferred_election_moves_leader_to_itself: Annotated[
        bool, Gate(since="1.1", until="2.1", source="KafkaController.PreferredReplicaLeaderElection")
    ]
    """A requested preferred election raises the epoch even without a change."""
    metadata_updates_brokers_only: Annotated[
        bool, Gate(since="2.2", source="KafkaController.onBrokerStartup, addUpdateMetadataRequestForBrokers")
    ]
    """UpdateMetadata may carry only the live brokers.

    Before, an empty list of partitions meant all of them.
    """
    metadata_repeats_deletions: Annotated[
        bool, Gate(until="1.1", source="ControllerBrokerRequestBatch.addUpdateMetadataRequestForBrokers")
    ]
    """Every UpdateMetadata includes all partitions under deletion (leader -2).

    Later, only one about these partitions.
    """
    watches_created_reassignments_only: Annotated[bool, Gate(since="1.1", source="semantics 4.4")]
    """The controller reads `/admin/reassign_partitions` when it is created.

    And after its own deletion of it; before, at each change, for moves that have not begun.
    """
    new_replicas_flagged_immediately: Annotated[bool, Gate(since="2.7", source="semantics 4.4")]
    """A reassignment's first LeaderAndIsr marks added replicas as new (isNew).

    Before, only the next does, too late: a broker that lost a log directory then counts them as offline.
    """
    successor_gives_up_moves_of_deleted_topics: Annotated[bool, Gate(since="1.1", source="semantics 4.4")]
    """A new controller begins no reassignment of a topic under deletion.

    Before, it does, and the deletion waits for it.
    """
    topic_znode_keeps_reassignment: Annotated[bool, Gate(since="2.4", source="KIP-455")]
    """`/brokers/topics/T` lists the replicas being added and removed."""
    leader_and_isr_version: Annotated[
        int,
        Gate(
            by="protocol",
            steps=(("0.8.2", 0), ("1.0", 1), ("2.2", 2), ("2.4", 4), ("3.2", 6), ("3.4", 7)),
            source="ControllerBrokerRequestBatch.sendRequestsToBrokers",
        ),
    ]
    """Version of the controller's LEADER_AND_ISR (IBP).

    2 and later carry the broker epoch. Not 2.8's 5, which adds topic ids. 6 and 7 have the same content here.
    """
    update_metadata_version: Annotated[
        int,
        Gate(
            by="protocol",
            steps=(("0.8.2", 0), ("0.10.2", 3), ("1.0", 4), ("2.2", 5), ("2.4", 6), ("3.4", 8)),
            source="ControllerBrokerRequestBatch.sendRequestsToBrokers",
        ),
    ]
    """Version of the controller's UPDATE_METADATA (IBP).

    5 and later carry the broker epoch. Not 2.8's 7, which adds topic ids. 8 has the same content here.
    """
    stop_replica_version: Annotated[
        int,
        Gate(
            by="protocol",
            steps=(("0.8.2", 0), ("2.2", 1), ("2.4", 2), ("2.6", 3), ("3.4", 4)),
            source="ControllerBrokerRequestBatch.sendRequestsToBrokers",
        ),
    ]
    """Version of the controller's STOP_REPLICA (IBP).

    1 and later carry the broker epoch, 3 leader epochs.
    """
    metadata_keeps_isr_without_leader: Annotated[bool, Gate(since="2.4", source="semantics 11.12")]
    """Metadata of a partition without a live leader have the real ISR.

    Before, an empty one (semantics 11.12).
    """
    metadata_takes_itself_for_leader: Annotated[
        bool, Gate(since="2.0.0", until="2.6", source="MetadataCache.getPartitionMetadata; KAFKA-10312")
    ]
    """Metadata 6 and later name a missing listener where a leader is not alive."""
    metadata_has_leader_epoch: Annotated[bool, Gate(since="2.1", source="MetadataCache.getPartitionMetadata")]
    """Metadata responses carry leader epochs (Metadata v7, KIP-320)."""
    metadata_has_epoch_without_leader: Annotated[bool, Gate(since="2.5", source="semantics 11.12")]
    """Also of a partition without a known live leader."""
    metadata_epochs_reliable: Annotated[bool, Gate(since="2.4", source="semantics 6")]
    """Metadata v9: clients from 2.4 on trust the epochs in this broker's metadata.

    Not those of older brokers.
    """
    unknown_replica_answers_not_leader: Annotated[
        bool, Gate(since="2.0.0", source="ReplicaManager.getPartitionAndLeaderReplicaIfLocal")
    ]
    """A broker without a replica of a known partition returns 6; before, 3.

    (semantics 11.12)
    """
    unknown_replica_answers_epochs_not_leader: Annotated[
        bool, Gate(since="2.1", source="ReplicaManager.lastOffsetForLeaderEpoch")
    ]
    """Also to a request for an epoch's end."""

    # --- clients and names ---
    idempotence: Annotated[bool, Gate(since="0.11", by="protocol", source="KIP-98")]
    """Idempotent producers."""
    remembered_batches: Annotated[int, Gate(steps=(("0.8.2", 1), ("1.0", 5)), source="semantics 6")]
    """Number of batches remembered per producer: 1 in 0.11, 5 from 1.0."""
    unknown_producer_accepted: Annotated[bool, Gate(since="2.5", source="KIP-360")]
    """An unknown producer may start at any sequence."""
    unknown_producer_named: Annotated[bool, Gate(since="1.0", source="semantics 6")]
    """An unknown producer with another start returns 59; in 0.11 45, like any gap."""
    old_consumer: Annotated[bool, Gate(until="1.1", source="ZookeeperConsumerConnector")]
    """The consumer with its offsets in the session service (removed in 2.0)."""
    group_coordinator: Annotated[bool, Gate(since="0.9", source="GroupCoordinator")]
    """Offsets are committed to a coordinator.

    0.8.2 supports that too, with its own manager, which is not modelled.
    """
    offset_commit_value_version: Annotated[
        int,
        Gate(by="protocol", steps=(("0.8.2", 1), ("2.1", 3)), source="GroupMetadataManager.offsetCommitValue; KIP-320"),
    ]
    """Layout of a committed offset's record (IBP).

    1 until 2.0, 3 from 2.1, which has a leader epoch.
    """
    group_metadata_value_version: Annotated[
        int,
        Gate(
            by="protocol",
            steps=(("0.8.2", 1), ("2.1", 2), ("2.3", 3)),
            source="GroupMetadataManager.groupMetadataValue; KIP-345",
        ),
    ]
    """Layout of a group's record (IBP).

    1 until 2.0, 2 from 2.1 (KIP-211), 3 from 2.3, which has static members.
    """
    loading_coordinator_reports_loading: Annotated[
        bool, Gate(since="2.0.0", source="GroupCoordinator.validateGroupStatus")
    ]
    """A coordinator that loads its partition returns 14; before, 16 (no coordinator)."""
    offsets_loaded_to_log_end: Annotated[bool, Gate(since="0.11", source="GroupMetadataManager.loadGroupsAndOffsets")]
    """A new coordinator loads its partition to the log end.

    Before, to the high watermark of that moment.
    """
    offsets_topic_needs_all_brokers: Annotated[
        bool, Gate(since="0.11", source="KafkaApis.createInternalTopic; KIP-115")
    ]
    """The offsets topic is never created with too few replicas."""
    first_rebalance_waits: Annotated[bool, Gate(since="0.11", source="InitialDelayedJoin; KIP-134")]
    """The first rebalance of an empty group waits for more members."""
    new_members_are_named_first: Annotated[
        bool, Gate(since="2.2", source="GroupCoordinator.doUnknownJoinGroup; KIP-394")
    ]
    """A new member first receives its id, and joins with it."""
    new_members_wait_at_most_five_minutes: Annotated[
        bool, Gate(since="2.1", source="GroupCoordinator.addMemberAndRebalance; KAFKA-7610")
    ]
    """A new member that has waited for others for five minutes is removed.

    It receives 25.
    """
    completing_rebalance_name: Annotated[bool, Gate(since="1.1", source="CompletingRebalance")]
    """A group whose leader assigns is in CompletingRebalance; before, AwaitingSync."""
    static_members: Annotated[bool, Gate(since="2.3", source="GroupMetadata.hasStaticMember; KIP-345")]
    """A member with a group.instance.id keeps its place when it returns."""
    refuses_static_members: Annotated[
        bool, Gate(since="2.3", and_within=Span(until="2.2", by="protocol"), source="KIP-345")
    ]
    """A group.instance.id returns 35."""
    full_groups_count_joining_members: Annotated[
        bool, Gate(since="2.6", source="GroupCoordinator.acceptJoiningMember; KAFKA-9885")
    ]
    """While a group is prepared, group.max.size counts joining members.

    Before, all members.
    """
    full_groups_forget_instances: Annotated[
        bool, Gate(since="2.3", until="2.7", source="GroupCoordinator.handleJoinGroup, removeStaticMember")
    ]
    """A static member that returns to a full group is not recognized."""
    static_rejoin_is_stored: Annotated[
        bool, Gate(since="2.6", source="GroupCoordinator.updateStaticMemberAndRebalance; KAFKA-10284")
    ]
    """The next coordinator knows the new id of a returned static member."""
    static_rejoin_while_assigning_rebalances: Annotated[
        bool, Gate(since="2.5", source="GroupCoordinator.updateStaticMemberAndRebalance; KAFKA-9801")
    ]
    """A static member that returns while the leader assigns rebalances.

    Before, the leader may assign to its old id.
    """
    unsynced_members_are_removed: Annotated[
        bool, Gate(since="2.8", source="GroupCoordinator.onExpirePendingSync; KAFKA-12890")
    ]
    """A member must request its assignment within the rebalance time-out."""
    commits_refused_while_assigning: Annotated[bool, Gate(until="2.3", source="GroupCoordinator.doCommitOffsets")]
    """While the leader assigns, every commit returns 27.

    Later, unknown members receive their own error.
    """
    heartbeats_while_assigning: Annotated[
        bool, Gate(since="2.6", source="GroupCoordinator.handleHeartbeat; KAFKA-10134")
    ]
    """A heartbeat while the leader assigns is ordinary; before, 27."""
    consumer_epoch_validation: Annotated[bool, Gate(since="2.3", source="Fetcher.validateOffsetsIfNeeded")]
    """Consumers detect truncation (KIP-320, OFFSET_FOR_LEADER_EPOCH v3)."""
    client_ignores_older_epochs: Annotated[bool, Gate(since="2.2", source="Metadata.lastSeenLeaderEpochs")]
    """Clients ignore metadata of an older leader epoch than the newest known (Metadata)."""
    metadata_without_epoch_forgets_all: Annotated[
        bool, Gate(since="2.2", until="2.2", source="Metadata.updatePartitionInfo")
    ]
    """Metadata of a partition without an epoch make a client forget all epochs.

    Later, only that partition's.
    """
    ignored_metadata_hides_leader: Annotated[
        bool, Gate(since="2.2", until="2.3", source="Metadata.updatePartitionInfo, partitionInfoIfCurrent")
    ]
    """A consumer that ignored older metadata has no leader until newer ones arrive."""
    first_epoch_may_come_with_an_offset: Annotated[
        bool, Gate(since="2.2", until="2.4", source="Metadata.updateLastSeenEpoch")
    ]
    """An epoch with a committed or listed offset counts without one in metadata."""
    client_needs_reliable_epochs: Annotated[bool, Gate(since="2.4", source="semantics 6")]
    """Epochs in metadata of a broker before 2.4 count as absent."""
    client_knows_topic_ids: Annotated[bool, Gate(since="2.8", source="KAFKA-12257")]
    """Epochs of a deleted topic do not hold for a new one of the same name."""
    client_ignores_failures_of_old_epochs: Annotated[bool, Gate(since="2.5", until="2.6", source="semantics 6")]
    """A batch of a past producer epoch that fails for good raises no new epoch.

    Later, it does.
    """
    client_numbers_idle_partitions_on: Annotated[bool, Gate(since="2.5", until="2.6", source="KAFKA-12152")]
    """An idle partition continues its sequence numbers in a new epoch.

    Another partition has raised the epoch; later, the numbers begin at 0.
    """
    client_gives_what_precedes_damage: Annotated[bool, Gate(since="0.11", source="semantics 6")]
    """A consumer returns records before a damaged batch.

    In 0.10.2 the damage fails the whole response.
    """
    client_reports_truncation: Annotated[bool, Gate(since="2.6", source="semantics 6")]
    """Without a reset policy poll() throws LogTruncationException.

    In 2.3 to 2.5 that exception is lost.
    """
    client_batches_expire: Annotated[bool, Gate(since="0.9", source="KIP-19")]
    """An unsendable batch expires; in 0.8.2 it waits."""
    client_prefers_connected_brokers: Annotated[bool, Gate(since="2.3", source="NetworkClient.leastLoadedNode")]
    """A client sends requests for any broker to a connected one with capacity.

    Before, to an unconnected one rather than a busy one.
    """
    client_connects_to_least_recent: Annotated[bool, Gate(since="2.7", source="semantics 6")]
    """Of unconnected brokers a client chooses the least recently tried.

    Before, any of them.
    """
    client_pause_counts_from_attempt: Annotated[bool, Gate(until="0.8.2", source="semantics 6")]
    """reconnect.backoff.ms counts from the start of connecting.

    Later, from the loss of the connection.
    """
    client_pauses_grow: Annotated[bool, Gate(since="1.0", source="ClusterConnectionStates.connecting; KIP-144")]
    """Pauses before reconnecting grow up to reconnect.backoff.max.ms.

    In 0.11 each attempt resets the pause; earlier versions have no such setting.
    """
    client_disconnects_lost_coordinator: Annotated[
        bool, Gate(since="1.0", source="AbstractCoordinator.markCoordinatorUnknown")
    ]
    """A consumer that gives up its coordinator closes the connection and its requests.

    Before, the connection stays, and is reused if the next lookup returns the same broker.
    """
    client_join_waits_for_rebalance: Annotated[
        bool, Gate(since="2.0.0", source="AbstractCoordinator.sendJoinGroupRequest")
    ]
    """A consumer waits for a JoinGroup response as long as a rebalance may take.

    Before, as long as for any response.
    """
    client_retries_commits_to_unknown_topics: Annotated[
        bool, Gate(since="2.0.0", source="ConsumerCoordinator.OffsetCommitResponseHandler")
    ]
    """A commit that returns 3 is retried; before, it fails."""
    client_stays_member_when_commit_meets_rebalance: Annotated[
        bool, Gate(since="2.4", source="ConsumerCoordinator.OffsetCommitResponseHandler")
    ]
    """A member whose commit returns 27 rejoins with its id; before, as a new member."""
    client_reports_lost_partitions: Annotated[
        bool, Gate(since="2.4", source="ConsumerCoordinator.onJoinPrepare; KIP-429")
    ]
    """Partitions of a removed member are lost; before, revoked as usual."""
    client_reads_while_it_joins: Annotated[bool, Gate(since="2.5", source="semantics 6")]
    """poll() also returns records while the consumer joins its group.

    While the coordinator is unknown, other members are awaited, or committed offsets are read; before, none.
    """
    client_resets_block_poll: Annotated[bool, Gate(since="0.9", until="1.0", source="semantics 6")]
    """poll() returns and commits nothing during a lookup of a log's start or end.

    Later, partitions without such a lookup are read meanwhile.
    """
    client_heartbeats_while_rebalancing: Annotated[
        bool, Gate(since="2.6", source="AbstractCoordinator.JoinGroupResponseHandler")
    ]
    """A member sends heartbeats from its JoinGroup response on.

    Before, once it has its assignment.
    """
    client_ignores_refusals_of_old_generations: Annotated[
        bool, Gate(since="2.6", source="AbstractCoordinator.CoordinatorResponseHandler.generationUnchanged")
    ]
    """A member ignores errors for an earlier generation; before, they end its membership."""
    offset_not_available: Annotated[bool, Gate(since="2.2", source="Partition.fetchOffsetForTimestamp")]
    """ListOffsets answers 78 while the high watermark is below the leader epoch's start."""
    listed_offsets_have_epochs: Annotated[
        bool, Gate(since="2.2", source="Log.fetchOffsetByTimestamp, KafkaApis.handleListOffsetRequestV1AndAbove")
    ]
    """ListOffsets responses have leader epochs; 2.1 has an empty field (semantics 1.9)."""
    consumer_list_offsets_version: Annotated[
        int, Gate(steps=(("0.8.2", 4), ("2.2", 5)), source="ListOffsetRequest.schemaVersions")
    ]
    """Version of a consumer's LIST_OFFSETS.

    A consumer with 4 or less, which are alike here, receives 5 instead of 78.
    """
    not_leader_or_follower_name: Annotated[bool, Gate(since="2.6", source="Errors.NOT_LEADER_OR_FOLLOWER")]
    """Code 6 has its new name."""
    renames_deleted_logs: Annotated[bool, Gate(since="0.10.2", source="LogManager.asyncDelete; KAFKA-1911")]
    """The folder of a deleted log is renamed first, and its files are deleted later.

    Before, its files are deleted one by one (semantics 4.5).
    """
    removes_refused_deletions: Annotated[
        bool, Gate(since="0.10.2", source="PartitionStateMachine.DeleteTopicsListener; KAFKA-3175")
    ]
    """With `delete.topic.enable` off the controller removes the mark.

    Before, it stays until a controller may delete (semantics 4.5).
    """
    forgets_offsets_of_deleted_topics: Annotated[
        bool, Gate(since="0.10.2", source="GroupCoordinator.handleDeletedPartitions; KAFKA-2000")
    ]
    """Coordinators drop committed offsets of deleted partitions (semantics 6)."""
    delete_records: Annotated[bool, Gate(since="0.11", source="KafkaApis.handleDeleteRecordsRequest; KIP-107")]
    """DeleteRecords, and a log start that followers adopt from leaders."""
    deletes_records_before_policy: Annotated[bool, Gate(until="0.11", source="Partition.deleteRecordsOnLeader")]
    """Records are deleted, then the request fails, if `cleanup.policy` has no delete."""
    deleted_records_forget_producers: Annotated[
        bool, Gate(until="2.3", source="ProducerStateManager.truncateHead; KIP-360")
    ]
    """A producer whose last batch was deleted is unknown."""
    storage_failure_kills_broker: Annotated[
        bool, Gate(until="0.11", by="protocol", or_within=Span(metadata="kraft"), source="semantics 3")
    ]
    """A failed log directory stops the process.

    From 1.0 (KIP-112) only the last one does.
    """
    watches_log_dir_failures: Annotated[bool, Gate(since="1.0", source="KIP-112")]
    """The controller queries a broker that lost a log directory for replicas."""

    # --- transactions (semantics 12) ---
    transactions: Annotated[bool, Gate(since="0.11", by="format", source="KIP-98")]
    """Producers may be transactional; the broker has a transaction coordinator."""
    fetch_always_has_last_stable_offset: Annotated[
        bool, Gate(since="2.1", source="ReplicaManager.readFromLocalLog; Partition.readRecords")
    ]
    """A Fetch response has the last stable offset at either isolation level.

    Before, at read_committed alone.
    """
    end_txn_needs_equal_epoch: Annotated[
        bool, Gate(since="2.6", source="TransactionCoordinator.endTransaction; KAFKA-9600")
    ]
    """EndTxn with a newer epoch than the coordinator's is fenced.

    Before, only one with an older epoch.
    """
    failed_fence_keeps_epoch: Annotated[
        bool, Gate(since="2.6", source="TransactionMetadata.hasFailedEpochFence; KAFKA-9666")
    ]
    """A fence whose append failed is repeated with the same epoch."""
    producers_raise_own_epoch: Annotated[
        bool, Gate(since="2.5", source="TransactionCoordinator.handleInitProducerId; KIP-360")
    ]
    """InitProducerId may name the producer's own id and epoch."""
    producer_fenced_named: Annotated[bool, Gate(since="2.7", source="KafkaApis.handleEndTxnRequest; KIP-588")]
    """Coordinators answer PRODUCER_FENCED to newer clients; before, INVALID_PRODUCER_EPOCH."""
    empty_transaction_has_index_entry: Annotated[
        bool, Gate(since="0.11", until="2.7", source="ProducerAppendInfo.appendEndTxnMarker; KAFKA-10702")
    ]
    """A marker without an open transaction counts as a transaction of its own offset."""
    producer_without_batches_unknown: Annotated[
        bool, Gate(since="2.0.1", until="2.4", source="ProducerAppendInfo.checkSequence; KAFKA-7298")
    ]
    """A sequence above 0 of a producer that left a marker alone is answered UNKNOWN_PRODUCER_ID."""
    unstable_offsets_refused: Annotated[
        bool, Gate(since="2.5", source="GroupMetadataManager.getOffsets; KIP-447")
    ]
    """OffsetFetch can refuse offsets that are part of an open transaction.

    Or of a commit under way.
    """
    marker_answer_waits_for_offsets: Annotated[
        bool, Gate(since="3.9", source="KafkaApis.handleWriteTxnMarkersRequest; KAFKA-17507")
    ]
    """Offsets of a transaction are visible before the coordinator's marker is answered.

    From 3.9.1 on. Before, a task makes them visible a moment later (KAFKA-6917).
    """
    transactions_verified: Annotated[
        bool, Gate(since="3.6", source="ReplicaManager.appendRecords, AddPartitionsToTxnManager; KIP-890")
    ]
    """A leader verifies with the coordinator that its partition is part of the transaction."""
    offset_commits_verified: Annotated[
        bool, Gate(since="3.7", source="GroupCoordinator.handleTxnCommitOffsets; KAFKA-15449")
    ]
    """A group's coordinator verifies in the same way."""
    transaction_abortable_named: Annotated[
        bool, Gate(since="3.8", source="TransactionCoordinator.handleVerifyPartitionsInTransaction; KIP-1050")
    ]
    """A partition that is not in the transaction is answered TRANSACTION_ABORTABLE.

    Before, INVALID_TXN_STATE.
    """
    transaction_version: Annotated[
        int, Gate(steps=(("0.8.2", 0), ("4.0", 2)), source="TransactionVersion, Feature.TRANSACTION_VERSION; KIP-890")
    ]
    """Finalized feature `transaction.version`, as the storage tool sets it.

    With 2 each end raises the producer's epoch, and leaders add partitions to transactions.
    """
    pending_transition_checked_first: Annotated[
        bool, Gate(since="4.0", source="TransactionCoordinator.endTransaction; KAFKA-18660")
    ]
    """A coordinator answers CONCURRENT_TRANSACTIONS before it compares producer ids and epochs."""
    client_aborts_after_older_epoch: Annotated[
        bool, Gate(since="2.7", source="TransactionManager.maybeTransitionToErrorState; KIP-588")
    ]
    """A batch refused as of an older epoch needs an abort; before, it fences the producer."""
    client_retries_coordinator_appends: Annotated[
        bool, Gate(since="3.3", source="TransactionManager.EndTxnHandler; KAFKA-14417")
    ]
    """A transactional producer repeats a request after any retriable error.

    From 3.3.2 on. Before, an error of the coordinator's append is fatal.
    """
    client_knows_abortable_transactions: Annotated[
        bool, Gate(since="3.8", source="TransactionManager; KIP-1050")
    ]
    """TRANSACTION_ABORTABLE needs an abort. Before, no broker sends it."""
    client_renews_unknown_mapping: Annotated[
        bool, Gate(since="2.5", until="3.9", source="TransactionManager.beginCompletingTransaction; KIP-1050")
    ]
    """After INVALID_PRODUCER_ID_MAPPING an abort requests another producer id, without EndTxn.

    Before and later the error is fatal.
    """
    client_bounded_transaction_calls: Annotated[
        int,
        Gate(steps=(("0.8.2", 0), ("2.0.0", 1), ("2.3", 2), ("2.7", 3)), source="KafkaProducer; KAFKA-6446"),
    ]
    """Calls that end after `max.block.ms`.

    1: initTransactions; 2: also commit and abort; 3: also sendOffsetsToTransaction.
    """
    client_names_group_in_transactions: Annotated[bool, Gate(since="2.5", source="KafkaProducer; KIP-447")]
    """A producer can send the consumer's generation and member with its offsets."""
    client_requests_stable_offsets: Annotated[
        bool, Gate(since="2.5", source="ConsumerCoordinator.sendOffsetFetchRequest; KIP-447")
    ]
    """A consumer waits for open transactions when it looks up committed offsets."""
    producer_ids_from_controller: Annotated[
        bool, Gate(since="3.0", metadata="kraft", source="RPCProducerIdManager; KIP-730")
    ]
    """A broker requests blocks of producer ids from the controller."""
    missing_producer_ids_refused: Annotated[
        bool, Gate(since="3.6", metadata="kraft", source="RPCProducerIdManager.generateProducerId; KAFKA-14694")
    ]
    """Without a producer id InitProducerId fails at once.

    Before, its handler waits for the block.
    """

    # --- controller: errors of Kafka's that a later release mended, or that came with one (semantics 8) ---
    disabled_deletions_reported: Annotated[
        bool, Gate(until="0.10.1", source="TopicDeletionManager.partitionsToBeDeleted; KAFKA-3175")
    ]
    """A new controller reports marked topics with leader -2.

    Even with `delete.topic.enable` off.
    """
    growth_while_deleted_taken_back: Annotated[
        bool, Gate(since="2.0.0", source="KafkaController.PartitionModifications; KAFKA-6612")
    ]
    """Partitions added to a topic under deletion are removed from its znode.

    Before, they are ignored until a controller takes over.
    """
    leaders_balanced_one_by_one: Annotated[
        bool, Gate(until="2.0.0", source="KafkaController.checkAndTriggerAutoLeaderRebalance; KAFKA-7299")
    ]
    """The leader balance elects partition by partition.

    Each election has its own requests.
    """
    balance_goes_by_remembered_isr: Annotated[
        bool, Gate(since="2.6", source="KafkaController.canPreferredReplicaBeLeader; KAFKA-9866")
    ]
    """The leader balance skips preferred replicas outside the cached ISR.

    Before, it tries, and the ISR in ZooKeeper decides.
    """
    shutdown_moves_one_by_one: Annotated[
        bool, Gate(until="1.0", source="KafkaController.doControlledShutdown; KAFKA-5642")
    ]
    """A controlled shutdown moves partition by partition.

    Each move has its own requests.
    """
    reassignments_not_preempted: Annotated[bool, Gate(until="2.6", source="KafkaController.preempt; KAFKA-10193")]
    """A queued reassignment request gets no response after an expiry."""
    metadata_sent_after_taking_over: Annotated[
        bool, Gate(until="0.10.1", source="KafkaController.onControllerFailover; KAFKA-4443")
    ]
    """A new controller sends its first UpdateMetadata last.

    After all LeaderAndIsr.
    """
    metadata_needs_partitions: Annotated[
        bool, Gate(until="0.8.2", source="ControllerBrokerRequestBatch.addUpdateMetadataRequestForBrokers; KAFKA-1867")
    ]
    """An UpdateMetadata without partitions is not sent.

    So no broker learns the live brokers before the first leader exists.
    """
    failed_reassignment_given_up: Annotated[
        bool, Gate(until="2.3", source="KafkaController.maybeTriggerPartitionReassignment; KAFKA-9089")
    ]
    """A failed reassignment leaves `/admin/reassign_partitions`.

    Its moves stay half-done. From 2.4 on it stays in progress, and continues when a broker of its target starts.
    """
    unled_replicas_stay_online: Annotated[
        bool,
        Gate(
            until="0.8.2", or_within=Span(since="1.1", until="1.1"),
            source="ReplicaStateMachine.doHandleStateChanges, OfflineReplica; KAFKA-2937; KAFKA-6650",
        ),
    ]
    """A replica of a partition that never had a leader cannot go offline.

    So its topic is never deleted.
    """

    # --- errors of brokers that a later release mended (binary; semantics 8, docs/kafka-fixes-brokers.md) ---
    large_batch_stops_loading: Annotated[
        bool, Gate(until="2.0.0", source="GroupMetadataManager.doLoadGroupsAndOffsets; KAFKA-7286")
    ]
    """A batch above the load buffer's size keeps a coordinator loading until it resigns."""
    new_log_tries_next_directory: Annotated[bool, Gate(since="2.4", source="LogManager.getOrCreateLog; KAFKA-8526")]
    """A new log whose folder cannot be made is made in the next log directory."""
    newer_broker_epoch_fails_orders: Annotated[
        bool, Gate(since="2.2", until="2.4", source="KafkaApis.isBrokerEpochStale; KAFKA-9839")
    ]
    """An order with a broker epoch that the broker does not know yet fails with -1.

    The response to its registration is pending.
    """
    long_names_fail_deletion: Annotated[
        bool, Gate(since="0.10.2", until="2.1", source="Log.logDeleteDirName; KAFKA-4893")
    ]
    """A long topic name makes the deletion of its log fail.

    The renamed folder's name would exceed 255 characters.
    """
    failed_deletion_fails_directory: Annotated[bool, Gate(since="1.0", source="LogManager.asyncDelete")]
    """A log that cannot be deleted takes its log directory offline.

    Before, the order fails with -1, and the log stays on disk, unknown to the broker.
    """
    refused_deletion_forgets_offline: Annotated[
        bool, Gate(since="1.1", until="2.0.1", source="ReplicaManager.stopReplica; KAFKA-7313")
    ]
    """A refused deletion makes a broker forget an offline replica.

    So the next order to delete it succeeds.
    """
    removed_partition_ends_fetcher: Annotated[
        bool, Gate(since="2.1", until="2.1", source="AbstractFetcherThread.truncateToHighWatermark; KAFKA-8012")
    ]
    """Removing a partition without epochs can end its fetcher's thread.

    During the fetcher's epoch request for others.
    """
    failing_directory_ends_start: Annotated[
        bool, Gate(since="1.0", until="1.1", source="LogManager.createAndValidateLogDirs; KAFKA-6697")
    ]
    """A broker that starts with a failing disk ends.

    Even with other log directories; later it starts without that one.
    """
    failed_flush_ends_close: Annotated[bool, Gate(until="2.7", source="LogManager.shutdown; KAFKA-10723")]
    """A log directory that cannot be flushed prevents others' markers.

    At a clean stop.
    """
    marker_deleted_before_loading: Annotated[bool, Gate(since="2.8", source="LogManager.loadLogs; KAFKA-10471")]
    """A start deletes the clean-shutdown marker before it loads logs.

    So an interrupted start counts as unclean; before, the marker is deleted afterwards.
    """
    unassigned_isr_member_ends_check: Annotated[
        bool, Gate(since="2.4", until="2.8", source="Partition.isFollowerOutOfSync; KAFKA-9672")
    ]
    """An unassigned replica in an ISR ends a run of isr-expiration.

    Up to 2.3 its leader removes that replica when it lags.
    """
    unassigned_isr_member_removed: Annotated[
        bool, Gate(since="3.0", source="Partition.isFollowerOutOfSync; KAFKA-9672")
    ]
    """The next run of isr-expiration removes an unassigned replica, whether it lags or not."""
    failure_unreported_while_leaderless: Annotated[
        bool, Gate(until="3.0", source="KafkaController.onReplicasBecomeOffline; KAFKA-13225")
    ]
    """While a partition has no leader, failures of brokers without replicas stay unknown.

    The controller leaves UpdateMetadata to an election, which changes nothing.
    """
    reassignment_stops_balance: Annotated[
        bool, Gate(until="3.3", source="KafkaController.checkAndTriggerAutoLeaderRebalance; KAFKA-10149")
    ]
    """The leader balance does nothing while any partition is being reassigned."""
    reassignment_epoch_not_remembered: Annotated[
        bool, Gate(until="2.3", source="KafkaController.updateLeaderEpoch; KAFKA-9212")
    ]
    """The controller forgets the leader epoch of a reassignment's step.

    UpdateMetadata reports the one before, and consumers with epochs are fenced.
    """
    leader_and_isr_skips_leaving_leader: Annotated[
        bool, Gate(since="1.1", until="2.0.1", source="PartitionStateMachine.leaderForControlledShutdown; KAFKA-7482")
    ]
    """A controlled shutdown's LeaderAndIsr omits stopping brokers.

    The old leader accepts writes until its process ends.
    """
    reelected_controller_repeats_reassignments: Annotated[
        bool, Gate(until="0.10.2", source="ControllerContext.partitionsBeingReassigned; KAFKA-5310")
    ]
    """A controller keeps reassignments in progress when it resigns.

    Elected again, it begins them once more, in any state.
    """
    unsent_batch_stays: Annotated[
        bool, Gate(since="2.1", source="ReplicaStateMachine.handleStateChanges, ControllerBrokerRequestBatch.newBatch")
    ]
    """A request batch left unsent by ControllerMovedException is never emptied.

    When the same process is elected again, its state machine fails at each change.
    """

    # --- KRaft (kraft-semantics 3 to 9) ---
    metadata_from_image: Annotated[
        bool, Gate(metadata="kraft", source="KRaftMetadataCache, BrokerMetadataPublisher; KIP-500")
    ]
    """The broker reads the metadata log, and responds from its image of it.

    The controller of a response is a random unfenced broker; fenced replicas are offline.
    """
    isr_change_may_be_invalid: Annotated[
        bool, Gate(metadata="kraft", since="3.3", source="Partition.handleAlterPartitionError; KAFKA-14154")
    ]
    """After INVALID_REQUEST or NEW_LEADER_ELECTED an ISR change stays pending."""
    isr_members_checked_by_broker_epoch: Annotated[
        bool, Gate(metadata="kraft", since="3.5", source="Partition.isBrokerEpochIsrEligible; KIP-903")
    ]
    """A replica joins the ISR only with the broker epoch that the image has of its broker.

    A leader sends the epochs of the ISR's members to the controller.
    """
    stale_broker_epoch_fails_fetch: Annotated[
        bool, Gate(metadata="kraft", since="3.7", source="Replica.updateFetchStateOrThrow; KAFKA-15221")
    ]
    """A fetch with an older broker epoch than the image's gets NOT_LEADER_OR_FOLLOWER."""
    serves_after_unfenced: Annotated[
        bool, Gate(metadata="kraft", since="3.5", source="BrokerServer.startup; SocketServer.enableRequestProcessing")
    ]
    """A starting broker accepts connections once it is unfenced; before, when it asks to be."""
    publishes_before_registered: Annotated[
        bool, Gate(metadata="kraft", since="3.5", source="BrokerServer.startup, installPublishers; MetadataLoader")
    ]
    """A starting broker loads its logs and fetches once it has read up to the high watermark.

    A former life's registration may still be unfenced: then it can join an ISR before its own registration. Before 3.5
    it waits until it is registered and caught up.
    """
    marker_has_broker_epoch: Annotated[
        bool, Gate(metadata="kraft", since="3.7", source="CleanShutdownFileHandler; KIP-966")
    ]
    """The marker of a clean stop has the broker's epoch, which the next registration repeats."""
    heartbeat_retries_for_interval: Annotated[
        bool, Gate(metadata="kraft", since="3.9", source="BrokerServer.startup, lifecycleManager")
    ]
    """A heartbeat is retried for broker.heartbeat.interval.ms.

    After an error it is sent again after that interval. From 3.9.1 on, except 4.0.0. Before, it is retried for half of
    the session timeout, and the pause after an error grows from 100 ms to the session timeout.
    """

    # --- quorum of KRaft (docs/kraft-quorum.md) ---
    pre_vote: Annotated[
        bool,
        Gate(
            metadata="kraft", since="4.0",
            source="KafkaRaftClient.pollProspective; QuorumState.transitionToProspective; KIP-996",
        ),
    ]
    """A voter first requests votes without a new epoch.

    A rejected candidate does not back off.
    """
    check_quorum: Annotated[
        bool, Gate(metadata="kraft", since="3.7", source="LeaderState.timeUntilCheckQuorumExpires; KAFKA-15489")
    ]
    """A leader without fetches of a majority resigns."""
    voted_is_a_state: Annotated[bool, Gate(metadata="kraft", until="3.8", source="VotedState")]
    """An unattached voter that has voted is called Voted."""
    begins_until_acknowledged: Annotated[
        bool, Gate(metadata="kraft", until="3.8", source="LeaderState.nonAcknowledgingVoters")
    ]
    """BeginQuorumEpoch is repeated until each voter has acknowledged it; later, periodically."""
    begins_to_silent_voters_only: Annotated[
        bool, Gate(metadata="kraft", since="4.2", source="LeaderState.needToSendBeginQuorumRequests")
    ]
    """The periodic BeginQuorumEpoch goes only to voters that have not fetched within a period."""
    voters_probe: Annotated[
        bool,
        Gate(
            metadata="kraft", since="3.9",
            source="KafkaRaftClient.maybeSendFetchToBestNode, pollUnattachedCommon",
        ),
    ]
    """A voter fetches from a random voter while its leader is unknown, backs off or times out."""
    high_watermark_completes_fetches: Annotated[
        bool, Gate(metadata="kraft", since="4.1", source="KafkaRaftClient.onUpdateLeaderHighWatermark; KIP-1166")
    ]
    """A higher high watermark completes parked fetches."""
    leads_after_change_record: Annotated[
        bool, Gate(metadata="kraft", since="3.6", source="ListenerContext.maybeFireLeaderChange")
    ]
    """The state machine learns of its leadership when it has read beyond the epoch's start."""
    resigned_is_notified: Annotated[
        bool, Gate(metadata="kraft", until="3.8", source="KafkaRaftClient.pollListeners; KAFKA-17333")
    ]
    """A restarted ex-leader is notified of its former leadership."""
    short_first_backoff: Annotated[
        bool, Gate(metadata="kraft", since="3.9", until="3.9", source="RaftUtil.binaryExponentialElectionBackoffMs")
    ]
    """A candidate's backoff counts in steps of 50 ms and has a jitter at its limit."""
    kraft_version_max: Annotated[
        int, Gate(steps=(("0.8.2", -1), ("3.9", 1)), source="KRaftVersion.LATEST_PRODUCTION; KIP-853")
    ]
    """Highest level of `kraft.version`: 1 has the voters in the log; -1: the feature is unknown."""
    observers_join: Annotated[
        bool, Gate(metadata="kraft", since="4.2", source="KafkaRaftClient.shouldSendAddOrRemoveVoterRequest")
    ]
    """An observer that is a controller asks to become a voter.

    With `controller.quorum.auto.join.enable`.
    """
    empty_replica_fetches_snapshot: Annotated[
        bool, Gate(metadata="kraft", since="3.6", source="KafkaRaftClient.tryCompleteFetchRequest")
    ]
    """A replica without records fetches the latest snapshot, even if the log has all records."""
    snapshots_by_time: Annotated[
        bool, Gate(metadata="kraft", since="3.4", source="SnapshotGenerator.publishLogDelta")
    ]
    """A node writes snapshots by time, too; before, by size alone.

    The time is `metadata.log.max.snapshot.interval.ms`.
    """

    # --- controller of KRaft (kraft-semantics 2 to 7) ---
    metadata_version: Annotated[
        int,
        Gate(
            steps=(
                ("0.8.2", 0), ("3.3", 7), ("3.4", 8), ("3.5", 11), ("3.6", 14), ("3.7", 19), ("3.8", 20), ("3.9", 21),
                ("4.0", 25), ("4.1", 27), ("4.2", 29), ("4.3", 30), ("4.4", 33),
            ),
            source="MetadataVersion.LATEST_PRODUCTION",
        ),
    ]
    """Level of `metadata.version` of a new cluster; 0: there is none."""
    elr_by_default: Annotated[
        bool, Gate(metadata="kraft", since="4.1", source="EligibleLeaderReplicasVersion.ELRV_1; KIP-966")
    ]
    """A new cluster enables eligible leader replicas."""
    min_isr_at_cluster_level: Annotated[
        bool, Gate(metadata="kraft", since="4.1", source="ActivationRecordsGenerator; ConfigurationControlManager")
    ]
    """With ELR, a claim writes `min.insync.replicas` of all brokers, for good."""
    elects_fenced_last_known_leader: Annotated[
        bool,
        Gate(
            metadata="kraft", since="4.0", until="4.0",
            source="PartitionChangeBuilder.canElectLastKnownLeader; KAFKA-19522",
        ),
    ]
    """The last known leader is elected even if it is fenced."""
    unclean_setting: Annotated[
        bool,
        Gate(
            metadata="kraft", since="3.9",
            source="ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic; KAFKA-12670",
        ),
    ]
    """`unclean.leader.election.enable` has an effect."""
    reassigned_replicas_all_in_isr: Annotated[
        bool,
        Gate(
            metadata="kraft", since="3.8",
            source="PartitionReassignmentReplicas.maybeCompleteReassignment; KAFKA-15665",
        ),
    ]
    """A reassignment completes when all remaining replicas are in the ISR.

    Before, when all added ones are.
    """
    sorted_isr: Annotated[bool, Gate(metadata="kraft", since="4.3", source="Partition.prepareIsrExpand, as recorded")]
    """A proposed ISR is stored by ascending id; before, joining replicas come last."""
    same_incarnation_keeps_epoch: Annotated[
        bool, Gate(metadata="kraft", since="3.9", source="ClusterControlManager.registerBroker; KAFKA-16952")
    ]
    """A registration that is sent again keeps the broker epoch."""
    new_incarnation_leaves_isrs: Annotated[
        bool, Gate(metadata="kraft", since="4.0", source="ReplicationControlManager.handleBrokerShutdown; KAFKA-18106")
    ]
    """A new incarnation leaves the ISRs of the one before.

    After an unclean stop also the ELRs.
    """
    sessions_by_epoch: Annotated[bool, Gate(metadata="kraft", since="4.0", source="BrokerHeartbeatTracker")]
    """A session is a contact time by broker and epoch, also of fenced brokers."""
    fenced_sessions_at_claim: Annotated[
        bool, Gate(metadata="kraft", since="4.0", until="4.0", source="ClusterControlManager.activate; KAFKA-19130")
    ]
    """A claim gives a session to fenced brokers, too."""
    periodic_tasks: Annotated[bool, Gate(metadata="kraft", since="4.0", source="PeriodicTaskControlManager")]
    """Tasks run at fixed periods; before, they are scheduled by what they find to do."""
    unclean_election_task: Annotated[
        bool, Gate(metadata="kraft", since="3.9", source="ReplicationControlManager.maybeElectUncleanLeaders")
    ]
    """A periodic task elects leaders of leaderless partitions uncleanly."""

    def understands(self, api_key: int, version: int) -> bool:
        """Whether this binary can read that version of another broker's request.

        A binary knows each up to the version that it sends by default, with its own inter.broker.protocol.version.
        Of AlterIsr the channel to the controller chooses a version that both know (ApiVersions).
        """
        newest = _understood(self.binary, self.metadata).get(api_key)
        return newest is None or version <= newest


@lru_cache(maxsize=64)
def _understood(binary: str, metadata: str) -> dict[int, int]:
    """{API key of requests among brokers: newest version; -1: none}, where it has changed."""
    own = gates_for(binary, metadata=metadata)
    return {
        1: own.fetch_version,
        4: own.leader_and_isr_version,
        5: own.stop_replica_version,
        6: own.update_metadata_version,
        23: own.epoch_request_version,
        56: ALTER_PARTITION_NEWEST if own.alter_isr else -1,
    }


GATES: dict[str, Gate] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Gates, include_extras=True).items()
    if hasattr(hint, "__metadata__")
}
"""Every gate by its name, in the order of `Gates`."""


@lru_cache(maxsize=256)
def gates_for(
    binary: str,
    inter_broker_protocol: str | None = None,
    message_format: str | None = None,
    *,
    metadata: str = "zookeeper",
) -> Gates:
    """The gates of a binary.

    `inter_broker_protocol`: its protocol with other brokers (default: its own). `message_format`:
    log.message.format.version (default: the protocol's; from protocol 3.0 on ignored). `metadata`: the plane,
    zookeeper or kraft.

    Raises UnknownVersion, UnusableProtocolVersion.
    """
    b = ladder_name(binary)
    p = ladder_name(inter_broker_protocol) if inter_broker_protocol else b
    if rank(p) > rank(b):
        raise UnusableProtocolVersion(f"inter.broker.protocol.version {p} is newer than the binary {b}")
    magic = max(number for number, first in enumerate(FORMATS) if since(p, first))
    if message_format and not since(p, "3.0"):  # then it is ignored (KIP-724)
        magic = min(magic, message_format_magic(message_format))
    versions: dict[By, str] = {"binary": b, "protocol": p, "format": FORMATS[magic]}
    values: dict[str, Any] = {name: gate.value(versions, metadata) for name, gate in GATES.items()}
    return Gates(binary=b, inter_broker_protocol=p, metadata=metadata, **values)
