"""Death of a node anywhere in a catalogue scenario, and machines that are wrong on purpose.

`python -m verification.kill_anywhere` plays thousands."""

from typing import Any

import pytest

from emulator.judging.crash_testing.crash_judge import judge_death
from emulator.judging.crash_testing.crash_plan import Plan, mortal_scenarios
from emulator.judging.crash_testing.crash_run import play_death
from emulator.judging.crash_testing.crash_seeds import DeathsOptions, play_seed, replay_command
from emulator.judging.explain.history_builder import history_of
from emulator.judging.explain.promise_rules import gates_of
from emulator.judging.explain.settled_partitions import Unsettled, partition_of
from emulator.judging.explain.settled_state import brokers_of, ensemble_state, state_of, unsettled
from emulator.judging.explain.stuck import unsettled_rule
from emulator.machines.broker.fetchers import Fetchers
from emulator.machines.broker.partition import Partition, PendingIsr
from emulator.machines.broker.replica_log import Log
from protocol.events import ScenarioStep
from protocol.ids import BrokerId, Offset

pytestmark = pytest.mark.slow

SEEDS_EACH = 2
LONG = ("isr-flapping", "isr-steady")
"""Thousands of records: one seed each."""


@pytest.mark.parametrize("scenario", mortal_scenarios())
def test_a_death_anywhere(scenario: str) -> None:
    requested = DeathsOptions((scenario,))
    for seed in range(1, 2 if scenario in LONG else SEEDS_EACH + 1):
        result = play_seed(requested.plan(seed))
        assert result.good, (result.plan.text, result.error, result.failed, replay_command(requested, seed))


def planned(**changed: Any) -> Plan:
    plan = {"seed": 1, "scenario": "leader-crash", "version": "2.6", "victim": "broker-1", "step": 6, "back_ms": 8000.0}
    return Plan(**{**plan, **changed})


def test_the_same_seed_is_the_same_run() -> None:
    requested = DeathsOptions()
    first, second = (play_death(requested.plan(11)) for _ in range(2))
    assert first.world.trace.shape() == second.world.trace.shape()
    assert (first.world.now_ms, first.world.inputs) == (second.world.now_ms, second.world.inputs)


@pytest.mark.parametrize("victim", ["broker-0", "session-1"])
def test_a_death_at_a_step(victim: str) -> None:
    died = play_death(planned(victim=victim))
    entries = died.world.trace.entries
    begun = {event.step: at_ms for *_, at_ms, event in entries if isinstance(event, ScenarioStep)}
    assert died.attendant.hit_ms is not None and begun[6] <= died.attendant.hit_ms < begun[7]
    assert died.attendant.deaths == 1 and died.unsettled == []
    assert died.world.nodes[victim].incarnation > 1


@pytest.mark.parametrize("victim", ["broker-2", "session-0"])
def test_two_deaths_between_storage_operations(victim: str) -> None:
    """The second while it recovers, or soon after."""
    died = play_death(planned(victim=victim, step=1, operations=9, again=1))
    assert died.attendant.deaths == 2 and died.unsettled == []
    assert judge_death(died).failed == []


def test_a_victim_that_makes_too_few_operations_dies_when_the_script_is_over() -> None:
    died = play_death(planned(step=21, operations=40, victim="session-2"))
    assert died.attendant.hit_ms is not None and died.attendant.deaths == 1
    steps = [entry[4] for entry in died.world.trace.entries if isinstance(entry[5], ScenarioStep)]
    assert died.attendant.hit_ms >= max(steps)


def test_a_broker_that_is_back_too_early_is_started_until_it_stays() -> None:
    """Semantics 11.10."""
    died = play_death(planned(back_ms=1000.0))
    assert 1 <= len(died.attendant.exits) <= 4
    assert {end.node for end in died.attendant.exits} == {"broker-1"}
    assert "11.10: a broker that finds its old registration exits" in judge_death(died).allowed


def test_an_abandoned_isr_change_is_a_reason_not_to_settle() -> None:
    """Semantics 1.6: it stays pending until a newer leader epoch."""
    died = play_death(planned(version="2.8"))
    tree, _ = ensemble_state(died.world)
    assert tree is not None
    state = state_of(tree, ("t", 0))
    assert state is not None
    leader = brokers_of(died.world)[state.leader]
    partition, gates = partition_of(leader, ("t", 0)), gates_of(died.resolved)
    history = history_of(died.world.trace.entries)
    assert partition is not None
    one = Unsettled("isr", "", ("t", 0))
    assert unsettled_rule(died, history, gates, one) == ""
    partition.pending = PendingIsr([state.leader], partition.isr, expands=False)
    assert unsettled_rule(died, history, gates, one).startswith("1.6")
    assert "high-watermark" not in {found.what for found in unsettled(died.world)}


# --- rules that a run needs ---

NAMED: list[tuple[str, dict[str, Any]]] = [
    # The answer to the write of a first state is lost with a session server.
    ("4.2: a first state", {"scenario": "kafka-9307", "version": "0.11", "victim": "session-1", "step": 10,
                            "operations": 17, "again": 18, "back_ms": 8371.0, "seed": 6}),
    # The ISR's other member bounced while it was shutting down, and then the leader dies.
    ("8 (KAFKA-7235)", {"scenario": "kafka-7235-stop-replica", "version": "2.0.1", "victim": "broker-0", "step": 25,
                        "later_ms": 5673.483691189286, "back_ms": 3526.5774119520897, "seed": 156}),
    # The leader loses its only record with its power; the other replica stays half-way.
    ("8 (KAFKA-9307)", {"scenario": "kafka-9307", "version": "2.1", "victim": "broker-0", "step": 2, "operations": 25,
                        "power": True, "again": 15, "back_ms": 1048.7, "seed": 3733}),
    # The order ends before it comes to u; the controller, away for a moment, does not see that broker-1 was.
    ("8 (KAFKA-9307)", {"scenario": "kafka-9307", "version": "2.1", "victim": "session-0", "step": 10, "operations": 22,
                        "back_ms": 4604.0, "seed": 3}),
    # The scenario alone loses m2, and leaves it on those who do not have m1.
    ("8 (KAFKA-6880)", {"scenario": "kafka-6880", "version": "0.8.2", "victim": "broker-0", "step": 14,
                        "operations": 5, "back_ms": 7179.0, "seed": 714}),
    ("8 (KAFKA-6880)", {"scenario": "kafka-6880", "version": "2.0.1", "victim": "session-2", "step": 30,
                        "back_ms": 7420.0, "seed": 368}),
    # Three producers write the same values, one of them idempotent.
    ("6: without idempotence", {"scenario": "reordering", "version": "2.8", "victim": "broker-1", "step": 2,
                                "operations": 13, "back_ms": 3687.0, "seed": 1946}),
    # Nobody saw broker-2 go and come: who has begun anew is told nothing of its partition.
    ("8 (KAFKA-7235)", {"scenario": "az-isolated-follower", "version": "1.1", "victim": "broker-2", "step": 8,
                        "back_ms": 5638.0, "seed": 370}),
    # The leader loses its only record with its power; the other has it, and is taken to shut down.
    ("3: power loss took it", {"scenario": "kafka-7235-stop-replica", "version": "1.1", "victim": "broker-0", "step": 8,
                               "operations": 21, "power": True, "again": 9, "back_ms": 8301.0, "seed": 6}),
    # Who is asked never led.
    ("1.8: acks=0", {"scenario": "acks-0-loss", "version": "1.1", "victim": "broker-0", "step": 2, "again": 1,
                     "back_ms": 8205.3, "seed": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "plan"), NAMED, ids=[f"{plan['scenario']}-{plan['seed']}" for _, plan in NAMED])
def test_a_run_names_the_rule_that_allows_what_is_wrong(rule: str, plan: dict[str, Any]) -> None:
    judged = judge_death(play_death(Plan(**plan)))
    assert judged.failed == [] and any(name.startswith(rule) for name in judged.allowed), judged.allowed


def test_a_broker_taken_to_shut_down_is_elected_once_the_controller_has_seen_it_come() -> None:
    """KAFKA-7235, semantics 4.2: otherwise no rule allows a partition without a leader."""
    died = play_death(Plan(**NAMED[1][1]))
    (one,) = [one for one in died.unsettled if one.what == "leader"]
    history, gates = history_of(died.world.trace.entries), gates_of(died.resolved)
    assert unsettled_rule(died, history, gates, one).startswith("8 (KAFKA-7235)")
    history.named["broker-3", 1].append(died.world.now_ms)
    assert unsettled_rule(died, history, gates, one) == ""


def test_a_replica_behind_a_half_way_order_gets_one_once_the_controller_sees_it() -> None:
    """KAFKA-9307, semantics 4.2.
    Otherwise no rule allows a replica whose broker does not know it.
    """
    died = play_death(Plan(**NAMED[3][1]))
    (one,) = [one for one in died.unsettled if (one.what, one.topic_partition) == ("role", ("u", 0))]
    history, gates = history_of(died.world.trace.entries), gates_of(died.resolved)
    assert unsettled_rule(died, history, gates, one).startswith("8 (KAFKA-9307)")
    history.named["broker-2", 1].append(died.world.now_ms)
    assert unsettled_rule(died, history, gates, one) == ""


def test_a_world_whose_node_is_stalled_does_not_fire_what_was_cancelled() -> None:
    """A session server dies while a broker makes a hundred logs.
    Its session client sent no ping.
    """
    plan = planned(scenario="many-partitions", victim="session-1", step=6, later_ms=2368.0, back_ms=2912.0, seed=5437)
    assert play_seed(plan).error == ""


# --- sabotage ---


def failures(plan: Plan) -> set[str]:
    died = play_death(plan)
    return {broken.what for broken in judge_death(died).failed}


def test_a_recovery_that_loses_a_batch_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Log.load

    def forgetful(*arguments: Any, **named: Any) -> Log:
        log = load(*arguments, **named)
        if log.log_end > 1 and not named["clean"]:
            log.truncate_to(Offset(log.log_end - 1))
        return log

    assert failures(planned()) == set()
    monkeypatch.setattr(Log, "load", forgetful)
    assert "recovery" in failures(planned())


def test_a_leader_that_acknowledges_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A high watermark that does not wait for the followers: acks=all means nothing."""

    def hasty(self: Partition, at_ms: float | None = None) -> bool:
        moved = self.the_log.log_end > self.the_log.high_watermark
        if moved:
            self._moved(self.the_log.log_end)
        return moved

    plan = planned(scenario="acks-1-loss", victim="session-0", step=8)
    assert failures(plan) == set()
    monkeypatch.setattr(Partition, "advance_high_watermark", hasty)
    assert "lost" in failures(plan)


def test_a_broker_that_never_follows_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    add = Fetchers.add
    monkeypatch.setattr("emulator.judging.crash_testing.crash_run.SETTLE_LIMIT_MS", 60_000.0)

    def tired(self: Fetchers, partition: Partition, source: int, node: str) -> None:
        if partition.leader_epoch == 0:
            add(self, partition, BrokerId(source), node)

    monkeypatch.setattr(Fetchers, "add", tired)
    died = play_death(planned())
    assert {"isr", "log-end"} <= {one.what for one in died.unsettled}
