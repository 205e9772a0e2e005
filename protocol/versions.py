"""Versions and gates: the only place that knows which Kafka did what since when.

A broker has two versions. Its *binary* decides defaults and what its controller and its log do;
`inter.broker.protocol.version` (IBP, by default the binary's own, never newer) decides what it says to other
brokers. Everywhere else the code asks a named gate: `gates.truncates_on_fetch`, never `version >= 2.7`.

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
"""Every version the emulator plays, oldest first; each does as its last patch release does (1.0 as 1.0.2)."""

BETWEEN: tuple[str, ...] = ("0.9", "0.10.0", "0.10.1")
"""Kafka's minor releases between the ladder's first two steps, which are not played: tables say since which of all
something is known."""

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
    """Position of a gate's boundary on the ladder. Raises ValueError for an alias or a patch release: `2.0` stands for
    2.0.1, so that a gate which begins with it leaves 2.0.0 out unnoticed."""
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
    """Whether `version` is `first` or newer; either may be any of `releases`. For tables of defaults and gates only."""
    return _place(version) >= _place(first)


Steps = tuple[tuple[str, str], ...]
"""What holds since which version: [(first version, value)], oldest first."""


def in_force(version: str, steps: Steps) -> str:
    """The value of the last step that `version` has reached. The first step is the oldest version's."""
    assert steps[0][0] == LADDER[0], steps
    return [value for first, value in steps if since(version, first)][-1]


PROTOCOL_VERSIONS: dict[str, str] = {
    "0.8.0": "", "0.8.1": "", "0.8.2": "", "0.9.0": "", "0.10.0": "IV1", "0.10.1": "IV2", "0.10.2": "IV0",
    "0.11.0": "IV2", "1.0": "IV0", "1.1": "IV0", "2.0": "IV1", "2.1": "IV2", "2.2": "IV1", "2.3": "IV1", "2.4": "IV1",
    "2.5": "IV0", "2.6": "IV0", "2.7": "IV2", "2.8": "IV1",
}  # fmt: skip
"""What inter.broker.protocol.version and log.message.format.version may be (ApiVersion), each with its last internal
version, `2.7-IV2`, which is the same as `2.7`."""


def protocol_release(text: str) -> str:
    """`2.7`, `2.7.2` or `2.7-IV2` -> `2.7`, one of PROTOCOL_VERSIONS. Raises UnknownVersion."""
    parts = text.partition("-")[0].split(".")
    short = ".".join(parts[: 3 if parts[0] == "0" else 2])
    short = {"0.11": "0.11.0"}.get(short, short)
    if short not in PROTOCOL_VERSIONS:
        raise UnknownVersion(f"unknown protocol version {text!r}; one of: {', '.join(PROTOCOL_VERSIONS)}")
    return short


def protocol_version(text: str) -> str:
    """The same on the ladder. Raises UnknownVersion: no such version, one that is not played, or an internal version
    between releases."""
    short, internal = protocol_release(text), text.partition("-")[2]
    if internal and internal != PROTOCOL_VERSIONS[short]:
        raise UnknownVersion(f"protocol version {text!r} lies between releases, and those alone are played: {short}")
    if text in LADDER:
        return text
    return "2.0.0" if short == "2.0" else ladder_name(short)


def message_format_magic(text: str) -> int:
    """The record format of a log.message.format.version: 0, 1 or 2. Raises UnknownVersion."""
    order = list(PROTOCOL_VERSIONS)
    place = order.index(protocol_release(text))
    return sum(place >= order.index(first) for first in ("0.10.0", "0.11.0"))


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker of one (binary, inter.broker.protocol.version) pair does. One field per rule."""

    binary: str
    inter_broker_protocol: str

    # --- records (IBP) ---
    record_magic: int
    """Format of batches: 0 (0.8.2), 1 (0.10.x), 2 (0.11+), or an older one by log.message.format.version."""

    compacted_topics_need_keys: bool
    """0.9+ (binary): a record without a key is refused where `cleanup.policy` has compact (semantics 1.8)."""
    invalid_record_named: bool
    """2.4+ (binary): what is refused so is INVALID_RECORD, which no client tries again; before, CORRUPT_MESSAGE."""

    # --- truncation (IBP; semantics 2.1, table of eras) ---
    truncates_to_high_watermark: bool
    """E0: a follower cuts to its own high watermark on becoming follower."""
    epoch_request_version: int
    """Version of OFFSET_FOR_LEADER_EPOCH a follower sends: -1 none, 0 (KIP-101), 1 (KIP-279), 2 fenced (KIP-320), 3;
    not 2.8's 4, which says the same in another form."""
    truncates_on_fetch: bool
    """E4: no separate request; the fetch answer names the divergence (Fetch v12)."""
    fetch_version: int
    """Version of the FETCH a follower sends."""
    consumer_fetch_version: int
    """Version of the FETCH a consumer sends: 0 in 0.8.2, which has the old one alone. From 3 on all are alike here."""
    fences_by_epoch: bool
    """E3+: requests carry the current leader epoch and are fenced by it (semantics 2.2)."""
    has_epoch_cache: bool
    """0.11+ (record format): leader-epoch-checkpoint is kept. Older records name no epoch, whatever brokers speak."""
    cuts_without_asking: bool
    """2.1+ (binary): who knows no epoch cuts to the high watermark at once; before, it asks, and is told nothing."""
    drops_answers_of_older_epochs: bool
    """2.1+ (binary): an answer about epochs counts only in the leader epoch in which it was asked for."""
    fetch_start_at_log_end: bool
    """0.11, 1.0: a truncating follower starts at its log end instead of its high watermark (semantics 1.7)."""

    # --- leadership (binary; semantics 1.7, 3) ---
    assigns_epoch_on_election: bool
    """2.0.1+: a new leader writes (epoch, log end) at once (KAFKA-7415)."""
    epoch_entry_below_first_answered: bool
    """2.0.1+: a question about an epoch older than all cached is answered with the first entry's start."""
    no_epochs_end_at_log_end: bool
    """0.11 (to 1.0.1): who knows no epoch asks a leader that knows none either, and is answered with its log end."""
    epoch_cache_strict_assign: bool
    """2.0.1+: assigning an epoch removes conflicting tail entries."""
    expand_needs_epoch_start: bool
    """2.0.1+: a replica joins the ISR only at or beyond the leader epoch's start (KAFKA-7128)."""
    fetcher_restart: str
    """When LeaderAndIsr restarts a follower's fetcher: `leader-changed` (E0-2.0.0), `leader-or-epoch-jump` (2.0.1),
    `leader-or-epoch` (2.1+)."""
    truncates_epochs_beyond_log_end: bool
    """2.6+: entries at or beyond the log end are dropped though nothing is cut."""
    out_of_range_starts_over: bool
    """0.8.2: a follower out of range whose leader does not end below it throws its log away (KAFKA-2477)."""
    out_of_range_exits: bool
    """E0-2.0.0 with unclean election off: a follower ahead of its leader exits (semantics 2.3)."""
    fetcher_shutdown_waits: bool
    """Up to 1.0: a LeaderAndIsr that leaves a fetcher without partitions is done only when the fetch under way has been
    answered or given up, up to request.timeout.ms later (KAFKA-6051)."""
    elections_repeat_all_for_one: bool
    """1.1 to 2.3: where one partition's state was written by somebody else meanwhile, all that are elected together are
    elected once more, an epoch later (PartitionStateMachine.electLeaderForPartitions)."""
    damaged_batch_ends_fetcher: bool
    """0.8.2: what fails its checksum is taken for fetched, and the next answer does not fit then
    (AbstractFetcherThread.processFetchRequest)."""
    alter_isr_every_50_ms: bool
    """2.7 alone: a task looks every 50 ms whether an ISR change is to be sent to the controller; 2.8 sends it at once
    (DefaultAlterIsrManager)."""
    served_partitions_move_to_end: bool
    """0.10.1+: a partition that brought something, or is delayed, is asked for behind the others
    (AbstractFetcherThread.processFetchRequest)."""
    lost_session_takes_partition_offline: bool
    """2.7+: where a session ends while a new log's configuration is asked for, a LeaderAndIsr goes on without that
    partition, which is offline from then on; before, the order ends (Partition.makeLeader; KAFKA-9769)."""
    append_error_fails_partition: bool
    """2.3+: an unexpected append error marks one partition failed; before, the fetcher thread dies."""
    stop_replica_checks_epoch: bool
    """2.6+: StopReplica carries a leader epoch."""
    cut_checkpoints_though_nothing_was_cut: bool
    """Up to 0.11: recovery points are written after every cut that is ordered, also one at or beyond the log end
    (LogManager.truncateTo)."""
    cut_checkpoints_all_directories: bool
    """Up to 2.1: after a cut recovery points are written in every log directory; from 2.2 in that of what was cut."""
    start_over_checkpoints_all_directories: bool
    """Up to 1.0: the same where a log is thrown away (LogManager.truncateFullyAndStartAt); from 1.1 in its own."""
    deletions_checkpoint_recovery_points: bool
    """1.1+: after a log is deleted recovery points of its directory are written (LogManager.asyncDelete)."""
    checkpoints_directories_without_logs: bool
    """2.7+: recovery points and log starts of a directory that holds no log are written, too; before, what the files
    say stays (LogManager.logsInDir)."""
    recovery_counts_as_flushed: bool
    """1.0 to 2.7: what a start after an unclean stop finds, the recovery point is its end, though nothing was synced;
    before and after, it stays where it was checkpointed (Log.recoverLog)."""
    recovery_skips_epoch_zero: bool
    """2.1 to 2.5: recovery does not add epoch 0 from batches (LogSegment.recover; KAFKA-10432)."""
    recovery_cuts_large_messages: bool
    """Up to 0.10.2: recovery takes a message larger than max.message.bytes for damage (LogSegment.recover)."""
    followers_refuse_large_batches: bool
    """Up to 2.5: a follower does not take what is larger than max.message.bytes (Log.analyzeAndValidateRecords;
    KAFKA-9617)."""
    empty_log_begins_within_batch: bool
    """1.0+: a follower without records takes a batch in whose midst its log begins, and begins with it
    (Partition.appendRecordsToFollower; KAFKA-6975)."""
    rolls_before_producers_are_checked: bool
    """2.4+: an append rolls a full segment before it is known whether its producer is refused (Log.append)."""
    raised_log_start_counts_as_flushed: bool
    """2.4+: the recovery point is never below the log's start (Log.updateLogStartOffset)."""
    beginning_anew_forgets_epochs: bool
    """2.8+: a log found to end below its checkpointed start begins without epochs; before, the newest moves along
    (Log.recoverLog)."""
    wrapper_reads_whole: bool
    """Magic 0 and 1: a read returns the first whole wrapper whose last offset is >= the asked one (semantics 11.9)."""

    deposed_leader_answers_parked: bool
    """0.9+: becoming follower a broker answers what is parked; 0.8.2 leaves it to the next fetch of a follower
    (produces) and to its time-out."""
    deleted_replica_answers_parked: bool
    """2.4+: so does one that loses its replica (KAFKA-9198)."""
    leaders_known_by_metadata: bool
    """0.9+: who may be followed is told by UpdateMetadata; in 0.8.2 by the LeaderAndIsr itself."""
    fetcher_answer_within_request_timeout: bool
    """0.10+: how long a fetcher waits for an answer is request.timeout.ms; before, replica.socket.timeout.ms."""

    # --- high watermark and ISR (binary) ---
    recently_caught_up_holds_high_watermark: bool
    """0.10.2+: the high watermark waits for replicas outside the ISR that were caught up a moment ago (KAFKA-4485)."""
    leaders_new_epoch_forgets_followers: bool
    """0.8.2: every leader epoch makes followers' log ends unknown, also that of who led before (0.9: only a new
    leader's)."""
    answers_at_once_when_high_watermark_moved: bool
    """2.4, 2.5: a parked fetch is answered when the high watermark last sent is older than the leader's own."""
    failed_reads_keep_follower_state: bool
    """2.4+ (KAFKA-8400)."""
    caught_up_replica_not_shrunk: bool
    """2.1+: a follower at the leader's log end is never removed by time (semantics 1.3)."""
    lag_by_messages: bool
    """0.8.2: replica.lag.max.messages; and silence counts from the last fetch, whatever that was answered."""
    shrink_check_full_period: bool
    """Up to 0.10.1: the check runs every replica.lag.time.max.ms instead of half of it."""
    fetch_blocks_on_partition_lock: bool
    """2.1+: consumer fetches too wait for the partition's lock, and ListOffsets (semantics 1.6)."""
    looks_after_parked_requests_last: bool
    """2.7+: a produce is answered before what it completes by its append is looked at (KAFKA-8334)."""
    high_watermark_needs_moved_follower: bool
    """2.4+: a follower's fetch moves the high watermark only if it is at another offset than before."""
    fetch_above_high_watermark_fails: bool
    """Up to 0.9: a consumer between the high watermark and the log end is told -1; then nothing, and no error."""
    unassigned_follower_fails_fetch: bool
    """Up to 0.11: the fetch of a follower that one of its partitions is not assigned to fails as a whole, with -1; from
    1.0 that partition comes empty, until the fetch was parked (semantics 1.2)."""

    # --- ISR persistence (IBP and binary; semantics 1.6) ---
    alter_isr: bool
    """E4 with IBP 2.7-IV2: through the controller."""
    notifies_isr_changes: bool
    """0.9+, where the ISR is written straight to the session service (KAFKA-1367)."""
    stuck_zk_version_pends: bool
    """2.8 with an older IBP: a failed conditional write stays pending until a higher epoch."""
    session_wait_ends_at_expiry: bool
    """1.1+: a call waiting for the session service fails when the session expires; before, it is retried in the new
    session."""

    fetches_configuration_of_held_logs: bool
    """Up to 2.5: the first LeaderAndIsr of a life asks for a topic's configuration even where its log is there."""
    reassigns_to_live_brokers_only: bool
    """0.8.2: a reassignment to a broker that is dead is refused."""
    ignores_reassignment_to_same_replicas: bool
    """Up to 2.3: a reassignment to the replicas that a partition has, in their order, is refused; from 2.4 it is done,
    which costs a leader epoch."""
    needs_controller_to_try_shutdown_again: bool
    """Up to 1.0: an orderly stop that finds no controller goes on without one at once; from 1.1 it looks again."""
    shutdown_answer_within_request_timeout: bool
    """0.9+ (IBP; from binary 1.0 always): how long the controller may take to answer a controlled shutdown is
    request.timeout.ms; before, controller.socket.timeout.ms."""
    controlled_shutdown_occupies_handler: bool
    """Up to 0.10.2: the controller handles ControlledShutdown on the request handler's thread (KAFKA-5028)."""

    # --- controller (binary; semantics 4) ---
    controller_epoch_multi: bool
    """2.1+: election and writes are multis that check /controller_epoch (KAFKA-6082)."""
    broker_epochs: bool
    """2.2+ (KIP-380): requests carry the broker epoch; a bounced broker is noticed."""
    startup_offlines_dead_replicas: bool
    """2.3+: a new controller moves replicas on dead brokers to OfflineReplica first (KAFKA-3143)."""
    sole_isr_member_kept: bool
    """1.1+: the last member always stays in the ISR; before only with unclean election off."""
    tells_all_who_lives: bool
    """0.9+: every broker is told of one that came, and of one that went without leading anything."""
    shutdown_elects_by_isr: bool
    """Up to 0.9: a controlled shutdown's new leader is the first of the ISR that stays; then, of the assignment."""
    shutdown_leaves_deletions_alone: bool
    """2.1+: a controlled shutdown neither moves nor counts partitions of topics that wait for their deletion; before,
    they are as any other."""
    resends_after_ms: int
    """Pause of the controller before it tries a request again: 300 up to 0.10.0, then 100."""
    registration_waits_for_old_session: bool
    """0.8.2: a broker that finds its own znode of an earlier session waits zookeeper.session.timeout.ms and tries
    again."""
    halts_when_stopped_while_starting: bool
    """0.9+: who is told to stop before it has registered ends at once, as if it was killed."""
    registration_retries_node_exists: bool
    """2.2+: a stale ephemeral of an earlier session of the same broker is replaced (KAFKA-7165)."""
    batched_controller_writes: bool
    """1.1+: the controller reads and writes states in pipelined batches."""
    failure_waits_for_sender_thread: bool
    """0.10 to 2.0: removing a dead broker waits for its blocked sender thread (semantics 11.13 saw it on 0.10.2; the
    sender's client is first closed from under it in 2.1; in 0.8.2 the thread is interrupted)."""
    registers_rack: bool
    """0.10+: a broker registers its rack, here its AZ, and replicas are placed by it (KIP-36, semantics 4.4)."""
    config_change_form: int
    """How a change of a topic's configuration is told: 0 by its name alone (0.8.2), 1 (0.9), 2 (0.10.1+)."""
    settings_change_while_running: bool
    """1.1+: brokers can be given some settings while they run (KIP-226)."""
    logs_forget_what_topics_say: bool
    """Up to 2.3: a log that was told of other settings of its broker does not know any more which of its own are its
    topic's: the next change overrides them, too (KAFKA-9254)."""
    keeps_flush_ms_that_was_removed: bool
    """Up to 2.5: log.flush.interval.ms stays as it was set when it is removed, until the broker starts again
    (KAFKA-10268)."""
    unknown_topics_have_no_settings: bool
    """2.0+: DescribeConfigs of a topic that is not there is answered 3; before, with what any topic has."""
    no_names_mean_all_settings: bool
    """2.7+: DescribeConfigs that names an empty list of settings is told all; before, none."""
    altered_by_synonym: bool
    """Up to 2.5: DescribeConfigs calls nothing read-only that has a synonym which can be altered."""
    names_settings_without_value: bool
    """2.6+: a null in AlterConfigs is answered 42 with its setting's name; before, -1."""
    altered_topics_are_looked_for: bool
    """2.7+: AlterConfigs of a topic that is not there is answered 3; before, -1."""
    elections_that_are_not_needed_are_told: bool
    """2.4+ (KIP-460): ElectLeaders answers 84 where the leader is right already; before, success."""
    enables_unclean_election_of_all_at_once: bool
    """2.0+: where it is switched on for the controller's broker, whatever has no leader gets one (KAFKA-6526)."""
    enables_unclean_election_at_once: bool
    """2.1+: a topic whose unclean election is switched on gets its leaders without another event (KAFKA-6911)."""
    resigns_in_every_session: bool
    """Up to 0.10.1: a controller resigns in each new session, also where it has been elected in it already; then nobody
    acts, and `/controller` names it (KAFKA-4229). 0.8.2, where leaders are balanced: who is no controller fails to
    resign, and is elected once it has registered."""
    deposed_controller_goes_on: bool
    """0.8.2: a controller that is told that `/controller` names another one does not resign (KAFKA-2437)."""
    ephemerals_end_with_session: bool
    """0.9 to 1.0: `/controller` and a broker's znode are created in the session in which that began, or not at all
    (ZKCheckedEphemeral); everything else is asked again in the next session. An election that fails so deletes
    `/controller`, whoever has it; a process whose first registration does ends."""
    registers_before_election: bool
    """1.1+: a broker registers itself, then its controller tries to be elected; before, the other way round."""
    metadata_refuses_invalid_names: bool
    """2.8+: metadata of a topic whose name none can have is answered 17; before 3 (KafkaApis.getTopicMetadata)."""
    broker_loggers: bool
    """2.4+: levels of a broker's loggers are described and altered as settings are (KIP-412)."""
    serves_after_registration: bool
    """1.0+: a broker reads clients' requests once it has registered (SocketServer.startProcessors); before, at once."""
    registers_beside_controller: bool
    """0.11, 1.0: in a new session it registers at once, whatever its controller's thread is busy with (KAFKA-5028);
    before, when that has tried to be elected, on the same thread."""
    offline_leaders_by_liveness: bool
    """1.0+: a leader of -1 counts as offline when brokers fail; before, only leaders among the brokers that failed."""
    hears_of_isr_changes: bool
    """0.9+: the controller watches `/isr_change_notification`, and brokers make the path (KAFKA-1367)."""
    deletes_old_notifications: bool
    """1.1+: a new controller deletes the notifications that were there before it (semantics 4.1); 1.0 only those of
    failed log directories."""
    preferred_election_moves_leader_to_itself: bool
    """1.1 to 2.1: an asked preferred election gives a new epoch even where the preferred replica leads already."""
    metadata_updates_brokers_only: bool
    """2.2+: UpdateMetadata may carry the live brokers alone; before, no partition named meant all of them."""
    tells_of_all_deletions: bool
    """Up to 1.1: every UpdateMetadata tells also of all partitions whose topics are to be deleted (leader -2); later
    only one that is about them."""
    hears_of_created_reassignments_only: bool
    """1.1+: the controller looks at `/admin/reassign_partitions` when it is created, and after its own deletion of it;
    before, at each change, for what is not being moved yet."""
    added_replicas_are_told_at_once_that_they_are_new: bool
    """2.7+: a reassignment's first LeaderAndIsr tells those that are added so (isNew); before, only the next does, too
    late: a broker that lost a log directory has taken them for offline by then."""
    successor_gives_up_moves_of_deleted_topics: bool
    """1.1+: a new controller begins no reassignment of a topic that is to be deleted; before, it does, and the deletion
    waits for it."""
    topic_znode_keeps_reassignment: bool
    """2.4+: `/brokers/topics/T` says which replicas are being added and removed (KIP-455)."""
    leader_and_isr_version: int
    """Version of LEADER_AND_ISR that the controller sends (IBP); 2 and later carry the broker epoch. Not 2.8's 5, which
    adds topic ids."""
    update_metadata_version: int
    """Version of UPDATE_METADATA that the controller sends (IBP); 5 and later carry the broker epoch. Not 2.8's 7,
    which adds topic ids."""
    stop_replica_version: int
    """Version of STOP_REPLICA that the controller sends (IBP); 1 and later carry the broker epoch, 3 leader epochs."""
    metadata_keeps_isr_without_leader: bool
    """2.4+: metadata of a partition whose leader is unknown or not alive shows the real ISR; before, an empty one
    (semantics 11.12)."""
    metadata_has_leader_epoch: bool
    """2.1+: metadata answers carry leader epochs (Metadata v7, KIP-320)."""
    metadata_has_epoch_without_leader: bool
    """2.5+: also of a partition whose leader is unknown or not alive."""
    metadata_epochs_reliable: bool
    """2.4+ (Metadata v9): clients from 2.4 on go by the epochs of metadata of this broker, and not by older ones'."""
    unknown_replica_answers_not_leader: bool
    """2.0+: a broker that has no replica of a partition, and knows of it by metadata alone, answers 6; before, 3
    (semantics 11.12)."""
    unknown_replica_answers_epochs_not_leader: bool
    """2.1+: also who asks where an epoch ends."""

    # --- clients and names ---
    idempotence: bool
    """0.11+."""
    remembered_batches: int
    """Batches remembered per producer: 1 in 0.11, 5 from 1.0."""
    unknown_producer_accepted: bool
    """2.5+: an unknown producer may start at any sequence."""
    unknown_producer_named: bool
    """1.0+: an unknown producer that starts elsewhere is answered 59; in 0.11 45, as any gap."""
    old_consumer: bool
    """Up to 1.1: the consumer that keeps its offsets in the session service (removed in 2.0)."""
    group_coordinator: bool
    """0.9+: offsets are committed to a coordinator. 0.8.2 could do that too, with a manager of its own that is not
    modelled."""
    offset_commit_value_version: int
    """Layout of a committed offset's record (IBP): 1 until 2.0, 3 from 2.1, which has a leader epoch (KIP-320)."""
    group_metadata_value_version: int
    """Layout of a group's record (IBP): 1 until 2.0, 2 from 2.1 (KIP-211), 3 from 2.3, which has static members
    (KIP-345)."""
    loading_coordinator_says_so: bool
    """2.0+: a coordinator that reads its partition says so (14); before, that it is none (16)."""
    offsets_loaded_to_log_end: bool
    """0.11+: a new coordinator reads its partition to the log end; before, to the high watermark of that moment."""
    offsets_topic_needs_all_brokers: bool
    """0.11+ (KIP-115): the offsets topic is not created with fewer replicas than configured."""
    first_rebalance_waits: bool
    """0.11+ (KIP-134): the first rebalance of a group without members waits for others to come."""
    new_members_are_named_first: bool
    """2.2+ (KIP-394): a new member is given its id, and joins with it."""
    new_members_wait_at_most_five_minutes: bool
    """2.1+: a new member that has waited for the others for five minutes is told 25, and is out (KAFKA-7610)."""
    completing_rebalance_name: bool
    """1.1+: a group whose leader assigns is called CompletingRebalance; before, AwaitingSync."""
    static_members: bool
    """2.3+ (KIP-345): a member with a group.instance.id keeps its place when it comes back."""
    refuses_static_members: bool
    """2.3+ with an older inter.broker.protocol.version: whoever has a group.instance.id is told 35."""
    full_groups_count_who_waits: bool
    """2.6+: while a group is prepared, group.max.size counts who waits to join; before, members (KAFKA-9885)."""
    full_groups_forget_instances: bool
    """2.3 to 2.7: a static member that comes back to a full group is not known by its group.instance.id any more."""
    static_rejoin_is_stored: bool
    """2.6+ (KAFKA-10284): the next coordinator knows the new id of a static member that came back."""
    static_rejoin_while_assigning_rebalances: bool
    """2.5+ (KAFKA-9801): the leader may assign to the old self of a static member that came back; before, it did."""
    unsynced_members_are_removed: bool
    """2.8+ (KAFKA-12890): a member has the rebalance time-out to ask for its assignment."""
    nobody_commits_while_assigning: bool
    """Up to 2.3: while the leader assigns, any commit is told 27; then strangers are told what they are."""
    heartbeats_while_assigning: bool
    """2.6+ (KAFKA-10134): a heartbeat while the leader assigns is as any other; before, it is told 27."""
    consumer_epoch_validation: bool
    """2.3+: consumers detect truncation (KIP-320, OFFSET_FOR_LEADER_EPOCH v3)."""
    client_ignores_older_epochs: bool
    """2.2+: producers and consumers ignore metadata of an older leader epoch than they have heard of (Metadata)."""
    metadata_without_epoch_forgets_all: bool
    """2.2: a partition told of without an epoch makes a client forget those of all; later, that one's."""
    ignored_metadata_hides_leader: bool
    """2.2, 2.3: a consumer that ignored metadata of an older epoch has no leader until it hears of the newer one."""
    first_epoch_may_come_with_an_offset: bool
    """2.2 to 2.4: the epoch that comes with a committed or listed offset counts also where metadata have told none."""
    client_needs_reliable_epochs: bool
    """2.4+: epochs in metadata of a broker before 2.4 count as absent."""
    client_knows_topic_ids: bool
    """2.8: what was heard of a topic's epochs does not hold against another one of the same name (KAFKA-12257)."""
    client_ignores_failures_of_old_epochs: bool
    """2.5, 2.6: a batch of an epoch of the past that fails for good costs no new epoch; then, it does."""
    client_numbers_idle_partitions_on: bool
    """2.5, 2.6: a partition with nothing under way goes on with its numbers in an epoch that another one has raised
    (KAFKA-12152); then, it begins at 0."""
    client_gives_what_precedes_damage: bool
    """0.11+: a consumer gives out what lies before a damaged batch; in 0.10.2 that fails the whole answer."""
    client_tells_of_truncation: bool
    """2.6+: without a policy poll() throws LogTruncationException; in 2.3 to 2.5 that exception is lost."""
    client_batches_expire: bool
    """0.10.2+ (in Kafka since 0.9, KIP-19): a batch that cannot leave is given up by time; in 0.8.2 it waits."""
    client_asks_connected_first: bool
    """2.3+: what any broker can answer a client asks of one that it is connected to, if that can take more; before, of
    one that it is not connected to rather than of a busy one."""
    client_connects_to_least_recent: bool
    """2.7+: of those it is not connected to, of the one that it has tried longest ago; before, whichever comes."""
    client_pause_counts_from_attempt: bool
    """0.8.2: reconnect.backoff.ms counts from when connecting began; then, from when the connection was lost."""
    client_pauses_grow: bool
    """1.0+: pauses before connecting again grow up to reconnect.backoff.max.ms; in 0.11 each attempt forgets what
    failed before (ClusterConnectionStates.connecting), and before that there is no such setting (KIP-144)."""
    client_disconnects_lost_coordinator: bool
    """1.0+: a consumer that gives its coordinator up gives up the connection and what is under way on it; before, the
    connection stays, and is used again if the next look names the same broker."""
    client_join_waits_for_rebalance: bool
    """2.0+: a consumer waits for the answer to JoinGroup as long as a rebalance may take; before, as for any."""
    client_retries_commits_to_unknown_topics: bool
    """2.0+: a commit that is told 3 is tried again; before, it has failed."""
    client_stays_member_when_commit_meets_rebalance: bool
    """2.4+: a member whose commit is told 27 joins again as who it is; before, as a new one."""
    client_tells_lost_partitions: bool
    """2.4+: partitions of a member that is none any more are lost; before, they are revoked as any (KIP-429)."""
    client_reads_while_it_joins: bool
    """2.5+: poll() brings records also while the coordinator is unknown, others are waited for, or it is asked what the
    group has committed; before, nothing."""
    client_resets_block_poll: bool
    """Up to 1.0: poll() brings and commits nothing while a leader is asked where its log begins or ends; then, what
    needs no such answer is read meanwhile."""
    client_heartbeats_while_rebalancing: bool
    """2.6+: a member is heard of from the answer to JoinGroup on; before, once it has its assignment."""
    client_ignores_refusals_of_old_generations: bool
    """2.6+: what is told to a generation that a member has left behind does not make it a stranger."""
    offset_not_available: bool
    """2.2+: ListOffsets answers 78 while the high watermark is below the leader epoch's start."""
    listed_offsets_have_epochs: bool
    """2.2+: ListOffsets says leader epochs; 2.1 has a place for them, and nothing in it (semantics 1.9)."""
    consumer_list_offsets_version: int
    """Version of the LIST_OFFSETS a consumer sends; who sends 4 or less, which are alike here, is told 5 instead of
    78."""
    not_leader_or_follower_name: bool
    """2.6+: code 6 has its new name."""
    renames_deleted_logs: bool
    """0.10.1+: the folder of a log that is deleted is renamed first, and what is in it goes later; before, its files go
    one by one (semantics 4.5)."""
    removes_refused_deletions: bool
    """0.10.1+: with `delete.topic.enable` off the controller takes the mark away; before, it stays until there is a
    controller that may delete (semantics 4.5)."""
    forgets_offsets_of_deleted_topics: bool
    """0.10.1+: coordinators drop what groups have committed of partitions that are deleted (semantics 6)."""
    delete_records: bool
    """0.11+: records are deleted up to an offset, and a log's start goes from leaders to followers (KIP-107)."""
    deletes_records_before_policy: bool
    """0.11: records are deleted, and then refused to be where `cleanup.policy` has no delete."""
    deleted_records_forget_producers: bool
    """Up to 2.3: a producer whose last batch was deleted is unknown (KIP-360)."""
    storage_failure_kills_broker: bool
    """Up to 0.11 (IBP): a failed log directory stops the process; from 1.0 (KIP-112) only if it was the last."""
    hears_of_log_dirs: bool
    """1.0+: the controller asks a broker that lost a log directory which replicas are gone (KIP-112)."""

    # --- controller: errors of Kafka's that a later release mended, or that came with one (semantics 8) ---
    disabled_deletions_reported: bool
    """Up to 0.10.0: a new controller with `delete.topic.enable` off reports partitions of topics that are marked with
    leader -2 all the same (KAFKA-3175; TopicDeletionManager.partitionsToBeDeleted)."""

    growth_while_deleted_taken_back: bool
    """2.0+: partitions that are added to a topic which waits for its deletion are taken out of its znode again; before,
    they are ignored until a controller takes over (KAFKA-6612; KafkaController.PartitionModifications)."""
    leaders_balanced_one_by_one: bool
    """Up to 2.0.0: the leader balance elects partition by partition, each with its own requests (KAFKA-7299;
    KafkaController.checkAndTriggerAutoLeaderRebalance)."""
    balance_goes_by_remembered_isr: bool
    """2.6+: the leader balance tries no election where the preferred replica is outside the ISR that the controller
    remembers; before, it tries, and the ISR in ZooKeeper decides (KAFKA-9866;
    KafkaController.canPreferredReplicaBeLeader)."""
    shutdown_moves_one_by_one: bool
    """Up to 1.0: a controlled shutdown moves partition by partition, each with its own requests (KAFKA-5642;
    KafkaController.doControlledShutdown)."""
    reassignments_not_preempted: bool
    """Up to 2.6: a client's reassignment that waits for its turn when the session expires is never answered
    (KAFKA-10193; KafkaController.preempt)."""
    metadata_sent_after_taking_over: bool
    """Up to 0.10.1: a new controller sends its first full UpdateMetadata when it has taken over, behind all
    LeaderAndIsr (KAFKA-4443; KafkaController.onControllerFailover)."""
    metadata_needs_partitions: bool
    """0.8.2: an UpdateMetadata that names no partition is not sent, so that nobody hears who lives before there is a
    leader of anything (KAFKA-1867; ControllerBrokerRequestBatch.addUpdateMetadataRequestForBrokers)."""
    failed_reassignment_given_up: bool
    """Up to 2.3: a reassignment whose step fails is taken out of `/admin/reassign_partitions`, half-way as it is; from
    2.4 on it stays under way, and goes on when a broker of its target starts (KAFKA-9089;
    KafkaController.maybeTriggerPartitionReassignment)."""
    unled_replicas_stay_online: bool
    """0.8.2, 1.1: a replica whose partition never had a leader cannot go offline, so that its topic is never deleted
    (KAFKA-2937, KAFKA-6650; ReplicaStateMachine, OfflineReplica)."""
    # --- errors of brokers that a later release mended (binary; semantics 8, docs/kafka-fixes-brokers.md) ---
    new_log_tries_next_directory: bool
    """2.4+: a new log whose folder cannot be made in one log directory is made in the next (KAFKA-8526;
    LogManager.getOrCreateLog)."""
    newer_broker_epoch_fails_orders: bool
    """2.2 to 2.4: an order for a registration whose answer the broker does not have yet fails with -1 (KAFKA-9839;
    KafkaApis.isBrokerEpochStale)."""
    long_names_fail_deletion: bool
    """0.10.1 to 2.1: the folder of a log that is deleted gets a name longer than 255 characters, if the topic's is long
    enough, and so cannot be renamed (KAFKA-4893; Log.logDeleteDirName)."""
    failed_deletion_fails_directory: bool
    """1.0+: a log that cannot be deleted takes its log directory offline; before, the order fails with -1, and the log
    stays on disk, known to nobody (LogManager.asyncDelete)."""
    refused_deletion_forgets_offline: bool
    """1.1 to 2.0: a broker that refuses to delete a replica in a failed log directory forgets that it is there, so the
    next order to delete it succeeds (KAFKA-7313; ReplicaManager.stopReplica)."""
    removed_partition_ends_fetcher: bool
    """2.1: a partition without epochs that is removed from a fetcher while that asks its leader where epochs of others
    end, ends the fetcher's thread (KAFKA-8012; AbstractFetcherThread.truncateToHighWatermark)."""
    failing_directory_ends_start: bool
    """1.0, 1.1: a broker that starts on a disk that fails ends, whatever other log directories it has (KAFKA-6697;
    LogManager.createAndValidateLogDirs); later it starts without that one."""
    failed_flush_ends_close: bool
    """Up to 2.7: a log directory that cannot be flushed at a clean stop keeps others from getting their marker
    (KAFKA-10723; LogManager.shutdown)."""
    marker_deleted_before_loading: bool
    """2.8+: a start deletes the marker of a clean stop before it loads logs, so that one that breaks off counts as
    unclean; before, when it has loaded them (KAFKA-10471; LogManager.loadLogs)."""
    unassigned_isr_member_ends_check: bool
    """2.4 to 2.8: a run of isr-expiration ends at a partition whose ISR names a replica that is not assigned; up to 2.3
    its leader removes that replica when it lags (KAFKA-9672; Partition.isFollowerOutOfSync)."""

    reassignment_epoch_not_remembered: bool
    """Up to 2.3: the controller forgets the leader epoch that a reassignment's step has written. UpdateMetadata reports
    the one before, and consumers that go by epochs are fenced (KAFKA-9212; KafkaController.updateLeaderEpoch)."""

    shutting_down_leader_not_told: bool
    """1.1 to 2.0: a controlled shutdown's LeaderAndIsr leaves out brokers that are going down. The old leader takes
    writes until its process ends (KAFKA-7482; PartitionStateMachine.leaderForControlledShutdown)."""

    reelected_controller_repeats_reassignments: bool
    """Up to 0.10.2: a controller keeps the reassignments under way when it resigns. Elected again, it begins them once
    more, whatever has become of them (KAFKA-5310; ControllerContext.partitionsBeingReassigned)."""
    unsent_batch_stays: bool
    """2.1+: a batch of requests that ControllerMovedException leaves unsent is never emptied. When the same process is
    elected again, its state machine fails at each change (ControllerBrokerRequestBatch.newBatch)."""

    def understands(self, api_key: int, version: int) -> bool:
        """Whether this binary can read that version of a request of another broker. A binary knows each up to the
        version that it sends by default, with its own inter.broker.protocol.version."""
        newest = _understood(self.binary).get(api_key)
        return newest is None or version <= newest


@lru_cache(maxsize=64)
def _understood(binary: str) -> dict[int, int]:
    """{api key of what brokers send each other: newest version; -1: none}, where it has changed."""
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
    """The gates of a binary that speaks `inter_broker_protocol` (default: its own) to other brokers and writes records
    as `message_format` says, log.message.format.version (default: as it speaks).

    Raises UnknownVersion, UnusableProtocolVersion. """
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
        cuts_without_asking=bin_since("2.1"),
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
        looks_after_parked_requests_last=bin_since("2.7"),
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
        tells_all_who_lives=bin_since("0.10.2"),
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
        logs_forget_what_topics_say=not bin_since("2.4"),
        keeps_flush_ms_that_was_removed=not bin_since("2.6"),
        unknown_topics_have_no_settings=bin_since("2.0.0"),
        no_names_mean_all_settings=bin_since("2.7"),
        altered_by_synonym=not bin_since("2.6"),
        names_settings_without_value=bin_since("2.6"),
        altered_topics_are_looked_for=bin_since("2.7"),
        elections_that_are_not_needed_are_told=bin_since("2.4"),
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
        hears_of_isr_changes=bin_since("0.10.2"),
        deletes_old_notifications=bin_since("1.1"),
        preferred_election_moves_leader_to_itself=bin_within("1.1", "2.1"),
        metadata_updates_brokers_only=bin_since("2.2"),
        tells_of_all_deletions=not bin_since("2.0.0"),
        hears_of_created_reassignments_only=bin_since("1.1"),
        added_replicas_are_told_at_once_that_they_are_new=bin_since("2.7"),
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
        loading_coordinator_says_so=bin_since("2.0.0"),
        offsets_loaded_to_log_end=bin_since("0.11"),
        offsets_topic_needs_all_brokers=bin_since("0.11"),
        first_rebalance_waits=bin_since("0.11"),
        new_members_are_named_first=bin_since("2.2"),
        new_members_wait_at_most_five_minutes=bin_since("2.1"),
        completing_rebalance_name=bin_since("1.1"),
        static_members=bin_since("2.3"),
        refuses_static_members=bin_since("2.3") and not ibp_since("2.3"),
        full_groups_count_who_waits=bin_since("2.6"),
        full_groups_forget_instances=bin_within("2.3", "2.7"),
        static_rejoin_is_stored=bin_since("2.6"),
        static_rejoin_while_assigning_rebalances=bin_since("2.5"),
        unsynced_members_are_removed=bin_since("2.8"),
        nobody_commits_while_assigning=not bin_since("2.4"),
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
        client_tells_of_truncation=bin_since("2.6"),
        client_batches_expire=bin_since("0.10.2"),
        client_asks_connected_first=bin_since("2.3"),
        client_connects_to_least_recent=bin_since("2.7"),
        client_pause_counts_from_attempt=not bin_since("0.10.2"),
        client_pauses_grow=bin_since("1.0"),
        client_disconnects_lost_coordinator=bin_since("1.0"),
        client_join_waits_for_rebalance=bin_since("2.0.0"),
        client_retries_commits_to_unknown_topics=bin_since("2.0.0"),
        client_stays_member_when_commit_meets_rebalance=bin_since("2.4"),
        client_tells_lost_partitions=bin_since("2.4"),
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
        hears_of_log_dirs=bin_since("1.0"),
        disabled_deletions_reported=not bin_since("0.10.2"),
        reassignment_epoch_not_remembered=not bin_since("2.4"),
        shutting_down_leader_not_told=bin_within("1.1", "2.0.1"),
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
