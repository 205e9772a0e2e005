"""Reads of consumers: truths to reject and to accept."""

import pytest

from emulator.judging.oracle.judge import judge_truth
from emulator.judging.oracle.truth import Truth
from tests.emulator.judging.oracle.truths import PLACE, batches, digest, found, given, healthy, leads

# --- read-then-lost ---


def lost() -> Truth:
    """c was read, and then broker-1 was elected, which does not have it."""
    truth = healthy()
    truth.leaders.append(leads(1, 1, 500.0))
    truth.logs[PLACE]["broker-1"] = batches("a", "b") + batches("d", first=2, epoch=1)
    return truth


def test_what_was_read_and_the_final_leader_lacks_is_lost_once_however_often_it_was_read() -> None:
    truth = lost()
    truth.reads.append(given("c", 2, operation="observer.1:12"))
    assert found("read-then-lost", truth) == [
        "the batch read at offset 2 (leader epoch 0; times read: 2) is not on the final leader"
    ]


def test_what_was_read_and_lies_elsewhere_is_lost() -> None:
    truth = healthy()
    truth.logs[PLACE]["broker-0"] = batches("a", "c", "b")
    assert len(found("read-then-lost", truth)) == 2


def test_what_went_with_its_topic_is_not_lost() -> None:
    truth = lost()
    truth.gone = {"t"}
    assert not found("read-then-lost", truth)


def test_a_final_leader_that_cannot_be_read_has_lost_nothing_that_is_known() -> None:
    truth = lost()
    del truth.logs[PLACE]["broker-1"]
    truth.damaged = {PLACE: {"broker-1": "t-0/0.log: damaged"}}
    assert judge_truth(truth)["read-then-lost"]["verdict"] == "unknown"


# --- phantom-read ---


def test_what_no_replica_ever_held_is_a_phantom() -> None:
    truth = healthy()
    truth.reads += [given("x", 3), given("x", 3), given("a", 1)]
    assert found("phantom-read", truth) == [
        "the batch read at offset 1 (leader epoch 0; times read: 1) was on no replica",
        "the batch read at offset 3 (leader epoch 0; times read: 2) was on no replica",
    ]


def test_what_was_cut_since_is_no_phantom() -> None:
    truth = healthy()
    truth.appended[PLACE].add((0, 3, 3, digest("x")))
    truth.reads.append(given("x", 3))
    assert not found("phantom-read", truth)
    assert found("read-then-lost", truth)


def test_late_readers_do_not_distinguish_lives_of_a_topic() -> None:
    truth = healthy()
    truth.appended["t#1", 0] = {(0, 3, 3, digest("x"))}
    truth.reads.append(given("x", 3))
    assert not found("phantom-read", truth)


# --- read-above-high-watermark ---


@pytest.mark.parametrize(("high_watermark", "violations"), [(3, 0), (2, 1), (0, 3), (-1, 3)])
def test_what_ends_at_the_high_watermark_was_not_to_be_read(high_watermark: int, violations: int) -> None:
    truth = healthy()
    truth.reads = [given(value, n, high_watermark=high_watermark) for n, value in enumerate("abc")]
    assert len(found("read-above-high-watermark", truth)) == violations


def test_every_reading_above_the_high_watermark_counts() -> None:
    truth = healthy()
    truth.reads += [given("c", 2, high_watermark=2), given("c", 2, high_watermark=2)]
    assert found("read-above-high-watermark", truth) == [
        "observer.1:9 was given offsets 2 to 2 with a high watermark of 2"
    ] * 2


# --- read-gap ---


@pytest.mark.parametrize(
    ("offsets", "behind"), [([0, 1, 2], []), ([0, 2], [(2, 0)]), ([1, 1], [(1, 1)]), ([2, 1, 2], [(1, 2)]), ([2], [])]
)
def test_a_batch_that_does_not_begin_behind_the_one_before(offsets: list[int], behind: list[tuple[int, int]]) -> None:
    truth = healthy()
    truth.reads = [given("abc"[offset], offset) for offset in offsets]
    assert found("read-gap", truth) == [
        f"observer.1:9 was given offset {first} right behind {last}" for first, last in behind
    ]


def test_a_position_may_be_reset_before_another_broker_or_epoch_is_read() -> None:
    truth = healthy()
    truth.reads = [given("c", 2), given("a", 0, by=1), given("a", 0, by=1, epoch=4), given("c", 2, by=2)]
    assert not found("read-gap", truth)


def test_operations_are_read_apart() -> None:
    truth = healthy()
    truth.reads = [given("a", 0, operation="client-0.1:1"), given("c", 2), given("b", 1, operation="client-0.1:1")]
    assert not found("read-gap", truth)
