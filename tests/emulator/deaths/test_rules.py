"""Which rule allows what was found: from pasts written by hand. Each has one that it must reject."""

import pytest

from emulator.deaths.history import UNTOLD, Copied, Cut, Fetched, Followed, History, Led, Stopped, Written
from emulator.deaths.idempotence import idempotent_writes
from emulator.deaths.plan import resolved_for
from emulator.deaths.promises import Broken, broken_promises
from emulator.deaths.rules import LostTail
from emulator.oracle.probe import Office, StepBack
from emulator.oracle.truth import Batch, Truth, Write
from emulator.scenario import model as m
from tests.emulator.deaths.traces import LOST, PLACE, C, rules, stated


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


def test_what_nobody_wrote_is_lost_with_acks_0_only() -> None:
    """Semantics 1.8: it is not answered."""
    for acks, written, rule in ((0, [], "1.8: acks=0"), (0, [C], ""), (1, [], "")):
        one = Broken("lost", "", PLACE, -1, acks, "c", digest=7)
        assert rules("acks-0-loss", "1.1", History(written={PLACE: written})).allowing(one)[:11] == rule[:11]


@pytest.mark.parametrize(
    ("tail", "led", "allowed"),
    [
        (LostTail(12.0, 0, PLACE, 2, 3), [Led(1, 0, 0, 0)], True),
        (LostTail(12.0, 0, PLACE, 2, 3), [Led(1, 0, 0, 0), Led(17, 1, 1, 2)], False),  # another led since
        (LostTail(12.0, 1, PLACE, 2, 3), [Led(1, 0, 0, 0)], False),  # another lost it
        (LostTail(12.0, 0, PLACE, 3, 3), [Led(1, 0, 0, 0)], False),  # another record
        (LostTail(12.0, 0, PLACE, 2, 3), [Led(16, 0, 1, 0)], False),  # it led since
    ],
)
def test_what_its_last_leader_lost_with_its_power_nobody_can_read_while_nobody_leads(
    tail: LostTail, led: list[Led], allowed: bool
) -> None:
    """Semantics 3. Those in the ISR may have it still."""
    history = History(states={PLACE: [stated(1, 0, 0, (0, 1), 0), stated(9, -1, 1, (1,), 1)]}, leaders={PLACE: led})
    rule = rules("leader-crash", "1.1", history, power=True, tails=[tail]).allowing(LOST)
    assert (rule == "3: power loss took it from its last leader, and nobody has led since") is allowed


def test_a_follower_that_cut_to_its_high_watermark_and_led_may_lose_it_before_0_11_only() -> None:
    """KIP-101, semantics 8."""
    leaders = {PLACE: [Led(9, 1, 1, 2)]}
    history = History(cuts={PLACE: [Cut(5, 1, 2, 3, "high-watermark")]}, leaders=leaders, written={PLACE: [C]})
    assert "KIP-101" in rules("kip101-case1", "0.10.2", history).allowing(LOST)
    assert rules("kip101-case1", "2.8", history).allowing(LOST) == ""
    below = History(cuts={PLACE: [Cut(5, 1, 3, 4, "high-watermark")]}, leaders=leaders, written={PLACE: [C]})
    assert rules("kip101-case1", "0.10.2", below).allowing(LOST) == "", "it did not cut that record"
    earlier = History(cuts={PLACE: [Cut(3, 1, 2, 3, "high-watermark")]}, leaders=leaders, written={PLACE: [C]})
    assert rules("kip101-case1", "0.10.2", earlier).allowing(LOST) == "", "what it cut was another, before that"


def test_a_follower_that_died_while_it_cut_its_log_has_cut_it() -> None:
    """KIP-101, semantics 8. Not if it lost its power: then that is why."""
    cuts, leaders = {PLACE: [Cut(5, 1, 2, 3, UNTOLD)]}, {PLACE: [Led(9, 1, 1, 2)]}
    history = History(cuts=cuts, leaders=leaders, written={PLACE: [C]})
    assert "KIP-101" in rules("kip101-case1", "0.10.2", history).allowing(LOST)
    assert rules("kip101-case1", "2.8", history).allowing(LOST) == ""
    lost = [LostTail(5.0, 1, PLACE, 2, 2)]
    assert rules("kip101-case1", "0.10.2", history, power=True, tails=lost).allowing(LOST) == ""


@pytest.mark.parametrize(
    ("version", "own", "led", "allowed"),
    [
        ("0.10.2", [Written(2, 1, 0, 2, 2, 9)], Led(9, 1, 1, 3), True),
        ("0.11", [Written(2, 1, 0, 2, 2, 9)], Led(9, 1, 1, 3), False),
        ("0.10.2", [Written(2, 1, 0, 2, 2, 9)], Led(3, 1, 1, 3), False),  # it led before
        ("0.10.2", [Written(2, 1, 0, 2, 2, 9)], Led(9, 1, 1, 2), False),  # it had cut its own
        ("0.10.2", [Written(2, 1, 0, 2, 2, 9), Written(5, 1, 0, 2, 2, 7)], Led(9, 1, 1, 3), False),  # it had c since
        ("0.10.2", [Written(2, 1, 0, 1, 1, 9)], Led(9, 1, 1, 3), False),  # that lies elsewhere
        ("0.10.2", [Written(2, 2, 0, 2, 2, 9)], Led(9, 1, 1, 3), False),  # that is somebody else's
    ],
)
def test_who_held_another_record_in_its_place_may_lose_it_for_all_before_0_11_only(
    version: str, own: list[Written], led: Led, allowed: bool
) -> None:
    """KIP-101 case 2, semantics 8: logs of equal length are taken for equal."""
    history = History(leaders={PLACE: [led]}, written={PLACE: [C]}, copied={PLACE: own})
    rule = rules("kip101-case2", version, history).allowing(LOST)
    assert rule.startswith("8 (KIP-101): before 0.11") is allowed


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


TWO_EPOCHS = [Led(1, 0, 0, 0), Led(6, 1, 1, 0), Led(10, 0, 2, 0)]
"""broker-0 led, then broker-1, then broker-0 again."""
LED_BY_2 = [*TWO_EPOCHS, Led(20, 2, 3, 3)]
OF_THE_PAST = Fetched(2, 2, 0, 0)
"""broker-2 fetches from broker-0, as it was told to in epoch 0."""


def past(leaders: list[Led], fetched: Fetched, *roles: Followed, digest: int = 7) -> History:
    """c is written by broker-0 in epoch 2, at 11, and acknowledged at 14."""
    return History(
        leaders={PLACE: leaders},
        followers={PLACE: [Followed(2, 2, 0, 0, 13), *roles]},
        fetched={PLACE: [fetched]},
        written={PLACE: [Written(11, 0, 2, 2, 2, digest)]},
        acknowledged={(PLACE, digest): 14},
    )


@pytest.mark.parametrize(
    ("version", "leaders", "fetched", "allowed"),
    [
        ("2.0.1", LED_BY_2, OF_THE_PAST, True),
        ("0.8.2", LED_BY_2, OF_THE_PAST, True),
        ("2.1", LED_BY_2, OF_THE_PAST, False),  # its fetch names the epoch
        ("2.0.1", TWO_EPOCHS, OF_THE_PAST, False),  # it has never led
        ("2.0.1", [*TWO_EPOCHS, Led(12, 2, 3, 3)], OF_THE_PAST, False),  # it led before c was acknowledged
        ("2.0.1", [Led(1, 0, 0, 0), Led(10, 0, 2, 0), Led(20, 2, 3, 3)], OF_THE_PAST, False),  # broker-0 led throughout
        ("2.0.1", LED_BY_2, Fetched(11, 2, 0, 2), False),  # it began in the epoch
        ("2.0.1", LED_BY_2, Fetched(2, 2, 0, 0, until_ms=13), False),  # it had ended in time
        ("2.0.1", LED_BY_2, Fetched(2, 2, 1, 0), False),  # it fetched from somebody else
    ],
)
def test_who_fetches_on_from_an_epoch_of_the_past_may_lose_for_all_up_to_2_0(
    version: str, leaders: list[Led], fetched: Fetched, allowed: bool
) -> None:
    """KAFKA-6880, semantics 8: its fetch of what comes after c counted as if it had c."""
    rule = rules("kafka-6880", version, past(leaders, fetched)).allowing(LOST)
    assert rule.startswith("8 (KAFKA-6880)") is allowed


@pytest.mark.parametrize(
    ("version", "role", "allowed"),
    [
        ("2.0.0", Followed(13, 2, 0, 2), True),
        ("0.10.2", Followed(13, 2, 0, 2), True),
        ("2.0.1", Followed(13, 2, 0, 2), False),  # two epochs later it is restarted
        ("2.0.0", Followed(13, 2, 1, 1), False),  # another leader
    ],
)
def test_who_is_told_of_the_epoch_and_fetches_on_may_lose_for_all_up_to_2_0_0(
    version: str, role: Followed, allowed: bool
) -> None:
    """KAFKA-7164, semantics 8: same leader, newer epoch, and the fetcher is left alone."""
    rule = rules("kafka-6880", version, past(LED_BY_2, OF_THE_PAST, role)).allowing(LOST)
    assert rule.startswith("8 (KAFKA-7164)") is allowed
    assert allowed or rule == ""


def test_another_record_than_the_lost_one_proves_nothing() -> None:
    assert rules("kafka-6880", "2.0.1", past(LED_BY_2, OF_THE_PAST, digest=8)).allowing(LOST) == ""


@pytest.mark.parametrize(
    ("version", "leaders", "copied", "allowed"),
    [
        ("2.0.1", TWO_EPOCHS, Copied(12, 2, 3, 0, 2), True),
        ("2.1", TWO_EPOCHS, Copied(12, 2, 3, 0, 2), False),
        ("2.0.1", TWO_EPOCHS, Copied(12, 2, 2, 0, 2), False),  # the difference is what it copied
        ("2.0.1", [Led(1, 0, 0, 0), Led(10, 0, 2, 0)], Copied(12, 2, 3, 0, 2), False),  # nobody led in between
        ("2.0.1", TWO_EPOCHS, Copied(12, 2, 3, 1, 2), False),  # one order late
    ],
)
def test_who_copied_in_an_epoch_of_the_past_may_differ_before_that_up_to_2_0(
    version: str, leaders: list[Led], copied: Copied, allowed: bool
) -> None:
    """KAFKA-6880, semantics 8."""
    history = History(leaders={PLACE: leaders}, ahead={PLACE: [copied]})
    rule = rules("kafka-6880", version, history).allowing(Broken("divergence", "", PLACE, 2))
    assert rule.startswith("8 (KAFKA-6880)") is allowed


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


def test_who_is_left_half_way_may_differ_and_nobody_else() -> None:
    """KAFKA-9307, semantics 8: it cuts nothing, for it follows nobody."""
    history = History(stopped={(PLACE, 1): Stopped(5, "half-way", "", ((0, 3),))})
    for version, others, allowed in (
        ("2.1", (1,), True),
        ("2.1", (1, 2), False),
        ("2.1", (), False),
        ("1.0", (1,), False),
    ):
        broken = Broken("divergence", "", PLACE, 2, others=others)
        # 1.0 has other reasons to differ, but not this one.
        assert rules("kafka-9307", version, history).allowing(broken).startswith("8 (KAFKA-9307)") is allowed


def test_the_others_hold_something_else_than_the_final_leader() -> None:
    logs = {"broker-0": [Batch(0, 0, 5, 1)], "broker-1": [Batch(0, 0, 0, 2)], "broker-2": [Batch(0, 0, 5, 1)]}
    truth = Truth(logs={PLACE: logs}, leaders=[Office(PLACE, "broker-1", 0, 1.0), Office(PLACE, "broker-0", 5, 9.0)])
    (broken,) = broken_promises(truth, History())
    assert (broken.what, broken.others) == ("divergence", (1,))


def test_idempotent_producers_store_once() -> None:
    """Semantics 6."""
    steps = resolved_for("retry-duplicates-idempotent", "2.8").scenario.steps
    assert idempotent_writes(steps) == {("t", 0, "b")}
    assert idempotent_writes(resolved_for("retry-idempotent", "2.8").scenario.steps) == {("t", 0, "c")}
    idempotent = rules("retry-duplicates-idempotent", "2.8", History())
    assert idempotent.allowing(Broken("duplicate", "", PLACE, 1, value="b")) == ""
    assert idempotent.allowing(Broken("duplicate", "", PLACE, 1, value="a")).startswith("6")


def test_the_same_value_may_be_written_with_and_without_idempotence() -> None:
    """Semantics 6: scenario reordering, a partition for each producer."""
    judge = rules("reordering", "2.8", History())
    assert {
        partition: bool(judge.allowing(Broken("duplicate", "", ("t", partition), 1, value="z")))
        for partition in range(3)
    } == {0: True, 1: False, 2: True}


def test_a_partitioner_may_choose_any_partition() -> None:
    step = m.Produce(broker=None, values=("v",), acks=-1, idempotent=True, partition=m.ANY_PARTITION)
    assert idempotent_writes((step,), "t") == {("t", -1, "v")}


@pytest.mark.parametrize(("attempts", "allowed"), [(1, False), (2, True), (3, True)])
def test_each_copy_has_its_attempt(attempts: int, allowed: bool) -> None:
    """Semantics 6: a broker that stores one attempt twice has no excuse."""
    copies = [Batch(0, 0, 0, 5), Batch(1, 1, 1, 5)]
    truth = Truth(
        logs={PLACE: {"broker-0": copies}},
        writes=[Write("w:1", "a", PLACE, -1, "ok", 1, 5), Write("w:2", "a", ("t", 1), -1, "ok", 1, 5)],
        leaders=[Office(PLACE, "broker-0", 0, 1.0)],
    )
    history = History(attempts={"w:1": attempts, "w:2": 9})
    (broken,) = broken_promises(truth, history)
    assert (broken.what, broken.value, broken.unexplained) == ("duplicate", "a", max(0, 2 - attempts))
    assert bool(rules("leader-crash", "2.8", history).allowing(broken)) is allowed


@pytest.mark.parametrize("what", ["recovery", "state", "ensemble", "sanity", "settled", "epoch"])
def test_nothing_allows_these_in_any_version(what: str) -> None:
    for version in ("0.8.2", "1.1", "2.8"):
        assert rules("kip101-case1", version, History(), power=True).allowing(Broken(what, "", PLACE)) == ""
