"""The gates, rule by rule: their first version, of a broker's binary or of its protocol."""

import inspect

import pytest

from emulator.settings.setting_registry import REGISTRY
from protocol.versions import (
    LADDER,
    Gates,
    UnknownVersion,
    UnusableProtocolVersion,
    boundary_rank,
    gates_for,
    in_force,
    ladder_name,
    rank,
    releases,
    since,
)
from tests.protocol.gate_boundaries import IN_STRETCHES, OF_BOTH_VERSIONS, STEPPED, WITHIN

ALWAYS, NEVER = LADDER[0], "never"

# gate: (first version that has it, last one, who decides)
BINARY, IBP = "binary", "inter.broker.protocol.version"
TRUE_WITHIN: dict[str, tuple[str, str, str]] = {
    # the table of eras, semantics 1.7, 2.1, 2.2
    "truncates_to_high_watermark": (ALWAYS, "0.10.2", IBP),
    "truncates_on_fetch": ("2.7", "2.8", IBP),
    "fences_by_epoch": ("2.1", "2.8", IBP),
    "has_epoch_cache": ("0.11", "2.8", IBP),
    "wrapper_reads_whole": (ALWAYS, "0.10.2", IBP),
    "alter_isr": ("2.7", "2.8", IBP),
    "idempotence": ("0.11", "2.8", IBP),
    "epoch_entry_below_first_answered": ("2.0.1", "2.8", BINARY),
    "truncates_without_epoch_request": ("2.1", "2.8", BINARY),
    "drops_answers_of_older_epochs": ("2.1", "2.8", BINARY),
    "epoch_cache_strict_assign": ("2.0.1", "2.8", BINARY),
    "expand_needs_epoch_start": ("2.0.1", "2.8", BINARY),
    "truncates_epochs_beyond_log_end": ("2.6", "2.8", BINARY),
    "out_of_range_exits": (ALWAYS, "2.0.0", BINARY),
    "append_error_fails_partition": ("2.3", "2.8", BINARY),
    "elections_repeat_all_for_one": ("1.1", "2.3", BINARY),
    "damaged_batch_ends_fetcher": (ALWAYS, "0.8.2", BINARY),
    "alter_isr_every_50_ms": ("2.7", "2.7", BINARY),
    "served_partitions_move_to_end": ("0.10.2", "2.8", BINARY),
    "lost_session_takes_partition_offline": ("2.7", "2.8", BINARY),
    "stop_replica_checks_epoch": ("2.6", "2.8", BINARY),
    "recovery_skips_epoch_zero": ("2.1", "2.5", BINARY),
    "recovery_cuts_large_messages": (ALWAYS, "0.10.2", BINARY),
    "followers_refuse_large_batches": (ALWAYS, "2.5", BINARY),
    "empty_log_begins_within_batch": ("1.0", "2.8", BINARY),
    "rolls_before_producers_are_checked": ("2.4", "2.8", BINARY),
    "raised_log_start_counts_as_flushed": ("2.4", "2.8", BINARY),
    "beginning_anew_forgets_epochs": ("2.8", "2.8", BINARY),
    # semantics 1.2, 1.3, 1.6
    "recently_caught_up_holds_high_watermark": ("0.10.2", "2.8", BINARY),
    "answers_at_once_when_high_watermark_moved": ("2.4", "2.5", BINARY),
    "failed_reads_keep_follower_state": ("2.4", "2.8", BINARY),
    "caught_up_replica_not_shrunk": ("2.1", "2.8", BINARY),
    "fetch_above_high_watermark_fails": ("0.8.2", "0.8.2", BINARY),
    "unassigned_follower_fails_fetch": ("0.8.2", "0.11", BINARY),
    "lag_by_messages": ("0.8.2", "0.8.2", BINARY),
    "shrink_check_full_period": ("0.8.2", "0.8.2", BINARY),
    "fetch_blocks_on_partition_lock": ("2.1", "2.8", BINARY),
    "session_wait_ends_at_expiry": ("1.1", "2.8", BINARY),
    # semantics 4
    "controller_epoch_multi": ("2.1", "2.8", BINARY),
    "broker_epochs": ("2.2", "2.8", BINARY),
    "shutdown_leaves_deletions_alone": ("2.1", "2.8", BINARY),
    "startup_offlines_dead_replicas": ("2.3", "2.8", BINARY),
    "enables_unclean_election_of_all_at_once": ("2.0.0", "2.8", BINARY),
    "enables_unclean_election_at_once": ("2.1", "2.8", BINARY),
    "sole_isr_member_kept": ("1.1", "2.8", BINARY),
    "deleted_replica_answers_parked": ("2.4", "2.8", BINARY),
    "halts_when_stopped_while_starting": ("0.10.2", "2.8", BINARY),
    "registration_retries_node_exists": ("2.2", "2.8", BINARY),
    "renames_deleted_logs": ("0.10.2", "2.8", BINARY),
    "removes_refused_deletions": ("0.10.2", "2.8", BINARY),
    "forgets_offsets_of_deleted_topics": ("0.10.2", "2.8", BINARY),
    "deletes_old_notifications": ("1.1", "2.8", BINARY),
    "metadata_repeats_deletions": (ALWAYS, "1.1", BINARY),
    "watches_created_reassignments_only": ("1.1", "2.8", BINARY),
    "new_replicas_flagged_immediately": ("2.7", "2.8", BINARY),
    "successor_gives_up_moves_of_deleted_topics": ("1.1", "2.8", BINARY),
    "topic_znode_keeps_reassignment": ("2.4", "2.8", BINARY),
    # errors of the controller's, semantics 8
    "disabled_deletions_reported": (ALWAYS, "0.8.2", BINARY),
    "leader_and_isr_skips_leaving_leader": ("1.1", "2.0.1", BINARY),
    "reelected_controller_repeats_reassignments": (ALWAYS, "0.10.2", BINARY),
    "unsent_batch_stays": ("2.1", "2.8", BINARY),
    "growth_while_deleted_taken_back": ("2.0.0", "2.8", BINARY),
    "leaders_balanced_one_by_one": (ALWAYS, "2.0.0", BINARY),
    "balance_goes_by_remembered_isr": ("2.6", "2.8", BINARY),
    "shutdown_moves_one_by_one": (ALWAYS, "1.0", BINARY),
    "reassignments_not_preempted": (ALWAYS, "2.6", BINARY),
    "metadata_sent_after_taking_over": (ALWAYS, "0.8.2", BINARY),
    "metadata_needs_partitions": (ALWAYS, "0.8.2", BINARY),
    "failed_reassignment_given_up": (ALWAYS, "2.3", BINARY),
    "reassignment_epoch_not_remembered": (ALWAYS, "2.3", BINARY),
    # semantics 1.8
    "compacted_topics_need_keys": ("0.10.2", "2.8", BINARY),
    "invalid_record_named": ("2.4", "2.8", BINARY),
    # semantics 6, 7, 11.12
    "metadata_keeps_isr_without_leader": ("2.4", "2.8", BINARY),
    "unknown_replica_answers_not_leader": ("2.0.0", "2.8", BINARY),
    "unknown_replica_answers_epochs_not_leader": ("2.1", "2.8", BINARY),
    "metadata_has_leader_epoch": ("2.1", "2.8", BINARY),
    "unknown_producer_accepted": ("2.5", "2.8", BINARY),
    "unknown_producer_named": ("1.0", "2.8", BINARY),
    "consumer_epoch_validation": ("2.3", "2.8", BINARY),
    "offset_not_available": ("2.2", "2.8", BINARY),
    "listed_offsets_have_epochs": ("2.2", "2.8", BINARY),
    "not_leader_or_follower_name": ("2.6", "2.8", BINARY),
    "storage_failure_kills_broker": (ALWAYS, "0.11", IBP),
    "watches_log_dir_failures": ("1.0", "2.8", BINARY),
    # semantics 2.1, 3
    "cut_checkpoints_though_nothing_was_cut": (ALWAYS, "0.11", BINARY),
    "cut_checkpoints_all_directories": (ALWAYS, "2.1", BINARY),
    "start_over_checkpoints_all_directories": (ALWAYS, "1.0", BINARY),
    "deletions_checkpoint_recovery_points": ("1.1", "2.8", BINARY),
    "checkpoints_directories_without_logs": ("2.7", "2.8", BINARY),
    "recovery_counts_as_flushed": ("1.0", "2.7", BINARY),
    # clients' connections, numbers and metadata, semantics 6
    "client_ignores_failures_of_old_epochs": ("2.5", "2.6", BINARY),
    "client_numbers_idle_partitions_on": ("2.5", "2.6", BINARY),
    "client_gives_what_precedes_damage": ("0.11", "2.8", BINARY),
    "client_reports_truncation": ("2.6", "2.8", BINARY),
    "client_batches_expire": ("0.10.2", "2.8", BINARY),
    "client_prefers_connected_brokers": ("2.3", "2.8", BINARY),
    "client_connects_to_least_recent": ("2.7", "2.8", BINARY),
    "client_pause_counts_from_attempt": ("0.8.2", "0.8.2", BINARY),
    "client_pauses_grow": ("1.0", "2.8", BINARY),
    "client_reads_while_it_joins": ("2.5", "2.8", BINARY),
    "client_resets_block_poll": ("0.10.2", "1.0", BINARY),
    "metadata_has_epoch_without_leader": ("2.5", "2.8", BINARY),
    "metadata_epochs_reliable": ("2.4", "2.8", BINARY),
    "client_ignores_older_epochs": ("2.2", "2.8", BINARY),
    "metadata_without_epoch_forgets_all": ("2.2", "2.2", BINARY),
    "ignored_metadata_hides_leader": ("2.2", "2.3", BINARY),
    "first_epoch_may_come_with_an_offset": ("2.2", "2.4", BINARY),
    "client_needs_reliable_epochs": ("2.4", "2.8", BINARY),
    "client_knows_topic_ids": ("2.8", "2.8", BINARY),
    # errors of brokers that a later release mended, semantics 8
    "new_log_tries_next_directory": ("2.4", "2.8", BINARY),
    "newer_broker_epoch_fails_orders": ("2.2", "2.4", BINARY),
    "long_names_fail_deletion": ("0.10.2", "2.1", BINARY),
    "failed_deletion_fails_directory": ("1.0", "2.8", BINARY),
    "refused_deletion_forgets_offline": ("1.1", "2.0.1", BINARY),
    "removed_partition_ends_fetcher": ("2.1", "2.1", BINARY),
    "failing_directory_ends_start": ("1.0", "1.1", BINARY),
    "failed_flush_ends_close": (ALWAYS, "2.7", BINARY),
    "marker_deleted_before_loading": ("2.8", "2.8", BINARY),
    "unassigned_isr_member_ends_check": ("2.4", "2.8", BINARY),
}

VALUES: dict[str, tuple[str, dict[str, object]]] = {
    # gate: (who decides, {first version: value from there on})
    "record_magic": (IBP, {"0.8.2": 0, "0.10.2": 1, "0.11": 2}),
    "epoch_request_version": (IBP, {"0.8.2": -1, "0.11": 0, "2.0.0": 1, "2.1": 2, "2.3": 3}),
    "fetch_version": (
        IBP, {"0.8.2": 0, "0.10.2": 3, "0.11": 5, "1.1": 7, "2.0.0": 8, "2.1": 10, "2.3": 11, "2.7": 12},
    ),
    "leader_and_isr_version": (IBP, {"0.8.2": 0, "1.0": 1, "2.2": 2, "2.4": 4}),
    "stop_replica_version": (IBP, {"0.8.2": 0, "2.2": 1, "2.4": 2, "2.6": 3}),
    "fetcher_restart": (
        BINARY, {"0.8.2": "leader-changed", "2.0.1": "leader-or-epoch-jump", "2.1": "leader-or-epoch"},
    ),
    "remembered_batches": (BINARY, {"0.8.2": 1, "1.0": 5}),
}  # fmt: skip


def pairs() -> list[tuple[str, str]]:
    return [(binary, ibp) for binary in LADDER for ibp in LADDER if rank(ibp) <= rank(binary)]


@pytest.mark.parametrize("gate", TRUE_WITHIN)
def test_a_gate_holds_within_its_versions(gate: str) -> None:
    """For every pair of a binary and a protocol version that is not newer."""
    first, last, who = TRUE_WITHIN[gate]
    for binary, ibp in pairs():
        decides = ibp if who == IBP else binary
        assert getattr(gates_for(binary, ibp), gate) is (rank(first) <= rank(decides) <= rank(last)), (binary, ibp)


@pytest.mark.parametrize("gate", VALUES)
def test_a_gates_value_grows_with_its_version(gate: str) -> None:
    who, steps = VALUES[gate]
    for binary, ibp in pairs():
        decides = ibp if who == IBP else binary
        expected = [value for first, value in steps.items() if rank(first) <= rank(decides)][-1]
        assert getattr(gates_for(binary, ibp), gate) == expected, (binary, ibp)


def test_gates_that_need_both_versions() -> None:
    """2.0.1+ writes the epoch on election only where epochs are kept.

    2.8 pends only with direct writes; from 1.0 one client asks for controlled shutdowns, whatever is spoken.
    """
    for binary, ibp in pairs():
        gates = gates_for(binary, ibp)
        assert gates.assigns_epoch_on_election is (rank(binary) >= rank("2.0.1") and rank(ibp) >= rank("0.11"))
        assert gates.stuck_zk_version_pends is (binary == "2.8" and rank(ibp) < rank("2.7"))
        waits_as_a_request = rank(binary) >= rank("1.0") or rank(ibp) >= rank("0.10.2")
        assert gates.shutdown_answer_within_request_timeout is waits_as_a_request
        assert gates.notifies_isr_changes is (rank(binary) >= rank("0.10.2") and rank(ibp) < rank("2.7"))
        assert gates.refuses_static_members is (rank(binary) >= rank("2.3") and rank(ibp) < rank("2.3"))


def test_gates_that_hold_in_more_than_one_stretch_of_versions() -> None:
    for binary, ibp in pairs():
        gates = gates_for(binary, ibp)
        assert gates.unled_replicas_stay_online is (binary in ("0.8.2", "1.1"))


@pytest.mark.parametrize("gate", WITHIN)
def test_a_gate_of_the_binary_changes_at_its_boundary_and_nowhere_else(gate: str) -> None:
    first, last, source = WITHIN[gate]
    assert source
    for binary, ibp in pairs():
        held = getattr(gates_for(binary, ibp), gate)
        assert held is (boundary_rank(first) <= rank(binary) <= boundary_rank(last)), (binary, ibp)


@pytest.mark.parametrize("gate", STEPPED)
def test_a_gates_value_changes_at_its_boundaries_and_nowhere_else(gate: str) -> None:
    steps, source, by_protocol = STEPPED[gate]
    assert source
    for binary, ibp in pairs():
        decides = ibp if by_protocol else binary
        expected = [value for first, value in steps.items() if boundary_rank(first) <= rank(decides)][-1]
        assert getattr(gates_for(binary, ibp), gate) == expected, (binary, ibp)


def test_every_gate_is_pinned_once() -> None:
    """A gate whose boundary no test names may move unnoticed."""
    tables = (TRUE_WITHIN, VALUES, WITHIN, STEPPED, OF_BOTH_VERSIONS, IN_STRETCHES)
    pinned = [gate for table in tables for gate in table]
    assert sorted(pinned) == sorted(set(Gates.__struct_fields__) - {"binary", "inter_broker_protocol"})


def test_every_gate_is_documented() -> None:
    """Each stands under a comment that names its sections; that is the gate's source."""
    source = inspect.getsource(Gates)
    for name in Gates.__struct_fields__:
        if name in ("binary", "inter_broker_protocol"):
            continue
        after = source.split(f"    {name}: ", 1)[1].split("\n", 1)[1].lstrip()
        assert after.startswith('"""'), name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("2.6.3", "2.6"),
        ("0.10.2.2", "0.10.2"),
        ("2.0", "2.0.1"),
        ("2.0.0", "2.0.0"),
        ("0.11.0.2", "0.11"),
        ("2.8", "2.8"),
    ],
)
def test_patch_releases_are_their_step_of_the_ladder(given: str, name: str) -> None:
    assert ladder_name(given) == name
    assert gates_for(given).binary == name


@pytest.mark.parametrize("given", ["2.9", "3.0", "", "latest", "2", "0.9"])
def test_an_unknown_version_is_answered_with_the_known_ones(given: str) -> None:
    with pytest.raises(UnknownVersion) as raised:
        gates_for(given)
    assert str(raised.value) == f"unknown Kafka version {given!r}; one of: {', '.join(LADDER)}"


@pytest.mark.parametrize("boundary", ["2.0", "0.8", "0.10", "0.11.0", "2.6.3", "0.9", "3.0", ""])
def test_a_gates_boundary_is_a_step_of_the_ladder_and_no_other_name_for_one(boundary: str) -> None:
    """`2.0` stands for 2.0.1.

    A gate that began with it left 2.0.0 out (KAFKA-6526 came with 2.0.0).
    """
    with pytest.raises(ValueError, match=rf"^gate boundary '{boundary}': no step of the ladder; write one of: "):
        boundary_rank(boundary)
    assert [boundary_rank(step) for step in LADDER] == list(range(len(LADDER)))


def test_no_alias_is_a_boundary_in_the_tables_of_settings() -> None:
    """The same in the tables of defaults, which compare with `since`."""
    named = [
        (setting.name, boundary)
        for setting in REGISTRY.values()
        for boundary in (
            setting.since,
            setting.until,
            *(first for first, _ in setting.defaults),
            *(first for _, first in setting.words_since),
            *(last for _, last in setting.words_until),
        )
        if boundary
    ]
    assert [one for one in named if one[1] not in releases()] == []


def test_the_protocol_is_never_newer_than_the_binary() -> None:
    with pytest.raises(
        UnusableProtocolVersion, match=r"^inter.broker.protocol.version 2.7 is newer than the binary 2.6$"
    ):
        gates_for("2.6", "2.7")


def test_by_default_the_protocol_is_the_binarys_own() -> None:
    for version in LADDER:
        assert gates_for(version) == gates_for(version, version)
        assert gates_for(version).inter_broker_protocol == version


def test_since() -> None:
    assert since("2.6.3", "2.6") and since("2.0.1", "2.0.0") and not since("2.0.0", "2.0.1")


def test_what_is_in_force_is_the_last_step_that_a_version_has_reached() -> None:
    steps = (("0.8.2", "old"), ("1.0", "new"), ("2.0.1", ""))
    assert [in_force(version, steps) for version in ("0.11", "1.0.2", "2.0.0", "2.0", "2.8")] == [
        "old", "new", "new", "", ""
    ]  # fmt: skip
