"""Events that explain the divergence of two logs, from pasts written by hand.
Each has divergences that it must reject.
"""

from typing import Any

import pytest

from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.run_history import UNSEEN, Cut, Followed, History, Led, Settled, Unseen, Written
from tests.emulator.judging.explain.traces import TOPIC_PARTITION, rules

OWN = Written(4, 0, epoch=1, first=2, last=2, digest=7, of=1)
"""Batch that broker-0 wrote when it led in epoch 1, and holds still."""
OTHER = Written(9, 1, epoch=3, first=2, last=2, digest=8, of=3)
"""Batch that broker-1 wrote at the same offset in epoch 3."""
ORDER = Followed(12, 0, leader=1, epoch=3, high_watermark=3)
"""broker-0 is back, and follows broker-1."""


def old(batch: Written) -> Written:
    """In a format that has no epochs."""
    return Written(
        batch.at_ms, batch.broker, epoch=batch.epoch, first=batch.first, last=batch.last, digest=batch.digest
    )


def past(*written: Written, **more: Any) -> History:
    leaders = [Led(1, 0, epoch=1, log_end=0), Led(8, 1, epoch=3, log_end=2)]
    known = {
        "leaders": {TOPIC_PARTITION: leaders},
        "written": {TOPIC_PARTITION: list(written)},
        "followers": {TOPIC_PARTITION: [ORDER]},
    }
    return History(**{**known, **more})


def diverged(own: Written, other: Written, *, others: tuple[int, ...] = (0,)) -> Broken:
    held = ((0, own.of, own.digest), (1, other.of, other.digest))
    return Broken("divergence", "", TOPIC_PARTITION, 2, others=others, held=held)


def rule(version: str, history: History, broken: Broken, **more: Any) -> str:
    return rules("leader-crash", version, history, **more).allowing(broken)


# --- before 0.11 ---


@pytest.mark.parametrize(
    ("version", "to", "high_watermark", "allowed"),
    [
        ("0.10.2", 3, 3, True),
        ("0.8.2", 3, 3, True),
        ("0.10.2", 3, 2, False),  # it was to cut to its high watermark
        ("0.10.2", 2, 2, False),  # it has, and holds it all the same
        ("2.0.1", 3, 3, False),
        ("2.8", 3, 3, False),
    ],
)
def test_what_is_below_its_own_high_watermark_a_follower_keeps_before_0_11(
    version: str, to: int, high_watermark: int, allowed: bool
) -> None:
    """KIP-101, semantics 8."""
    followers = {TOPIC_PARTITION: [Followed(12, 0, leader=1, epoch=3, high_watermark=high_watermark)]}
    settled = {TOPIC_PARTITION: [Settled(12, 0, leader=1, to=to, epoch=-1, answered=False)]}
    own, other = old(OWN), old(OTHER)
    found = rule(version, past(own, other, followers=followers, settled=settled), diverged(own, other))
    assert found.startswith("8 (KIP-101)") is allowed
    assert allowed or found == ""


SETTLED = {TOPIC_PARTITION: [Settled(12, 0, leader=1, to=3, epoch=-1, answered=False)]}


def test_the_event_is_reported() -> None:
    own, other = old(OWN), old(OTHER)
    judge = rules("leader-crash", "0.10.2", past(own, other, settled=SETTLED))
    assert judge.allowing(diverged(own, other)).startswith("8 (KIP-101)")
    assert judge.events == [
        "t-0@2: broker-0 followed broker-1 from 12 ms on, epoch 3, and kept what that one did not have: "
        "its high watermark was 3"
    ]


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "1.1", "2.0.0"])
def test_the_version_alone_allows_nothing(version: str) -> None:
    """No broker wrote, or no broker followed, or no broker received an order."""
    broken = diverged(OWN, OTHER)
    assert rule(version, History(), broken) == ""
    assert rule(version, past(OWN, OTHER, followers={}, settled=SETTLED), broken) == ""
    assert rule(version, past(OWN, OTHER), broken) == ""
    assert rule(version, past(OWN, OTHER, settled=SETTLED), Broken("divergence", "", TOPIC_PARTITION, 2)) == ""


@pytest.mark.parametrize(
    ("history", "broken"),
    [
        # The follower stores another record than its leader has sent it.
        (
            past(
                old(OTHER),
                copied={TOPIC_PARTITION: [Written(13, 0, epoch=3, first=2, last=2, digest=9)]},
                settled=SETTLED,
            ),
            diverged(Written(13, 0, epoch=3, first=2, last=2, digest=9), old(OTHER)),
        ),
        # It did so before, and its leader has led again since.
        (
            past(
                old(OTHER),
                copied={TOPIC_PARTITION: [Written(10, 0, epoch=3, first=2, last=2, digest=9)]},
                settled=SETTLED,
            ),
            diverged(Written(10, 0, epoch=3, first=2, last=2, digest=9), old(OTHER)),
        ),
        # At a wrong place: that is what a leader wrote behind it.
        (
            past(
                old(OTHER),
                Written(4, 0, epoch=1, first=3, last=3, digest=7),
                copied={TOPIC_PARTITION: [Written(5, 0, epoch=1, first=2, last=2, digest=7)]},
                settled=SETTLED,
            ),
            diverged(Written(5, 0, epoch=1, first=2, last=2, digest=7), old(OTHER)),
        ),
        # One leader in one epoch, two records.
        (
            past(
                Written(4, 1, epoch=3, first=2, last=2, digest=7),
                old(OTHER),
                copied={TOPIC_PARTITION: [Written(5, 0, epoch=3, first=2, last=2, digest=7)]},
                settled=SETTLED,
            ),
            diverged(Written(5, 0, epoch=3, first=2, last=2, digest=7), old(OTHER)),
        ),
        # The final leader has what nobody wrote.
        (
            past(
                old(OWN), copied={TOPIC_PARTITION: [Written(9, 1, epoch=1, first=2, last=2, digest=8)]}, settled=SETTLED
            ),
            diverged(old(OWN), Written(9, 1, epoch=1, first=2, last=2, digest=8)),
        ),
        # Its disk has something else than it wrote.
        (
            past(old(OWN), old(OTHER), settled=SETTLED),
            diverged(Written(4, 0, epoch=1, first=2, last=2, digest=9), old(OTHER)),
        ),
        # It has cut it.
        (
            past(
                old(OWN),
                old(OTHER),
                cuts={TOPIC_PARTITION: [Cut(13, 0, to=2, log_end=3, reason="out-of-range")]},
                settled=SETTLED,
            ),
            diverged(old(OWN), old(OTHER)),
        ),
        # It has it since: its leader had it, too.
        (
            past(
                old(OWN), copied={TOPIC_PARTITION: [Written(5, 1, epoch=1, first=2, last=2, digest=7)]}, settled=SETTLED
            ),
            diverged(old(OWN), old(OTHER)),
        ),
    ],
)
def test_what_no_such_event_explains_is_a_divergence_in_old_versions_too(history: History, broken: Broken) -> None:
    assert rule("0.10.2", past(old(OWN), old(OTHER), settled=SETTLED), diverged(old(OWN), old(OTHER))) != ""
    assert rule("0.10.2", history, broken) == ""


# --- 0.11 to 2.0.0 ---

LATER = Written(5, 0, epoch=5, first=3, last=3, digest=6, of=5)
"""Batch that broker-0 wrote behind it, in an epoch of its own."""


@pytest.mark.parametrize(
    ("version", "own", "settled", "named"),
    [
        ("1.1", (OWN, LATER), [Settled(13, 0, leader=1, to=3, epoch=-1, answered=True)], "KAFKA-6361"),
        ("0.11", (OWN, LATER), [Settled(13, 0, leader=1, to=3, epoch=-1, answered=True)], "KAFKA-6361"),
        (
            "1.1",
            (OWN,),
            [Settled(13, 0, leader=1, to=3, epoch=-1, answered=True)],
            "",
        ),  # the leader's is of a later epoch than was asked for
        ("1.1", (OWN, LATER), [Settled(13, 0, leader=1, to=2, epoch=-1, answered=True)], ""),  # it was answered rightly
        ("1.1", (OWN, LATER), [Settled(13, 0, leader=2, to=3, epoch=-1, answered=True)], ""),  # by another
        (
            "1.1",
            (OWN,),
            [Settled(13, 0, leader=1, to=3, epoch=-1, answered=False)],
            "KAFKA-6361",
        ),  # told nothing, and its high watermark is 3
        ("1.1", (OWN,), [Settled(13, 0, leader=1, to=4, epoch=-1, answered=False)], ""),  # and not 4
        ("2.0.0", (OWN, LATER), [Settled(13, 0, leader=1, to=3, epoch=3, answered=True)], "KAFKA-7415"),
        (
            "2.0.0",
            (OWN, LATER),
            [
                Settled(13, 0, leader=1, to=3, epoch=3, answered=True),
                Settled(14, 0, leader=1, to=3, epoch=-1, answered=False),
            ],
            "KAFKA-7415",
        ),
        (
            "2.0.0",
            (OWN, LATER),
            [
                Settled(13, 0, leader=1, to=3, epoch=3, answered=True),
                Settled(14, 0, leader=1, to=2, epoch=1, answered=True),
            ],
            "",
        ),
        (
            "2.0.0",
            (OWN, LATER),
            [Settled(13, 0, leader=1, to=3, epoch=1, answered=True)],
            "",
        ),  # the leader has a later one there
        ("2.0.1", (OWN, LATER), [Settled(13, 0, leader=1, to=3, epoch=3, answered=True)], ""),
    ],
)
def test_a_follower_keeps_what_it_is_answered_to_be_the_same(
    version: str, own: tuple[Written, ...], settled: list[Settled], named: str
) -> None:
    """KAFKA-6361, KAFKA-7415 and KIP-101's appendix, semantics 2.1 and 8.
    By the rules of the version.
    """
    found = rule(version, past(*own, OTHER, settled={TOPIC_PARTITION: settled}), diverged(OWN, OTHER))
    assert named in found
    assert bool(found) is bool(named)


@pytest.mark.parametrize(
    ("version", "before", "leader", "allowed"),
    [
        ("1.1", (1, 1), 1, True),
        ("2.0.0", (1, 1), 1, True),
        ("0.10.2", (1, 1), 1, True),
        ("1.1", (2, 1), 1, False),  # another leader: it is restarted
        ("1.1", None, 1, False),  # a new life
        ("2.0.1", (1, 1), 1, False),
    ],
)
def test_whose_fetcher_is_left_alone_cuts_nothing(
    version: str, before: tuple[int, int] | None, leader: int, allowed: bool
) -> None:
    """KAFKA-7164, semantics 8: same leader, newer epoch.
    The leader had lost what broker-0 copied from it.
    """
    history = past(
        Written(4, 1, epoch=1, first=2, last=2, digest=7),
        old(OTHER),
        copied={TOPIC_PARTITION: [old(OWN)]},
        followers={TOPIC_PARTITION: [Followed(12, 0, leader=leader, epoch=3, before=before)]},
    )
    found = rule(version, history, diverged(old(OWN), old(OTHER)))
    assert found.startswith("8 (KAFKA-7164)") is allowed
    assert allowed or found == ""


def test_a_broker_that_died_before_reporting_its_write_has_written_it() -> None:
    """As leader; or as follower, what its leader had."""
    unseen = Written(5, 0, epoch=1, first=2, last=2, digest=UNSEEN)
    for settled, allowed in (([Settled(12, 0, leader=1, to=3, epoch=-1, answered=False)], True), ([], False)):
        led = past(OTHER, unseen={TOPIC_PARTITION: [Unseen(unseen, 0)]}, settled={TOPIC_PARTITION: settled})
        assert bool(rule("1.1", led, diverged(OWN, OTHER))) is allowed
        assert rule("1.1", led, diverged(Written(4, 0, epoch=2, first=2, last=2, digest=7, of=2), OTHER)) == "", (
            "of another epoch"
        )
        theirs = Written(4, 2, epoch=1, first=2, last=2, digest=7, of=1)
        copied = past(OTHER, theirs, unseen={TOPIC_PARTITION: [Unseen(unseen, 2)]}, settled={TOPIC_PARTITION: settled})
        assert bool(rule("1.1", copied, diverged(theirs, OTHER))) is allowed
        assert rule("1.1", copied, diverged(Written(4, 0, epoch=1, first=2, last=2, digest=9, of=1), OTHER)) == "", (
            "its leader had another"
        )


def test_a_leader_that_died_before_reporting_its_write_requests_with_its_epoch() -> None:
    """KAFKA-6361 and KIP-101's appendix: broker-0 has led in epoch 5.
    Its answer is the offset where the epochs above begin.
    """
    settled = {TOPIC_PARTITION: [Settled(13, 0, leader=1, to=3, epoch=-1, answered=True)]}
    for unseen, allowed in (
        (Unseen(Written(5, 0, epoch=5, first=3, last=3, digest=UNSEEN), 0), True),
        (
            Unseen(Written(5, 0, epoch=2, first=3, last=3, digest=UNSEEN), 0),
            False,
        ),  # in an epoch before that of the leader's record
        (Unseen(Written(5, 2, epoch=5, first=3, last=3, digest=UNSEEN), 2), False),  # another has
        (Unseen(Written(14, 0, epoch=5, first=3, last=3, digest=UNSEEN), 0), False),  # after it was answered
        (
            Unseen(Written(5, 0, epoch=5, first=3, last=3, digest=UNSEEN), 2),
            False,
        ),  # as a follower, and its leader had nothing
    ):
        found = rule("1.1", past(OWN, OTHER, unseen={TOPIC_PARTITION: [unseen]}, settled=settled), diverged(OWN, OTHER))
        assert found.startswith("8 (KAFKA-6361)") is allowed, unseen
        assert allowed or found == ""


# --- epochs out of order in a log ---


def test_epochs_are_out_of_order_where_a_follower_kept_one_and_was_given_an_older_one() -> None:
    newer = Written(4, 0, epoch=5, first=2, last=2, digest=7, of=5)
    given = Written(13, 0, epoch=6, first=3, last=3, digest=6, of=3)
    answered = {TOPIC_PARTITION: [Settled(13, 0, leader=1, to=3, epoch=-1, answered=True)]}
    right = {TOPIC_PARTITION: [Settled(13, 0, leader=1, to=2, epoch=-1, answered=True)]}
    role = {TOPIC_PARTITION: [Followed(12, 0, leader=1, epoch=6)]}
    for version, epoch, copied, settled, named in (
        ("1.1", 5, [given], answered, "KAFKA-6361"),
        ("2.0.1", 5, [given], answered, ""),
        ("1.1", 4, [given], answered, ""),  # of that epoch it kept nothing
        ("1.1", 5, [], answered, ""),  # it was given nothing
        ("1.1", 5, [Written(20, 2, epoch=6, first=3, last=3, digest=6, of=3)], answered, ""),  # another was
        (
            "1.1",
            5,
            [Written(13, 0, epoch=6, first=3, last=3, digest=6, of=6)],
            answered,
            "",
        ),  # what it was given is newer
        ("1.1", 5, [given], right, ""),  # it was told to cut
        ("1.1", 5, [given], {}, ""),
    ):
        history = past(newer, OTHER, copied={TOPIC_PARTITION: copied}, followers=role, settled=settled)
        found = rule(version, history, Broken("epoch-order", "", TOPIC_PARTITION, 2, epoch=epoch))
        assert named in found
        assert bool(found) is bool(named), (version, epoch, copied)
