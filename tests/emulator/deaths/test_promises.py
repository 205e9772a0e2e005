"""What is a broken promise, and which rule allows it: from truths written by hand."""

from typing import Any

import pytest

from emulator.deaths.attendant import Recovery
from emulator.deaths.history import Cut, History, Led, Stated, history_of
from emulator.deaths.plan import resolved_for
from emulator.deaths.promises import Broken, broken_promises, broken_recoveries
from emulator.deaths.rules import LostTail, Rules, idempotent_values
from emulator.oracle.probe import Office, StepBack
from emulator.oracle.truth import Batch, Truth
from emulator.scenario import model as m
from protocol.events import ZnodeChanged
from protocol.znodes import Leadership, encode_state, state_path

PLACE = ("t", 0)
LOST = Broken("lost", "c is lost", PLACE, 2, m.ALL_ACKS, "c")


def stated(at_ms: float, leader: int, epoch: int, isr: tuple[int, ...], version: int) -> Stated:
    return Stated(at_ms, Leadership(leader, epoch, isr, 1, version))


def found(*states: Stated) -> list[str]:
    return [broken.what for broken in broken_promises(Truth(), History(states={PLACE: list(states)}))]


def rules(scenario: str, version: str, history: History, **more: Any) -> Rules:
    return Rules(resolved_for(scenario, version), history, **{"power": False, "tails": [], **more})


# --- states ---


def test_an_election_within_the_isr_is_sound() -> None:
    assert found(stated(1, 0, 0, (0, 1), 0), stated(2, -1, 1, (1,), 1), stated(3, 1, 2, (1,), 2)) == []


def test_a_leader_from_outside_the_isr_is_found() -> None:
    """Semantics 4.2: only where unclean election is on."""
    states = [stated(1, 0, 0, (0,), 0), stated(2, -1, 1, (0,), 1), stated(3, 1, 2, (1,), 2)]
    assert found(*states) == ["election"]
    history = History(states={PLACE: states})
    broken = Broken("election", "", PLACE)
    assert rules("clean-election-waits", "2.8", history).allowing(broken) == ""
    assert rules("unclean-election", "2.8", history).allowing(broken).startswith("4.2")


@pytest.mark.parametrize(
    "after",
    [
        stated(2, 1, 0, (0, 1), 1),  # another leader in the same epoch
        stated(2, 0, 0, (0, 1), 2),  # a version left out
    ],
)
def test_states_follow_one_another(after: Stated) -> None:
    assert found(stated(1, 0, 0, (0, 1), 0), after) == ["state"]


def test_an_epoch_that_falls_is_found() -> None:
    assert "state" in found(stated(1, 0, 3, (0, 1), 0), stated(2, 0, 2, (0, 1), 1))


def test_a_transaction_that_two_servers_committed_differently_is_found() -> None:
    def change(node: str, at_ms: float, isr: tuple[int, ...]) -> Any:
        data = encode_state(Leadership(0, 0, isr, 1)).decode()
        return (node, 1, 1, "", at_ms, ZnodeChanged(state_path(*PLACE), "changed", 1, 7, data))

    same = history_of([change("session-0", 1.0, (0, 1)), change("session-1", 2.0, (0, 1))])
    assert same.contradictions == [] and len(same.states[PLACE]) == 1
    assert len(history_of([change("session-0", 1.0, (0, 1)), change("session-1", 2.0, (0,))]).contradictions) == 1


# --- recoveries ---

LOG = [Batch(n, n, 0, 100 + n) for n in range(4)]


@pytest.mark.parametrize(
    ("power", "recovered", "broken"),
    [
        (False, LOG, 0),
        (False, LOG[:3], 1),
        (True, LOG[:3], 0),
        (True, [], 0),
        (True, LOG[1:], 1),
        (None, [], 0),  # its disk is another
        (None, LOG[:1], 1),
    ],
)
def test_a_kill_loses_nothing_and_a_power_loss_leaves_a_prefix(
    power: bool | None, recovered: list[Batch], broken: int
) -> None:
    """Semantics 3."""
    one = Recovery(1.0, "broker-0", PLACE, bool(power), LOG, recovered, power is None)
    assert len(list(broken_recoveries([one]))) == broken


# --- lost records ---


def test_a_record_of_acks_all_is_promised() -> None:
    """Not even another leader is an excuse (semantics 1.8)."""
    history = History(
        states={PLACE: [stated(1, 0, 0, (0, 1), 0), stated(9, 1, 1, (1,), 1)]},
        leaders={PLACE: [Led(1, 0, 0, 0), Led(9, 1, 1, 2)]},
    )
    for version in ("2.6", "0.10.2"):
        assert rules("leader-crash", version, history).allowing(LOST) == ""
    one = Broken("lost", "", PLACE, 2, 1, "c")
    assert rules("leader-crash", "2.6", history).allowing(one).startswith("1.8")


def test_with_acks_1_and_one_leader_nothing_is_lost() -> None:
    history = History(states={PLACE: [stated(1, 0, 0, (0, 1), 0), stated(2, -1, 1, (0,), 1), stated(3, 0, 2, (0,), 2)]})
    assert rules("leader-crash", "2.6", history).allowing(Broken("lost", "", PLACE, 2, 1, "c")) == ""


def test_a_follower_that_cut_to_its_high_watermark_and_led_may_lose_it_before_0_11_only() -> None:
    """KIP-101, semantics 8."""
    history = History(cuts={PLACE: [Cut(5, 1, 2, 3, "high-watermark")]}, leaders={PLACE: [Led(9, 1, 1, 2)]})
    assert "KIP-101" in rules("kip101-case1", "0.10.2", history).allowing(LOST)
    assert rules("kip101-case1", "2.8", history).allowing(LOST) == ""
    below = History(cuts={PLACE: [Cut(5, 1, 3, 4, "high-watermark")]}, leaders={PLACE: [Led(9, 1, 1, 3)]})
    assert rules("kip101-case1", "0.10.2", below).allowing(LOST) == "", "it did not cut that record"


def test_who_lost_its_tail_may_lose_it_for_all_if_it_stays_in_the_isr_and_leads() -> None:
    """KIP-966, semantics 8."""
    tail = LostTail(5.0, 1, PLACE, 2, 3)
    stayed = [stated(1, 0, 0, (0, 1), 0), stated(9, 1, 1, (1,), 1)]
    left = [stated(1, 0, 0, (0, 1), 0), stated(6, 0, 0, (0,), 1), stated(7, 0, 0, (0, 1), 2), stated(9, 1, 1, (1,), 3)]
    for states, rule in ((stayed, True), (left, False)):
        allowed = rules("leader-crash", "2.8", History(states={PLACE: states}), power=True, tails=[tail]).allowing(LOST)
        assert allowed.startswith("8 (KIP-966)") is rule
    other = LostTail(5.0, 1, PLACE, 3, 3)
    history = History(states={PLACE: stayed})
    assert rules("leader-crash", "2.8", history, power=True, tails=[other]).allowing(LOST) == ""


def test_who_lost_its_disk_may_lose_it_for_all_if_it_leads_before_it_has_the_record_again() -> None:
    """KIP-903, semantics 8."""
    tail = LostTail(5.0, 1, PLACE, 0, 3, disk=True)
    for log_end, allowed in ((0, True), (2, True), (3, False)):
        history = History(leaders={PLACE: [Led(9, 1, 1, log_end)]})
        rule = rules("leader-crash", "2.8", history, tails=[tail]).allowing(LOST)
        assert rule.startswith("8 (KIP-903)") is allowed


def test_who_joined_behind_the_leader_epochs_start_may_lose_it_for_all_up_to_2_0_0() -> None:
    """KAFKA-7128, semantics 8."""
    states = [stated(1, 0, 1, (0,), 0), stated(5, 0, 1, (0, 1), 1), stated(9, 1, 2, (1,), 2)]
    for version, start, allowed in (("2.0.0", 3, True), ("2.0.0", 2, False), ("2.0.1", 3, False)):
        history = History(states={PLACE: states}, leaders={PLACE: [Led(2, 0, 1, start), Led(9, 1, 2, 2)]})
        rule = rules("kafka-7128", version, history).allowing(LOST)
        assert rule.startswith("8 (KAFKA-7128)") is allowed


def test_who_copied_batches_of_an_epoch_that_it_did_not_know_may_lose_for_all_up_to_2_0() -> None:
    """KAFKA-6880, semantics 8."""
    for version, led, allowed in (("2.0.0", 1, True), ("2.0.0", 0, False), ("2.8", 1, False)):
        history = History(ahead={PLACE: [(5.0, 1)]}, leaders={PLACE: [Led(9, led, 4, 3)]})
        assert rules("kafka-6880", version, history).allowing(LOST).startswith("8 (KAFKA-6880)") is allowed


def test_an_unclean_election_must_have_been_one() -> None:
    """Semantics 4.2: the setting alone takes nothing."""
    clean = History(states={PLACE: [stated(1, 0, 0, (0, 1), 0), stated(9, 1, 1, (1,), 1)]})
    unclean = History(states={PLACE: [stated(1, 0, 0, (0,), 0), stated(9, 1, 1, (1,), 1)]})
    assert rules("unclean-election", "2.8", clean).allowing(LOST) == ""
    assert rules("unclean-election", "2.8", unclean).allowing(LOST).startswith("4.2")


# --- the rest ---


def test_replicas_are_equal_from_2_0_1_on() -> None:
    broken = Broken("divergence", "", PLACE, 2)
    allowed = {
        v: rules("kip101-case2", v, History()).allowing(broken) for v in ("0.10.2", "1.1", "2.0.0", "2.0.1", "2.8")
    }
    assert {version for version, rule in allowed.items() if rule} == {"0.10.2", "1.1", "2.0.0"}


def test_a_leader_that_is_back_in_its_epoch_begins_at_its_checkpoint() -> None:
    """Semantics 3, 4.1: no controller has seen it die, so its epoch is the same."""
    truth = Truth(watermarks_back=[StepBack(PLACE, "broker-1", 4, 7, 5, 20.0)])
    (broken,) = broken_promises(truth, History())
    assert (broken.what, broken.broker, broken.epoch) == ("high-watermark", 1, 4)
    once = History(leaders={PLACE: [Led(1, 1, 4, 0), Led(2, 0, 5, 0), Led(3, 1, 6, 0)]})
    twice = History(leaders={PLACE: [Led(1, 1, 4, 0), Led(9, 1, 4, 7)]})
    assert rules("leader-crash", "2.8", once).allowing(broken) == ""
    assert rules("leader-crash", "2.8", twice).allowing(broken).startswith("3:")


def test_a_tail_that_is_written_again_in_the_same_epoch_differs_from_the_followers() -> None:
    """KIP-966, semantics 8: epochs cannot tell the two apart."""
    tail = LostTail(5.0, 1, PLACE, 2, 3)
    broken = Broken("divergence", "", PLACE, 2)
    for epoch, allowed in ((4, True), (5, False)):
        history = History(leaders={PLACE: [Led(1, 1, 4, 0), Led(9, 1, epoch, 2)]})
        rule = rules("leader-crash", "2.8", history, power=True, tails=[tail]).allowing(broken)
        assert rule.startswith("8 (KIP-966)") is allowed


def test_epochs_out_of_order_in_a_log_are_a_divergence_and_two_leaders_of_one_epoch_are_not() -> None:
    log = [Batch(0, 0, 2, 100), Batch(1, 1, 1, 101)]
    offices = [Office(PLACE, f"broker-{node}", 3, 1.0) for node in (0, 1)]
    truth = Truth(logs={PLACE: {"broker-0": log}}, leaders=offices)
    found = [broken for broken in broken_promises(truth, History()) if broken.what.startswith("epoch")]
    assert [broken.what for broken in found] == ["epoch-order", "epoch"]
    assert [bool(rules("kip101-case2", "1.1", History()).allowing(broken)) for broken in found] == [True, False]
    assert [bool(rules("kip101-case2", "2.8", History()).allowing(broken)) for broken in found] == [False, False]


def test_idempotent_producers_store_once() -> None:
    """Semantics 6."""
    steps = resolved_for("retry-duplicates-idempotent", "2.8").scenario.steps
    assert idempotent_values(steps) == ["b"]
    assert idempotent_values(resolved_for("retry-idempotent", "2.8").scenario.steps) == ["c"]
    idempotent = rules("retry-duplicates-idempotent", "2.8", History())
    assert idempotent.allowing(Broken("duplicate", "", PLACE, 1, value="b")) == ""
    assert idempotent.allowing(Broken("duplicate", "", PLACE, 1, value="a")).startswith("6")


@pytest.mark.parametrize("what", ["recovery", "state", "ensemble", "sanity", "settled", "epoch"])
def test_nothing_allows_these_in_any_version(what: str) -> None:
    for version in ("0.8.2", "1.1", "2.8"):
        assert rules("kip101-case1", version, History(), power=True).allowing(Broken(what, "", PLACE)) == ""
