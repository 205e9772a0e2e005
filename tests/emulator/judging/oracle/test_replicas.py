"""Rules of replicas, ISR changes and controllers, as in `test_anomalies`."""

import pytest

from emulator.judging.oracle.truth import Ahead, CutBelow, IsrChange, Outlived, State
from protocol.ids import LeaderEpoch, Offset
from tests.emulator.judging.oracle.truths import PLACE, batches, controls, found, healthy


def test_a_cut_below_a_high_watermark_that_was_had() -> None:
    truth = healthy()
    truth.cuts = [CutBelow(PLACE, "broker-1", to=1, log_end=3, high_watermark=2)]
    assert found("committed-truncated", truth) == [
        "broker-1 cut its log from 3 to 1, and had had a high watermark of 2"
    ]


def test_an_entry_of_a_cache_that_outlived_a_cut() -> None:
    truth = healthy()
    truth.outlived = [Outlived(PLACE, "broker-1", 2, epoch=4, begins=7, log_end=3)]
    assert len(found("epoch-cache", truth)) == 1


@pytest.mark.parametrize("cache", [[], [(LeaderEpoch(0), Offset(1))], [(LeaderEpoch(1), Offset(0))]])
def test_an_epoch_of_a_log_that_its_cache_lacks_or_has_elsewhere(cache: list[tuple[LeaderEpoch, Offset]]) -> None:
    truth = healthy()
    truth.caches[PLACE]["broker-2"] = cache
    assert len(found("epoch-cache", truth)) == 1
    truth.gone = {"t"}
    assert not found("epoch-cache", truth)


def test_batches_of_formats_without_an_epoch_need_no_cache() -> None:
    truth = healthy()
    truth.logs[PLACE]["broker-0"] = batches("a", "b", epoch=-1)
    truth.caches[PLACE]["broker-0"] = []
    assert not found("epoch-cache", truth)


def test_a_checkpoint_ahead_of_the_log_that_was_found() -> None:
    truth = healthy()
    truth.ahead = [Ahead(PLACE, "broker-0", 2, checkpointed=3, log_end=1)]
    assert found("checkpoint-ahead", truth) == [
        "broker-0, at the start of incarnation 2, had 3 as checkpointed high watermark, and its log ended at 1"
    ]


@pytest.mark.parametrize(("epoch", "version", "changes"), [(0, 1, 1), (1, 1, 0), (0, 0, 0), (0, 7, 0)])
def test_a_change_of_the_isr_behind_a_later_leader_epoch(epoch: int, version: int, changes: int) -> None:
    truth = healthy()
    truth.states.append(State(PLACE, 8, leader=1, leader_epoch=1, isr=(1,), controller_epoch=1, version=1))
    truth.isr_changes = [IsrChange(PLACE, "broker-0", 1, epoch, version)]
    assert len(found("fenced-leader-change", truth)) == changes


@pytest.mark.parametrize(("leader_epoch", "controller_epoch", "written"), [(1, 1, 1), (0, 1, 0), (1, 2, 0)])
def test_a_state_that_is_decided_after_a_later_controller_epoch(
    leader_epoch: int, controller_epoch: int, written: int
) -> None:
    truth = healthy()
    truth.controllers.append(controls(1, 2, 600.0))
    late = State(PLACE, 8, leader=0, leader_epoch=leader_epoch, isr=(0,), controller_epoch=controller_epoch, reached=2)
    truth.states.append(late)
    assert len(found("dual-controller", truth)) == written
