"""Verdicts of simulated runs: valid, not valid, and unknown."""

import pytest

from emulator.faults.enforcement import LinkState
from emulator.judging.judged import play_and_judge
from emulator.judging.measures import time_to_new_leader_ms
from emulator.judging.oracle.truth import Term
from emulator.judging.simulated_measures import two_at_once_ms
from emulator.judging.verdict_builder import doubts_about
from emulator.machines.broker.replica_manager import Replicas
from emulator.runs.resolve import resolve
from emulator.runs.verdict_file import FaultVerdict, Verdict
from emulator.scenario.load import load_scenario
from emulator.storage.files import DiskFailed

STEPS = """
id: small
title: one topic, a few writes
kafka: [2.8]
settings: {zookeeper.session.timeout.ms: 2000, replica.lag.time.max.ms: 2000}
steps:
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
"""


def verdict_of(*steps: str, more: str = "", seed: int = 1) -> Verdict:
    text = STEPS + "".join(f"  - {step}\n" for step in steps) + more
    return play_and_judge(resolve(load_scenario(text, "small.yaml")), seed, run="small").verdict


def test_a_cut_of_links_nothing_uses_makes_the_run_unknown() -> None:
    verdict = verdict_of("cut: {link: [client-0, client-1]}", "sleep: 1", "heal", "sleep: 1")
    assert verdict.valid == "unknown" and verdict.exit_code == 3
    assert verdict.unknown_because[0] == "fault 'cut client-0 client-1' stopped nothing: no traffic met it"


def test_a_cut_that_expects_no_traffic_may_stop_nothing() -> None:
    cut = "cut: {link: [client-0, client-1], expects_traffic: false}"
    verdict = verdict_of(cut, "sleep: 1", "heal", "sleep: 1")
    assert verdict.valid is True
    assert verdict.faults[0].frames_stopped == 0


def test_a_wait_that_is_not_reached_makes_the_run_unknown_and_is_named() -> None:
    wait = "wait: {until: isr shrunk, limit_s: 2}"
    verdict = verdict_of("sleep: 1", wait, "produce: {broker: 0, values: [a], acks: all}")
    assert verdict.valid == "unknown" and verdict.exit_code == 3
    (why,) = verdict.unknown_because
    assert why.startswith("step 6: wait 'isr shrunk' timed out after 2 s, at ")


def test_a_wait_that_may_time_out_may_and_others_of_its_name_may_not() -> None:
    may = "wait: {until: isr shrunk, limit_s: 1, may_time_out: true}"
    assert verdict_of("repeat: {times: 2, steps: [" + "{" + may + "}]}").valid is True
    verdict = verdict_of(may, "background: b\n    wait: {until: isr shrunk, limit_s: 1}", may, "await: b", may)
    reasons = [why.split(" s, at")[0] for why in verdict.unknown_because]
    assert reasons == ["step 6: wait 'isr shrunk' timed out after 1"]


def test_a_heal_that_is_sabotaged_makes_the_run_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    heal = LinkState.heal

    def broken(links: LinkState, now_ms: float, rule_id: str) -> bool:
        return False if links.node == "broker-0" else heal(links, now_ms, rule_id)

    monkeypatch.setattr(LinkState, "heal", broken)
    verdict = verdict_of("cut: az-0", "sleep: 1", "heal", "sleep: 2")
    assert verdict.exit_code == 3
    assert verdict.unknown_because == ["fault 'cut az-0' did not heal: still in force at broker-0"]


def test_a_heal_that_no_traffic_proves_makes_the_run_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message is sent between the heal and the end, and no node sees it arrive."""
    monkeypatch.setattr(LinkState, "prove", lambda *_: None)
    verdict = verdict_of("cut: {link: [broker-0, broker-1]}", "sleep: 1", "heal", "sleep: 2")
    assert (verdict.faults[0].healed, verdict.exit_code) == ("unknown", 3)
    (why,) = verdict.unknown_because
    assert why == "fault 'cut broker-0 broker-1' was healed, but nothing that was sent since has arrived"


def test_a_link_that_had_no_reason_to_carry_anything_since_its_heal_is_healed() -> None:
    verdict = verdict_of("cut: az-0", "sleep: 1", "heal", seed=3)
    assert (verdict.faults[0].healed, verdict.exit_code) == (True, 0)


def test_a_rule_that_stays_in_force_needs_no_heal() -> None:
    verdict = verdict_of("cut: az-0", "sleep: 1")
    assert (verdict.faults[0].healed_ms, verdict.faults[0].healed, verdict.valid) == (None, None, True)


def test_a_broken_expectation_is_not_valid() -> None:
    more = "expectations:\n  - {text: another leader, state: {leader: 1}}\n"
    verdict = verdict_of(more=more)
    assert (verdict.valid, verdict.exit_code) == (False, 1)
    assert verdict.expectations[0].seen == {"leader": 0}


def test_an_unexpected_violation_is_not_valid() -> None:
    lost = ("cut: az-0", "produce: {broker: 0, values: [x], acks: 1}", "wait: new leader", "heal", "sleep: 20")
    verdict = verdict_of(*lost)
    assert verdict.checks["lost-acknowledged"].verdict == "violated"
    assert not verdict.checks["lost-acknowledged"].expected
    assert (verdict.valid, verdict.exit_code) == (False, 1)
    expected = "expects_violations:\n  - {check: lost-acknowledged, because: of the cut}\n"
    verdict = verdict_of(*lost, more=expected)
    assert verdict.checks["lost-acknowledged"].expected
    assert (verdict.valid, verdict.exit_code) == (True, 0)


def test_a_violation_that_comes_sometimes_is_right_with_it_and_without() -> None:
    sometimes = "expects_violations:\n  - {check: lost-acknowledged, because: of a race, sometimes: true}\n"
    write = "produce: {broker: 0, values: [x], acks: 1}"
    for steps, comes in (([write], False), (["cut: az-0", write, "wait: new leader", "heal", "sleep: 20"], True)):
        verdict = verdict_of(*steps, more=sometimes)
        check = verdict.checks["lost-acknowledged"]
        assert (check.verdict == "violated", check.expected) == (comes, comes)
        assert (verdict.valid, verdict.exit_code, verdict.expectations) == (True, 0, [])


def test_a_violation_that_is_expected_and_does_not_come_is_not_valid() -> None:
    more = "expects_violations:\n  - {check: duplicate, because: of nothing}\n"
    verdict = verdict_of("produce: {broker: 0, values: [a], acks: all}", more=more)
    assert (verdict.valid, verdict.checks["duplicate"].verdict) == (False, "held")


def test_a_fault_that_was_never_in_force_is_a_doubt() -> None:
    fault = FaultVerdict("cut az-0", 1.0, None, None, 0, False, None)
    assert doubts_about([fault]) == ["fault 'cut az-0' was requested but was in force nowhere"]


def test_a_new_leader_counts_from_the_fault() -> None:
    leaders = [Term(("t", 0), "broker-0", 0, 100.0), Term(("t", 0), "broker-1", 1, 900.0)]
    assert time_to_new_leader_ms(leaders, 300.0) == 600.0
    assert time_to_new_leader_ms(leaders, 900.0) is None
    assert time_to_new_leader_ms(leaders, None) is None
    assert time_to_new_leader_ms(leaders[:1], 300.0) is None


def test_two_terms_at_once_are_measured_even_without_activity() -> None:
    def led(node: str, epoch: int, from_ms: float, to_ms: float | None, partition: int = 0) -> Term:
        return Term(("t", partition), node, epoch, from_ms, to_ms)

    alone = [led("broker-0", 0, 100.0, 500.0), led("broker-1", 1, 500.0, None), led("broker-0", 1, 0.0, None, 1)]
    assert two_at_once_ms(alone, 900.0) is None
    assert two_at_once_ms([*alone, led("broker-2", 2, 700.0, None)], 900.0) == 200.0
    assert two_at_once_ms([led("broker-0", 0, 100.0, 530.0), *alone[1:]], 900.0) == 30.0
    assert two_at_once_ms([led("broker-1", 0, 100.0, 530.0), *alone[1:]], 900.0) is None  # one that goes on


def test_time_without_a_leader_is_measured() -> None:
    measures = verdict_of("kill: 0", "wait: new leader").measures
    assert 2000 <= measures["time_to_new_leader_ms"] < 4000
    assert measures["events"] > 100


def test_failing_produces_are_unavailability() -> None:
    """From one that failed until the next one ended; the player is in no AZ."""
    failing = "produce: {broker: 1, values: [a, b], acks: 1}"
    measures = verdict_of(failing, "sleep: 1", "produce: {broker: 0, values: [c], acks: 1}").measures
    assert 1000 < measures["unavailable_ms"]["outside"] < 1500
    assert measures["unavailable_ms"]["az-0"] is None, "no client there wrote"
    written = verdict_of("produce: {broker: 0, values: [c], acks: 1}").measures
    assert written["unavailable_ms"]["outside"] == 0.0, "measured"


def test_a_client_whose_last_write_failed_was_unavailable_to_the_end_of_the_run() -> None:
    """Whether it had written before or not."""
    write = "produce: {broker: 0, client: az-0, values: [a], acks: 1, socket_timeout_s: 2}"
    for before in ((), (write,)):
        measures = verdict_of(*before, "kill: 0", write, "sleep: 5").measures
        assert 5000 <= measures["unavailable_ms"]["az-0"] < 7000
        assert measures["unavailable_ms"]["az-1"] is None


def test_a_broker_may_die_of_a_disk_that_was_filled() -> None:
    writes = "produce: {broker: 0, values: [a, b], acks: 1, socket_timeout_s: 2}"
    verdict = verdict_of("disk-full: 0", writes, "wait: new leader")
    assert verdict.unknown_because == []


def test_a_node_that_dies_by_itself_makes_the_run_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker ends with an exit code, without a fault in the script."""
    checkpoint = Replicas.checkpoint_high_watermarks

    def broken(replicas: Replicas) -> None:
        checkpoint(replicas)
        if replicas.context.broker == 1 and replicas.context.now.mono_ms > 9_000:
            replicas.storage_failed(DiskFailed("t-0", "sabotage"))

    monkeypatch.setattr(Replicas, "checkpoint_high_watermarks", broken)
    verdict = verdict_of("sleep: 12")
    assert verdict.unknown_because == ["broker-1 died by itself with code 1: log directory failed: t-0: sabotage"]
    assert verdict.exit_code == 3
    assert verdict.measures["exits"] == {"broker-1": 1}
    more = "expects_exits:\n  - {node: 1, because: of the sabotage}\n"
    verdict = verdict_of("sleep: 12", more=more)
    assert (verdict.unknown_because, verdict.exit_code) == ([], 0)


def test_an_exit_that_is_expected_and_does_not_come_is_not_valid() -> None:
    verdict = verdict_of("sleep: 1", more="expects_exits:\n  - {node: 1, because: of nothing}\n")
    assert (verdict.valid, verdict.measures["exits"]) == (False, {})
