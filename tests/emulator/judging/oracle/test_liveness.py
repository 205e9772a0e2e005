"""As `test_anomalies`: what must come right by itself, once a run is left in peace."""

import msgspec
import pytest

from emulator.judging.judged import play_and_judge
from emulator.judging.oracle.judge import judge_truth
from emulator.judging.oracle.truth import State, Truth, Waited
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from tests.emulator.judging.oracle.truths import PLACE, batches, found, healthy
from verification.mutants.table import IN_PEACE as LEFT_IN_PEACE


def truth(leader: int, isr: tuple[int, ...], from_ms: float, until_ms: float | None) -> Truth:
    """Peace from 1 s to 60 s; sessions of 6 s, lag of 10 s."""
    reported = healthy()
    state = State(PLACE, 8, leader=leader, leader_epoch=1, isr=isr, controller_epoch=1)
    state.from_ms, state.until_ms = from_ms, until_ms
    reported.states[0].until_ms = from_ms
    reported.states.append(state)
    return reported


@pytest.mark.parametrize(
    ("from_ms", "until_ms", "times"), [(40_000.0, None, 1), (40_000.0, 51_000.0, 0), (0.0, 12_000.0, 0), (0.0, None, 1)]
)
def test_leaderless_for_longer_than_two_sessions(from_ms: float, until_ms: float | None, times: int) -> None:
    assert len(found("no-leader", truth(-1, (0, 1, 2), from_ms, until_ms))) == times


@pytest.mark.parametrize(
    ("isr", "from_ms", "times"), [((0, 1), 40_000.0, 1), ((0, 1), 50_000.0, 0), ((2, 1, 0), 0.0, 0)]
)
def test_a_replica_is_out_of_sync_for_longer_than_lag_and_session(
    isr: tuple[int, ...], from_ms: float, times: int
) -> None:
    assert len(found("under-replicated", truth(1, isr, from_ms, None))) == times


def test_what_may_stall_is_waited_for() -> None:
    reported = truth(1, (0, 1), 40_000.0, None)
    assert reported.peace is not None
    reported.peace = msgspec.structs.replace(reported.peace, stalled_ms=30_000)
    assert not found("under-replicated", reported)
    assert judge_truth(reported)["under-replicated"]["verdict"] == "held"


BOUND_MS = 26_000.0
"""Of a request: twice a lag of 10 s, and a session of 6 s."""


@pytest.mark.parametrize(
    ("sent_ms", "ended_ms", "times"),
    [
        (20_000.0, None, 1),
        (20_000.0, 20_000.0 + BOUND_MS + 1.0, 1),
        (20_000.0, 20_000.0 + BOUND_MS, 0),
        (0.0, 1_001.0 + BOUND_MS, 1),
        (0.0, 1_000.0 + BOUND_MS, 0),
        (40_000.0, None, 0),
        (0.0, 900.0, 0),
    ],
)
def test_a_request_that_is_waited_for_in_peace(sent_ms: float, ended_ms: float | None, times: int) -> None:
    reported = healthy()
    reported.waited.append(Waited("client-0.1:9", 2, "client-0", 1, 5_000, sent_ms, ended_ms))
    texts = found("unanswered-request", reported)
    assert len(texts) == times
    assert all("attempt 2 of client-0.1:9, which client-0 sent to broker-1" in text for text in texts)


@pytest.mark.parametrize(("timeout_ms", "times"), [(0, 1), (38_000, 1), (40_000, 0)])
def test_after_a_cut_it_is_waited_for_as_long_as_its_client_does(timeout_ms: int, times: int) -> None:
    reported = healthy()
    assert reported.peace is not None
    reported.peace = msgspec.structs.replace(reported.peace, links_broken=True)
    reported.waited.append(Waited("client-0.1:9", 2, "client-0", 1, timeout_ms, 20_000.0, None))
    assert len(found("unanswered-request", reported)) == times


@pytest.mark.parametrize(
    ("version", "scenario", "stalled_ms"),
    [("2.6", LEFT_IN_PEACE, 0), ("2.8", LEFT_IN_PEACE, 9_000), ("2.6", "az-isolated-follower", 11_000)],
)
def test_how_long_anything_may_stall(version: str, scenario: str, stalled_ms: int) -> None:
    given = {"request.timeout.ms": 9_000, "replica.socket.timeout.ms": 11_000}
    run = play_and_judge(resolve(find_scenario(scenario), version, given), 1, run="r")
    assert run.truth.peace is not None
    assert run.truth.peace.stalled_ms == stalled_ms


# --- too-few-copies ---


def _lacks(*nodes: str) -> Truth:
    """Those do not hold c."""
    reported = healthy()
    for node in nodes:
        reported.logs[PLACE][node] = batches("a", "b")
    return reported


def test_a_record_that_fewer_hold_than_must() -> None:
    assert found("too-few-copies", _lacks("broker-1", "broker-2")) == [
        "observer.1:c was acknowledged (acks=all) at offset 2; of the replicas 0,1,2 broker-0 have it, and "
        "min.insync.replicas is 2"
    ]
    assert not found("too-few-copies", _lacks("broker-2"))


def test_what_the_leader_lacks_is_lost() -> None:
    reported = _lacks("broker-0", "broker-1")
    assert len(found("lost-acknowledged", reported)) == 1
    assert not found("too-few-copies", reported)


def test_other_bytes_at_its_offset_are_no_copy() -> None:
    reported = _lacks("broker-1", "broker-2")
    reported.logs[PLACE]["broker-1"] += batches("x", first=2)
    assert len(found("too-few-copies", reported)) == 1


@pytest.mark.parametrize("why", ["the least it was", "no more are assigned", "short", "leaderless", "not told"])
def test_copies_that_are_not_required(why: str) -> None:
    reported = _lacks("broker-1", "broker-2")
    assert reported.peace is not None
    match why:
        case "the least it was":
            reported.beliefs.append(msgspec.structs.replace(reported.beliefs[0], least=1))
        case "no more are assigned":
            reported.assignments[PLACE] = (0,)
        case "short":
            reported.peace = msgspec.structs.replace(reported.peace, end_ms=16_000.0)
        case "leaderless":
            reported.states[0].leader = -1
        case _:
            reported.beliefs.clear()
    assert not found("too-few-copies", reported)


def test_without_peace_nothing_is_judged() -> None:
    reported = truth(-1, (0,), 0.0, None)
    reported.peace = None
    judged = judge_truth(reported)
    names = ("no-leader", "under-replicated", "unanswered-request", "too-few-copies")
    assert {judged[name]["verdict"] for name in names} == {"skipped"}
