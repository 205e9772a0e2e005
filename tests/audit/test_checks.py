"""Every check has traces to reject, traces to accept, and traces that leave it unknown."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from protocol import events as e
from tests.audit.conftest import Audit
from tests.audit.trace import TOPIC, Trace, dual_leader, healthy

pytestmark = pytest.mark.spark
TOGETHER = True


def test_a_healthy_run_holds_every_check(audit: Audit) -> None:
    verdict = audit(healthy().group("commit", 3).group("committed", 3))
    # Nobody was started twice, and nothing lasted long.
    short = ("no-leader", "under-replicated", "unanswered-request", "too-few-copies")
    skipped = dict.fromkeys(("checkpoint-ahead", *short), "skipped")
    held = dict.fromkeys(verdict.checks, "held")
    assert {name: check.verdict for name, check in verdict.checks.items()} == held | skipped
    assert verdict.valid is True


# --- topics that are deleted ---


def _deleted() -> Trace:
    """Three records and three leader epochs, all of them deleted on request."""
    trace = Trace().cluster().leader(0, epoch=2, followers=(1, 2))
    for offset, value in enumerate("abc"):
        trace.produce(value, at=offset, epoch=2)
    trace.read("a", at=0, epoch=2, high_watermark=3)
    for broker in (0, 1, 2):
        trace.deleted(broker, 3)
    return trace


def _recreated() -> Trace:
    trace = _deleted().removed()
    for broker in (1, 2):
        trace.created(broker)
    trace.leader(1, epoch=0, followers=(2,)).produce("d", at=0, leader=1, followers=(2,))
    return trace.read("d", at=0, epoch=0, high_watermark=1, broker=1)


@pytest.mark.parametrize("life", [_deleted, _recreated, lambda: _deleted().removed()])
def test_what_is_deleted_on_request_breaks_no_promise_and_its_successor_is_another_topic(
    audit: Audit, life: Callable[[], Trace]
) -> None:
    verdict = audit(life())
    assert [name for name, check in verdict.checks.items() if check.verdict not in ("held", "skipped")] == []


def test_what_the_topic_of_the_same_name_loses_is_lost(audit: Audit) -> None:
    check = audit(_recreated().produce("e", at=1, leader=1, followers=(2,)).truncate(1, 1, log_end=2)).checks
    assert check["lost-acknowledged"].verdict == "violated"
    assert [(one["offset"], one["value"]) for one in check["lost-acknowledged"].evidence] == [(1, "e")]


def test_replicas_of_the_topic_of_the_same_name_diverge(audit: Audit) -> None:
    trace = _recreated().append(1, "e", at=1, epoch=0, as_leader=True).append(2, "f", at=1, epoch=0)
    check = audit(trace).checks["replica-divergence"]
    assert [(one["partition"], one["offset"]) for one in check.evidence] == [("t-0", 1)]


def test_violations_of_a_topic_before_its_deletion_are_still_reported(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=1, followers=(1, 2)).produce("a", at=0, epoch=1)
    trace.watermark(0, 0, previous=1, epoch=1).role(1, "follower", epoch=0)
    checks = audit(trace.deleted(0, 1).removed()).checks
    regression, epochs = checks["high-watermark-regression"], checks["leader-epoch-monotonicity"]
    assert [one["partition"] for one in (*regression.evidence, *epochs.evidence)] == ["t#1-0", "t#1-0"]


def test_the_log_of_a_replica_that_is_moved_away_is_not_deleted_on_request_of_anybody_who_lost_it(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0, followers=())
    check = audit(trace.deleted(0, 1, reason="replica-moved")).checks["lost-acknowledged"]
    assert check.verdict == "violated"


# --- lost-acknowledged ---


def test_what_a_stale_leader_acknowledged_and_truncated_is_lost(audit: Audit) -> None:
    check = audit(dual_leader()).checks["lost-acknowledged"]
    assert check.verdict == "violated"
    assert check.by_acks == {"1": 3}
    assert [(one["offset"], one["value"]) for one in check.evidence] == [(2, "c"), (3, "d"), (4, "e")]


def test_what_only_a_stale_leader_holds_is_lost_too(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0)
    trace.leader(1, epoch=1).produce("x", at=1, followers=(), acks=1)
    assert audit(trace).checks["lost-acknowledged"].count == 1


def test_losses_are_distinguished_by_acks(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0)
    for offset, acks in enumerate((-1, 1, 1)):
        trace.produce(f"v{offset}", at=offset, acks=acks, followers=())
    trace.ended("never appended", at=-1, acks=0)
    trace.leader(1, epoch=1)
    trace.append(1, "other", at=0, epoch=1, as_leader=True)
    assert audit(trace).checks["lost-acknowledged"].by_acks == {"all": 1, "1": 2, "0": 1}


def test_power_loss_cuts_what_was_not_synced(audit: Audit) -> None:
    """The log comes back shorter: `log_loaded` with a smaller log end is a cut like any other."""
    trace = Trace().cluster().leader(0, epoch=0).produce("a", at=0, followers=()).produce("b", at=1, followers=())
    trace.kill("broker-0", "power-loss").start("broker-0").loaded(0, 1).leader(0, epoch=1)
    assert [one["value"] for one in audit(trace).checks["lost-acknowledged"].evidence] == ["b"]


def test_a_log_that_is_made_anew_holds_nothing_of_the_disk_that_was_lost(audit: Audit) -> None:
    """It tells of no end and cuts nothing: that it was made is all there is to see."""
    trace = Trace().cluster().leader(0, epoch=0).produce("a", at=0, followers=()).kill("broker-0")
    trace.start("broker-0").created(0).leader(0, epoch=1).produce("b", at=0, epoch=1, followers=())
    assert [one["value"] for one in audit(trace).checks["lost-acknowledged"].evidence] == ["a"]


def test_what_was_written_again_after_a_cut_is_kept(audit: Audit) -> None:
    """A truncation reaches only what was appended before it, by sequence number."""
    trace = healthy()
    trace.truncate(0, 1, log_end=3)
    trace.append(0, "b", at=1, epoch=0).append(0, "c", at=2, epoch=0)
    assert audit(trace).checks["lost-acknowledged"].verdict == "held"


def test_order_is_by_incarnation_before_sequence_number(audit: Audit) -> None:
    """A new incarnation counts from 1 again: its cut is later than every append of the old one."""
    trace = Trace().cluster().leader(0, epoch=0)
    for offset in range(9):
        trace.produce(f"v{offset}", at=offset, followers=())
    trace.kill("broker-0").start("broker-0").loaded(0, 9).leader(0, epoch=1).truncate(0, 5, log_end=9)
    assert audit(trace).checks["lost-acknowledged"].count == 4


def test_a_record_inside_a_batch_is_found_by_its_own_offset(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0).append(0, "batch", at=0, last=2, epoch=0, as_leader=True)
    for offset in range(3):
        trace.ended("batch", at=offset, acks=1)
    assert audit(trace).checks["lost-acknowledged"].verdict == "held"


def test_a_failed_or_unknown_produce_promises_nothing(audit: Audit) -> None:
    trace = healthy().ended("x", at=3, outcome="unknown", error=7).ended("y", at=-1, outcome="failed", error=6)
    assert audit(trace).checks["lost-acknowledged"].verdict == "held"


def test_a_log_with_a_hole_in_its_events_leaves_losses_unknown(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0)
    trace.append(0, "a", at=0, epoch=0, as_leader=True).ended("b", at=1, acks=1).append(
        0, "c", at=2, epoch=0, as_leader=True
    )
    check = audit(trace).checks["lost-acknowledged"]
    assert (check.verdict, check.count) == ("unknown", 0)
    assert "2 records between offsets 0 and 3" in check.reason


def test_a_log_found_longer_than_its_events_tell_leaves_losses_unknown(audit: Audit) -> None:
    """The process was killed before it had written what it appended."""
    trace = Trace().cluster().leader(0, epoch=0).ended("a", at=0, acks=1)
    trace.kill("broker-0").start("broker-0").loaded(0, 1).leader(0, epoch=1)
    assert audit(trace).checks["lost-acknowledged"].verdict == "unknown"


def test_without_a_leader_losses_are_unknown(audit: Audit) -> None:
    trace = Trace().cluster().append(0, "a", at=0, epoch=0, as_leader=True).ended("a", at=0, acks=1)
    assert audit(trace).checks["lost-acknowledged"].verdict == "unknown"


def test_without_the_client_level_losses_are_unknown(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0).append(0, "a", at=0, epoch=0, as_leader=True)
    check = audit(trace).checks["lost-acknowledged"]
    assert (check.verdict, check.reason) == ("unknown", "no event operation_ended was recorded")


def test_with_nothing_acknowledged_there_is_nothing_to_lose(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0).ended("a", at=-1, outcome="failed", error=19)
    assert audit(trace).checks["lost-acknowledged"].verdict == "skipped"


# --- duplicate ---


def test_a_retried_batch_that_was_appended_twice_is_a_duplicate(audit: Audit) -> None:
    """link-follower-leader: both attempts time out, both appended."""
    trace = healthy()
    for offset in (3, 4):
        trace.append(0, "d", at=offset, epoch=0, as_leader=True)
    trace.ended("d", at=4)
    check = audit(trace).checks["duplicate"]
    assert (check.verdict, check.count) == ("violated", 1)
    assert (check.evidence[0]["first_offset"], check.evidence[0]["last_offset"]) == (3, 4)


def test_two_operations_with_equal_bytes_are_no_duplicate(audit: Audit) -> None:
    trace = healthy().produce("d", at=3).produce("d", at=4)
    assert audit(trace).checks["duplicate"].verdict == "held"


def test_a_batch_of_several_records_appended_twice_is_a_duplicate(audit: Audit) -> None:
    """Each record of a batch is an operation; all have the batch's digest."""
    trace = Trace().cluster().leader(0, epoch=0)
    for first in (0, 3):
        trace.append(0, "batch", at=first, last=first + 2, epoch=0, as_leader=True)
    for offset in (3, 4, 5):
        trace.ended("batch", at=offset)
    assert audit(trace).checks["duplicate"].count == 1


def test_a_copy_that_was_truncated_is_no_duplicate(audit: Audit) -> None:
    trace = healthy().append(0, "c", at=3, epoch=0).truncate(0, 3, log_end=4)
    assert audit(trace).checks["duplicate"].verdict == "held"


def test_duplicates_are_unknown_with_an_unreported_log(audit: Audit) -> None:
    trace = healthy().append(0, "c", at=5, epoch=0, as_leader=True)
    assert audit(trace).checks["duplicate"].verdict == "unknown"


# --- replica-divergence ---


def test_replicas_that_hold_different_batches_at_one_offset_diverge(audit: Audit) -> None:
    """KIP-101 case 2."""
    trace = healthy().append(0, "m3", at=3, epoch=1, as_leader=True).append(1, "m2", at=3, epoch=0)
    check = audit(trace).checks["replica-divergence"]
    assert [(one["offset"], one["epochs"]) for one in check.evidence] == [(3, [0, 1])]


def test_the_same_bytes_of_another_epoch_diverge(audit: Audit) -> None:
    trace = healthy().append(0, "m", at=3, epoch=1, as_leader=True).append(1, "m", at=3, epoch=0)
    assert audit(trace).checks["replica-divergence"].verdict == "violated"


def test_lag_is_no_divergence(audit: Audit) -> None:
    trace = healthy().append(0, "d", at=3, epoch=0, as_leader=True)
    assert audit(trace).checks["replica-divergence"].verdict == "held"


def test_divergence_that_was_truncated_is_over(audit: Audit) -> None:
    assert audit(dual_leader()).checks["replica-divergence"].verdict == "held"


OUTSIDE = "outside the ISR"


def behind(how: str) -> Trace:
    """Broker 0 led in epoch 0, and its log diverges from the next leader's.

    It has an uncommitted tail at offset 3, where broker 1, leader of epoch 1, has another batch. Then broker 0 suffers
    the event `how`.
    """
    trace = healthy().append(0, "tail", at=3, epoch=0, as_leader=True)
    if how != OUTSIDE:
        trace.kill("broker-0", how)
    isr = (1, 2) if how == OUTSIDE else (1, 2, 0)
    trace.leader(1, epoch=1, followers=(2,))
    trace.append(1, "d", at=3, epoch=1, as_leader=True).append(2, "d", at=3, epoch=1)
    return trace.state(leader=1, epoch=1, isr=isr)


@pytest.mark.parametrize("how", ["kill", "power-loss", "pause", OUTSIDE])
def test_a_replica_that_is_dead_or_paused_or_outside_the_isr_is_behind(audit: Audit, how: str) -> None:
    assert audit(behind(how)).checks["replica-divergence"].verdict == "held"


@pytest.mark.parametrize("how", ["kill", "pause", OUTSIDE])
def test_a_replica_that_runs_again_and_is_in_the_isr_diverges(audit: Audit, how: str) -> None:
    """It has not cut its tail, and counts as in sync."""
    trace = behind(how)
    match how:
        case "kill":
            trace.start("broker-0").loaded(0, 4).emit("injector", e.MachineFault("start", "broker-0", life=2))
        case "pause":
            trace.kill("broker-0", "resume")
    check = audit(trace.state(leader=1, epoch=1, isr=(1, 2, 0))).checks["replica-divergence"]
    assert [(one["offset"], one["epochs"]) for one in check.evidence] == [(3, [0, 1])]


def test_two_running_replicas_diverge_beside_a_dead_one(audit: Audit) -> None:
    trace = behind("kill").append(1, "e", at=4, epoch=1, as_leader=True).append(2, "f", at=4, epoch=1)
    assert [one["offset"] for one in audit(trace).checks["replica-divergence"].evidence] == [4]


@pytest.mark.parametrize(("replicas", "verdict"), [((0, 1, 2), "violated"), ((1, 2), "held")])
def test_after_peace_a_replica_outside_the_isr_diverges_if_it_is_assigned(
    audit: Audit, replicas: tuple[int, ...], verdict: str
) -> None:
    """60 s without a fault: the replica had to be in sync again.

    A log that a reassignment left behind is no assigned replica.
    """
    trace = behind(OUTSIDE).assigned(*replicas).later(60_000)
    trace.produce("x", at=4, epoch=1, leader=1, followers=(2,))
    for node in ("broker-0", "broker-1", "broker-2", "client-0", "session-0"):
        trace.stop(node)
    assert audit(trace).checks["replica-divergence"].verdict == verdict


def test_divergence_is_unknown_with_an_unreported_log(audit: Audit) -> None:
    trace = healthy().append(1, "x", at=7, epoch=0)
    assert audit(trace).checks["replica-divergence"].verdict == "unknown"


# --- dual-leader ---


def test_two_leaders_at_once_are_a_window_with_what_the_stale_one_did(audit: Audit) -> None:
    check = audit(dual_leader()).checks["dual-leader"]
    assert check.count == 1
    window = check.evidence[0]
    assert (window["stale"], window["stale_epoch"], window["newer"], window["newer_epoch"]) == (
        "broker-0",
        0,
        "broker-1",
        1,
    )
    assert (window["batches"], window["acknowledged"]) == (3, 3)
    assert window["from_ms"] < window["to_ms"]


def test_a_leader_that_hands_over_leaves_no_window(audit: Audit) -> None:
    trace = healthy().role(0, "follower", epoch=1, leader=1).leader(1, epoch=1, followers=(2,))
    assert audit(trace).checks["dual-leader"].verdict == "held"


@pytest.mark.parametrize("what", ["kill", "power-loss"])
def test_a_leader_that_is_killed_leads_no_longer(audit: Audit, what: str) -> None:
    trace = healthy().kill("broker-0", what).leader(1, epoch=1, followers=(2,))
    assert audit(trace).checks["dual-leader"].verdict == "held"


def test_a_leader_that_stops_leads_no_longer(audit: Audit) -> None:
    trace = healthy().stop("broker-0").leader(1, epoch=1, followers=(2,))
    assert audit(trace).checks["dual-leader"].verdict == "held"


def test_a_leader_that_hears_late_of_its_successor_and_takes_nothing_more_is_an_ordinary_change(audit: Audit) -> None:
    trace = healthy().leader(1, epoch=1, followers=(2,)).role(0, "follower", epoch=1, leader=1)
    assert audit(trace).checks["dual-leader"].verdict == "held"


def test_a_paused_leader_goes_on_leading(audit: Audit) -> None:
    trace = healthy().kill("broker-0", "pause").leader(1, epoch=1, followers=(2,))
    trace.kill("broker-0", "resume").append(0, "x", at=2, epoch=0, as_leader=True)
    check = audit(trace).checks["dual-leader"]
    assert (check.verdict, check.evidence[0].get("to_ms")) == ("violated", None)
    assert "to the end of the run" in check.evidence[0]["text"]


def test_a_new_incarnation_ends_the_old_ones_leadership(audit: Audit) -> None:
    trace = healthy().start("broker-0").leader(1, epoch=1, followers=(2,))
    assert audit(trace).checks["dual-leader"].verdict == "held"


def test_leaders_of_different_partitions_do_not_meet(audit: Audit) -> None:
    trace = healthy().leader(1, epoch=1, partition=1)
    assert audit(trace).checks["dual-leader"].verdict == "held"


def test_without_roles_leaders_are_unknown(audit: Audit) -> None:
    trace = Trace().cluster().append(0, "a", at=0, epoch=0, as_leader=True)
    assert audit(trace).checks["dual-leader"].verdict == "unknown"


# --- dual-controller ---


def test_two_controllers_at_once_are_a_measure(audit: Audit) -> None:
    """The rules for two controllers are in `test_checks_of_replicas`."""
    verdict = audit(healthy().controller("broker-1", epoch=2))
    assert verdict.checks["dual-controller"].verdict == "held"
    assert verdict.measures["dual_controller_ms"] == 0.0


def test_without_controller_events_controllers_are_unknown(audit: Audit) -> None:
    trace = Trace().start("broker-0").leader(0, epoch=0)
    assert audit(trace).checks["dual-controller"].verdict == "unknown"


# --- high-watermark-regression ---


def test_a_leaders_high_watermark_that_moves_back_is_a_regression(audit: Audit) -> None:
    check = audit(healthy().watermark(0, 1, previous=3, epoch=0)).checks["high-watermark-regression"]
    assert (check.count, check.evidence[0]["was"], check.evidence[0]["now"]) == (1, 3, 1)


def test_a_regression_is_seen_whatever_the_event_calls_previous(audit: Audit) -> None:
    check = audit(healthy().watermark(0, 1, previous=0, epoch=0)).checks["high-watermark-regression"]
    assert check.count == 1


def test_a_followers_high_watermark_may_move_back(audit: Audit) -> None:
    """Semantics 1.5: it is clamped to the log."""
    trace = (
        healthy()
        .watermark(1, 3, previous=0, epoch=0, leading=False)
        .watermark(1, 1, previous=3, epoch=0, leading=False)
    )
    assert audit(trace).checks["high-watermark-regression"].verdict == "held"


def test_a_new_leader_may_begin_below(audit: Audit) -> None:
    trace = healthy().leader(1, epoch=1).watermark(1, 2, previous=1, epoch=1)
    assert audit(trace).checks["high-watermark-regression"].verdict == "held"


def test_one_offset_read_with_two_contents_is_a_regression(audit: Audit) -> None:
    trace = healthy().read("c", at=2, epoch=0, high_watermark=3).read("x", at=2, epoch=1, high_watermark=3, broker=1)
    check = audit(trace).checks["high-watermark-regression"]
    assert [(one["offset"], one["epochs"]) for one in check.evidence] == [(2, [0, 1])]


def test_one_offset_read_twice_with_one_content_is_none(audit: Audit) -> None:
    trace = healthy().read("c", at=2, epoch=0, high_watermark=3).read("c", at=2, epoch=0, high_watermark=3, broker=1)
    assert audit(trace).checks["high-watermark-regression"].verdict == "held"


def test_without_watermarks_regressions_are_unknown(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0).produce("a", at=0, followers=())
    assert audit(trace).checks["high-watermark-regression"].verdict == "unknown"


# --- leader-epoch-monotonicity ---


def test_a_replica_that_goes_back_to_an_older_epoch_is_wrong(audit: Audit) -> None:
    trace = healthy().role(1, "follower", epoch=2, leader=2).role(1, "follower", epoch=1, leader=0)
    check = audit(trace).checks["leader-epoch-monotonicity"]
    assert (check.count, check.evidence[0]["was"], check.evidence[0]["now"]) == (1, 2, 1)


def test_a_log_whose_epochs_go_down_is_wrong(audit: Audit) -> None:
    trace = healthy().append(0, "d", at=3, epoch=2).append(0, "e", at=4, epoch=1)
    check = audit(trace).checks["leader-epoch-monotonicity"]
    assert [one["offset"] for one in check.evidence] == [4] or check.evidence[0]["leader_epoch"] == 2


def test_two_leaders_of_one_epoch_are_wrong(audit: Audit) -> None:
    check = audit(healthy().leader(1, epoch=0)).checks["leader-epoch-monotonicity"]
    assert check.evidence[0]["nodes"] == ["broker-0", "broker-1"]


def test_epochs_that_rise_are_right_even_where_some_are_left_out(audit: Audit) -> None:
    trace = healthy().leader(1, epoch=5).append(1, "d", at=3, epoch=5, as_leader=True).leader(1, epoch=7)
    assert audit(trace).checks["leader-epoch-monotonicity"].verdict == "held"


def test_without_roles_epochs_are_unknown(audit: Audit) -> None:
    trace = Trace().cluster().append(0, "a", at=0, epoch=0)
    assert audit(trace).checks["leader-epoch-monotonicity"].verdict == "unknown"


def test_a_log_that_was_wiped_to_start_elsewhere_keeps_nothing(audit: Audit) -> None:
    trace = healthy().truncate(1, 40, log_end=3, reason="full")
    trace.emit("broker-1", e.BatchAppended(TOPIC, 0, 40, 40, 0, 9, False))
    assert audit(trace).checks["replica-divergence"].verdict == "held"
