"""As `test_anomalies`: what must come right by itself, once a run is left in peace."""

import pytest

from emulator.judging.oracle.committed import State
from emulator.judging.oracle.judge import judge_truth
from emulator.judging.oracle.truth import Truth
from tests.emulator.judging.oracle.truths import PLACE, found, healthy


def truth(leader: int, isr: tuple[int, ...], from_ms: float, until_ms: float | None) -> Truth:
    """Peace from 1 s to 60 s; sessions of 6 s, lag of 10 s."""
    told = healthy()
    state = State(PLACE, 8, leader=leader, leader_epoch=1, isr=isr, controller_epoch=1)
    state.from_ms, state.until_ms = from_ms, until_ms
    told.states[0].until_ms = from_ms
    told.states.append(state)
    return told


@pytest.mark.parametrize(
    ("from_ms", "until_ms", "times"), [(40_000.0, None, 1), (40_000.0, 51_000.0, 0), (0.0, 12_000.0, 0), (0.0, None, 1)]
)
def test_nobody_leads_for_longer_than_two_sessions(from_ms: float, until_ms: float | None, times: int) -> None:
    assert len(found("no-leader", truth(-1, (0, 1, 2), from_ms, until_ms))) == times


@pytest.mark.parametrize(
    ("isr", "from_ms", "times"), [((0, 1), 40_000.0, 1), ((0, 1), 50_000.0, 0), ((2, 1, 0), 0.0, 0)]
)
def test_a_replica_is_out_of_sync_for_longer_than_lag_and_session(
    isr: tuple[int, ...], from_ms: float, times: int
) -> None:
    assert len(found("under-replicated", truth(1, isr, from_ms, None))) == times


def test_without_peace_nothing_is_judged() -> None:
    told = truth(-1, (0,), 0.0, None)
    told.peace = None
    judged = judge_truth(told)
    assert {judged[name]["verdict"] for name in ("no-leader", "under-replicated")} == {"skipped"}
