"""As `test_checks`.

Data that replicas must keep, ISR changes by leaders, controllers' decisions.
"""

from __future__ import annotations

import pytest

from protocol import events as e
from tests.audit.conftest import Audit
from tests.audit.trace import TOPIC, Trace, healthy

pytestmark = pytest.mark.spark
TOGETHER = True

# --- committed-truncated ---


def test_a_cut_below_a_high_watermark_that_was_had_is_of_what_was_committed(audit: Audit) -> None:
    check = audit(healthy().leader(1, epoch=1).truncate(0, 1, log_end=3)).checks["committed-truncated"]
    assert [(one["offset"], one["node"], one["log_end"], one["high_watermark"]) for one in check.evidence] == [
        (1, "broker-0", 3, 3)
    ]


def test_it_is_also_if_it_was_had_in_another_life(audit: Audit) -> None:
    trace = healthy().kill("broker-0").start("broker-0").loaded(0, 3, checkpointed=0).truncate(0, 0, log_end=3)
    assert audit(trace).checks["committed-truncated"].count == 1


def test_a_cut_down_to_the_high_watermark_is_none(audit: Audit) -> None:
    trace = healthy().append(0, "x", at=3, epoch=0, as_leader=True).leader(1, epoch=1).truncate(0, 3, log_end=4)
    assert audit(trace).checks["committed-truncated"].verdict == "held"


def test_what_was_cut_counts_as_known_no_more(audit: Audit) -> None:
    """Two cuts to one place, of which the first is below what was committed."""
    trace = healthy().leader(1, epoch=1).truncate(0, 1, log_end=3)
    trace.append(0, "x", at=1, epoch=1).truncate(0, 1, log_end=2)
    assert audit(trace).checks["committed-truncated"].count == 1


@pytest.mark.parametrize("how", ["power", "wiped", "made anew", "deleted"])
def test_a_log_that_is_shorter_for_another_reason_is_not_cut(audit: Audit, how: str) -> None:
    trace = healthy().leader(1, epoch=1)
    match how:
        case "power":
            trace.kill("broker-0", "power-loss").start("broker-0").loaded(0, 1)
        case "wiped":
            trace.truncate(0, 2, log_end=3, reason="full")
        case "made anew":
            trace.created(0)
        case "deleted":
            trace.deleted(0, 3, reason="replica-moved").created(0)
    trace.append(0, "x", at=2 if how == "wiped" else 1 if how == "power" else 0, epoch=1)
    trace.truncate(0, 2 if how == "wiped" else 1 if how == "power" else 0, log_end=3)
    assert audit(trace).checks["committed-truncated"].verdict == "held"


def test_a_high_watermark_that_comes_with_the_cut_was_not_had_before(audit: Audit) -> None:
    trace = healthy().append(1, "x", at=3, epoch=0).watermark(1, 4, previous=3, epoch=0, leading=False)
    trace.at_ms -= 1
    assert audit(trace.truncate(1, 3, log_end=4)).checks["committed-truncated"].verdict == "held"


def test_one_that_came_with_the_input_before_was_had_also_at_the_same_instant(audit: Audit) -> None:
    """A node that was stalled takes what has waited all at once."""
    trace = healthy().append(1, "x", at=3, epoch=0).watermark(1, 4, previous=3, epoch=0, leading=False)
    trace.cause = "the next input"
    trace.at_ms -= 1
    check = audit(trace.truncate(1, 3, log_end=4)).checks["committed-truncated"]
    assert [(one["offset"], one["node"], one["high_watermark"]) for one in check.evidence] == [(3, "broker-1", 4)]


@pytest.mark.parametrize("before", [True, False])
def test_one_that_came_with_a_cut_is_had_when_the_next_cut_comes(audit: Audit, before: bool) -> None:
    """Before the cut, which left 3 of it, or after it."""
    trace = healthy().append(1, "x", at=3, epoch=0)
    at_ms = trace.at_ms + 1
    moved = e.HighWatermarkMoved(TOPIC, 0, 4 if before else 3, 0, False, 0)
    if before:
        trace.emit("broker-1", moved, at_ms=at_ms)
    trace.at_ms = at_ms - 1
    trace.truncate(1, 3, log_end=4)
    if not before:
        trace.emit("broker-1", moved, at_ms=at_ms)
    check = audit(trace.truncate(1, 2, log_end=3)).checks["committed-truncated"]
    assert [(one["offset"], one["high_watermark"]) for one in check.evidence] == [(2, 3)]


def test_cuts_are_unknown_where_events_are_missing(audit: Audit) -> None:
    trace = healthy().leader(1, epoch=1)
    trace.seqs["broker-0"] += 1
    assert audit(trace.role(0, "follower", epoch=1, leader=1)).checks["committed-truncated"].verdict == "unknown"


# --- epoch-cache ---


def test_an_epoch_that_outlives_what_was_written_in_it(audit: Audit) -> None:
    trace = healthy().leader(0, epoch=1).append(0, "x", at=3, epoch=1, as_leader=True)
    check = audit(trace.truncate(0, 3, log_end=4, epochs="0:0 1:3")).checks["epoch-cache"]
    assert [(one["node"], one["leader_epoch"], one["begins"]) for one in check.evidence] == [("broker-0", 1, 3)]


def test_it_outlives_a_start_too_and_counts_once_in_a_life(audit: Audit) -> None:
    trace = healthy().kill("broker-0").start("broker-0").loaded(0, 3, epochs="0:0 4:7")
    trace.append(0, "x", at=3, epoch=5).truncate(0, 3, log_end=4, epochs="0:0 4:7")
    assert audit(trace).checks["epoch-cache"].count == 1


@pytest.mark.parametrize("epochs", ["", "0:1", "1:0"])
def test_an_epoch_of_the_log_that_the_cache_lacks_or_has_elsewhere(audit: Audit, epochs: str) -> None:
    check = audit(healthy().kill("broker-1").start("broker-1").loaded(1, 3, epochs=epochs)).checks["epoch-cache"]
    assert [(one["offset"], one["node"], one["leader_epoch"]) for one in check.evidence] == [(0, "broker-1", 0)]


def test_epochs_that_are_those_of_the_log(audit: Audit) -> None:
    trace = healthy().leader(1, epoch=1).append(1, "d", at=3, epoch=1, as_leader=True)
    trace.append(2, "d", at=3, epoch=1).truncate(2, 3, log_end=4).epoch_began(2, 2, 3)
    assert audit(trace).checks["epoch-cache"].verdict == "held"


def test_an_old_cache_is_compared_from_its_oldest_reported_entry(audit: Audit) -> None:
    newest = " ".join(f"{epoch}:3" for epoch in range(1, 33))
    trace = healthy().kill("broker-1").start("broker-1").loaded(1, 4, epochs=newest)
    assert audit(trace.append(1, "d", at=3, epoch=1)).checks["epoch-cache"].verdict != "violated"


def test_epochs_are_unknown_where_no_broker_reports_them(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0)
    trace.caches[0, 0] = [(0, 0)]
    check = audit(trace.append(0, "a", at=0, epoch=0, as_leader=True)).checks["epoch-cache"]
    assert (check.verdict, check.reason) == ("unknown", "t-0: no event of broker-0 has its leader epochs")


# --- checkpoint-ahead ---


@pytest.mark.parametrize(("checkpointed", "verdict"), [(4, "violated"), (3, "held"), (-1, "held")])
def test_a_checkpoint_is_not_ahead_of_the_log_that_is_found(audit: Audit, checkpointed: int, verdict: str) -> None:
    trace = healthy().kill("broker-1").start("broker-1").loaded(1, 3, checkpointed=checkpointed)
    check = audit(trace).checks["checkpoint-ahead"]
    assert check.verdict == verdict
    assert [(one["offset"], one["incarnation"], one["checkpointed"]) for one in check.evidence] == (
        [(3, 2, 4)] if verdict == "violated" else []
    )


def test_where_nothing_is_found_on_a_disk_no_checkpoint_is_judged(audit: Audit) -> None:
    assert audit(healthy()).checks["checkpoint-ahead"].verdict == "skipped"


def test_a_checkpoint_is_unknown_where_events_are_missing(audit: Audit) -> None:
    trace = healthy().kill("broker-1").start("broker-1")
    trace.seqs["broker-1"] += 1
    assert audit(trace.loaded(1, 3, checkpointed=3)).checks["checkpoint-ahead"].verdict == "unknown"


# --- fenced-leader-change ---


def _version(trace: Trace) -> int:
    """Of the state that was committed last."""
    return trace.zxid


def test_a_change_that_is_done_for_a_leader_of_before(audit: Audit) -> None:
    trace = healthy().leader(1, epoch=1, followers=(2,)).state(leader=1, epoch=1, isr=(0,))
    check = audit(trace.isr_changed(0, epoch=0, version=_version(trace))).checks["fenced-leader-change"]
    assert [(one["node"], one["leader_epoch"], one["reached"]) for one in check.evidence] == [("broker-0", 0, 1)]


def test_changes_that_are_refused_or_were_done_before(audit: Audit) -> None:
    trace = healthy().state(leader=0, epoch=0, isr=(0, 1))
    done = _version(trace)
    trace.leader(1, epoch=1, followers=(2,)).isr_changed(0, epoch=0, version=done)
    trace.isr_changed(0, epoch=0, version=-1, result="bad-version")
    trace.state(leader=1, epoch=1, isr=(1,)).isr_changed(1, epoch=1, version=_version(trace))
    assert audit(trace).checks["fenced-leader-change"].verdict == "held"


def test_changes_are_unknown_where_events_are_missing(audit: Audit) -> None:
    trace = healthy()
    trace.seqs["session-0"] += 1
    assert audit(trace.state(leader=0, epoch=0, isr=(0,))).checks["fenced-leader-change"].verdict == "unknown"


# --- dual-controller ---


def test_a_controller_that_decides_after_its_successor_has_begun(audit: Audit) -> None:
    trace = healthy().controller_epoch(2).controller("broker-1", epoch=2)
    trace.state(leader=1, epoch=1, isr=(1,), controller_epoch=1).state(leader=2, epoch=2, isr=(2,), controller_epoch=1)
    check = audit(trace).checks["dual-controller"]
    assert [(one["node"], one["controller_epoch"], one["reached"], one["states"]) for one in check.evidence] == [
        ("broker-2", 1, 2, 2)
    ]


def test_a_controller_that_does_not_know_and_does_nothing_breaks_no_promise(audit: Audit) -> None:
    trace = healthy().controller_epoch(2).controller("broker-1", epoch=2)
    trace.state(leader=1, epoch=1, isr=(1,), controller_epoch=2).read("a", at=0, epoch=0, high_watermark=3)
    verdict = audit(trace)
    assert verdict.checks["dual-controller"].verdict == "held"
    assert verdict.measures["dual_controller_ms"] > 0.0


def test_a_leaders_own_change_has_the_controller_epoch_that_made_it_leader(audit: Audit) -> None:
    trace = healthy().controller_epoch(2).state(leader=0, epoch=0, isr=(0, 1), controller_epoch=1)
    assert audit(trace).checks["dual-controller"].verdict == "held"


# --- clocks ---


def test_clocks_that_contradict_causes_make_the_run_unknown(audit: Audit) -> None:
    """A follower has a batch a second before the leader that it has it from."""
    trace = healthy().append(1, "d", at=3, epoch=0).later(1_000).append(0, "d", at=3, epoch=0, as_leader=True)
    verdict = audit(trace)
    assert verdict.valid == "unknown"
    assert [why for why in verdict.unknown_because if why.startswith("the clocks of broker-0 and broker-1")]
