"""Events that explain two old wrappers at one offset, from pasts written by hand.
Some of the pasts it must reject.
"""

from typing import Any

import pytest

from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.run_history import Cut, Followed, History, Led, Settled, Written
from tests.emulator.judging.explain.traces import TOPIC_PARTITION, rules

X = Written(4, 0, epoch=0, first=2, last=3, digest=7)
"""broker-0 wrote it in epoch 0, and holds it still.
broker-1 has lost it with its power, and leads.
"""
Y = Written(9, 1, epoch=3, first=2, last=6, digest=8)
GIVEN = Written(13, 0, epoch=3, first=2, last=6, digest=8)
"""It begins where X does, and is given to broker-0 whole, whose log ended at 4."""
ORDER = Followed(12, 0, leader=1, epoch=3, high_watermark=4)
AT_4 = {TOPIC_PARTITION: [Settled(12, 0, leader=1, to=4, epoch=-1, answered=False)]}
KEPT_X = (
    "t-0@2: broker-0 followed broker-1 from 12 ms on, epoch 3, and kept what that one did not have: "
    "its high watermark was 4"
)


def past(*written: Written, **more: Any) -> History:
    return History(
        leaders={TOPIC_PARTITION: [Led(1, 0, epoch=0, log_end=0), Led(8, 1, epoch=3, log_end=2)]},
        written={TOPIC_PARTITION: list(written)},
        **more,
    )


def wrapped(**more: Any) -> History:
    known = {"copied": {TOPIC_PARTITION: [GIVEN]}, "followers": {TOPIC_PARTITION: [ORDER]}, "settled": AT_4}
    return past(X, Y, **{**known, **more})


def lie(*digests: tuple[int, int], others: tuple[int, ...]) -> Broken:
    """(broker, digest) of what begins at 2 on the disks."""
    return Broken(
        "divergence", "", TOPIC_PARTITION, 2, others=others, held=tuple((one, -1, digest) for one, digest in digests)
    )


BOTH_AND_ONE = lie((0, 7), (0, 8), (1, 8), others=(0,))


def test_a_replica_that_kept_a_wrapper_receives_the_next_one_on_top_of_it_before_0_11() -> None:
    """KIP-101 case 2 with compression, semantics 8 and 11.9."""
    judge = rules("kip101-case2-compressed", "0.10.2", wrapped())
    assert judge.allowing(BOTH_AND_ONE).startswith("8 (KIP-101)")
    assert judge.events == [KEPT_X]


@pytest.mark.parametrize(
    ("version", "more", "broken"),
    [
        ("2.8", {}, BOTH_AND_ONE),
        ("1.1", {}, BOTH_AND_ONE),  # nothing lies over something else there
        ("0.10.2", {"settled": {}}, BOTH_AND_ONE),
        ("0.10.2", {"followers": {}}, BOTH_AND_ONE),
        (
            "0.10.2",
            {"settled": {TOPIC_PARTITION: [Settled(12, 0, leader=1, to=2, epoch=-1, answered=False)]}},
            BOTH_AND_ONE,
        ),  # it was to cut it
        (
            "0.10.2",
            {"cuts": {TOPIC_PARTITION: [Cut(12, 0, to=3, log_end=4, reason="high-watermark")]}},
            BOTH_AND_ONE,
        ),  # it has
        ("0.10.2", {"copied": {}}, BOTH_AND_ONE),  # it was given nothing
        (
            "0.10.2",
            {"copied": {TOPIC_PARTITION: [Written(13, 0, epoch=3, first=2, last=6, digest=9)]}},
            BOTH_AND_ONE,
        ),  # something else
        # what ends where its log does
        ("0.10.2", {"copied": {TOPIC_PARTITION: [Written(13, 0, epoch=3, first=2, last=3, digest=8)]}}, BOTH_AND_ONE),
        (
            "0.10.2",
            {"copied": {TOPIC_PARTITION: [Written(11, 0, epoch=3, first=2, last=6, digest=8)]}},
            BOTH_AND_ONE,
        ),  # before it followed
        ("0.10.2", {}, lie((0, 8), (0, 7), (1, 8), others=(0,))),  # in another order
        ("0.10.2", {}, lie((0, 7), (0, 7), (0, 8), (1, 8), others=(0,))),
        ("0.10.2", {}, lie((0, 7), (1, 8), others=(0,))),
        ("0.10.2", {}, lie((0, 7), (0, 9), (1, 8), others=(0,))),
    ],
)
def test_no_other_batch_may_lie_over_one(version: str, more: dict[str, Any], broken: Broken) -> None:
    scenario = "kip101-case2-compressed" if version == "0.10.2" else "leader-crash"
    assert rules(scenario, version, wrapped(**more)).allowing(broken) == ""


def test_a_leader_writes_nothing_over_what_it_has() -> None:
    """An append that went back would look the same on its disk."""
    history = past(X, Y, GIVEN, followers={TOPIC_PARTITION: [ORDER]}, settled=AT_4)
    assert rules("kip101-case2-compressed", "0.10.2", history).allowing(BOTH_AND_ONE) == ""


SAME_AGAIN = {
    "copied": {
        TOPIC_PARTITION: [
            GIVEN,
            Written(20, 1, epoch=5, first=2, last=3, digest=7),
            Written(20, 1, epoch=5, first=2, last=6, digest=8),
        ]
    }
}
"""broker-1 has cut its own, follows broker-0 in epoch 5, and is given both."""
FOLLOWS = Followed(18, 1, leader=0, epoch=5, high_watermark=2)


def test_all_may_have_both_from_the_replica_that_kept_the_first() -> None:
    """No replica holds anything else than the final leader.
    But at one offset lie two batches.
    """
    both = lie((0, 7), (0, 8), (1, 7), (1, 8), others=())
    cut = {TOPIC_PARTITION: [Cut(18, 1, to=2, log_end=7, reason="high-watermark")]}
    for roles, settled, allowed in (
        ([ORDER, FOLLOWS], AT_4, True),
        ([ORDER, FOLLOWS], {}, False),
        ([FOLLOWS], AT_4, False),
        ([ORDER, FOLLOWS], {TOPIC_PARTITION: [Settled(12, 0, leader=1, to=2, epoch=-1, answered=False)]}, False),
    ):
        history = wrapped(followers={TOPIC_PARTITION: roles}, settled=settled, cuts=cut, **SAME_AGAIN)
        judge = rules("kip101-case2-compressed", "0.10.2", history)
        assert judge.allowing(both).startswith("8 (KIP-101)") is allowed, (roles, settled)
        assert judge.events == [KEPT_X] * allowed


def test_a_replica_with_the_second_alone_took_its_log_for_that_of_the_leader_that_has_both() -> None:
    one_and_both = lie((0, 7), (0, 8), (1, 8), others=(1,))
    for high_watermark, to, allowed in ((7, 7, True), (2, 7, False), (2, 2, False)):
        follows = Followed(18, 1, leader=0, epoch=5, high_watermark=high_watermark)
        settled = {TOPIC_PARTITION: [*AT_4[TOPIC_PARTITION], Settled(18, 1, leader=0, to=to, epoch=-1, answered=False)]}
        judge = rules(
            "kip101-case2-compressed", "0.10.2", wrapped(followers={TOPIC_PARTITION: [ORDER, follows]}, settled=settled)
        )
        assert judge.allowing(one_and_both).startswith("8 (KIP-101)") is allowed, (high_watermark, to)
    assert rules("kip101-case2-compressed", "0.10.2", wrapped()).allowing(one_and_both) == "", "it followed no leader"


def test_a_replica_that_followed_no_holder_of_the_first_has_no_reason_to_lack_it() -> None:
    """Its leader had nothing there."""
    follows = Followed(18, 1, leader=2, epoch=4, high_watermark=7)
    settled = {TOPIC_PARTITION: [*AT_4[TOPIC_PARTITION], Settled(18, 1, leader=2, to=7, epoch=-1, answered=False)]}
    history = wrapped(followers={TOPIC_PARTITION: [ORDER, follows]}, settled=settled)
    one_and_both = lie((0, 7), (0, 8), (1, 8), others=(1,))
    assert rules("kip101-case2-compressed", "0.10.2", history).allowing(one_and_both) == ""


def test_one_role_that_was_to_cut_it_is_enough_to_be_wrong() -> None:
    """It followed broker-1 twice; in one of both its high watermark was before the wrapper."""
    settled = {TOPIC_PARTITION: [*AT_4[TOPIC_PARTITION], Settled(15, 0, leader=1, to=4, epoch=-1, answered=False)]}
    given = {TOPIC_PARTITION: [Written(16, 0, epoch=3, first=2, last=6, digest=8)]}
    for first, second, allowed in ((4, 4, True), (4, 2, False), (2, 4, False)):
        roles = [
            Followed(12, 0, leader=1, epoch=3, until_ms=14, high_watermark=first),
            Followed(15, 0, leader=1, epoch=4, high_watermark=second),
        ]
        history = wrapped(followers={TOPIC_PARTITION: roles}, settled=settled, copied=given)
        rule = rules("kip101-case2-compressed", "0.10.2", history).allowing(BOTH_AND_ONE)
        assert rule.startswith("8 (KIP-101)") is allowed, (first, second)


LEADER_HAS_BOTH = [
    Written(5, 1, epoch=0, first=2, last=3, digest=7),
    Written(11, 1, epoch=3, first=2, last=6, digest=8),
]
"""broker-1 has them from others, before broker-0 follows it."""
BY_2 = Written(9, 2, epoch=3, first=2, last=6, digest=8)


@pytest.mark.parametrize(
    ("given", "broken"),
    [
        ([GIVEN], lie((0, 7), (0, 8), (1, 7), (1, 8), others=())),  # who kept the first that its leader had not?
        ([], lie((0, 7), (2, 8), others=(0,))),  # its leader had what it kept, and more
    ],
)
def test_a_follower_of_a_leader_that_has_the_first_has_kept_nothing(given: list[Written], broken: Broken) -> None:
    history = History(
        leaders={TOPIC_PARTITION: [Led(1, 0, epoch=0, log_end=0), Led(8, 2, epoch=3, log_end=2)]},
        written={TOPIC_PARTITION: [X, BY_2]},
        copied={TOPIC_PARTITION: [*LEADER_HAS_BOTH, *given]},
        followers={TOPIC_PARTITION: [ORDER]},
        settled=AT_4,
    )
    assert rules("kip101-case2-compressed", "0.10.2", history).allowing(broken) == ""


def test_a_wrapper_that_begins_before_an_offset_is_none_of_those_there() -> None:
    """broker-0 had two records, and a wrapper over both.
    At the second's offset the final leader has another.
    """
    first, second, another = (
        Written(4, 0, epoch=0, first=2, last=2, digest=6),
        Written(4, 0, epoch=0, first=3, last=3, digest=7),
        Written(17, 2, epoch=5, first=3, last=3, digest=9),
    )
    history = past(
        first, second, Y, another,
        copied={TOPIC_PARTITION: [GIVEN]},
        followers={TOPIC_PARTITION: [ORDER, Followed(18, 0, leader=2, epoch=5, high_watermark=7)]},
        settled={TOPIC_PARTITION: [*AT_4[TOPIC_PARTITION], Settled(18, 0, leader=2, to=7, epoch=-1, answered=False)]},
    )  # fmt: skip
    for digest, allowed in ((7, True), (8, False)):
        broken = Broken("divergence", "", TOPIC_PARTITION, 3, others=(0,), held=((0, -1, digest), (2, -1, 9)))
        rule = rules("kip101-case2-compressed", "0.10.2", history).allowing(broken)
        assert rule.startswith("8 (KIP-101)") is allowed
