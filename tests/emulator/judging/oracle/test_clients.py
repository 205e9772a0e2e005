"""Promises to producers, consumers and groups across leaders: good and bad truths."""

import msgspec
import pytest

from emulator.judging.oracle.committed_records import Committed
from emulator.judging.oracle.judge import judge_truth, unknown_outcomes
from emulator.judging.oracle.truth import Belief, Forgotten, Given, PositionLost, State, Truth, Write
from tests.emulator.judging.oracle.truths import PLACE, batches, digest, found, given, healthy, leads, of_group, write


def read_by(reader: str, values: str, *, at: int = 0, epoch: int = 0, stretch: int = 0, ended: int = 0) -> list[Given]:
    """By a reader of its own, when so many operations had ended."""
    return [
        msgspec.structs.replace(one, stretch=stretch, read=msgspec.structs.replace(one.read, ended=ended))
        for one in (given(value, n, epoch=epoch, operation=reader, by=epoch) for n, value in enumerate(values, at))
    ]


# --- lost-acknowledged: broken or allowed ---


def lost(acks: int = -1) -> Truth:
    """x was acknowledged behind c, and broker-1, which leads now, lacks it."""
    truth = healthy()
    truth.writes.append(write("x", 3, acks=acks))
    truth.appended[PLACE].add((0, 3, 3, digest("x")))
    truth.leaders.append(leads(1, 1, 500.0))
    return truth


def allowed(truth: Truth) -> dict[str, int]:
    check = judge_truth(truth)["lost-acknowledged"]
    assert check["count"] == 1
    counts: dict[str, int] = check["allowed"]
    return counts


def test_a_loss_that_nothing_allows_is_a_broken_promise() -> None:
    assert allowed(lost()) == {}, "broker-1 was in sync"


def test_the_leaders_own_word_may_be_lost() -> None:
    assert allowed(lost(acks=1)) == {"acks<=1": 1}


def test_a_reused_sequence_number_is_the_clients_own_loss() -> None:
    """x was answered with the offset of b, which the same idempotent producer wrote.
    Nothing else is lost.
    """
    truth = healthy()
    truth.writes = [msgspec.structs.replace(one, idempotent=True, operation=f"c.1:{one.value}") for one in truth.writes]
    x = msgspec.structs.replace(write("x", 1), idempotent=True, operation="c.1:9")
    truth.writes.append(x)
    assert allowed(truth) == {"duplicate sequence": 1}
    truth.writes[-1] = msgspec.structs.replace(x, operation="other.1:9")
    assert allowed(truth) == {}, "b is of another producer"
    truth.writes[-1] = msgspec.structs.replace(x, idempotent=False)
    assert allowed(truth) == {}, "it has no sequence numbers"
    truth.writes[-1] = x
    truth.appended[PLACE].add((0, 1, 1, digest("x")))
    assert allowed(truth) == {}, "a replica had it once"


def test_an_unclean_election_allows_what_was_written_before_it() -> None:
    truth = lost()
    truth.leaders[-1].found = frozenset({(digest("c"), 2, 2)})
    assert allowed(truth) == {"unclean.leader.election": 1}
    truth.appended[PLACE].add((1, 3, 3, digest("x")))
    assert allowed(truth) == {}


@pytest.mark.parametrize(("first", "last", "word"), [(3, 3, {}), (2, 4, {}), (4, 4, {"unclean.leader.election": 1})])
def test_whoever_has_a_record_does_not_lose_it_by_being_elected(first: int, last: int, word: dict[str, int]) -> None:
    truth = lost()
    truth.leaders[-1].found = frozenset({(digest("x"), first, last)})
    assert allowed(truth) == word


def test_an_election_of_a_replica_out_of_sync_is_unclean() -> None:
    committed = Committed()
    for state in (
        State(PLACE, 8, leader=0, leader_epoch=0, isr=(0, 1), controller_epoch=1, created=True),
        State(PLACE, 9, leader=1, leader_epoch=1, isr=(1,), controller_epoch=1),
        State(PLACE, 10, leader=2, leader_epoch=2, isr=(2,), controller_epoch=1),
        State(PLACE, 11, leader=2, leader_epoch=2, isr=(2, 1), controller_epoch=1),
    ):
        committed.note(state)
    assert [committed.elected_uncleanly(PLACE, epoch) for epoch in range(4)] == [False, False, True, False]
    assert not committed.elected_uncleanly(("t", 1), 2)


def test_what_was_not_flushed_may_be_lost() -> None:
    truth = lost()
    truth.forgotten = [Forgotten(PLACE, "broker-1", log_end=4, to=3)]
    assert allowed(truth) == {"not flushed": 1}
    truth.forgotten = [Forgotten(PLACE, "broker-1", log_end=3, to=2)]
    assert allowed(truth) == {}, "that was another record"


# --- acknowledged-below-min-insync ---


def believed(in_sync: int, *, ended: int, high_watermark: int = 0) -> Belief:
    return Belief(PLACE, "broker-0", in_sync, 2, high_watermark, ended)


def acknowledged(offset: int, *, ended: int, broker: int = 0) -> Write:
    return msgspec.structs.replace(write("abc"[offset], offset), ended=ended, broker=broker)


@pytest.mark.parametrize(
    ("write", "beliefs", "count"),
    [
        (acknowledged(0, ended=0), [believed(1, ended=0)], 1),
        (acknowledged(0, ended=0), [believed(2, ended=0)], 0),
        (acknowledged(0, ended=0), [believed(1, ended=0, high_watermark=1)], 0),
        (acknowledged(0, ended=0), [believed(1, ended=1)], 0),
        (acknowledged(0, ended=2), [believed(1, ended=0), believed(2, ended=2)], 0),
        (acknowledged(0, ended=2), [believed(1, ended=0), believed(-1, ended=1)], 0),
        (acknowledged(0, ended=0, broker=1), [believed(1, ended=0)], 0),
    ],
    ids=["alone", "enough", "committed before", "shrunk since", "grown", "leads no more", "another answered"],
)
def test_what_a_leader_with_too_few_in_sync_acknowledges(write: Write, beliefs: list[Belief], count: int) -> None:
    truth = healthy()
    truth.writes, truth.beliefs = [write], beliefs
    assert len(found("acknowledged-below-min-insync", truth)) == count


# --- from one leader to the next ---


def succeeded() -> Truth:
    """d and e were written by broker-1 and acknowledged, after three operations had ended."""
    truth = healthy()
    truth.leaders.append(leads(1, 1, 500.0))
    for log in truth.logs[PLACE].values():
        log += batches("d", "e", epoch=1, first=3)
    truth.writes += [msgspec.structs.replace(write(value, n), ended=n) for n, value in enumerate("de", 3)]
    truth.reads = []
    return truth


NAMES = ("read-gap", "non-monotonic-read", "skipped-read", "unseen")


@pytest.mark.parametrize(
    ("values", "at", "stretch", "counts"),
    [
        ("de", 3, 0, (0, 0, 0, 0)),
        ("c", 2, 0, (0, 1, 0, 0)),
        ("e", 4, 0, (0, 0, 1, 1)),
        ("bc", 1, 1, (0, 0, 0, 0)),
        ("e", 4, 1, (0, 0, 0, 0)),
    ],
    ids=["on", "back", "ahead", "back, as told", "ahead, as told"],
)
def test_where_a_consumer_goes_on_at_the_next_leader(
    values: str, at: int, stretch: int, counts: tuple[int, ...]
) -> None:
    truth = succeeded()
    truth.reads = read_by("r", "abc") + read_by("r", values, at=at, epoch=1, stretch=stretch, ended=9)
    assert tuple(len(found(name, truth)) for name in NAMES) == counts


def test_what_was_acknowledged_after_a_consumer_had_passed_is_not_missed() -> None:
    truth = succeeded()
    truth.reads = read_by("r", "abcxy", ended=3)
    assert not found("unseen", truth)
    truth.reads = read_by("r", "abcxy", ended=4)
    assert len(found("unseen", truth)) == 1


# --- inconsistent-offsets ---


def test_one_offset_that_is_read_as_two_things() -> None:
    truth = healthy()
    truth.reads = [given("c", 2), given("x", 2, epoch=1), given("c", 2, by=1)]
    assert len(found("inconsistent-offsets", truth)) == 1
    truth.reads = [given("c", 2), given("c", 2, epoch=1)]
    assert not found("inconsistent-offsets", truth)


def test_a_batch_within_another_contradicts_it_and_its_own_middle_does_not() -> None:
    truth = healthy()
    batch = given("batch", 3)
    whole = msgspec.structs.replace(batch, read=msgspec.structs.replace(batch.read, last_offset=6))
    truth.reads = [whole, given("batch", 5), given("d", 7)]
    assert not found("inconsistent-offsets", truth)
    truth.reads.append(given("x", 6))
    assert len(found("inconsistent-offsets", truth)) == 1


# --- offset-out-of-range ---


@pytest.mark.parametrize(
    ("requested", "offset", "reason", "count"),
    [
        (0, 3, "OffsetOutOfRangeException", 1),
        (-1, 3, "LogTruncationException", 1),
        (3, 3, "OffsetOutOfRangeException", 0),
        (0, 3, "seek", 0),
    ],
)
def test_a_position_that_is_left(requested: int, offset: int, reason: str, count: int) -> None:
    truth = healthy()
    truth.lost_positions = [PositionLost(PLACE, "r", requested, offset, reason)]
    assert len(found("offset-out-of-range", truth)) == count


# --- groups ---


def test_a_group_that_committed_last_what_is_not_there_is_ahead_of_the_log() -> None:
    truth = healthy()
    truth.of_groups = [of_group("commit", 4, begun=0)]
    assert found("group-ahead-of-log", truth) == [
        "group g has committed offset 4, and the log of the final leader ends at 3"
    ]
    truth.of_groups.append(of_group("commit", 3, begun=1))
    assert not found("group-ahead-of-log", truth)
    truth.of_groups.append(of_group("commit", 9, begun=2, outcome="unknown"))
    assert not found("group-ahead-of-log", truth)


@pytest.mark.parametrize(
    ("first", "found_offset", "count"),
    [
        (of_group("commit", 1, begun=0), 1, 1),
        (of_group("commit", 1, begun=0, outcome="failed"), 1, 1),
        (of_group("commit", 1, begun=0), -1, 1),
        (of_group("commit", 1, begun=0, outcome="unknown"), 1, 0),
        (of_group("commit", 1, begun=0, over=2), 1, 0),
        (of_group("commit", 1, begun=0), 3, 0),
    ],
    ids=["before", "failed", "nothing", "perhaps later", "at the same time", "the last"],
)
def test_a_look_at_what_a_group_has_committed(first: object, found_offset: int, count: int) -> None:
    truth = healthy()
    truth.of_groups = [first, of_group("commit", 3, begun=1), of_group("committed", found_offset, begun=2)]  # type: ignore[list-item]
    assert len(found("committed-offset-regression", truth)) == count


def test_two_stores_of_one_group_are_not_mixed() -> None:
    truth = healthy()
    in_znodes, in_kafka, look = of_group("commit", 4, begun=0), of_group("commit", 3, begun=1), "committed"
    truth.of_groups = [msgspec.structs.replace(in_znodes, in_znodes=True), in_kafka, of_group(look, 3, begun=2)]
    assert (len(found("group-ahead-of-log", truth)), found("committed-offset-regression", truth)) == (1, [])
    truth.of_groups[2] = msgspec.structs.replace(of_group(look, 3, begun=2), in_znodes=True)
    assert len(found("committed-offset-regression", truth)) == 1
    never_ended = msgspec.structs.replace(of_group("commit", 3, begun=0, over=-1, outcome=""), in_znodes=None)
    truth.of_groups.append(never_ended)
    assert not found("committed-offset-regression", truth)


# --- unknown outcomes ---


def test_fates_of_writes_with_unknown_outcome() -> None:
    truth = healthy()
    truth.writes += [write("c", -1, outcome="unknown"), write("x", -1, outcome="unknown")]
    truth.unended = 1
    assert unknown_outcomes(truth) == {"in_log": 1, "not_in_log": 1, "open": 1}
    truth.leaders = []
    assert unknown_outcomes(truth) == {"in_log": 0, "not_in_log": 0, "open": 3}
