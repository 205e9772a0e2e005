"""Rules that allow a finding, from pasts written by hand.
Each has one that it must reject.
"""

import pytest

from emulator.judging.crash_testing.crash_plan import resolved_for
from emulator.judging.explain.broken_promises import Broken, broken_promises, broken_recoveries
from emulator.judging.explain.idempotence import idempotent_writes
from emulator.judging.explain.loss_explanation import Fates
from emulator.judging.explain.promise_rules import EMPTY_EPOCH, EMPTY_EPOCH_ON_FETCH, LEFT_BEHIND, gates_of
from emulator.judging.explain.recoveries import Recovery
from emulator.judging.explain.replica_logs import ReplicaLogs
from emulator.judging.explain.run_history import (
    UNSEEN,
    UNTOLD,
    Assigned,
    Copied,
    Cut,
    Fetched,
    Followed,
    High,
    History,
    Led,
    LostTail,
    Stopped,
    Unseen,
    Written,
)
from emulator.judging.oracle.truth import Batch, StepBack, Term, Truth, Write
from emulator.scenario import scenario_model as m
from tests.emulator.judging.explain.traces import COPIED, LOST, TOPIC_PARTITION, C, committed, rules, stated

ACKS_1 = Broken("lost", "", TOPIC_PARTITION, 2, 1, "c", digest=7)


def test_a_record_of_acks_all_is_promised() -> None:
    """Not even another leader is an excuse (semantics 1.8)."""
    history = committed(
        copied={},
        states={TOPIC_PARTITION: [stated(1, 0, 0, (0, 1), 0), stated(9, 1, 1, (1,), 1)]},
        leaders={TOPIC_PARTITION: [Led(1, 0, epoch=0, log_end=0), Led(9, 1, epoch=1, log_end=2)]},
    )
    for version in ("2.6", "0.10.2"):
        assert rules("leader-crash", version, history).allowing(LOST) == ""
    assert rules("leader-crash", "2.6", history).allowing(ACKS_1) == "", "nor is it for acks=1, once it is committed"
    history.highs.clear()
    assert rules("leader-crash", "2.6", history).allowing(ACKS_1).startswith("1.8")
    assert rules("leader-crash", "2.6", history).allowing(LOST) == "", "acknowledged before it was committed"


@pytest.mark.parametrize(
    ("later", "copied", "cuts", "followers", "allowed"),
    [
        (Led(9, 1, epoch=1, log_end=2), [], [], [], True),  # it never had c
        (Led(9, 0, epoch=2, log_end=3), [], [], [], False),  # its own leader has it still
        (Led(9, 0, epoch=2, log_end=2), [], [], [], False),  # no truncation was requested
        (
            Led(9, 0, epoch=2, log_end=2),
            [],
            [Cut(8, 0, to=2, log_end=3, reason="epoch")],
            [Followed(7, 0, leader=1, epoch=1)],
            True,
        ),  # it followed, and cut c
        (
            Led(9, 0, epoch=2, log_end=2),
            [],
            [Cut(8, 0, to=3, log_end=4, reason="epoch")],
            [Followed(7, 0, leader=1, epoch=1)],
            False,
        ),  # it cut something else
        (
            Led(9, 0, epoch=2, log_end=2),
            [],
            [Cut(8, 0, to=2, log_end=3, reason="epoch")],
            [Followed(3, 0, leader=1, epoch=0)],
            False,
        ),  # in no later epoch
        (Led(9, 1, epoch=1, log_end=3), [COPIED], [], [], False),  # the next leader has it, too
        (Led(9, 1, epoch=0, log_end=2), [], [], [], False),  # in no later epoch
    ],
)
def test_with_acks_1_the_next_leader_may_be_without_it_and_nothing_else_excuses_it(
    later: Led, copied: list[Written], cuts: list[Cut], followers: list[Followed], allowed: bool
) -> None:
    """Semantics 1.8."""
    history = History(
        written={TOPIC_PARTITION: [C]},
        copied={TOPIC_PARTITION: copied},
        cuts={TOPIC_PARTITION: cuts},
        leaders={TOPIC_PARTITION: [Led(1, 0, epoch=0, log_end=0), later]},
        followers={TOPIC_PARTITION: followers},
    )
    assert rules("leader-crash", "2.6", history).allowing(ACKS_1).startswith("1.8") is allowed


def test_with_acks_1_a_power_loss_takes_what_it_took() -> None:
    """Semantics 3.
    In the same epoch, too: the controller may not have seen it go.
    """
    for tail, allowed in (
        (LostTail(8, 0, topic_partition=TOPIC_PARTITION, first=2, last=3), True),
        (LostTail(8, 0, topic_partition=TOPIC_PARTITION, first=3, last=3), False),
    ):
        for leaders in (
            [Led(1, 0, epoch=0, log_end=0)],
            [Led(1, 0, epoch=0, log_end=0), Led(9, 0, epoch=0, log_end=2)],
            [Led(1, 0, epoch=0, log_end=0), Led(9, 0, epoch=1, log_end=2)],
        ):
            history = History(written={TOPIC_PARTITION: [C]}, leaders={TOPIC_PARTITION: leaders})
            rule = rules("leader-crash", "2.6", history, tails=[tail]).allowing(ACKS_1)
            assert rule.startswith("3: power loss takes") is allowed, (tail, leaders)
    elsewhere = [LostTail(8, 2, topic_partition=TOPIC_PARTITION, first=2, last=3)]
    history = History(written={TOPIC_PARTITION: [C]}, leaders={TOPIC_PARTITION: [Led(1, 0, epoch=0, log_end=0)]})
    assert rules("leader-crash", "2.6", history, tails=elsewhere).allowing(ACKS_1) == "", "another's power"


def test_the_leader_that_took_it_away_is_the_first_without_it_behind_the_last_that_had_it() -> None:
    """Earlier events are no excuse, later events no cause."""
    leaders = [
        Led(1, 0, epoch=0, log_end=0),
        Led(9, 2, epoch=1, log_end=2),
        Led(12, 1, epoch=2, log_end=3),
        Led(15, 0, epoch=3, log_end=2),
        Led(18, 2, epoch=4, log_end=2),
    ]
    history = committed(leaders={TOPIC_PARTITION: leaders})
    gates = gates_of(resolved_for("leader-crash", "2.8"))
    fates = Fates(
        history, ReplicaLogs(gates, history, [LostTail(14, 0, topic_partition=TOPIC_PARTITION, first=2, last=2)])
    )
    (fate,) = fates.of(TOPIC_PARTITION, 2, 7)
    assert (fate.held, fate.by, fate.gone) == (
        (2, 1),
        leaders[3],
        LostTail(14, 0, topic_partition=TOPIC_PARTITION, first=2, last=2),
    )
    assert fate.committed_ms == 4.6
    assert fate.text == (
        "t-0@2 of epoch 0: broker-0 led from 15 ms on, epoch 3, without it; "
        "broker-0 was back at 14 ms, and its power had taken [2, 2]"
    )


def test_a_replica_that_has_a_record_again_has_not_lost_it() -> None:
    """Its power took it, it copied it once more, and then something without a name took it."""
    again = Written(7, 1, epoch=0, first=2, last=2, digest=7)
    stayed = {TOPIC_PARTITION: [stated(1, 0, 0, (0, 1), 0), stated(9, 1, 1, (1,), 1)]}
    tail = LostTail(6, 1, topic_partition=TOPIC_PARTITION, first=2, last=2)
    for copied, allowed in (([COPIED], True), ([COPIED, again], False)):
        history = committed(
            copied={TOPIC_PARTITION: copied}, states=stayed, leaders={TOPIC_PARTITION: [Led(9, 1, epoch=1, log_end=2)]}
        )
        rule = rules("leader-crash", "2.8", history, tails=[tail]).allowing(LOST)
        assert rule.startswith("8 (KIP-966)") is allowed


def test_an_unwritten_record_is_lost_with_acks_0_only() -> None:
    """Semantics 1.8: it is not answered."""
    for acks, written, rule in ((0, [], "1.8: acks=0"), (0, [C], ""), (1, [], ""), (-1, [], "")):
        one = Broken("lost", "", TOPIC_PARTITION, -1, acks, "c", digest=7)
        assert rules("acks-0-loss", "1.1", History(written={TOPIC_PARTITION: written})).allowing(one)[:11] == rule[:11]


@pytest.mark.parametrize(
    ("tail", "led", "allowed"),
    [
        (LostTail(12.0, 0, topic_partition=TOPIC_PARTITION, first=2, last=3), [Led(1, 0, epoch=0, log_end=0)], True),
        (
            LostTail(12.0, 0, topic_partition=TOPIC_PARTITION, first=2, last=3),
            [Led(1, 0, epoch=0, log_end=0), Led(17, 1, epoch=1, log_end=2)],
            False,
        ),  # another led since
        (
            LostTail(12.0, 1, topic_partition=TOPIC_PARTITION, first=2, last=3),
            [Led(1, 0, epoch=0, log_end=0)],
            False,
        ),  # another lost it
        (
            LostTail(12.0, 0, topic_partition=TOPIC_PARTITION, first=3, last=3),
            [Led(1, 0, epoch=0, log_end=0)],
            False,
        ),  # another record
        (
            LostTail(12.0, 0, topic_partition=TOPIC_PARTITION, first=2, last=3),
            [Led(16, 0, epoch=1, log_end=0)],
            False,
        ),  # it led since
    ],
)
def test_a_tail_lost_with_the_last_leaders_power_is_unreadable_without_a_leader(
    tail: LostTail, led: list[Led], allowed: bool
) -> None:
    """Semantics 3. Those in the ISR may have it still."""
    states = {TOPIC_PARTITION: [stated(1, 0, 0, (0, 1), 0), stated(9, -1, 1, (1,), 1)]}
    history = committed(states=states, leaders={TOPIC_PARTITION: led})
    rule = rules("leader-crash", "1.1", history, tails=[tail]).allowing(LOST)
    assert (rule == "3: power loss took it from its last leader, and no broker has led since") is allowed


def test_a_follower_that_cut_to_its_high_watermark_and_led_may_lose_it_before_0_11_only() -> None:
    """KIP-101, semantics 8."""
    leaders = {TOPIC_PARTITION: [Led(9, 1, epoch=1, log_end=2)]}
    history = committed(cuts={TOPIC_PARTITION: [Cut(5, 1, to=2, log_end=3, reason="high-watermark")]}, leaders=leaders)
    assert "KIP-101" in rules("kip101-case1", "0.10.2", history).allowing(LOST)
    assert rules("kip101-case1", "2.8", history).allowing(LOST) == ""
    below = committed(cuts={TOPIC_PARTITION: [Cut(5, 1, to=3, log_end=4, reason="high-watermark")]}, leaders=leaders)
    assert rules("kip101-case1", "0.10.2", below).allowing(LOST) == "", "it did not cut that record"
    earlier = committed(cuts={TOPIC_PARTITION: [Cut(3, 1, to=2, log_end=3, reason="high-watermark")]}, leaders=leaders)
    assert rules("kip101-case1", "0.10.2", earlier).allowing(LOST) == "", "what it cut was another, before that"


def test_a_follower_that_died_while_it_cut_its_log_has_cut_it() -> None:
    """KIP-101, semantics 8. Not if it lost its power: then that is why."""
    cuts, leaders = (
        {TOPIC_PARTITION: [Cut(5, 1, to=2, log_end=3, reason=UNTOLD)]},
        {TOPIC_PARTITION: [Led(9, 1, epoch=1, log_end=2)]},
    )
    history = committed(cuts=cuts, leaders=leaders)
    assert "KIP-101" in rules("kip101-case1", "0.10.2", history).allowing(LOST)
    assert rules("kip101-case1", "2.8", history).allowing(LOST) == ""
    lost = [LostTail(5.0, 1, topic_partition=TOPIC_PARTITION, first=2, last=2)]
    assert rules("kip101-case1", "0.10.2", history, tails=lost).allowing(LOST) == ""


@pytest.mark.parametrize(
    ("version", "own", "led", "allowed"),
    [
        ("0.10.2", [Written(2, 1, epoch=0, first=2, last=2, digest=9)], Led(9, 1, epoch=1, log_end=3), True),
        ("1.1", [Written(2, 1, epoch=0, first=2, last=2, digest=9)], Led(9, 1, epoch=1, log_end=3), True),
        ("2.0.1", [Written(2, 1, epoch=0, first=2, last=2, digest=9)], Led(9, 1, epoch=1, log_end=3), False),
        (
            "0.10.2",
            [Written(2, 1, epoch=0, first=2, last=2, digest=9)],
            Led(3, 1, epoch=1, log_end=3),
            False,
        ),  # it led before
        (
            "0.10.2",
            [Written(2, 1, epoch=0, first=2, last=2, digest=9)],
            Led(9, 1, epoch=1, log_end=2),
            False,
        ),  # it had cut its own
        (
            "0.10.2",
            [Written(2, 1, epoch=0, first=2, last=2, digest=9), Written(5, 1, epoch=0, first=2, last=2, digest=7)],
            Led(9, 1, epoch=1, log_end=3),
            False,
        ),  # it had c since
        (
            "0.10.2",
            [Written(2, 1, epoch=0, first=1, last=1, digest=9)],
            Led(9, 1, epoch=1, log_end=3),
            False,
        ),  # that lies elsewhere
        (
            "0.10.2",
            [Written(2, 2, epoch=0, first=2, last=2, digest=9)],
            Led(9, 1, epoch=1, log_end=3),
            False,
        ),  # another broker's
    ],
)
def test_a_replica_with_another_record_in_its_place_may_lose_it_for_all_where_logs_part_unfound(
    version: str, own: list[Written], led: Led, allowed: bool
) -> None:
    """KIP-101 case 2 and its appendix, semantics 8.
    Logs of equal length are taken for equal, or one question is not enough.
    """
    history = committed(leaders={TOPIC_PARTITION: [led]}, copied={TOPIC_PARTITION: own})
    rule = rules("kip101-case2", version, history).allowing(LOST)
    assert rule.endswith("and who held another record in its place led") is allowed


def test_a_replica_without_its_tail_may_lose_it_for_all_if_it_stays_in_the_isr_and_leads() -> None:
    """KIP-966, semantics 8."""
    tail = LostTail(5.0, 1, topic_partition=TOPIC_PARTITION, first=2, last=3)
    stayed = [stated(1, 0, 0, (0, 1), 0), stated(9, 1, 1, (1,), 1)]
    left = [stated(1, 0, 0, (0, 1), 0), stated(6, 0, 0, (0,), 1), stated(7, 0, 0, (0, 1), 2), stated(9, 1, 1, (1,), 3)]
    leaders = {TOPIC_PARTITION: [Led(9, 1, epoch=1, log_end=2)]}
    for states, rule in ((stayed, True), (left, False)):
        history = committed(states={TOPIC_PARTITION: states}, leaders=leaders)
        allowed = rules("leader-crash", "2.8", history, tails=[tail]).allowing(LOST)
        assert allowed.startswith("8 (KIP-966)") is rule
    other = LostTail(5.0, 1, topic_partition=TOPIC_PARTITION, first=3, last=3)
    history = committed(states={TOPIC_PARTITION: stayed}, leaders=leaders)
    assert rules("leader-crash", "2.8", history, tails=[other]).allowing(LOST) == ""


def test_a_replica_without_its_disk_may_lose_it_for_all_if_it_leads_before_it_has_the_record_again() -> None:
    """KIP-903, semantics 8."""
    tail = LostTail(5.0, 1, topic_partition=TOPIC_PARTITION, first=0, last=3, disk=True)
    again = Written(7, 1, epoch=0, first=2, last=2, digest=7)
    for log_end, copied, allowed in ((0, [COPIED], True), (2, [COPIED], True), (3, [COPIED, again], False)):
        history = committed(
            leaders={TOPIC_PARTITION: [Led(9, 1, epoch=1, log_end=log_end)]}, copied={TOPIC_PARTITION: copied}
        )
        rule = rules("leader-crash", "2.8", history, tails=[tail]).allowing(LOST)
        assert rule.startswith("8 (KIP-903)") is allowed


def test_a_replica_that_joined_behind_the_leader_epochs_start_may_lose_it_for_all_up_to_2_0_0() -> None:
    """KAFKA-7128, semantics 8."""
    states = [stated(1, 0, 1, (0,), 0), stated(5, 0, 1, (0, 1), 1), stated(9, 1, 2, (1,), 2)]
    for version, start, allowed in (("2.0.0", 3, True), ("2.0.0", 2, False), ("2.0.1", 3, False)):
        own = {
            "written": {TOPIC_PARTITION: [Written(4, 0, epoch=1, first=2, last=2, digest=7)]},
            "copied": {},
            "highs": {TOPIC_PARTITION: [High(5, 0, epoch=1, high_watermark=3)]},
        }
        history = committed(
            states={TOPIC_PARTITION: states},
            leaders={TOPIC_PARTITION: [Led(2, 0, epoch=1, log_end=start), Led(9, 1, epoch=2, log_end=2)]},
            **own,
        )
        rule = rules("kafka-7128", version, history).allowing(LOST)
        assert rule.startswith("8 (KAFKA-7128)") is allowed


def test_a_broker_that_died_before_reporting_its_copy_leads_with_it() -> None:
    """KAFKA-7128: broker-1, back, has the record.
    broker-2, that joined behind, is the one that led without it.
    """
    joined = [stated(6, 1, 1, (1,), 1), stated(7, 1, 1, (1, 2), 2), stated(9, 2, 2, (2,), 3)]
    states = {TOPIC_PARTITION: [stated(1, 0, 0, (0, 1), 0), *joined]}
    unseen = Written(4.4, 1, epoch=0, first=2, last=2, digest=UNSEEN)
    for found, log_end, copied, allowed in (
        (Unseen(unseen, 0), 2, [], True),
        (Unseen(unseen, 3), 2, [], False),  # its leader did not have it
        (Unseen(unseen, 1), 2, [], False),  # it led: that is something else
        (Unseen(Written(4.4, 1, epoch=0, first=3, last=3, digest=UNSEEN), 0), 2, [], False),  # that lies elsewhere
        (Unseen(Written(4.4, 2, epoch=0, first=2, last=2, digest=UNSEEN), 0), 2, [], False),  # another died so
        (Unseen(unseen, 0), 3, [Written(8, 2, epoch=1, first=2, last=2, digest=7)], False),  # broker-2 has it, too
    ):
        leaders = {
            TOPIC_PARTITION: [
                Led(1, 0, epoch=0, log_end=0),
                Led(6, 1, epoch=1, log_end=3),
                Led(9, 2, epoch=2, log_end=log_end),
            ]
        }
        history = committed(
            states=states, leaders=leaders, copied={TOPIC_PARTITION: copied}, unseen={TOPIC_PARTITION: [found]}
        )
        rule = rules("kafka-7128", "1.1", history).allowing(LOST)
        assert rule.startswith("8 (KAFKA-7128)") is allowed, found
        assert allowed or rule == ""


TWO_EPOCHS = [Led(1, 0, epoch=0, log_end=0), Led(6, 1, epoch=1, log_end=0), Led(10, 0, epoch=2, log_end=0)]
"""broker-0 led, then broker-1, then broker-0 again."""
LED_BY_2 = [*TWO_EPOCHS, Led(20, 2, epoch=3, log_end=3)]
OF_THE_PAST = Fetched(2, 2, source=0, epoch=0)
"""broker-2 fetches from broker-0, as it was told to in epoch 0."""


def past(leaders: list[Led], fetched: Fetched, *roles: Followed, digest: int = 7) -> History:
    """c is written by broker-0 in epoch 2, at 11, and acknowledged at 14."""
    return History(
        leaders={TOPIC_PARTITION: leaders},
        followers={TOPIC_PARTITION: [Followed(2, 2, leader=0, epoch=0, until_ms=13), *roles]},
        fetched={TOPIC_PARTITION: [fetched]},
        written={TOPIC_PARTITION: [Written(11, 0, epoch=2, first=2, last=2, digest=digest)]},
        acknowledged={(TOPIC_PARTITION, digest): 14},
        highs={TOPIC_PARTITION: [High(14, 0, epoch=2, high_watermark=3)]},
    )


@pytest.mark.parametrize(
    ("version", "leaders", "fetched", "allowed"),
    [
        ("2.0.1", LED_BY_2, OF_THE_PAST, True),
        ("0.8.2", LED_BY_2, OF_THE_PAST, True),
        ("2.1", LED_BY_2, OF_THE_PAST, False),  # its fetch names the epoch
        ("2.0.1", TWO_EPOCHS, OF_THE_PAST, False),  # it has never led
        (
            "2.0.1",
            [*TWO_EPOCHS, Led(12, 2, epoch=3, log_end=3)],
            OF_THE_PAST,
            False,
        ),  # it led before c was acknowledged
        (
            "2.0.1",
            [Led(1, 0, epoch=0, log_end=0), Led(10, 0, epoch=2, log_end=0), Led(20, 2, epoch=3, log_end=3)],
            OF_THE_PAST,
            False,
        ),  # broker-0 led throughout
        ("2.0.1", LED_BY_2, Fetched(11, 2, source=0, epoch=2), False),  # it began in the epoch
        ("2.0.1", LED_BY_2, Fetched(2, 2, source=0, epoch=0, until_ms=13), False),  # it had ended in time
        ("2.0.1", LED_BY_2, Fetched(2, 2, source=1, epoch=0), False),  # fetched from another broker
    ],
)
def test_a_replica_that_fetches_on_from_a_past_epoch_may_lose_for_all_up_to_2_0(
    version: str, leaders: list[Led], fetched: Fetched, allowed: bool
) -> None:
    """KAFKA-6880, semantics 8: its fetch of what comes after c counted as if it had c."""
    rule = rules("kafka-6880", version, past(leaders, fetched)).allowing(LOST)
    assert rule.startswith("8 (KAFKA-6880)") is allowed


@pytest.mark.parametrize(
    ("version", "role", "allowed"),
    [
        ("2.0.0", Followed(13, 2, leader=0, epoch=2), True),
        ("0.10.2", Followed(13, 2, leader=0, epoch=2), True),
        ("2.0.1", Followed(13, 2, leader=0, epoch=2), False),  # two epochs later it is restarted
        ("2.0.0", Followed(13, 2, leader=1, epoch=1), False),  # another leader
    ],
)
def test_a_follower_that_fetches_on_in_a_new_epoch_may_lose_up_to_2_0_0(
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
        ("2.0.1", TWO_EPOCHS, Copied(12, 2, first=3, followed=0, epoch=2), True),
        ("2.1", TWO_EPOCHS, Copied(12, 2, first=3, followed=0, epoch=2), False),
        ("2.0.1", TWO_EPOCHS, Copied(12, 2, first=2, followed=0, epoch=2), False),  # the difference is what it copied
        (
            "2.0.1",
            [Led(1, 0, epoch=0, log_end=0), Led(10, 0, epoch=2, log_end=0)],
            Copied(12, 2, first=3, followed=0, epoch=2),
            False,
        ),  # no leader in between
        ("2.0.1", TWO_EPOCHS, Copied(12, 2, first=3, followed=1, epoch=2), False),  # one order late
    ],
)
def test_a_replica_that_copied_in_a_past_epoch_may_differ_before_that_up_to_2_0(
    version: str, leaders: list[Led], copied: Copied, allowed: bool
) -> None:
    """KAFKA-6880, semantics 8."""
    history = History(leaders={TOPIC_PARTITION: leaders}, ahead={TOPIC_PARTITION: [copied]})
    rule = rules("kafka-6880", version, history).allowing(Broken("divergence", "", TOPIC_PARTITION, 2))
    assert rule.startswith("8 (KAFKA-6880)") is allowed


def test_an_unclean_election_must_have_been_one() -> None:
    """Semantics 4.2: the setting alone takes nothing."""
    clean = {TOPIC_PARTITION: [stated(1, 0, 0, (0, 1), 0), stated(9, 1, 1, (1,), 1)]}
    unclean = {TOPIC_PARTITION: [stated(1, 0, 0, (0,), 0), stated(9, 1, 1, (1,), 1)]}
    again = {TOPIC_PARTITION: [*unclean[TOPIC_PARTITION], stated(10, -1, 2, (1,), 2), stated(11, 1, 3, (1,), 3)]}
    before = {TOPIC_PARTITION: [stated(0, 1, -2, (1,), 0), stated(1, 0, 0, (0, 1), 1), stated(9, 1, 1, (1,), 2)]}
    for states, led, allowed in (
        (clean, Led(9, 1, epoch=1, log_end=2), False),
        (unclean, Led(9, 1, epoch=1, log_end=2), True),
        (again, Led(12, 1, epoch=3, log_end=2), True),  # it died before it was told, and is elected again
        (before, Led(9, 1, epoch=1, log_end=2), False),  # there was one, before the record was written
        (unclean, Led(9, 1, epoch=1, log_end=3), False),  # who was elected so has the record
        (unclean, Led(9, 2, epoch=1, log_end=2), False),  # another led without it
    ):
        copied = {TOPIC_PARTITION: [COPIED] if led.log_end == 3 else []}
        history = committed(states=states, leaders={TOPIC_PARTITION: [led]}, copied=copied)
        for lost in (LOST, ACKS_1):
            assert rules("unclean-election", "2.8", history).allowing(lost).startswith("4.2") is allowed, led


# --- the rest ---


def test_a_leader_that_is_back_in_its_epoch_begins_at_its_checkpoint() -> None:
    """Semantics 3, 4.1: no controller has seen it die, so its epoch is the same."""
    truth = Truth(watermarks_back=[StepBack(TOPIC_PARTITION, "broker-1", 4, 7, 5, 20.0)])
    (broken,) = broken_promises(truth, History())
    assert (broken.what, broken.broker, broken.epoch) == ("high-watermark", 1, 4)
    once = History(
        leaders={
            TOPIC_PARTITION: [
                Led(1, 1, epoch=4, log_end=0),
                Led(2, 0, epoch=5, log_end=0),
                Led(3, 1, epoch=6, log_end=0),
            ]
        }
    )
    twice = History(leaders={TOPIC_PARTITION: [Led(1, 1, epoch=4, log_end=0), Led(9, 1, epoch=4, log_end=7)]})
    assert rules("leader-crash", "2.8", once).allowing(broken) == ""
    assert rules("leader-crash", "2.8", twice).allowing(broken).startswith("3:")


def test_a_tail_that_is_written_again_in_the_same_epoch_differs_from_the_followers() -> None:
    """KIP-966, semantics 8: epochs cannot tell the two apart."""
    tail = LostTail(5.0, 1, topic_partition=TOPIC_PARTITION, first=2, last=3)
    broken = Broken("divergence", "", TOPIC_PARTITION, 2)
    for epoch, allowed in ((4, True), (5, False)):
        history = History(leaders={TOPIC_PARTITION: [Led(1, 1, epoch=4, log_end=0), Led(9, 1, epoch=epoch, log_end=2)]})
        rule = rules("leader-crash", "2.8", history, tails=[tail]).allowing(broken)
        assert rule.startswith("8 (KIP-966)") is allowed
        below = Broken("divergence", "", TOPIC_PARTITION, 1)
        assert rules("leader-crash", "2.8", history, tails=[tail]).allowing(below) == "", "the tail began behind that"


def test_epochs_out_of_order_in_a_log_are_a_divergence_and_two_leaders_of_one_epoch_are_not() -> None:
    log = [Batch(0, 0, 2, 100), Batch(1, 1, 1, 101)]
    terms = [Term(TOPIC_PARTITION, f"broker-{node}", 3, 1.0) for node in (0, 1)]
    truth = Truth(logs={TOPIC_PARTITION: {"broker-0": log}}, leaders=terms)
    found = [broken for broken in broken_promises(truth, History()) if broken.what.startswith("epoch")]
    assert [broken.what for broken in found] == ["epoch-order", "epoch"]
    assert [broken.epoch for broken in found] == [2, -1]
    for version in ("0.10.2", "1.1", "2.8"):
        judge = rules("kip101-case2", version, History())
        assert [judge.allowing(broken) for broken in found] == ["", ""], "no event has made them part"


def test_only_a_replica_left_half_way_may_differ() -> None:
    """KAFKA-9307, semantics 8: it cuts nothing, for it follows no leader."""
    history = History(stopped={(TOPIC_PARTITION, 1): Stopped(5, "half-way", "", ((0, 3),))})
    for version, others, allowed in (
        ("2.1", (1,), True),
        ("2.1", (1, 2), False),
        ("2.1", (), False),
        ("1.0", (1,), False),
    ):
        broken = Broken("divergence", "", TOPIC_PARTITION, 2, others=others)
        # 1.0 has other reasons to differ, but not this one.
        assert rules("kafka-9307", version, history).allowing(broken).startswith("8 (KAFKA-9307)") is allowed


def test_the_others_hold_something_else_than_the_final_leader() -> None:
    logs = {"broker-0": [Batch(0, 0, 5, 1)], "broker-1": [Batch(0, 0, 0, 2)], "broker-2": [Batch(0, 0, 5, 1)]}
    truth = Truth(
        logs={TOPIC_PARTITION: logs},
        leaders=[Term(TOPIC_PARTITION, "broker-1", 0, 1.0), Term(TOPIC_PARTITION, "broker-0", 5, 9.0)],
    )
    (broken,) = broken_promises(truth, History())
    assert (broken.what, broken.others) == ("divergence", (1,))


def test_all_batches_that_begin_at_one_offset_count_in_their_order() -> None:
    """Semantics 11.9: before 0.11 there may be several."""
    x, y = Batch(0, 2, -1, 7), Batch(0, 4, -1, 8)
    for one, other, held, others in (
        ([x, y], [y], ((0, -1, 7), (0, -1, 8), (1, -1, 8)), (0,)),
        ([y], [x, y], ((0, -1, 8), (1, -1, 7), (1, -1, 8)), (0,)),
        ([x, y], [y, x], ((0, -1, 7), (0, -1, 8), (1, -1, 8), (1, -1, 7)), (0,)),
        ([x, y], [x, y], ((0, -1, 7), (0, -1, 8), (1, -1, 7), (1, -1, 8)), ()),
        ([x, y], [], ((0, -1, 7), (0, -1, 8)), (0,)),
    ):
        truth = Truth(
            logs={TOPIC_PARTITION: {"broker-0": one, "broker-1": other}},
            leaders=[Term(TOPIC_PARTITION, "broker-1", 0, 1.0)],
        )
        (broken,) = broken_promises(truth, History())
        assert (broken.what, broken.held, broken.others) == ("divergence", held, others)


def test_idempotent_producers_store_once() -> None:
    """Semantics 6."""
    steps = resolved_for("retry-duplicates-idempotent", "2.8").scenario.steps
    assert idempotent_writes(steps) == {("t", 0, "b")}
    assert idempotent_writes(resolved_for("retry-idempotent", "2.8").scenario.steps) == {("t", 0, "c")}
    idempotent = rules("retry-duplicates-idempotent", "2.8", History())
    assert idempotent.allowing(Broken("duplicate", "", TOPIC_PARTITION, 1, value="b")) == ""
    assert idempotent.allowing(Broken("duplicate", "", TOPIC_PARTITION, 1, value="a")).startswith("6")


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
        logs={TOPIC_PARTITION: {"broker-0": copies}},
        writes=[Write("w:1", "a", TOPIC_PARTITION, -1, "ok", 1, 5), Write("w:2", "a", ("t", 1), -1, "ok", 1, 5)],
        leaders=[Term(TOPIC_PARTITION, "broker-0", 0, 1.0)],
    )
    history = History(attempts={"w:1": attempts, "w:2": 9})
    (broken,) = broken_promises(truth, history)
    assert (broken.what, broken.value, broken.unexplained) == ("duplicate", "a", max(0, 2 - attempts))
    assert bool(rules("leader-crash", "2.8", history).allowing(broken)) is allowed


@pytest.mark.parametrize(
    ("power", "recovered", "allowed"),
    [
        (True, [5], True),  # the deletion was not durable
        (True, [5, 6], True),
        (True, [5, 9], False),  # what was made since is behind it
        (True, [8], False),  # nobody wrote that
        (False, [5], False),  # its power was never lost
        (None, [5], False),  # its disk is another
    ],
)
def test_a_power_loss_may_bring_back_the_log_of_a_deleted_topic(
    power: bool | None, recovered: list[int], allowed: bool
) -> None:
    """Semantics 3: names, too, are durable only once they are synced."""
    found = [Batch(n, n, 0, digest) for n, digest in enumerate(recovered)]
    one = Recovery(1.0, "broker-0", TOPIC_PARTITION, bool(power), [Batch(0, 0, 0, 9)], found, power is None)
    (broken,) = broken_recoveries([one])
    for version in ("0.8.2", "2.8"):
        history = History(gone={TOPIC_PARTITION: {5, 6}, ("t", 7): {8}})
        assert bool(rules("topic-recreated", version, history).allowing(broken)) is allowed
        assert rules("topic-recreated", version, History()).allowing(broken) == ""


@pytest.mark.parametrize("what", ["recovery", "state", "ensemble", "sanity", "settled", "epoch"])
def test_nothing_allows_these_in_any_version(what: str) -> None:
    for version in ("0.8.2", "1.1", "2.8"):
        assert rules("kip101-case1", version, History()).allowing(Broken(what, "", TOPIC_PARTITION)) == ""


@pytest.mark.parametrize(
    ("assigned", "led_ms", "allowed"),
    [
        ([Assigned(1, (0, 1)), Assigned(9, (1, 2))], 2, True),
        ([Assigned(1, (0, 1)), Assigned(6, (0, 1, 2)), Assigned(9, (1, 2))], 2, True),
        ([Assigned(1, (0, 1)), Assigned(9, (1, 2))], 10, False),  # it was told of a role since
        ([Assigned(1, (0, 1)), Assigned(9, (1, 2)), Assigned(12, (0, 1))], 2, False),  # it is a replica again
        ([Assigned(1, (1, 2))], 2, False),  # it never was one
        ([Assigned(1, (0, 1))], 2, False),
        ([], 2, False),
    ],
)
def test_a_replica_that_was_moved_away_unasked_may_differ(
    assigned: list[Assigned], led_ms: float, allowed: bool
) -> None:
    history = History(
        assignments={TOPIC_PARTITION: assigned},
        leaders={TOPIC_PARTITION: [Led(led_ms, 0, epoch=0, log_end=0), Led(10, 1, epoch=1, log_end=0)]},
    )
    one = Broken("divergence", "", TOPIC_PARTITION, 0, others=(0,), held=((0, 0, 7), (1, 1, 8)))
    assert rules("partitions-move", "2.8", history).allowing(one) == (LEFT_BEHIND if allowed else "")
    two = Broken("divergence", "", TOPIC_PARTITION, 0, others=(0, 2), held=((0, 0, 7), (1, 1, 8), (2, 1, 9)))
    assert rules("partitions-move", "2.8", history).allowing(two) == "", "of broker-2 nothing is told"


@pytest.mark.parametrize(
    ("found", "cut", "allowed"),
    [
        ((7, 8), [], True),
        ((7,), [], True),
        ((7, 8, 9), [], True),
        ((8, 9), [], False),  # not from its beginning
        ((7, 9), [], False),
        ((7, 8, 9, 10), [], False),  # more than it held
        ((7, 8, 9), [Cut(8, 0, to=2, log_end=3, reason="high-watermark")], False),  # it has told of that one's end
        ((), [], False),
    ],
)
def test_a_log_that_was_being_thrown_away_may_be_back_after_a_power_loss(
    found: tuple[int, ...], cut: list[Cut], allowed: bool
) -> None:
    written = [Written(at_ms, 0, epoch=0, first=at_ms, last=at_ms, digest=7 + at_ms) for at_ms in range(3)]
    history = History(
        written={TOPIC_PARTITION: written},
        cuts={TOPIC_PARTITION: [*cut, Cut(20, 0, to=len(found), log_end=3, reason=UNTOLD)]},
    )
    one = Broken("recovery", "", TOPIC_PARTITION, broker=0, found=found, since_ms=20)
    assert bool(rules("leader-crash", "2.8", history).allowing(one)) is allowed
    other = Broken("recovery", "", TOPIC_PARTITION, broker=1, found=found, since_ms=20)
    assert rules("leader-crash", "2.8", history).allowing(other) == "", "it never held any of it"


DISPLACED = Broken("epoch-cache", "", TOPIC_PARTITION, 2, broker=0, epoch=1)
"""broker-0 holds a batch of epoch 1 at 2, and takes it for another epoch's."""


@pytest.mark.parametrize(
    ("version", "led", "copied", "allowed"),
    [
        ("2.3", Led(5, 0, epoch=2, log_end=5), Written(9, 0, epoch=5, first=5, last=5, digest=7, of=1), True),
        (
            "2.6",
            Led(5, 0, epoch=2, log_end=5),
            Written(9, 0, epoch=5, first=5, last=5, digest=7, of=1),
            False,
        ),  # mended
        (
            "2.3",
            Led(5, 1, epoch=2, log_end=5),
            Written(9, 0, epoch=5, first=5, last=5, digest=7, of=1),
            False,
        ),  # another led
        (
            "2.3",
            Led(10, 0, epoch=2, log_end=5),
            Written(9, 0, epoch=5, first=5, last=5, digest=7, of=1),
            False,
        ),  # later
        (
            "2.3",
            Led(5, 0, epoch=1, log_end=5),
            Written(9, 0, epoch=5, first=5, last=5, digest=7, of=1),
            False,
        ),  # in no later epoch
        (
            "2.3",
            Led(5, 0, epoch=2, log_end=5),
            Written(9, 0, epoch=5, first=5, last=5, digest=7, of=5),
            False,
        ),  # what came then was of another epoch
        ("2.3", Led(5, 0, epoch=2, log_end=5), Written(9, 0, epoch=5, first=1, last=1, digest=7, of=1), False),  # below
    ],
)
def test_an_epoch_in_which_nothing_was_written_takes_the_one_before_along(
    version: str, led: Led, copied: Written, allowed: bool
) -> None:
    """KAFKA-10706."""
    history = History(leaders={TOPIC_PARTITION: [led]}, copied={TOPIC_PARTITION: [copied]})
    assert rules("min-insync", version, history).allowing(DISPLACED) == (EMPTY_EPOCH if allowed else "")
    on_fetch = rules("min-insync", "2.8", history).allowing(DISPLACED)
    assert on_fetch == (EMPTY_EPOCH_ON_FETCH if allowed or version == "2.6" else ""), "it cuts nothing at first"
