"""Every check has truths that it must reject and truths that it must accept."""

import pytest

from emulator.judging.oracle.anomalies import ANOMALIES
from emulator.judging.oracle.judge import judge_truth
from emulator.judging.oracle.truth import Office, StepBack, Truth
from tests.emulator.judging.oracle.truths import PLACE, batches, controls, found, given, healthy, leads, write


def test_a_healthy_run_holds_every_check() -> None:
    judged = judge_truth(healthy())
    assert {name: (check["verdict"], check["count"]) for name, check in judged.items()} == dict.fromkeys(
        ANOMALIES, ("held", 0)
    )


def test_a_verdict_says_how_much_was_looked_at() -> None:
    judged = judge_truth(healthy())
    assert {name: (check["judged"], check["subject"]) for name, check in judged.items()} == {
        "lost-acknowledged": (3, "acknowledged records"),
        "duplicate": (9, "batches in the logs"),
        "reordered": (3, "acknowledged records"),
        "failed-but-stored": (9, "batches in the logs"),
        "acknowledged-below-min-insync": (3, "records acknowledged with acks=all"),
        "read-then-lost": (3, "batches read"),
        "phantom-read": (3, "batches read"),
        "read-above-high-watermark": (3, "batches read"),
        "read-gap": (3, "batches read"),
        "non-monotonic-read": (3, "batches read"),
        "skipped-read": (3, "batches read"),
        "unseen": (3, "batches read"),
        "inconsistent-offsets": (3, "batches read"),
        "offset-out-of-range": (3, "batches read and positions left"),
        "group-ahead-of-log": (1, "offsets committed"),
        "committed-offset-regression": (1, "reads of committed offsets"),
        "replica-divergence": (9, "batches in the logs"),
        "log-matching": (9, "batches in the logs"),
        "dual-leader": (3, "replicas with a role"),
        "dual-controller": (1, "terms as controller"),
        "high-watermark-regression": (12, "batches in the logs and reads"),
        "high-watermark-above-log-end": (3, "replicas with a role"),
        "leader-epoch-monotonicity": (3, "replicas with a role"),
        "partition-state": (1, "committed states of partitions"),
        "fenced-leader-change": (1, "committed states of partitions"),
        "committed-truncated": (9, "batches in the logs"),
        "epoch-cache": (9, "batches in the logs"),
        "checkpoint-ahead": (1, "logs found at starts"),
        "no-leader": (1, "partitions in a long enough quiescent period"),
        "under-replicated": (1, "partitions in a long enough quiescent period"),
        "unanswered-request": (1, "requests in a long enough quiescent period"),
        "too-few-copies": (3, "records acknowledged with acks=all before a long enough quiescent period"),
    }


def test_a_run_without_anything_skips_every_check() -> None:
    assert {check["verdict"] for check in judge_truth(Truth()).values()} == {"skipped"}


# --- lost-acknowledged ---


def test_an_acknowledged_record_that_the_final_leader_lacks_is_lost() -> None:
    truth = healthy()
    truth.writes += [write("x", 3, acks=1), write("y", 4)]
    check = judge_truth(truth)["lost-acknowledged"]
    assert (check["verdict"], check["count"], check["by_acks"]) == ("violated", 2, {"all": 1, "1": 1})
    assert [(one["value"], one["offset"], one["partition"]) for one in check["evidence"]] == [
        ("x", 3, "t-0"),
        ("y", 4, "t-0"),
    ]


def test_what_only_a_stale_leader_holds_is_lost() -> None:
    truth = healthy()
    truth.leaders.append(leads(1, 1, 500.0))
    truth.logs[PLACE]["broker-0"] += batches("x", first=3)
    truth.writes.append(write("x", 3, acks=1))
    assert len(found("lost-acknowledged", truth)) == 1


def test_another_batch_at_the_promised_offset_is_a_loss() -> None:
    truth = healthy()
    truth.writes.append(write("x", 1))
    assert len(found("lost-acknowledged", truth)) == 1


@pytest.mark.parametrize("outcome", ["failed", "unknown"])
def test_what_was_not_acknowledged_is_not_lost(outcome: str) -> None:
    truth = healthy()
    truth.writes.append(write("x", 3, outcome=outcome))
    assert not found("lost-acknowledged", truth)


def test_acks_0_promises_no_offset() -> None:
    truth = healthy()
    truth.writes.append(write("b", -1, acks=0))
    assert not found("lost-acknowledged", truth)


def test_a_log_that_cannot_be_read_leaves_its_checks_unknown() -> None:
    truth = healthy()
    truth.damaged = {PLACE: {"broker-0": "t-0/0.log: damaged"}}
    del truth.logs[PLACE]["broker-0"]
    judged = judge_truth(truth)
    unknown = {name for name, check in judged.items() if check["verdict"] == "unknown"}
    assert unknown == {
        *("lost-acknowledged", "duplicate", "reordered", "failed-but-stored", "read-then-lost"),
        *("replica-divergence", "leader-epoch-monotonicity", "epoch-cache", "unseen", "group-ahead-of-log"),
        "too-few-copies",
    }
    assert judged["duplicate"]["reason"] == "t-0/0.log: damaged"


def test_a_leaderless_partition_leaves_its_checks_unknown() -> None:
    truth = healthy()
    truth.leaders = []
    assert judge_truth(truth)["lost-acknowledged"]["verdict"] == "unknown"


# --- duplicate ---


def test_a_batch_that_lies_there_twice_is_a_duplicate() -> None:
    truth = healthy()
    for log in truth.logs[PLACE].values():
        log += batches("b", first=3)
    assert found("duplicate", truth) == [
        "2 copies of one batch, the first at offset 1, the last at 3; 1 operations produced it"
    ]


def test_two_operations_of_the_same_bytes_are_no_duplicate() -> None:
    truth = healthy()
    for log in truth.logs[PLACE].values():
        log += batches("b", first=3)
    truth.writes.append(write("b", 3))
    assert not found("duplicate", truth)


def test_a_duplicate_in_a_follower_alone_is_divergence_not_duplicate() -> None:
    truth = healthy()
    truth.logs[PLACE]["broker-1"] = batches("a", "b", "b")
    assert not found("duplicate", truth)
    assert len(found("replica-divergence", truth)) == 1


# --- replica-divergence ---


def test_replicas_that_hold_different_batches_diverge_at_each_offset() -> None:
    truth = healthy()
    truth.logs[PLACE]["broker-1"] = batches("a", "x", "y")
    assert len(found("replica-divergence", truth)) == 2


def test_the_same_bytes_of_another_epoch_diverge() -> None:
    truth = healthy()
    truth.logs[PLACE]["broker-1"] = batches("a", "b") + batches("c", first=2, epoch=1)
    assert len(found("replica-divergence", truth)) == 1


def test_a_shorter_log_lags_and_does_not_diverge() -> None:
    truth = healthy()
    truth.logs[PLACE] |= {"broker-1": batches("a"), "broker-2": []}
    assert not found("replica-divergence", truth)


@pytest.mark.parametrize(
    ("isr", "halted", "count"),
    [((0, 1, 2), set(), 1), ((0, 2), set(), 0), ((0, 1, 2), {"broker-1"}, 0), ((0, 1, 2), {"broker-2"}, 1)],
)
def test_who_is_dead_or_outside_the_isr_is_behind(isr: tuple[int, ...], halted: set[str], count: int) -> None:
    truth = healthy()
    truth.peace = None
    truth.logs[PLACE]["broker-1"] = batches("a", "b") + batches("tail", first=2)
    truth.states[-1].isr, truth.halted = isr, halted
    assert len(found("replica-divergence", truth)) == count


def test_a_log_that_a_reassignment_left_behind_is_no_replica() -> None:
    truth = healthy()
    truth.logs[PLACE]["broker-1"] = batches("a", "b") + batches("tail", first=2)
    truth.states[-1].isr, truth.assignments = (0, 2), {PLACE: (0, 2)}
    assert not found("replica-divergence", truth)


def test_who_had_time_to_be_in_sync_again_diverges() -> None:
    truth = healthy()
    truth.logs[PLACE]["broker-1"] = batches("a", "b") + batches("tail", first=2)
    truth.states[-1].isr = (0, 2)
    assert len(found("replica-divergence", truth)) == 1


# --- dual-leader, dual-controller ---


@pytest.mark.parametrize(
    ("stale_to_ms", "newer_from_ms", "windows"),
    [(900.0, 500.0, 1), (None, 500.0, 1), (500.0, 500.0, 0), (400.0, 500.0, 0)],
)
def test_leaders_in_office_at_once(stale_to_ms: float | None, newer_from_ms: float, windows: int) -> None:
    stale = leads(0, 0, 100.0, stale_to_ms)
    stale.appended_ms = [200.0, 399.0, 450.0, 500.0, 899.0]
    truth = Truth(leaders=[stale, leads(1, 1, newer_from_ms)])
    assert len(found("dual-leader", truth)) == windows


@pytest.mark.parametrize(("appended_ms", "windows"), [([], 0), ([450.0], 0), ([450.0, 600.0], 1), ([700.0], 0)])
def test_a_stale_leader_that_takes_nothing_is_an_ordinary_change(appended_ms: list[float], windows: int) -> None:
    stale, newer, newest = leads(0, 0, 100.0, 650.0), leads(1, 1, 500.0, 690.0), leads(2, 2, 660.0)
    stale.appended_ms = appended_ms
    assert len(found("dual-leader", Truth(leaders=[stale, newer, newest]))) == windows


def test_a_leader_that_goes_on_in_a_new_epoch_is_one_leader() -> None:
    truth = Truth(leaders=[leads(0, 0, 100.0, 300.0), leads(0, 1, 300.0)])
    assert not found("dual-leader", truth)


def test_leaders_of_two_partitions_are_no_dual_leader() -> None:
    truth = Truth(leaders=[leads(0, 0, 100.0), Office(("t", 1), "broker-1", 3, 100.0)])
    truth.leaders[0].appended_ms = [200.0]
    assert not found("dual-leader", truth)


def test_every_pair_of_leaders_is_a_window() -> None:
    truth = Truth(leaders=[leads(0, 0, 100.0, 900.0), leads(1, 1, 500.0, 700.0), leads(2, 2, 600.0)])
    for stale in truth.leaders:
        stale.appended_ms = [650.0]
    assert len(found("dual-leader", truth)) == 3


def test_controllers_of_one_epoch_whenever() -> None:
    truth = Truth(controllers=[controls(2, 3, 50.0, 90.0), controls(1, 3, 600.0, 700.0), controls(0, 4, 800.0)])
    assert found("dual-controller", truth) == ["broker-1 and broker-2 were controller in the same controller epoch 3"]
    truth.controllers[1].node = "broker-2"
    assert not found("dual-controller", truth)


# --- high-watermark-regression ---


def test_a_leaders_high_watermark_that_moved_back() -> None:
    truth = healthy()
    truth.watermarks_back = [StepBack(PLACE, "broker-0", 0, 3, 2, 700.0)]
    assert found("high-watermark-regression", truth) == [
        "broker-0, leader of epoch 0, moved its high watermark back from 3 to 2"
    ]


def test_an_offset_that_was_read_with_two_contents() -> None:
    truth = healthy()
    truth.reads.append(given("x", 1, epoch=1))
    assert len(found("high-watermark-regression", truth)) == 1


def test_an_offset_that_was_read_twice_alike() -> None:
    truth = healthy()
    truth.reads += truth.reads
    assert not found("high-watermark-regression", truth)


# --- leader-epoch-monotonicity ---


def test_a_replicas_epoch_that_went_back() -> None:
    truth = healthy()
    truth.epochs_back = [StepBack(PLACE, "broker-1", -1, 4, 3, 700.0)]
    assert found("leader-epoch-monotonicity", truth) == ["broker-1 went back from leader epoch 4 to 3"]


def test_epochs_that_fall_along_a_log() -> None:
    truth = healthy()
    rising = batches("a") + batches("b", first=1, epoch=1) + batches("c", first=2, epoch=3)
    truth.logs[PLACE]["broker-1"] = rising
    assert not found("leader-epoch-monotonicity", truth)
    truth.logs[PLACE]["broker-1"] = [*rising, *batches("d", first=3, epoch=1)]
    assert found("leader-epoch-monotonicity", truth) == [
        "in the log of broker-1 epoch 3 starts at offset 2, before an older epoch's 3"
    ]


def test_two_leaders_of_one_epoch() -> None:
    truth = Truth(leaders=[leads(0, 3, 100.0, 200.0), leads(1, 3, 900.0)])
    assert found("leader-epoch-monotonicity", truth) == ["broker-0 and broker-1 led in the same leader epoch 3"]
    truth.leaders[1].node = "broker-0"
    assert not found("leader-epoch-monotonicity", truth)
