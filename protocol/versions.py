"""Versions and their features: the only place that knows Kafka's behaviour by version.

A broker has two versions. Its *binary* decides defaults and the behaviour of its controller and its log;
`inter.broker.protocol.version` (IBP, by default the binary's own, never newer) decides its protocol with other brokers.
All other code tests a named gate: `gates.truncates_on_fetch`, never `version >= 2.7`.

Sources: semantics, table of eras and sections 1 to 4; each gate names its rule.
"""

from functools import lru_cache

import msgspec

LADDER: tuple[str, ...] = (
    "0.8.2",
    "0.10.2",
    "0.11",
    "1.0",
    "1.1",
    "2.0.0",
    "2.0.1",
    "2.1",
    "2.2",
    "2.3",
    "2.4",
    "2.5",
    "2.6",
    "2.7",
    "2.8",
)
"""Every version emulated, oldest first, each as its last patch release (1.0 as 1.0.2)."""

BETWEEN: tuple[str, ...] = ("0.9", "0.10.0", "0.10.1")
"""Kafka's minor releases between the ladder's first two steps, which are not emulated.

Tables of first versions may name them.
"""

DEFAULT_VERSION = "2.6"

_ALIASES = {"2.0": "2.0.1", "0.11.0": "0.11", "0.8": "0.8.2", "0.10": "0.10.2"}


class UnknownVersion(ValueError):
    """A version that is not on the ladder; the message names the nearest ones."""


def rank(version: str) -> int:
    """Position on the ladder; accepts patch releases (`2.6.3` is 2.6, `0.10.2.2` is 0.10.2).

    Raises UnknownVersion. """
    name = _ALIASES.get(version, version)
    best = -1
    for index, step in enumerate(LADDER):
        if name == step or name.startswith(step + "."):
            best = index
    if best < 0:
        raise UnknownVersion(f"unknown Kafka version {version!r}; one of: {', '.join(LADDER)}")
    return best


def boundary_rank(version: str) -> int:
    """Position of a gate's boundary on the ladder. Raises ValueError for other versions.

    An alias or a patch release is no boundary: `2.0` stands for 2.0.1, so a gate that begins with it would silently
    leave out 2.0.0.
    """
    if version not in LADDER:
        raise ValueError(f"gate boundary {version!r}: no step of the ladder; write one of: {', '.join(LADDER)}")
    return LADDER.index(version)


def ladder_name(version: str) -> str:
    """`2.6.3` -> `2.6`. Raises UnknownVersion."""
    return LADDER[rank(version)]


def releases() -> tuple[str, ...]:
    """All of Kafka's minor releases, oldest first."""
    return (LADDER[0], *BETWEEN, *LADDER[1:])


@lru_cache(maxsize=256)
def _place(version: str) -> int:
    if version in BETWEEN:
        return 1 + BETWEEN.index(version)
    place = rank(version)
    return place + len(BETWEEN) if place else 0


def since(version: str, first: str) -> bool:
    """Whether `version` is `first` or newer; either may be any of `releases`.

    For tables of defaults and gates only.
    """
    return _place(version) >= _place(first)


Steps = tuple[tuple[str, str], ...]
"""Values with the version from which they hold: [(first version, value)], oldest first."""


def in_force(version: str, steps: Steps) -> str:
    """The value of the last step that `version` has reached; the first is the oldest version's."""
    assert steps[0][0] == LADDER[0], steps
    return [value for first, value in steps if since(version, first)][-1]


PROTOCOL_VERSIONS: dict[str, str] = {
    "0.8.0": "", "0.8.1": "", "0.8.2": "", "0.9.0": "", "0.10.0": "IV1", "0.10.1": "IV2", "0.10.2": "IV0",
    "0.11.0": "IV2", "1.0": "IV0", "1.1": "IV0", "2.0": "IV1", "2.1": "IV2", "2.2": "IV1", "2.3": "IV1", "2.4": "IV1",
    "2.5": "IV0", "2.6": "IV0", "2.7": "IV2", "2.8": "IV1",
}  # fmt: skip
"""Values of inter.broker.protocol.version and log.message.format.version (ApiVersion).

Each has its last internal version, `2.7-IV2`, which is the same as `2.7`.
"""


def protocol_release(text: str) -> str:
    """`2.7`, `2.7.2` or `2.7-IV2` -> `2.7`, one of PROTOCOL_VERSIONS. Raises UnknownVersion."""
    parts = text.partition("-")[0].split(".")
    short = ".".join(parts[: 3 if parts[0] == "0" else 2])
    short = {"0.11": "0.11.0"}.get(short, short)
    if short not in PROTOCOL_VERSIONS:
        raise UnknownVersion(f"unknown protocol version {text!r}; one of: {', '.join(PROTOCOL_VERSIONS)}")
    return short


def protocol_version(text: str) -> str:
    """The ladder's version of an inter.broker.protocol.version. Raises UnknownVersion.

    Errors: no such version, one that is not emulated, or an internal version between releases.
    """
    short, internal = protocol_release(text), text.partition("-")[2]
    if internal and internal != PROTOCOL_VERSIONS[short]:
        raise UnknownVersion(f"protocol version {text!r} lies between releases, and those alone are played: {short}")
    if text in LADDER:
        return text
    return "2.0.0" if short == "2.0" else ladder_name(short)


def message_format_magic(text: str) -> int:
    """Record format of a log.message.format.version: 0, 1 or 2. Raises UnknownVersion."""
    order = list(PROTOCOL_VERSIONS)
    place = order.index(protocol_release(text))
    return sum(place >= order.index(first) for first in ("0.10.0", "0.11.0"))


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """Behaviour of a broker of one (binary, inter.broker.protocol.version) pair, by rule."""

    binary: str
    inter_broker_protocol: str

    # --- records (IBP) ---
    record_magic: int
    """Format of batches: 0 (0.8.2), 1 (0.10.x), 2 (0.11+); log.message.format.version lowers it."""

    compacted_topics_need_keys: bool
    """0.9+ (binary): a compacted topic refuses a record without a key (semantics 1.8)."""
    invalid_record_named: bool
    """2.4+ (binary): that error is INVALID_RECORD, not retriable; before, CORRUPT_MESSAGE."""

    # --- truncation (IBP; semantics 2.1, table of eras) ---
    truncates_to_high_watermark: bool
    """E0: a new follower truncates to its own high watermark."""
    epoch_request_version: int
    """Version of a follower's OFFSET_FOR_LEADER_EPOCH.

    -1 none, 0 (KIP-101), 1 (KIP-279), 2 fenced (KIP-320), 3; not 2.8's 4, which has the same content in another form.
    """
    truncates_on_fetch: bool
    """E4: no separate request; the fetch response has the divergence (Fetch v12)."""
    fetch_version: int
    """Version of a follower's FETCH."""
    consumer_fetch_version: int
    """Version of a consumer's FETCH.

    0 in 0.8.2, which has only the old consumer. From 3 on all are alike here.
    """
    fences_by_epoch: bool
    """E3+: requests carry the current leader epoch and are fenced by it (semantics 2.2)."""
    has_epoch_cache: bool
    """0.11+ (record format): leader-epoch-checkpoint is kept. Older records have no epoch."""
    truncates_without_epoch_request: bool
    """2.1+ (binary): a follower without epochs truncates to the high watermark immediately.

    Before, it requests the epoch's end, and gets none.
    """
    drops_answers_of_older_epochs: bool
    """2.1+ (binary): an epoch response counts only in the leader epoch of its request."""
    fetch_start_at_log_end: bool
    """0.11, 1.0: a truncating follower starts at its log end (semantics 1.7)."""

    # --- leadership (binary; semantics 1.7, 3) ---
    assigns_epoch_on_election: bool
    """2.0.1+: a new leader writes (epoch, log end) immediately (KAFKA-7415)."""
    epoch_entry_below_first_answered: bool
    """2.0.1+: for an epoch older than all cached ones a leader returns the first start."""
    no_epochs_end_at_log_end: bool
    """0.11 (to 1.0.1): a leader without epochs returns its log end to a follower without epochs."""
    epoch_cache_strict_assign: bool
    """2.0.1+: assigning an epoch removes conflicting tail entries."""
    expand_needs_epoch_start: bool
    """2.0.1+: a replica joins the ISR only at or beyond the leader epoch's start (KAFKA-7128)."""
    fetcher_restart: str
    """Rule that restarts a follower's fetcher at a LeaderAndIsr.

    `leader-changed` (E0-2.0.0), `leader-or-epoch-jump` (2.0.1), `leader-or-epoch` (2.1+).
    """
    truncates_epochs_beyond_log_end: bool
    """2.6+: entries at or beyond the log end are dropped even without a truncation."""
    out_of_range_starts_over: bool
    """0.8.2: a follower out of its leader's range deletes its log and starts over (KAFKA-2477).

    Unless the leader's log ends below it.
    """
    out_of_range_exits: bool
    """E0-2.0.0, unclean election off: a follower ahead of its leader exits (semantics 2.3)."""
    fetcher_shutdown_waits: bool
    """Up to 1.0: a LeaderAndIsr that empties a fetcher waits for its fetch (KAFKA-6051).

    The fetch in flight ends by its response or after up to request.timeout.ms.
    """
    elections_repeat_all_for_one: bool
    """1.1 to 2.3: one stale partition state repeats the election of the whole batch.

    Where another request had written one partition's state, all partitions of the election are elected again, an epoch
    later (PartitionStateMachine.electLeaderForPartitions).
    """
    damaged_batch_ends_fetcher: bool
    """0.8.2: a follower counts a batch with a bad checksum as fetched.

    The next response then does not fit (AbstractFetcherThread.processFetchRequest).
    """
    alter_isr_every_50_ms: bool
    """2.7 only: a task sends pending ISR changes to the controller every 50 ms.

    2.8 sends them immediately (DefaultAlterIsrManager).
    """
    served_partitions_move_to_end: bool
    """0.10.1+: a partition with records, or a delayed one, moves to the end of the fetch order.

    (AbstractFetcherThread.processFetchRequest)
    """
    lost_session_takes_partition_offline: bool
    """2.7+: a session that ends during a new log's configuration read takes it offline.

    The LeaderAndIsr continues without that partition, which stays offline; before, the order ends
    (Partition.makeLeader; KAFKA-9769).
    """
    append_error_fails_partition: bool
    """2.3+: an unexpected append error fails one partition; before, the fetcher thread dies."""
    stop_replica_checks_epoch: bool
    """2.6+: StopReplica carries a leader epoch."""
    cut_checkpoints_though_nothing_was_cut: bool
    """Up to 0.11: recovery points are written after every ordered truncation.

    Also after one at or beyond the log end (LogManager.truncateTo).
    """
    cut_checkpoints_all_directories: bool
    """Up to 2.1: a truncation writes recovery points in every log directory.

    From 2.2 only in that of the truncated logs.
    """
    start_over_checkpoints_all_directories: bool
    """Up to 1.0: the same for a log that starts over (LogManager.truncateFullyAndStartAt).

    From 1.1 only in its own directory.
    """
    deletions_checkpoint_recovery_points: bool
    """1.1+: deleting a log writes recovery points of its directory (LogManager.asyncDelete)."""
    checkpoints_directories_without_logs: bool
    """2.7+: recovery points and log starts of a directory without logs are written, too.

    Before, the files keep their content (LogManager.logsInDir).
    """
    recovery_counts_as_flushed: bool
    """1.0 to 2.7: recovery after an unclean stop sets the recovery point to the log's end.

    Although nothing was synced; before and after, it stays as checkpointed (Log.recoverLog).
    """
    recovery_skips_epoch_zero: bool
    """2.1 to 2.5: recovery does not add epoch 0 from batches (LogSegment.recover; KAFKA-10432)."""
    recovery_cuts_large_messages: bool
    """Up to 0.10.2: recovery treats a message above max.message.bytes as damage.

    (LogSegment.recover)
    """
    followers_refuse_large_batches: bool
    """Up to 2.5: a follower refuses a batch above max.message.bytes (KAFKA-9617).

    (Log.analyzeAndValidateRecords)
    """
    empty_log_begins_within_batch: bool
    """1.0+: an empty follower accepts a batch that contains its log start, and begins with it.

    (Partition.appendRecordsToFollower; KAFKA-6975)
    """
    rolls_before_producers_are_checked: bool
    """2.4+: an append rolls a full segment before its producer is validated (Log.append)."""
    raised_log_start_counts_as_flushed: bool
    """2.4+: the recovery point is never below the log's start (Log.updateLogStartOffset)."""
    beginning_anew_forgets_epochs: bool
    """2.8+: a log that ends below its checkpointed start begins without epochs.

    Before, the newest epoch moves along (Log.recoverLog).
    """
    wrapper_reads_whole: bool
    """Magic 0 and 1: a read returns the first whole wrapper that ends at or above its offset.

    (semantics 11.9)
    """

    deposed_leader_answers_parked: bool
    """0.9+: a broker that becomes follower completes its parked requests.

    0.8.2 leaves produces to the next fetch of a follower, and to their time-out.
    """
    deleted_replica_answers_parked: bool
    """2.4+: so does a broker that loses its replica (KAFKA-9198)."""
    leaders_known_by_metadata: bool
    """0.9+: UpdateMetadata has the live leaders; in 0.8.2 LeaderAndIsr has them."""
    fetcher_answer_within_request_timeout: bool
    """0.10+: a fetcher's time limit for a response is request.timeout.ms.

    Before, replica.socket.timeout.ms.
    """

    # --- high watermark and ISR (binary) ---
    recently_caught_up_holds_high_watermark: bool
    """0.10.2+: the high watermark waits for replicas that recently left the ISR caught up.

    (KAFKA-4485)
    """
    leaders_new_epoch_forgets_followers: bool
    """0.8.2: every leader epoch makes followers' log ends unknown, even under the same leader.

    0.9: only a new leader's.
    """
    answers_at_once_when_high_watermark_moved: bool
    """2.4, 2.5: a parked fetch completes when its last sent high watermark is outdated."""
    failed_reads_keep_follower_state: bool
    """2.4+: a failed read keeps the follower's state (KAFKA-8400)."""
    caught_up_replica_not_shrunk: bool
    """2.1+: a follower at the leader's log end is never removed by time (semantics 1.3)."""
    lag_by_messages: bool
    """0.8.2: replica.lag.max.messages; and silence counts from the last fetch of any outcome."""
    shrink_check_full_period: bool
    """Up to 0.10.1: the check runs every replica.lag.time.max.ms instead of half of it."""
    fetch_blocks_on_partition_lock: bool
    """2.1+: consumer fetches and ListOffsets also wait for the partition's lock.

    (semantics 1.6)
    """
    completes_delayed_requests_last: bool
    """2.7+: the response to a produce precedes the completions by its append (KAFKA-8334)."""
    high_watermark_needs_moved_follower: bool
    """2.4+: a follower's fetch moves the high watermark only at another offset than before."""
    fetch_above_high_watermark_fails: bool
    """Up to 0.9: a consumer's fetch between high watermark and log end fails with -1.

    Later, it is empty, without an error.
    """
    unassigned_follower_fails_fetch: bool
    """Up to 0.11: a follower's fetch with a partition not assigned to it fails whole, with -1.

    From 1.0 that partition is empty, until the fetch was parked (semantics 1.2).
    """

    # --- ISR persistence (IBP and binary; semantics 1.6) ---
    alter_isr: bool
    """E4 with IBP 2.7-IV2: through the controller."""
    notifies_isr_changes: bool
    """0.9+: brokers that write the ISR directly notify the controller (KAFKA-1367)."""
    stuck_zk_version_pends: bool
    """2.8 with an older IBP: a failed conditional write stays pending until a higher epoch."""
    session_wait_ends_at_expiry: bool
    """1.1+: a call that waits for the session service fails when the session expires.

    Before, it is retried in the new session.
    """

    fetches_configuration_of_held_logs: bool
    """Up to 2.5: an incarnation's first LeaderAndIsr reads a topic's configuration anew.

    Even where its log is present.
    """
    reassigns_to_live_brokers_only: bool
    """0.8.2: a reassignment to a dead broker is refused."""
    ignores_reassignment_to_same_replicas: bool
    """Up to 2.3: a reassignment to the present replicas, in their order, is refused.

    From 2.4 it is executed, which costs a leader epoch.
    """
    needs_controller_to_try_shutdown_again: bool
    """Up to 1.0: an orderly stop without a controller continues without one immediately.

    From 1.1 it looks for one again.
    """
    shutdown_answer_within_request_timeout: bool
    """0.9+ (IBP; from binary 1.0 always): a controlled shutdown's limit is request.timeout.ms.

    Before, controller.socket.timeout.ms.
    """
    controlled_shutdown_occupies_handler: bool
    """Up to 0.10.2: the request handler's thread handles ControlledShutdown (KAFKA-5028)."""

    # --- controller (binary; semantics 4) ---
    controller_epoch_multi: bool
    """2.1+: election and writes are multis that check /controller_epoch (KAFKA-6082)."""
    broker_epochs: bool
    """2.2+ (KIP-380): requests carry the broker epoch; a bounced broker is detected."""
    startup_offlines_dead_replicas: bool
    """2.3+: a new controller moves replicas on dead brokers offline first (KAFKA-3143)."""
    sole_isr_member_kept: bool
    """1.1+: the ISR's last member always stays; before, only with unclean election off."""
    live_brokers_to_all: bool
    """0.9+: every broker receives metadata when a broker joins, or leaves without leaderships."""
    shutdown_elects_by_isr: bool
    """Up to 0.9: a controlled shutdown elects the first remaining ISR member.

    Later, the first of the assignment.
    """
    shutdown_leaves_deletions_alone: bool
    """2.1+: a controlled shutdown ignores partitions of topics that wait for deletion.

    It neither moves nor counts them; before, it treats them like all others.
    """
    resends_after_ms: int
    """Pause of the controller before it retries a request, in ms: 300 up to 0.10.0, then 100."""
    registration_waits_for_old_session: bool
    """0.8.2: a broker whose znode of an earlier session still exists retries.

    It waits for zookeeper.session.timeout.ms first.
    """
    halts_when_stopped_while_starting: bool
    """0.9+: SIGTERM before the registration ends a broker immediately, as a kill does."""
    registration_retries_node_exists: bool
    """2.2+: a broker replaces its own stale ephemeral of an earlier session (KAFKA-7165)."""
    batched_controller_writes: bool
    """1.1+: the controller reads and writes states in pipelined batches."""
    failure_waits_for_sender_thread: bool
    """0.10 to 2.0: removing a dead broker waits for its blocked sender thread.

    Semantics 11.13 observed it on 0.10.2. 2.1 closes the sender's client first; 0.8.2 interrupts the thread.
    """
    registers_rack: bool
    """0.10+: a broker registers its rack, here its AZ, which places replicas (KIP-36).

    (semantics 4.4)
    """
    config_change_form: int
    """Form of a topic configuration's notification: 0 its name (0.8.2), 1 (0.9), 2 (0.10.1+)."""
    settings_change_while_running: bool
    """1.1+: some broker settings can be altered at run time (KIP-226)."""
    topic_config_lost_on_reload: bool
    """Up to 2.3: a change of broker settings makes a log forget its topic's overrides.

    The next change overrides them, too (KAFKA-9254).
    """
    keeps_flush_ms_that_was_removed: bool
    """Up to 2.5: a removed log.flush.interval.ms stays in force until the broker restarts.

    (KAFKA-10268)
    """
    unknown_topics_have_no_settings: bool
    """2.0+: DescribeConfigs of a missing topic returns 3.

    Before, the settings of any topic.
    """
    no_names_mean_all_settings: bool
    """2.7+: DescribeConfigs with an empty list of settings returns all; before, none."""
    altered_by_synonym: bool
    """Up to 2.5: a setting with an alterable synonym is not read-only in DescribeConfigs."""
    names_settings_without_value: bool
    """2.6+: a null in AlterConfigs returns 42 with its setting's name; before, -1."""
    altered_topics_are_looked_for: bool
    """2.7+: AlterConfigs of a missing topic returns 3; before, -1."""
    reports_unneeded_elections: bool
    """2.4+ (KIP-460): ElectLeaders returns 84 if the preferred leader already leads.

    Before, success.
    """
    enables_unclean_election_of_all_at_once: bool
    """2.0+: enabling unclean election for the controller's broker elects all missing leaders.

    (KAFKA-6526)
    """
    enables_unclean_election_at_once: bool
    """2.1+: enabling a topic's unclean election elects its leaders immediately (KAFKA-6911)."""
    resigns_in_every_session: bool
    """Up to 0.10.1: a controller resigns in each new session (KAFKA-4229).

    Also where it has been elected in that session already. Then no controller acts, although `/controller` names it.
    0.8.2, where leaders are balanced: a broker that is not controller fails to resign, and is elected once it has
    registered.
    """
    deposed_controller_goes_on: bool
    """0.8.2: a controller does not resign when `/controller` names another one (KAFKA-2437)."""
    ephemerals_end_with_session: bool
    """0.9 to 1.0: an ephemeral is created in its call's session or not at all.

    `/controller` and a broker's znode (ZKCheckedEphemeral); all other calls are retried in the next session. An
    election that fails so deletes `/controller`, whatever its owner; a process whose first registration fails ends.
    """
    registers_before_election: bool
    """1.1+: a broker registers, then its controller tries to be elected; before, vice versa."""
    metadata_refuses_invalid_names: bool
    """2.8+: metadata of an invalid topic name returns 17; before 3.

    (KafkaApis.getTopicMetadata)
    """
    broker_loggers: bool
    """2.4+: levels of a broker's loggers are described and altered like settings (KIP-412)."""
    serves_after_registration: bool
    """1.0+: a broker reads clients' requests after its registration; before, immediately.

    (SocketServer.startProcessors)
    """
    registers_beside_controller: bool
    """0.11, 1.0: in a new session a broker registers immediately (KAFKA-5028).

    Its controller's thread may be busy. Before, it registers after its attempt to be elected, on the same thread.
    """
    offline_leaders_by_liveness: bool
    """1.0+: a leader of -1 counts as offline when brokers fail.

    Before, only leaders on the failed brokers.
    """
    watches_isr_changes: bool
    """0.9+: the controller watches `/isr_change_notification` (KAFKA-1367).

    Brokers create the path.
    """
    deletes_old_notifications: bool
    """1.1+: a new controller deletes earlier notifications (semantics 4.1).

    1.0: only those of failed log directories.
    """
    preferred_election_moves_leader_to_itself: bool
    """1.1 to 2.1: a requested preferred election raises the epoch even without a change."""
    metadata_updates_brokers_only: bool
    """2.2+: UpdateMetadata may carry only the live brokers.

    Before, an empty list of partitions meant all of them.
    """
    metadata_repeats_deletions: bool
    """Up to 1.1: every UpdateMetadata includes all partitions under deletion (leader -2).

    Later, only one about these partitions.
    """
    watches_created_reassignments_only: bool
    """1.1+: the controller reads `/admin/reassign_partitions` when it is created.

    And after its own deletion of it; before, at each change, for moves that have not begun.
    """
    new_replicas_flagged_immediately: bool
    """2.7+: a reassignment's first LeaderAndIsr marks added replicas as new (isNew).

    Before, only the next does, too late: a broker that lost a log directory then counts them as offline.
    """
    successor_gives_up_moves_of_deleted_topics: bool
    """1.1+: a new controller begins no reassignment of a topic under deletion.

    Before, it does, and the deletion waits for it.
    """
    topic_znode_keeps_reassignment: bool
    """2.4+: `/brokers/topics/T` lists the replicas being added and removed (KIP-455)."""
    leader_and_isr_version: int
    """Version of the controller's LEADER_AND_ISR (IBP).

    2 and later carry the broker epoch. Not 2.8's 5, which adds topic ids.
    """
    update_metadata_version: int
    """Version of the controller's UPDATE_METADATA (IBP).

    5 and later carry the broker epoch. Not 2.8's 7, which adds topic ids.
    """
    stop_replica_version: int
    """Version of the controller's STOP_REPLICA (IBP).

    1 and later carry the broker epoch, 3 leader epochs.
    """
    metadata_keeps_isr_without_leader: bool
    """2.4+: metadata of a partition without a live leader have the real ISR.

    Before, an empty one (semantics 11.12).
    """
    metadata_has_leader_epoch: bool
    """2.1+: metadata responses carry leader epochs (Metadata v7, KIP-320)."""
    metadata_has_epoch_without_leader: bool
    """2.5+: also of a partition without a known live leader."""
    metadata_epochs_reliable: bool
    """2.4+ (Metadata v9): clients from 2.4 on trust the epochs in this broker's metadata.

    Not those of older brokers.
    """
    unknown_replica_answers_not_leader: bool
    """2.0+: a broker without a replica of a known partition returns 6; before, 3.

    (semantics 11.12)
    """
    unknown_replica_answers_epochs_not_leader: bool
    """2.1+: also to a request for an epoch's end."""

    # --- clients and names ---
    idempotence: bool
    """0.11+: idempotent producers."""
    remembered_batches: int
    """Number of batches remembered per producer: 1 in 0.11, 5 from 1.0."""
    unknown_producer_accepted: bool
    """2.5+: an unknown producer may start at any sequence."""
    unknown_producer_named: bool
    """1.0+: an unknown producer with another start returns 59; in 0.11 45, like any gap."""
    old_consumer: bool
    """Up to 1.1: the consumer with its offsets in the session service (removed in 2.0)."""
    group_coordinator: bool
    """0.9+: offsets are committed to a coordinator.

    0.8.2 supports that too, with its own manager, which is not modelled.
    """
    offset_commit_value_version: int
    """Layout of a committed offset's record (IBP).

    1 until 2.0, 3 from 2.1, which has a leader epoch (KIP-320).
    """
    group_metadata_value_version: int
    """Layout of a group's record (IBP).

    1 until 2.0, 2 from 2.1 (KIP-211), 3 from 2.3, which has static members (KIP-345).
    """
    loading_coordinator_reports_loading: bool
    """2.0+: a coordinator that loads its partition returns 14; before, 16 (no coordinator)."""
    offsets_loaded_to_log_end: bool
    """0.11+: a new coordinator loads its partition to the log end.

    Before, to the high watermark of that moment.
    """
    offsets_topic_needs_all_brokers: bool
    """0.11+ (KIP-115): the offsets topic is never created with too few replicas."""
    first_rebalance_waits: bool
    """0.11+ (KIP-134): the first rebalance of an empty group waits for more members."""
    new_members_are_named_first: bool
    """2.2+ (KIP-394): a new member first receives its id, and joins with it."""
    new_members_wait_at_most_five_minutes: bool
    """2.1+: a new member that has waited for others for five minutes is removed (KAFKA-7610).

    It receives 25.
    """
    completing_rebalance_name: bool
    """1.1+: a group whose leader assigns is in CompletingRebalance; before, AwaitingSync."""
    static_members: bool
    """2.3+ (KIP-345): a member with a group.instance.id keeps its place when it returns."""
    refuses_static_members: bool
    """2.3+ with an older inter.broker.protocol.version: a group.instance.id returns 35."""
    full_groups_count_joining_members: bool
    """2.6+: while a group is prepared, group.max.size counts joining members (KAFKA-9885).

    Before, all members.
    """
    full_groups_forget_instances: bool
    """2.3 to 2.7: a static member that returns to a full group is not recognized."""
    static_rejoin_is_stored: bool
    """2.6+ (KAFKA-10284): the next coordinator knows the new id of a returned static member."""
    static_rejoin_while_assigning_rebalances: bool
    """2.5+ (KAFKA-9801): a static member that returns while the leader assigns rebalances.

    Before, the leader may assign to its old id.
    """
    unsynced_members_are_removed: bool
    """2.8+ (KAFKA-12890): a member must request its assignment within the rebalance time-out."""
    commits_refused_while_assigning: bool
    """Up to 2.3: while the leader assigns, every commit returns 27.

    Later, unknown members receive their own error.
    """
    heartbeats_while_assigning: bool
    """2.6+ (KAFKA-10134): a heartbeat while the leader assigns is ordinary; before, 27."""
    consumer_epoch_validation: bool
    """2.3+: consumers detect truncation (KIP-320, OFFSET_FOR_LEADER_EPOCH v3)."""
    client_ignores_older_epochs: bool
    """2.2+: clients ignore metadata of an older leader epoch than the newest known (Metadata)."""
    metadata_without_epoch_forgets_all: bool
    """2.2: metadata of a partition without an epoch make a client forget all epochs.

    Later, only that partition's.
    """
    ignored_metadata_hides_leader: bool
    """2.2, 2.3: a consumer that ignored older metadata has no leader until newer ones arrive."""
    first_epoch_may_come_with_an_offset: bool
    """2.2 to 2.4: an epoch with a committed or listed offset counts without one in metadata."""
    client_needs_reliable_epochs: bool
    """2.4+: epochs in metadata of a broker before 2.4 count as absent."""
    client_knows_topic_ids: bool
    """2.8: epochs of a deleted topic do not hold for a new one of the same name (KAFKA-12257)."""
    client_ignores_failures_of_old_epochs: bool
    """2.5, 2.6: a batch of a past producer epoch that fails for good raises no new epoch.

    Later, it does.
    """
    client_numbers_idle_partitions_on: bool
    """2.5, 2.6: an idle partition continues its sequence numbers in a new epoch (KAFKA-12152).

    Another partition has raised the epoch; later, the numbers begin at 0.
    """
    client_gives_what_precedes_damage: bool
    """0.11+: a consumer returns records before a damaged batch.

    In 0.10.2 the damage fails the whole response.
    """
    client_reports_truncation: bool
    """2.6+: without a reset policy poll() throws LogTruncationException.

    In 2.3 to 2.5 that exception is lost.
    """
    client_batches_expire: bool
    """0.10.2+ (in Kafka since 0.9, KIP-19): an unsendable batch expires; in 0.8.2 it waits."""
    client_prefers_connected_brokers: bool
    """2.3+: a client sends requests for any broker to a connected one with capacity.

    Before, to an unconnected one rather than a busy one.
    """
    client_connects_to_least_recent: bool
    """2.7+: of unconnected brokers a client chooses the least recently tried.

    Before, any of them.
    """
    client_pause_counts_from_attempt: bool
    """0.8.2: reconnect.backoff.ms counts from the start of connecting.

    Later, from the loss of the connection.
    """
    client_pauses_grow: bool
    """1.0+: pauses before reconnecting grow up to reconnect.backoff.max.ms (KIP-144).

    In 0.11 each attempt resets the pause (ClusterConnectionStates.connecting); earlier versions have no such setting.
    """
    client_disconnects_lost_coordinator: bool
    """1.0+: a consumer that gives up its coordinator closes the connection and its requests.

    Before, the connection stays, and is reused if the next lookup returns the same broker.
    """
    client_join_waits_for_rebalance: bool
    """2.0+: a consumer waits for a JoinGroup response as long as a rebalance may take.

    Before, as long as for any response.
    """
    client_retries_commits_to_unknown_topics: bool
    """2.0+: a commit that returns 3 is retried; before, it fails."""
    client_stays_member_when_commit_meets_rebalance: bool
    """2.4+: a member whose commit returns 27 rejoins with its id; before, as a new member."""
    client_reports_lost_partitions: bool
    """2.4+: partitions of a removed member are lost; before, revoked as usual (KIP-429)."""
    client_reads_while_it_joins: bool
    """2.5+: poll() also returns records while the consumer joins its group.

    While the coordinator is unknown, other members are awaited, or committed offsets are read; before, none.
    """
    client_resets_block_poll: bool
    """Up to 1.0: poll() returns and commits nothing during a lookup of a log's start or end.

    Later, partitions without such a lookup are read meanwhile.
    """
    client_heartbeats_while_rebalancing: bool
    """2.6+: a member sends heartbeats from its JoinGroup response on.

    Before, once it has its assignment.
    """
    client_ignores_refusals_of_old_generations: bool
    """2.6+: a member ignores errors for an earlier generation; before, they end its membership."""
    offset_not_available: bool
    """2.2+: ListOffsets answers 78 while the high watermark is below the leader epoch's start."""
    listed_offsets_have_epochs: bool
    """2.2+: ListOffsets responses have leader epochs; 2.1 has an empty field (semantics 1.9)."""
    consumer_list_offsets_version: int
    """Version of a consumer's LIST_OFFSETS.

    A consumer with 4 or less, which are alike here, receives 5 instead of 78.
    """
    not_leader_or_follower_name: bool
    """2.6+: code 6 has its new name."""
    renames_deleted_logs: bool
    """0.10.1+: the folder of a deleted log is renamed first, and its files are deleted later.

    Before, its files are deleted one by one (semantics 4.5).
    """
    removes_refused_deletions: bool
    """0.10.1+: with `delete.topic.enable` off the controller removes the mark.

    Before, it stays until a controller may delete (semantics 4.5).
    """
    forgets_offsets_of_deleted_topics: bool
    """0.10.1+: coordinators drop committed offsets of deleted partitions (semantics 6)."""
    delete_records: bool
    """0.11+: DeleteRecords, and a log start that followers adopt from leaders (KIP-107)."""
    deletes_records_before_policy: bool
    """0.11: where `cleanup.policy` has no delete, records are deleted, then the request fails."""
    deleted_records_forget_producers: bool
    """Up to 2.3: a producer whose last batch was deleted is unknown (KIP-360)."""
    storage_failure_kills_broker: bool
    """Up to 0.11 (IBP): a failed log directory stops the process.

    From 1.0 (KIP-112) only the last one does.
    """
    watches_log_dir_failures: bool
    """1.0+: the controller queries a broker that lost a log directory for replicas (KIP-112)."""

    # --- controller: errors of Kafka's that a later release mended, or that came with one (semantics 8) ---
    disabled_deletions_reported: bool
    """Up to 0.10.0: a new controller reports marked topics with leader -2 (KAFKA-3175).

    Even with `delete.topic.enable` off (TopicDeletionManager.partitionsToBeDeleted).
    """

    growth_while_deleted_taken_back: bool
    """2.0+: partitions added to a topic under deletion are removed from its znode (KAFKA-6612).

    Before, they are ignored until a controller takes over (KafkaController.PartitionModifications).
    """
    leaders_balanced_one_by_one: bool
    """Up to 2.0.0: the leader balance elects partition by partition (KAFKA-7299).

    Each election has its own requests (KafkaController.checkAndTriggerAutoLeaderRebalance).
    """
    balance_goes_by_remembered_isr: bool
    """2.6+: the leader balance skips preferred replicas outside the cached ISR (KAFKA-9866).

    Before, it tries, and the ISR in ZooKeeper decides (KafkaController.canPreferredReplicaBeLeader).
    """
    shutdown_moves_one_by_one: bool
    """Up to 1.0: a controlled shutdown moves partition by partition (KAFKA-5642).

    Each move has its own requests (KafkaController.doControlledShutdown).
    """
    reassignments_not_preempted: bool
    """Up to 2.6: a queued reassignment request gets no response after an expiry (KAFKA-10193).

    KafkaController.preempt.
    """
    metadata_sent_after_taking_over: bool
    """Up to 0.10.1: a new controller sends its first UpdateMetadata last (KAFKA-4443).

    After all LeaderAndIsr (KafkaController.onControllerFailover).
    """
    metadata_needs_partitions: bool
    """0.8.2: an UpdateMetadata without partitions is not sent (KAFKA-1867).

    So no broker learns the live brokers before the first leader exists
    (ControllerBrokerRequestBatch.addUpdateMetadataRequestForBrokers).
    """
    failed_reassignment_given_up: bool
    """Up to 2.3: a failed reassignment leaves `/admin/reassign_partitions` (KAFKA-9089).

    Its moves stay half-done. From 2.4 on it stays in progress, and continues when a broker of its target starts
    (KafkaController.maybeTriggerPartitionReassignment).
    """
    unled_replicas_stay_online: bool
    """0.8.2, 1.1: a replica of a partition that never had a leader cannot go offline.

    So its topic is never deleted (KAFKA-2937, KAFKA-6650; ReplicaStateMachine, OfflineReplica).
    """
    # --- errors of brokers that a later release mended (binary; semantics 8, docs/kafka-fixes-brokers.md) ---
    new_log_tries_next_directory: bool
    """2.4+: a new log whose folder cannot be made is made in the next log directory.

    (KAFKA-8526; LogManager.getOrCreateLog)
    """
    newer_broker_epoch_fails_orders: bool
    """2.2 to 2.4: an order with a broker epoch that the broker does not know yet fails with -1.

    The response to its registration is pending (KAFKA-9839; KafkaApis.isBrokerEpochStale).
    """
    long_names_fail_deletion: bool
    """0.10.1 to 2.1: a long topic name makes the deletion of its log fail (KAFKA-4893).

    The renamed folder's name would exceed 255 characters (Log.logDeleteDirName).
    """
    failed_deletion_fails_directory: bool
    """1.0+: a log that cannot be deleted takes its log directory offline.

    Before, the order fails with -1, and the log stays on disk, unknown to the broker (LogManager.asyncDelete).
    """
    refused_deletion_forgets_offline: bool
    """1.1 to 2.0: a refused deletion makes a broker forget an offline replica (KAFKA-7313).

    So the next order to delete it succeeds (ReplicaManager.stopReplica).
    """
    removed_partition_ends_fetcher: bool
    """2.1: removing a partition without epochs can end its fetcher's thread (KAFKA-8012).

    During the fetcher's epoch request for others (AbstractFetcherThread.truncateToHighWatermark).
    """
    failing_directory_ends_start: bool
    """1.0, 1.1: a broker that starts with a failing disk ends (KAFKA-6697).

    Even with other log directories (LogManager.createAndValidateLogDirs); later it starts without that one.
    """
    failed_flush_ends_close: bool
    """Up to 2.7: a log directory that cannot be flushed prevents others' markers (KAFKA-10723).

    At a clean stop (LogManager.shutdown).
    """
    marker_deleted_before_loading: bool
    """2.8+: a start deletes the clean-shutdown marker before it loads logs (KAFKA-10471).

    So an interrupted start counts as unclean; before, the marker is deleted afterwards (LogManager.loadLogs).
    """
    unassigned_isr_member_ends_check: bool
    """2.4 to 2.8: an unassigned replica in an ISR ends a run of isr-expiration (KAFKA-9672).

    Up to 2.3 its leader removes that replica when it lags (Partition.isFollowerOutOfSync).
    """

    reassignment_epoch_not_remembered: bool
    """Up to 2.3: the controller forgets the leader epoch of a reassignment's step (KAFKA-9212).

    UpdateMetadata reports the one before, and consumers with epochs are fenced (KafkaController.updateLeaderEpoch).
    """

    leader_and_isr_skips_leaving_leader: bool
    """1.1 to 2.0: a controlled shutdown's LeaderAndIsr omits stopping brokers (KAFKA-7482).

    The old leader accepts writes until its process ends (PartitionStateMachine.leaderForControlledShutdown).
    """

    reelected_controller_repeats_reassignments: bool
    """Up to 0.10.2: a controller keeps reassignments in progress when it resigns (KAFKA-5310).

    Elected again, it begins them once more, in any state (ControllerContext.partitionsBeingReassigned).
    """
    unsent_batch_stays: bool
    """2.1+: a request batch left unsent by ControllerMovedException is never emptied.

    When the same process is elected again, its state machine fails at each change
    (ControllerBrokerRequestBatch.newBatch).
    """

    def understands(self, api_key: int, version: int) -> bool:
        """Whether this binary can read that version of another broker's request.

        A binary knows each up to the version that it sends by default, with its own inter.broker.protocol.version.
        """
        newest = _understood(self.binary).get(api_key)
        return newest is None or version <= newest


@lru_cache(maxsize=64)
def _understood(binary: str) -> dict[int, int]:
    """{API key of requests among brokers: newest version; -1: none}, where it has changed."""
    own = gates_for(binary)
    return {
        1: own.fetch_version,
        4: own.leader_and_isr_version,
        5: own.stop_replica_version,
        6: own.update_metadata_version,
        23: own.epoch_request_version,
        56: 0 if own.alter_isr else -1,
    }


class UnusableProtocolVersion(ValueError):
    """inter.broker.protocol.version newer than the binary."""


@lru_cache(maxsize=256)
def gates_for(binary: str, inter_broker_protocol: str | None = None, message_format: str | None = None) -> Gates:
    """The gates of a binary.

    `inter_broker_protocol`: its protocol with other brokers (default: its own). `message_format`:
    log.message.format.version (default: the protocol's).

    Raises UnknownVersion, UnusableProtocolVersion.
    """
    b = ladder_name(binary)
    p = ladder_name(inter_broker_protocol) if inter_broker_protocol else b
    if rank(p) > rank(b):
        raise UnusableProtocolVersion(f"inter.broker.protocol.version {p} is newer than the binary {b}")

    def bin_since(first: str) -> bool:
        return rank(b) >= boundary_rank(first)

    def ibp_since(first: str) -> bool:
        return rank(p) >= boundary_rank(first)

    def bin_within(first: str, last: str) -> bool:
        return boundary_rank(first) <= rank(b) <= boundary_rank(last)

    def ibp_newest(versions: tuple[tuple[str, int], ...]) -> int:
        return max([0, *(version for first, version in versions if ibp_since(first))])

    magic = 2 if ibp_since("0.11") else 1 if ibp_since("0.10.2") else 0
    if message_format:
        magic = min(magic, message_format_magic(message_format))
    epoch_request = -1
    for first, version in (("0.11", 0), ("2.0.0", 1), ("2.1", 2), ("2.3", 3)):
        if ibp_since(first):
            epoch_request = version
    fetch_version = 0
    for first, version in (("0.10.2", 3), ("0.11", 5), ("1.1", 7), ("2.0.0", 8), ("2.1", 10), ("2.3", 11), ("2.7", 12)):
        if ibp_since(first):
            fetch_version = version
    if not bin_since("2.0.1"):
        restart = "leader-changed"
    elif not bin_since("2.1"):
        restart = "leader-or-epoch-jump"
    else:
        restart = "leader-or-epoch"
    return Gates(
        binary=b,
        inter_broker_protocol=p,
        record_magic=magic,
        compacted_topics_need_keys=bin_since("0.10.2"),
        invalid_record_named=bin_since("2.4"),
        truncates_to_high_watermark=not ibp_since("0.11"),
        epoch_request_version=epoch_request,
        truncates_on_fetch=ibp_since("2.7"),
        fetch_version=fetch_version,
        consumer_fetch_version=12 if bin_since("0.10.2") else 0,
        fences_by_epoch=ibp_since("2.1"),
        has_epoch_cache=magic >= 2,
        truncates_without_epoch_request=bin_since("2.1"),
        drops_answers_of_older_epochs=bin_since("2.1"),
        fetch_start_at_log_end=bin_within("0.11", "1.0"),
        assigns_epoch_on_election=bin_since("2.0.1") and magic >= 2,
        epoch_entry_below_first_answered=bin_since("2.0.1"),
        no_epochs_end_at_log_end=b == "0.11",
        epoch_cache_strict_assign=bin_since("2.0.1"),
        expand_needs_epoch_start=bin_since("2.0.1"),
        fetcher_restart=restart,
        truncates_epochs_beyond_log_end=bin_since("2.6"),
        out_of_range_starts_over=not bin_since("0.10.2"),
        out_of_range_exits=not bin_since("2.0.1"),
        fetcher_shutdown_waits=not bin_since("1.1"),
        elections_repeat_all_for_one=bin_within("1.1", "2.3"),
        damaged_batch_ends_fetcher=not bin_since("0.10.2"),
        alter_isr_every_50_ms=bin_within("2.7", "2.7"),
        served_partitions_move_to_end=bin_since("0.10.2"),
        lost_session_takes_partition_offline=bin_since("2.7"),
        append_error_fails_partition=bin_since("2.3"),
        delete_records=bin_since("0.11"),
        deletes_records_before_policy=not bin_since("1.0"),
        deleted_records_forget_producers=not bin_since("2.4"),
        stop_replica_checks_epoch=bin_since("2.6"),
        cut_checkpoints_though_nothing_was_cut=not bin_since("1.0"),
        cut_checkpoints_all_directories=not bin_since("2.2"),
        start_over_checkpoints_all_directories=not bin_since("1.1"),
        deletions_checkpoint_recovery_points=bin_since("1.1"),
        checkpoints_directories_without_logs=bin_since("2.7"),
        recovery_counts_as_flushed=bin_within("1.0", "2.7"),
        recovery_skips_epoch_zero=bin_within("2.1", "2.5"),
        recovery_cuts_large_messages=not bin_since("0.11"),
        followers_refuse_large_batches=not bin_since("2.6"),
        empty_log_begins_within_batch=bin_since("1.0"),
        rolls_before_producers_are_checked=bin_since("2.4"),
        raised_log_start_counts_as_flushed=bin_since("2.4"),
        beginning_anew_forgets_epochs=bin_since("2.8"),
        wrapper_reads_whole=magic < 2,
        deposed_leader_answers_parked=bin_since("0.10.2"),
        deleted_replica_answers_parked=bin_since("2.4"),
        leaders_known_by_metadata=bin_since("0.10.2"),
        fetcher_answer_within_request_timeout=bin_since("0.10.2"),
        recently_caught_up_holds_high_watermark=bin_since("0.10.2"),
        leaders_new_epoch_forgets_followers=not bin_since("0.10.2"),
        answers_at_once_when_high_watermark_moved=bin_within("2.4", "2.5"),
        failed_reads_keep_follower_state=bin_since("2.4"),
        caught_up_replica_not_shrunk=bin_since("2.1"),
        lag_by_messages=b == "0.8.2",
        shrink_check_full_period=not bin_since("0.10.2"),
        fetch_blocks_on_partition_lock=bin_since("2.1"),
        completes_delayed_requests_last=bin_since("2.7"),
        high_watermark_needs_moved_follower=bin_since("2.4"),
        fetch_above_high_watermark_fails=not bin_since("0.10.2"),
        unassigned_follower_fails_fetch=not bin_since("1.0"),
        alter_isr=ibp_since("2.7"),
        notifies_isr_changes=bin_since("0.10.2") and not ibp_since("2.7"),
        stuck_zk_version_pends=bin_since("2.8") and not ibp_since("2.7"),
        session_wait_ends_at_expiry=bin_since("1.1"),
        fetches_configuration_of_held_logs=not bin_since("2.6"),
        reassigns_to_live_brokers_only=not bin_since("0.10.2"),
        ignores_reassignment_to_same_replicas=not bin_since("2.4"),
        needs_controller_to_try_shutdown_again=not bin_since("1.1"),
        shutdown_answer_within_request_timeout=ibp_since("0.10.2") or bin_since("1.0"),
        controlled_shutdown_occupies_handler=not bin_since("0.11"),
        controller_epoch_multi=bin_since("2.1"),
        broker_epochs=bin_since("2.2"),
        startup_offlines_dead_replicas=bin_since("2.3"),
        sole_isr_member_kept=bin_since("1.1"),
        live_brokers_to_all=bin_since("0.10.2"),
        shutdown_elects_by_isr=not bin_since("0.10.2"),
        shutdown_leaves_deletions_alone=bin_since("2.1"),
        resends_after_ms=100 if bin_since("0.10.2") else 300,
        registration_waits_for_old_session=not bin_since("0.10.2"),
        halts_when_stopped_while_starting=bin_since("0.10.2"),
        registration_retries_node_exists=bin_since("2.2"),
        batched_controller_writes=bin_since("1.1"),
        failure_waits_for_sender_thread=bin_within("0.10.2", "2.0.1"),
        registers_rack=bin_since("0.10.2"),
        config_change_form=2 if bin_since("0.10.2") else 0,
        settings_change_while_running=bin_since("1.1"),
        topic_config_lost_on_reload=not bin_since("2.4"),
        keeps_flush_ms_that_was_removed=not bin_since("2.6"),
        unknown_topics_have_no_settings=bin_since("2.0.0"),
        no_names_mean_all_settings=bin_since("2.7"),
        altered_by_synonym=not bin_since("2.6"),
        names_settings_without_value=bin_since("2.6"),
        altered_topics_are_looked_for=bin_since("2.7"),
        reports_unneeded_elections=bin_since("2.4"),
        enables_unclean_election_of_all_at_once=bin_since("2.0.0"),
        enables_unclean_election_at_once=bin_since("2.1"),
        resigns_in_every_session=not bin_since("0.10.2"),
        deposed_controller_goes_on=not bin_since("0.10.2"),
        ephemerals_end_with_session=bin_within("0.10.2", "1.0"),
        registers_before_election=bin_since("1.1"),
        metadata_refuses_invalid_names=bin_since("2.8"),
        broker_loggers=bin_since("2.4"),
        serves_after_registration=bin_since("1.0"),
        registers_beside_controller=bin_within("0.11", "1.0"),
        offline_leaders_by_liveness=bin_since("1.0"),
        watches_isr_changes=bin_since("0.10.2"),
        deletes_old_notifications=bin_since("1.1"),
        preferred_election_moves_leader_to_itself=bin_within("1.1", "2.1"),
        metadata_updates_brokers_only=bin_since("2.2"),
        metadata_repeats_deletions=not bin_since("2.0.0"),
        watches_created_reassignments_only=bin_since("1.1"),
        new_replicas_flagged_immediately=bin_since("2.7"),
        successor_gives_up_moves_of_deleted_topics=bin_since("1.1"),
        topic_znode_keeps_reassignment=bin_since("2.4"),
        leader_and_isr_version=ibp_newest((("1.0", 1), ("2.2", 2), ("2.4", 4))),
        update_metadata_version=ibp_newest((("0.10.2", 3), ("1.0", 4), ("2.2", 5), ("2.4", 6))),
        stop_replica_version=ibp_newest((("2.2", 1), ("2.4", 2), ("2.6", 3))),
        metadata_keeps_isr_without_leader=bin_since("2.4"),
        metadata_has_leader_epoch=bin_since("2.1"),
        metadata_has_epoch_without_leader=bin_since("2.5"),
        metadata_epochs_reliable=bin_since("2.4"),
        unknown_replica_answers_not_leader=bin_since("2.0.0"),
        unknown_replica_answers_epochs_not_leader=bin_since("2.1"),
        idempotence=ibp_since("0.11"),
        remembered_batches=1 if not bin_since("1.0") else 5,
        unknown_producer_accepted=bin_since("2.5"),
        unknown_producer_named=bin_since("1.0"),
        old_consumer=not bin_since("2.0.0"),
        group_coordinator=bin_since("0.10.2"),
        offset_commit_value_version=3 if ibp_since("2.1") else 1,
        group_metadata_value_version=3 if ibp_since("2.3") else 2 if ibp_since("2.1") else 1,
        loading_coordinator_reports_loading=bin_since("2.0.0"),
        offsets_loaded_to_log_end=bin_since("0.11"),
        offsets_topic_needs_all_brokers=bin_since("0.11"),
        first_rebalance_waits=bin_since("0.11"),
        new_members_are_named_first=bin_since("2.2"),
        new_members_wait_at_most_five_minutes=bin_since("2.1"),
        completing_rebalance_name=bin_since("1.1"),
        static_members=bin_since("2.3"),
        refuses_static_members=bin_since("2.3") and not ibp_since("2.3"),
        full_groups_count_joining_members=bin_since("2.6"),
        full_groups_forget_instances=bin_within("2.3", "2.7"),
        static_rejoin_is_stored=bin_since("2.6"),
        static_rejoin_while_assigning_rebalances=bin_since("2.5"),
        unsynced_members_are_removed=bin_since("2.8"),
        commits_refused_while_assigning=not bin_since("2.4"),
        heartbeats_while_assigning=bin_since("2.6"),
        consumer_epoch_validation=bin_since("2.3"),
        client_ignores_older_epochs=bin_since("2.2"),
        metadata_without_epoch_forgets_all=b == "2.2",
        ignored_metadata_hides_leader=bin_within("2.2", "2.3"),
        first_epoch_may_come_with_an_offset=bin_within("2.2", "2.4"),
        client_needs_reliable_epochs=bin_since("2.4"),
        client_knows_topic_ids=bin_since("2.8"),
        client_ignores_failures_of_old_epochs=bin_within("2.5", "2.6"),
        client_numbers_idle_partitions_on=bin_within("2.5", "2.6"),
        client_gives_what_precedes_damage=bin_since("0.11"),
        client_reports_truncation=bin_since("2.6"),
        client_batches_expire=bin_since("0.10.2"),
        client_prefers_connected_brokers=bin_since("2.3"),
        client_connects_to_least_recent=bin_since("2.7"),
        client_pause_counts_from_attempt=not bin_since("0.10.2"),
        client_pauses_grow=bin_since("1.0"),
        client_disconnects_lost_coordinator=bin_since("1.0"),
        client_join_waits_for_rebalance=bin_since("2.0.0"),
        client_retries_commits_to_unknown_topics=bin_since("2.0.0"),
        client_stays_member_when_commit_meets_rebalance=bin_since("2.4"),
        client_reports_lost_partitions=bin_since("2.4"),
        client_reads_while_it_joins=bin_since("2.5"),
        client_resets_block_poll=bin_within("0.10.2", "1.0"),
        client_heartbeats_while_rebalancing=bin_since("2.6"),
        client_ignores_refusals_of_old_generations=bin_since("2.6"),
        offset_not_available=bin_since("2.2"),
        listed_offsets_have_epochs=bin_since("2.2"),
        consumer_list_offsets_version=5 if bin_since("2.2") else 4,
        not_leader_or_follower_name=bin_since("2.6"),
        renames_deleted_logs=bin_since("0.10.2"),
        removes_refused_deletions=bin_since("0.10.2"),
        forgets_offsets_of_deleted_topics=bin_since("0.10.2"),
        storage_failure_kills_broker=not ibp_since("1.0"),
        watches_log_dir_failures=bin_since("1.0"),
        disabled_deletions_reported=not bin_since("0.10.2"),
        reassignment_epoch_not_remembered=not bin_since("2.4"),
        leader_and_isr_skips_leaving_leader=bin_within("1.1", "2.0.1"),
        reelected_controller_repeats_reassignments=not bin_since("0.11"),
        unsent_batch_stays=bin_since("2.1"),
        growth_while_deleted_taken_back=bin_since("2.0.0"),
        leaders_balanced_one_by_one=not bin_since("2.0.1"),
        balance_goes_by_remembered_isr=bin_since("2.6"),
        shutdown_moves_one_by_one=not bin_since("1.1"),
        reassignments_not_preempted=not bin_since("2.7"),
        metadata_sent_after_taking_over=not bin_since("0.10.2"),
        metadata_needs_partitions=not bin_since("0.10.2"),
        failed_reassignment_given_up=not bin_since("2.4"),
        unled_replicas_stay_online=not bin_since("0.10.2") or bin_within("1.1", "1.1"),
        new_log_tries_next_directory=bin_since("2.4"),
        newer_broker_epoch_fails_orders=bin_within("2.2", "2.4"),
        long_names_fail_deletion=bin_within("0.10.2", "2.1"),
        failed_deletion_fails_directory=bin_since("1.0"),
        refused_deletion_forgets_offline=bin_within("1.1", "2.0.1"),
        removed_partition_ends_fetcher=bin_within("2.1", "2.1"),
        failing_directory_ends_start=bin_within("1.0", "1.1"),
        failed_flush_ends_close=not bin_since("2.8"),
        marker_deleted_before_loading=bin_since("2.8"),
        unassigned_isr_member_ends_check=bin_since("2.4"),
    )
