"""Terms that the probe sees in the brokers' own state.
Also machines that break a rule.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from emulator.judging.judged import play_and_judge
from emulator.judging.oracle.truth import Term
from emulator.machines.broker.partition import Partition
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from protocol.events import ControllerChanged, RoleChanged
from protocol.ids import EPOCH_UNKNOWN, LeaderEpoch, Offset
from tests.emulator.judging.oracle.runs import RECREATED, small, verdict_of, watched

FIVE = (
    "az-isolated-leader",
    "az-isolated-leader-acks-all",
    "link-follower-leader",
    "az-isolated-follower",
    "az-isolated-controller",
)

def spans(terms: list[Term]) -> list[tuple[str, int, bool]]:
    """(node, epoch, whether it ended)"""
    return [(term.node, term.epoch, term.to_ms is not None) for term in terms]


@pytest.mark.parametrize("version", ["2.8", "2.6", "1.1"])
def test_a_killed_leader_is_out_of_its_term_when_it_dies(version: str) -> None:
    played, probe = watched(small("kill: 0", "wait: new leader", version=version))
    assert spans(probe.leaders) == [("broker-0", 0, True), ("broker-1", 1, False)]
    assert spans(probe.controllers) == [("broker-2", 1, False)]
    first, second = probe.leaders
    assert first.to_ms is not None and first.to_ms < second.from_ms <= played.world.now_ms


def test_a_killed_controller_is_out_of_its_term_when_it_dies() -> None:
    _, probe = watched(small("kill: 2", "wait: new controller"))
    ended, new = probe.controllers
    assert (ended.node, ended.epoch, new.epoch) == ("broker-2", 1, 2)
    assert ended.to_ms is not None and ended.to_ms < new.from_ms and new.to_ms is None


def test_a_paused_leader_stays_in_its_term() -> None:
    _, probe = watched(small("pause: broker-0", "wait: new leader"))
    assert spans(probe.leaders) == [("broker-0", 0, False), ("broker-1", 1, False)]


def test_a_broker_that_comes_back_does_not_lead_from_memory() -> None:
    _, probe = watched(small("kill: 0", "wait: new leader", "start: 0", "wait: {until: isr restored, limit_s: 60}"))
    assert spans(probe.leaders) == [("broker-0", 0, True), ("broker-1", 1, False)]


@pytest.mark.parametrize("scenario", FIVE)
@pytest.mark.parametrize("version", ["2.6", "2.8"])
def test_terms_begin_with_the_nodes_events(scenario: str, version: str) -> None:
    """State and events are two accounts of one thing.
    The machines of the catalogue tell the truth.
    """
    played, probe = watched(resolve(find_scenario(scenario), version), seed=3)
    reported_leaders, reported_controllers = [], []
    for node, _, _, _, at_ms, event in played.world.trace.entries:
        if isinstance(event, RoleChanged) and event.role == "leader":
            reported_leaders.append((node, event.leader_epoch, round(at_ms, 3)))
        if isinstance(event, ControllerChanged) and event.active:
            reported_controllers.append((node, event.controller_epoch, round(at_ms, 3)))
    assert [(o.node, o.epoch, o.from_ms) for o in probe.leaders] == reported_leaders
    assert [(o.node, o.epoch, o.from_ms) for o in probe.controllers] == reported_controllers
    assert not probe.watermarks_back and not probe.epochs_back


# --- machines that break a rule ---


@pytest.fixture
def watermark_that_falls(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A leader whose high watermark goes back by one, once.
    It does so at 3, when a follower comes to fetch.
    """
    noted = Partition.follower_fetched
    fell: list[Partition] = []

    def broken(partition: Partition, *fetched: Any, **more: Any) -> None:
        if not fell and partition.the_log.high_watermark == 3:
            fell.append(partition)
            partition._moved(Offset(2))
        noted(partition, *fetched, **more)

    monkeypatch.setattr(Partition, "follower_fetched", broken)
    yield
    assert fell, "the sabotage was never reached"


@pytest.mark.usefixtures("watermark_that_falls")
def test_a_leader_whose_high_watermark_falls_is_found() -> None:
    check = verdict_of(small("sleep: 1")).checks["high-watermark-regression"]
    assert (check.verdict, check.count) == ("violated", 1)
    assert check.evidence[0]["text"] == "broker-0, leader of epoch 0, moved its high watermark back from 3 to 2"


def test_a_broker_that_takes_an_older_epoch_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    adopt: Any = Partition._adopt

    def broken(partition: Partition, state: Any, settings: Any) -> None:
        adopt(partition, state, settings)
        if state.leader_epoch == 1:
            partition.leader_epoch = EPOCH_UNKNOWN if partition.context.broker == 2 else LeaderEpoch(0)

    monkeypatch.setattr(Partition, "_adopt", broken)
    _, probe = watched(small("kill: 0", "wait: new leader"))
    assert ("broker-1", 0, False) in spans(probe.leaders), "the sabotage was never reached"
    check = verdict_of(small("kill: 0", "wait: new leader")).checks["leader-epoch-monotonicity"]
    assert check.verdict == "violated"
    assert [one["text"] for one in check.evidence] == ["broker-0 and broker-1 led in the same leader epoch 0"]


def test_a_replica_whose_epoch_falls_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    adopt: Any = Partition._adopt

    def broken(partition: Partition, state: Any, settings: Any) -> None:
        adopt(partition, state, settings)
        if state.leader_epoch == 2:
            partition.leader_epoch = LeaderEpoch(0)

    monkeypatch.setattr(Partition, "_adopt", broken)
    twice = ("kill: 0", "wait: new leader", "start: 0", "wait: {until: isr restored, limit_s: 60}")
    check = verdict_of(small(*twice, "kill: 1", "wait: new leader")).checks["leader-epoch-monotonicity"]
    assert "broker-2 went back from leader epoch 1 to 0" in [one["text"] for one in check.evidence]


def test_a_follower_that_keeps_what_it_should_cut_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that never truncates returns from its isolation with records of its own.
    It never catches up, so that the scenario's wait for it is in vain, too.
    """
    monkeypatch.setattr(Partition, "truncate_to", lambda *_: None)
    verdict = verdict_of(resolve(find_scenario("az-isolated-leader"), "2.8"))
    assert verdict.checks["replica-divergence"].verdict == "violated"
    assert not verdict.checks["replica-divergence"].expected
    assert verdict.valid == "unknown" and " timed out after " in verdict.unknown_because[0], verdict.unknown_because


@pytest.mark.parametrize("version", ["2.8", "1.1"])
def test_what_is_deleted_on_request_is_not_lost_and_its_successor_is_another_topic(version: str) -> None:
    """Semantics 4.5."""
    verdict = play_and_judge(small(*RECREATED, version=version), 1, run="recreated").verdict
    assert [name for name, check in verdict.checks.items() if check.verdict not in ("held", "skipped")] == []


def test_what_the_topic_of_the_same_name_loses_is_lost() -> None:
    lost = (
        "kill: 2",
        "wait: isr shrunk",
        "produce: {broker: 1, values: [e], acks: 1}",
        "power-loss: {node: 1, batches_kept: 1}",
    )
    back = ("start: 1", "wait: {until: {leader: 1}}", "settle: 1")
    check = play_and_judge(small(*RECREATED, *lost, *back), 1, run="lost").verdict.checks["lost-acknowledged"]
    assert [(one["partition"], one["offset"], one["value"]) for one in check.evidence] == [("t-0", 1, "e")]


def test_the_lives_of_a_topic_have_names_of_their_own() -> None:
    _, probe = watched(small(*RECREATED))
    names = [term.topic_partition[0] for term in probe.leaders if term.topic_partition is not None]
    assert [probe.incarnations.shown(name) for name in names] == ["t#1", "t"]
    assert [term.node for term in probe.leaders] == ["broker-0", "broker-1"]
    assert (probe.going, len(probe.incarnations.removed["t"])) == (set(), 1)
