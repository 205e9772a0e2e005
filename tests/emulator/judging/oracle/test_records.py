"""Fates of records, and commits of their partition: truths to reject and to accept."""

from typing import Any

import pytest
from msgspec.structs import replace

from emulator.judging.oracle.judge import judge_truth
from emulator.judging.oracle.log_extent import Reached
from emulator.judging.oracle.record_promises import duplicate
from emulator.judging.oracle.truth import State, Truth
from tests.emulator.judging.oracle.truths import PLACE, batches, digest, found, healthy, write

# --- failed-but-stored ---


def test_a_record_that_failed_for_certain_and_is_in_the_log() -> None:
    truth = healthy()
    truth.writes[2] = write("c", -1, outcome="failed")
    assert found("failed-but-stored", truth) == ["observer.1:c failed for certain, and the final leader has its batch"]


@pytest.mark.parametrize("outcome", ["unknown", "ok", ""])
def test_an_operation_with_equal_bytes_accounts_for_the_batch_of_a_failed_one(outcome: str) -> None:
    truth = healthy()
    truth.writes.append(write("c", -1, outcome="failed"))
    other = write("c", -1, outcome=outcome)
    truth.writes[2:3] = [other] if outcome else []
    truth.left_open = [] if outcome else [other]
    assert not found("failed-but-stored", truth)


def test_a_failed_record_that_is_not_stored() -> None:
    truth = healthy()
    truth.writes.append(write("d", -1, outcome="failed"))
    assert not found("failed-but-stored", truth)


# --- reordered ---


def truth_of(*operations: tuple[str, str, int]) -> Truth:
    """Produces as (operation, value, offset), all kept: the log is made of them."""
    log = [batch for _, value, offset in sorted(operations, key=lambda one: one[2])
           for batch in batches(value, first=offset)]  # fmt: skip
    truth = healthy()
    truth.logs[PLACE] = {"broker-0": log}
    truth.writes = [replace(write(value, offset), operation=operation) for operation, value, offset in operations]
    return truth


def test_a_record_that_lies_below_an_earlier_requested_one() -> None:
    truth = truth_of(("c.1:1", "a", 2), ("c.1:2", "b", 0), ("c.1:3", "c", 1), ("c.1:4", "d", 3))
    assert found("reordered", truth) == [
        "c.1:2 lies at offset 0, before c.1:1 at 2, which was requested earlier",
        "c.1:3 lies at offset 1, before c.1:1 at 2, which was requested earlier",
    ]


@pytest.mark.parametrize(("early", "late"), [("c.1:9", "c.1:10"), ("c.9:2", "c.10:1"), ("c.1:7", "c.2:1")])
def test_operations_are_in_the_order_of_their_numbers_over_all_lives_of_a_node(early: str, late: str) -> None:
    assert not found("reordered", truth_of((late, "b", 1), (early, "a", 0)))
    assert len(found("reordered", truth_of((late, "b", 0), (early, "a", 1)))) == 1


def test_clients_have_no_order_among_each_other() -> None:
    assert not found("reordered", truth_of(("c.1:1", "a", 1), ("d.1:2", "b", 0)))



@pytest.mark.parametrize(
    "change",
    [{"outcome": "unknown"}, {"offset": -1, "acks": 0}, {"digest": 0}, {"topic_partition": ("t", 1)}],
)
def test_only_what_is_acknowledged_and_held_of_one_partition_has_an_order(change: dict[str, Any]) -> None:
    for changed in (0, 1):
        truth = truth_of(("c.1:1", "a", 1), ("c.1:2", "b", 0))
        truth.writes[changed] = replace(truth.writes[changed], **change)
        assert not found("reordered", truth)


def test_the_order_of_lost_records_is_not_checked() -> None:
    truth = truth_of(("c.1:1", "a", 1), ("c.1:2", "b", 0))
    truth.gone = {"t"}
    assert not found("reordered", truth)


# --- duplicate ---


def twice() -> Truth:
    """d lies in the log two times, and no client received an answer."""
    truth = healthy()
    for log in truth.logs[PLACE].values():
        log += batches("d", "d", first=3)
    return truth


def test_what_never_ended_accounts_for_one_copy_and_no_second() -> None:
    truth = twice()
    truth.left_open = [write("d", -1, outcome="")]
    [violation] = duplicate(truth)
    assert (violation.details["copies"], violation.details["operations"]) == (2, 1)
    truth.writes.append(write("d", 4))
    assert not found("duplicate", truth)


def test_what_never_ended_elsewhere_accounts_for_nothing_here() -> None:
    truth = twice()
    truth.writes.append(write("d", 4))
    truth.left_open = [replace(write("d", -1, outcome=""), topic_partition=("t", 1))]
    assert len(found("duplicate", truth)) == 1


# --- log-matching ---


def test_an_offset_of_an_epoch_that_was_written_twice() -> None:
    truth = healthy()
    truth.appended[PLACE] |= {(0, 2, 2, digest("x")), (0, 2, 2, digest("y")), (1, 1, 1, digest("x"))}
    check = judge_truth(truth)["log-matching"]
    assert (check["verdict"], check["count"], check["evidence"][0]["offset"]) == ("violated", 1, 2)


def test_offsets_of_other_epochs_lives_and_partitions_are_others() -> None:
    truth = healthy()
    truth.appended[PLACE] |= {(1, 2, 2, digest("x"))}
    truth.appended |= {("t#1", 0): {(0, 2, 2, digest("x"))}, ("t", 1): {(0, 2, 2, digest("x"))}}
    assert not found("log-matching", truth)


def test_formats_without_epochs_are_not_looked_at() -> None:
    truth = healthy()
    truth.appended[PLACE] |= {(-1, 7, 7, digest("x")), (-1, 7, 7, digest("y"))}
    assert not found("log-matching", truth)


# --- high-watermark-above-log-end ---


def test_a_replica_whose_high_watermark_was_above_its_log() -> None:
    truth = healthy()
    truth.reached.append(Reached(PLACE, "broker-0", 2, high_watermark=4, log_end=3))
    truth.reached.append(Reached(PLACE, "broker-1", 2, high_watermark=4, log_end=4))
    assert found("high-watermark-above-log-end", truth) == [
        "broker-0, in incarnation 2, had a high watermark of 4, and its log never reached beyond 3"
    ]


# --- partition-state ---

BEFORE = State(PLACE, 7, leader=0, leader_epoch=3, isr=(0, 1, 2), controller_epoch=2, created=True)


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({}, []),
        ({"isr": (0, 1)}, []),
        ({"leader": 1, "leader_epoch": 4, "controller_epoch": 3}, []),
        ({"leader": -1, "leader_epoch": 4}, []),
        ({"leader_epoch": 2}, ["leader epoch 2 after 3"]),
        ({"controller_epoch": 1}, ["controller epoch 1 after 2"]),
        ({"leader": 1}, ["leader 1 after 0 in the same leader epoch 3"]),
        ({"leader": -1}, ["leader -1 after 0 in the same leader epoch 3"]),
        ({"isr": (1, 2)}, ["leader 0 is not in its in-sync replicas 1,2"]),
        ({"isr": ()}, ["leader 0 is not in its in-sync replicas "]),
        (
            {"leader_epoch": 1, "controller_epoch": 1, "isr": (2,)},
            ["leader epoch 1 after 3", "controller epoch 1 after 2", "leader 0 is not in its in-sync replicas 2"],
        ),
    ],
)
def test_states_that_follow_one_another(change: dict[str, Any], broken: list[str]) -> None:
    truth = healthy()
    truth.states = [BEFORE, replace(BEFORE, **{"zxid": 9, "created": False, **change})]
    assert found("partition-state", truth) == [f"{why} (zxid 9)" for why in broken]


def test_a_state_that_is_created_again_follows_on_none() -> None:
    truth = healthy()
    truth.states = [BEFORE, replace(BEFORE, zxid=9, leader=1, leader_epoch=0, controller_epoch=1)]
    assert not found("partition-state", truth)
    truth.states.append(replace(truth.states[1], topic_partition=("t", 1), zxid=10, leader_epoch=3, created=False))
    assert not found("partition-state", truth)


def test_states_that_are_not_known_leave_the_check_unknown() -> None:
    truth = healthy()
    truth.states_missing = "what session-0 has committed does not follow on transaction 0x7"
    check = judge_truth(truth)["partition-state"]
    assert (check["verdict"], check["reason"]) == ("unknown", truth.states_missing)
