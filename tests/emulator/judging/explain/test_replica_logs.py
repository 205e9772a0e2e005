"""Contents of a replica over time, from pasts written by hand."""

from math import inf
from typing import Any

import pytest
from msgspec.structs import replace

from emulator.judging.crash_testing.crash_plan import resolved_for
from emulator.judging.explain.promise_rules import gates_of
from emulator.judging.explain.recoveries import Recovery, lost_tails
from emulator.judging.explain.replica_logs import ReplicaLogs
from emulator.judging.explain.run_history import UNSEEN, UNTOLD, Cut, History, LostTail, Unseen, Written
from emulator.judging.oracle.truth import Batch
from tests.emulator.judging.explain.traces import TOPIC_PARTITION

X = Written(4, 0, epoch=0, first=1, last=3, digest=70)
"""A wrapper, as broker-0 copied it."""
Y = Written(14, 0, epoch=1, first=1, last=5, digest=80)
"""A later one that begins where X does, and ends behind it."""
Z = Written(15, 0, epoch=1, first=6, last=6, digest=90)


def logs(version: str, *copied: Written, tails: list[LostTail] | None = None, **more: Any) -> ReplicaLogs:
    scenario = "kip101-case2-compressed" if version == "0.10.2" else "leader-crash"
    history = History(**{"copied": {TOPIC_PARTITION: list(copied)}, **more})
    return ReplicaLogs(gates_of(resolved_for(scenario, version)), history, tails or [])


def lies(found: ReplicaLogs, offset: int, at_ms: float = inf) -> list[int]:
    """Digests of what broker-0 had over that offset."""
    return [record.digest for record in found.at(TOPIC_PARTITION, offset, 0, at_ms)]


@pytest.mark.parametrize(
    ("cut", "at_1", "at_5"),
    [
        (Cut(20, 0, to=7, log_end=7, reason="high-watermark"), [70, 80], [80]),
        (Cut(20, 0, to=6, log_end=7, reason="high-watermark"), [70, 80], [80]),  # Z alone
        (
            Cut(20, 0, to=4, log_end=7, reason="high-watermark"),
            [70],
            [],
        ),  # the first that ends at 4 or behind, and all after it
        (Cut(20, 0, to=3, log_end=7, reason="high-watermark"), [], []),
        (Cut(20, 0, to=1, log_end=7, reason="high-watermark"), [], []),
        (Cut(20, 1, to=1, log_end=7, reason="high-watermark"), [70, 80], [80]),  # another's
    ],
)
def test_a_cut_takes_the_first_batch_that_ends_there_or_behind_and_all_after_it(
    cut: Cut, at_1: list[int], at_5: list[int]
) -> None:
    """LogSegment.truncateTo; semantics 11.9."""
    found = logs("0.10.2", X, Y, Z, cuts={TOPIC_PARTITION: [cut]})
    assert (lies(found, 1), lies(found, 5)) == (at_1, at_5)
    assert lies(found, 1, 19) == [70, 80], "before"


def test_a_wrapper_that_a_follower_takes_whole_replaces_nothing_before_0_11() -> None:
    """Semantics 11.9."""
    assert lies(logs("0.10.2", X, Y), 1) == [70, 80]
    assert lies(logs("0.10.2", X, Y), 1, 10) == [70]
    assert lies(logs("2.8", X, Y), 1) == [80], "there it has cut before"
    assert lies(logs("0.10.2", X, written={TOPIC_PARTITION: [Y]}), 1) == [80], "a leader writes at its log's end"
    assert lies(logs("0.10.2", X, replace(Y, last=3)), 1) == [80], "it does not end behind the log's end"


def test_what_power_took_of_wrappers_is_what_ends_behind_what_it_left() -> None:
    """Semantics 3."""
    held = [Batch(0, 0, -1, 1), Batch(1, 3, -1, 70), Batch(1, 5, -1, 80), Batch(6, 6, -1, 90)]
    topology = resolved_for("kip101-case2-compressed", "0.10.2").spec.topology
    for left, first, at_1 in ((3, 6, [70, 80]), (2, 4, [70]), (1, 1, [])):
        tails = lost_tails([Recovery(20, "broker-0", TOPIC_PARTITION, True, held, held[:left])], topology)
        assert [(tail.first, tail.last) for tail in tails] == [(first, 6)]
        untold = Cut(20, 0, to=first, log_end=7, reason=UNTOLD)
        found = logs("0.10.2", X, Y, Z, tails=tails, cuts={TOPIC_PARTITION: [untold]})
        assert lies(found, 1) == at_1
        gone = [one.gone for one in found.held(TOPIC_PARTITION, 0) if one.until_ms < inf]
        assert gone == tails * (4 - left), "not the cut"


def test_a_loss_of_power_explains_no_cut_of_what_came_behind_it() -> None:
    tail, behind = (
        LostTail(5, 0, topic_partition=TOPIC_PARTITION, first=1, last=3),
        Written(8, 0, epoch=0, first=4, last=4, digest=75),
    )
    found = logs(
        "2.8",
        X,
        replace(X, at_ms=7),
        behind,
        tails=[tail],
        cuts={TOPIC_PARTITION: [Cut(9, 0, to=4, log_end=5, reason=UNTOLD)]},
    )
    assert (lies(found, 1), lies(found, 4)) == ([70], [])


def test_what_a_follower_died_over_is_what_its_leader_had() -> None:
    """A death between the append and its event."""
    unseen = Unseen(Written(10, 0, epoch=0, first=1, last=3, digest=UNSEEN), 1)
    theirs = Written(4, 1, epoch=0, first=1, last=3, digest=70, of=2)
    found = logs("2.8", written={TOPIC_PARTITION: [theirs]}, unseen={TOPIC_PARTITION: [unseen]})
    assert found.at(TOPIC_PARTITION, 1, 0, inf) == (replace(theirs, at_ms=10, broker=0),)
    assert found.at(TOPIC_PARTITION, 1, 0, 9) == ()
    for other in (replace(theirs, broker=2), replace(theirs, at_ms=11), replace(theirs, first=4, last=4)):
        assert lies(logs("2.8", written={TOPIC_PARTITION: [other]}, unseen={TOPIC_PARTITION: [unseen]}), 1) == [UNSEEN]
    gone = logs(
        "2.8",
        written={TOPIC_PARTITION: [theirs]},
        cuts={TOPIC_PARTITION: [Cut(9, 1, to=1, log_end=4, reason="")]},
        unseen={TOPIC_PARTITION: [unseen]},
    )
    assert lies(gone, 1) == [UNSEEN]


def test_what_a_leader_died_over_has_its_epoch() -> None:
    unseen = Unseen(Written(10, 0, epoch=5, first=1, last=3, digest=UNSEEN), 0)
    for version, epoch in (("0.11", 5), ("0.10.2", -1)):
        (record,) = logs(version, unseen={TOPIC_PARTITION: [unseen]}).at(TOPIC_PARTITION, 1, 0, inf)
        assert (record.digest, record.of) == (UNSEEN, epoch)


def test_two_that_died_over_what_each_had_from_the_other_have_nothing_to_go_by() -> None:
    own, other = (
        Written(10, 0, epoch=0, first=1, last=3, digest=UNSEEN),
        Written(11, 1, epoch=1, first=1, last=3, digest=UNSEEN),
    )
    assert lies(logs("2.8", unseen={TOPIC_PARTITION: [Unseen(own, 1), Unseen(other, 0)]}), 1) == [UNSEEN]
