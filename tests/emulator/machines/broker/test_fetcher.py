"""The replica fetcher: start offset, truncation, errors (semantics 1.7, 2)."""

import pytest

from protocol.errors import ErrorCode
from protocol.events import FetcherChanged, LogTruncated
from protocol.ids import LeaderEpoch, Offset
from protocol.machine import Send
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    DivergingEpoch,
    EpochEnd,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from protocol.records.format import encode
from verification.broker_bench import T0, Bench, batch, state

WITH_EPOCHS = ("0.11", "1.1", "2.0.0", "2.0.1", "2.1", "2.3", "2.6")


def follower(version: str, records: int = 3, high_watermark: int = 1, epoch: int = 1, **settings: object) -> Bench:
    """Led once (epoch 0, so many records), now follows broker-1; its fetcher is connected."""
    bench = Bench(version, **settings)  # type: ignore[arg-type]
    bench.lead(0, isr=(0, 1))
    for number in range(records):
        bench.produce(f"v{number}")
    bench.log.high_watermark = Offset(high_watermark)
    bench.follow(leader=1, epoch=epoch)
    bench.advance(0.0)
    bench.establish(bench.opened("fetcher")[-1])
    return bench


def epoch_request(bench: Bench) -> Message:
    return bench.last_sent(bench.opened("fetcher")[-1]).message


def fetch(bench: Bench) -> tuple[int, int, int]:
    """(offset, current leader epoch, last fetched epoch) of the fetch under way."""
    message = epoch_request(bench)
    assert isinstance(message, FetchRequest), message
    (one,) = message.partitions
    return one.fetch_offset, one.current_leader_epoch, one.last_fetched_epoch


def question(bench: Bench) -> tuple[int, int]:
    message = epoch_request(bench)
    assert isinstance(message, OffsetForLeaderEpochRequest), message
    (one,) = message.partitions
    return one.leader_epoch, one.current_leader_epoch


def answer(bench: Bench, message: Message) -> None:
    bench.respond(bench.opened("fetcher")[-1], message)


def epoch_ends(bench: Bench, epoch: int, end: int, error: int = 0) -> None:
    answer(bench, OffsetForLeaderEpochResponse([EpochEnd(*T0, error, LeaderEpoch(epoch), Offset(end))]))


def fetched(
    bench: Bench, records: bytes = b"", high_watermark: int = 0, error: int = 0, **more: DivergingEpoch
) -> None:
    answer(
        bench,
        FetchResponse(
            [FetchedPartition(*T0, error, Offset(high_watermark), Offset(0), more.get("diverging"), records)]
        ),
    )


def cuts(bench: Bench) -> list[tuple[int, bool, str]]:
    return [(event.to, event.effective, event.reason) for event in bench.events(LogTruncated)]


def changes(bench: Bench) -> list[str]:
    return [event.change for event in bench.events(FetcherChanged)]


# --- where it starts (1.7) ---


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2"])
def test_before_epochs_it_fetches_from_its_high_watermark_after_cutting_to_it(version: str) -> None:
    bench = follower(version)
    assert (fetch(bench), cuts(bench)) == ((1, -1, -1), [(1, True, "high-watermark")])


@pytest.mark.parametrize("version", WITH_EPOCHS)
def test_with_epochs_it_sends_an_epoch_request_first(version: str) -> None:
    """The latest cached epoch; from 2.1 with the current leader epoch."""
    bench = follower(version)
    assert question(bench) == (0, 1 if version in ("2.1", "2.3", "2.6") else -1)
    message = epoch_request(bench)
    assert isinstance(message, OffsetForLeaderEpochRequest)
    assert message.replica_id == (0 if version in ("2.3", "2.6") else -2)
    epoch_ends(bench, -1 if version == "0.11" else 0, 2)
    assert cuts(bench) == [(2, True, "epoch")]
    assert fetch(bench) == (2, 1 if version in ("2.1", "2.3", "2.6") else -1, -1)


@pytest.mark.parametrize("version", ["2.7", "2.8"])
def test_truncation_on_fetch_starts_at_the_log_end_and_sends_its_last_epoch(version: str) -> None:
    bench = follower(version)
    assert (fetch(bench), cuts(bench)) == ((3, 1, 0), [])


@pytest.mark.parametrize(("version", "expects_request"), [("0.11", True), ("2.6", False), ("2.8", False)])
def test_without_any_epoch(version: str, expects_request: bool) -> None:
    """E1 asks about -1 all the same; later ones cut to the high watermark without asking."""
    bench = Bench(version)
    bench.follow(leader=1)
    bench.advance(0.0)
    bench.establish(bench.opened("fetcher")[0])
    assert isinstance(epoch_request(bench), OffsetForLeaderEpochRequest) is expects_request


# --- truncation rounds (2.1) ---


@pytest.mark.parametrize("version", ["0.11", "2.0.0", "2.6"])
def test_an_undefined_answer_cuts_to_the_high_watermark(version: str) -> None:
    bench = follower(version)
    epoch_ends(bench, -1, -1)
    assert [(to, effective) for to, effective, _ in cuts(bench)] == [(1, True)]
    assert fetch(bench)[0] == 1


@pytest.mark.parametrize("version", ["2.0.1", "2.6"])
def test_an_epoch_that_is_not_ours_takes_another_round(version: str) -> None:
    """KIP-279: cut to our end of what is older than the answer.
    Then ask again with the new latest epoch.
    """
    bench = Bench(version)
    for epoch, count in ((0, 2), (3, 2)):
        bench.lead(epoch, isr=(0, 1))
        for number in range(count):
            bench.produce(f"{epoch}-{number}")
    bench.follow(leader=1, epoch=4)
    bench.advance(0.0)
    bench.establish(bench.opened("fetcher")[0])
    assert question(bench)[0] == 3
    epoch_ends(bench, 2, 6)
    assert cuts(bench) == [(2, True, "epoch")]
    bench.effects.clear()
    bench.advance(999.0)
    assert not [one for one in bench.effects if isinstance(one, Send)], "a turn has one round (doWork)"
    bench.advance(1.0)
    assert question(bench)[0] == 0
    epoch_ends(bench, 0, 1)
    assert [to for to, _, _ in cuts(bench)] == [1]
    assert fetch(bench)[0] == 1


def test_others_are_fetched_between_two_rounds() -> None:
    """doWork: maybeTruncate, maybeFetch.
    A partition that is never done (KAFKA-10706) delays no other.
    """
    bench = Bench("2.3")
    for epoch, count in ((0, 2), (3, 2)):
        bench.lead(epoch, isr=(0, 1))
        for number in range(count):
            bench.produce(f"{epoch}-{number}")
    bench.update_metadata()
    bench.leader_and_isr(state(1, 4), state(1, 0, topic_partition=("t", 1)))
    bench.advance(0.0)
    bench.establish(bench.opened("fetcher")[0])
    assert question(bench)[0] == 3
    epoch_ends(bench, 2, 6)
    message = epoch_request(bench)
    assert isinstance(message, FetchRequest) and [one.partition for one in message.partitions] == [1]
    answer(bench, FetchResponse([FetchedPartition("t", 1, 0, Offset(0), Offset(0), None, b"")]))
    assert question(bench)[0] == 0, "and then the next round"


def test_a_divergence_reported_in_the_answer_cuts_and_fetches_on() -> None:
    """E4."""
    bench = follower("2.8")
    fetched(bench, diverging=DivergingEpoch(LeaderEpoch(0), Offset(2)))
    assert (cuts(bench), fetch(bench)) == ([(2, True, "diverging")], (2, 1, 0))


# --- fetching ---


def test_records_are_appended_and_the_next_fetch_starts_beyond_them() -> None:
    bench = follower("2.8")
    fetched(bench, batch("x", "y", base_offset=3, epoch=1), high_watermark=4)
    assert (bench.log.log_end, bench.log.high_watermark, fetch(bench)) == (5, 4, (5, 1, 1))
    fetched(bench, high_watermark=5)
    assert (bench.log.high_watermark, fetch(bench)) == (5, (5, 1, 1))


def test_an_answer_counts_only_where_the_request_found_the_partition() -> None:
    """Semantics 2: removed and added again at another offset meanwhile."""
    bench = follower("2.6")
    epoch_ends(bench, 0, 3)
    connection = bench.opened("fetcher")[-1]
    bench.follow(leader=1, epoch=2)
    bench.respond(
        connection, FetchResponse([FetchedPartition(*T0, 0, Offset(9), records=batch("x", base_offset=3, epoch=1))])
    )
    assert bench.log.log_end == 3


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_LEADER_EPOCH])
def test_an_error_delays_by_the_back_off(error: ErrorCode) -> None:
    bench = follower("2.8")
    sent = len(bench.answers(bench.opened("fetcher")[-1]))
    fetched(bench, error=error, high_watermark=-1)
    bench.advance(999.0)
    assert len(bench.answers(bench.opened("fetcher")[-1])) == sent
    bench.advance(1.0)
    assert len(bench.answers(bench.opened("fetcher")[-1])) == sent + 1
    assert changes(bench) == ["added", "delayed"]


def test_fenced_with_the_epoch_it_holds_it_waits_for_an_order() -> None:
    """Semantics 2.2."""
    bench = follower("2.8")
    fetched(bench, error=ErrorCode.FENCED_LEADER_EPOCH, high_watermark=-1)
    sent = len(bench.answers(bench.opened("fetcher")[-1]))
    bench.advance(60_000.0)
    assert (len(bench.answers(bench.opened("fetcher")[-1])), changes(bench)) == (sent, ["added", "failed"])
    bench.follow(leader=1, epoch=2)
    assert changes(bench)[-1] == "added"


def test_fenced_while_a_request_is_under_way() -> None:
    bench = follower("2.6")
    epoch_ends(bench, -1, -1, ErrorCode.FENCED_LEADER_EPOCH)
    assert (changes(bench), cuts(bench)) == (["added", "failed"], [])


def test_a_damaged_answer_is_requested_again() -> None:
    bench = follower("2.8")
    good = batch("x", base_offset=3, epoch=1)
    fetched(bench, good[:-1] + b"?")
    assert (bench.log.log_end, changes(bench)) == (3, ["added", "delayed"])
    bench.advance(1_000.0)
    fetched(bench, good)
    assert bench.log.log_end == 4


@pytest.mark.parametrize(("version", "goes_on"), [("0.8.2", False), ("0.10.2", True)])
def test_a_damaged_answer_ends_the_fetcher_in_0_8_2(version: str, goes_on: bool) -> None:
    """Its next offset is taken for fetched, and the log does not end there.
    "Offset mismatch", and the thread dies.
    """
    bench = follower(version, high_watermark=3)
    good = batch("x", base_offset=3, magic=bench.magic)
    fetched(bench, good[:-1] + b"?")
    assert changes(bench)[-1] == ("delayed" if goes_on else "failed")
    bench.advance(1_000.0)
    assert len(bench.answers(bench.opened("fetcher")[-1])) == (2 if goes_on else 1)


@pytest.mark.parametrize(("version", "revived"), [("2.2", False), ("2.3", True), ("2.8", True)])
def test_an_append_that_fails_unexpectedly(version: str, revived: bool) -> None:
    """Up to 2.2 it kills the thread, which a new order does not revive.
    From 2.3 only the partition waits (2.4).
    """
    bench = follower(version)
    if version != "2.8":
        epoch_ends(bench, 0, 3)
    fetched(bench, batch("x", base_offset=1, epoch=1))
    assert (bench.log.log_end, changes(bench)[-1]) == (3, "failed")
    bench.advance(60_000.0)
    sent = len([e for c in bench.opened("fetcher") for e in bench.answers(c)])
    bench.follow(leader=1, epoch=2)
    bench.advance(1_000.0)
    for connection in bench.opened("fetcher")[1:]:
        bench.establish(connection)
    assert (len([e for c in bench.opened("fetcher") for e in bench.answers(c)]) > sent) is revived


# --- out of range (2.3) ---


def listed(bench: Bench, offset: int) -> int:
    message = epoch_request(bench)
    assert isinstance(message, ListOffsetsRequest), message
    timestamp = message.partitions[0].timestamp
    answer(bench, ListOffsetsResponse([ListedOffset(*T0, 0, Offset(offset))]))
    return timestamp


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "1.1", "2.0.0", "2.0.1", "2.6"])
@pytest.mark.parametrize("unclean", [True, False])
def test_ahead_of_its_leader(version: str, unclean: bool) -> None:
    """Up to 2.0.0 with unclean election off the process exits.
    Otherwise it cuts to the leader's log end.
    """
    bench = follower(version, high_watermark=3, unclean_leader_election_enable=unclean)
    if bench.gates.epoch_request_version >= 0:
        epoch_ends(bench, 0, 3)
    fetched(bench, error=ErrorCode.OFFSET_OUT_OF_RANGE, high_watermark=-1)
    assert listed(bench, 1) == -1
    if bench.gates.out_of_range_exits and not unclean:
        (exit_,) = bench.exits
        assert exit_.code == 1
        assert exit_.reason == "log truncation is not allowed for t-0: the leader ends at 1, this replica at 3"
        return
    assert (bench.exits, bench.log.log_end, fetch(bench)[0]) == ([], 1, 1)


def test_behind_its_leaders_log_start_it_begins_anew() -> None:
    bench = follower("2.8")
    fetched(bench, error=ErrorCode.OFFSET_OUT_OF_RANGE, high_watermark=-1)
    assert (listed(bench, 50), listed(bench, 40)) == (-1, -2)
    assert (bench.log.log_start, bench.log.log_end, fetch(bench)[0]) == (40, 40, 40)


def test_out_of_range_for_no_reason_keeps_what_it_has() -> None:
    """Existing divergence is kept (2.3)."""
    bench = follower("2.8")
    fetched(bench, error=ErrorCode.OFFSET_OUT_OF_RANGE, high_watermark=-1)
    assert (listed(bench, 50), listed(bench, 0)) == (-1, -2)
    assert (bench.log.log_end, fetch(bench)[0]) == (3, 3)


@pytest.mark.parametrize(("version", "begins_at"), [("0.8.2", 0), ("0.10.2", 3)])
def test_out_of_range_for_no_reason_throws_the_log_away_in_0_8_2(version: str, begins_at: int) -> None:
    """KAFKA-2477: 0.8.2 begins at the leader's start, wherever its own log ends."""
    bench = follower(version, high_watermark=3)
    fetched(bench, error=ErrorCode.OFFSET_OUT_OF_RANGE, high_watermark=-1)
    assert (listed(bench, 50), listed(bench, 0)) == (-1, -2)
    assert (bench.log.log_end, fetch(bench)[0]) == (begins_at, begins_at)


@pytest.mark.parametrize(
    ("version", "ibp", "expects_request"),
    [("0.11", None, True), ("1.1", None, True), ("2.0.1", None, True), ("2.1", None, False), ("2.6", "1.1", False)],
)
def test_a_follower_without_epochs_requests_one_up_to_2_0(version: str, ibp: str | None, expects_request: bool) -> None:
    """By the binary, whatever it speaks (semantics 2.1)."""
    bench = Bench(version, ibp=ibp)
    bench.follow(leader=1, epoch=1)
    bench.advance(0.0)
    bench.establish(bench.opened("fetcher")[-1])
    if expects_request:
        assert question(bench)[0] == -1
        assert cuts(bench) == []
        epoch_ends(bench, -1, -1)
    assert (len(cuts(bench)), fetch(bench)[0]) == (1, 0)


@pytest.mark.parametrize("ibp", ["1.1", "2.6"])
def test_an_answer_to_a_question_of_an_older_leader_epoch_is_dropped(ibp: str) -> None:
    """By the binary (2.1 on), also where requests do not carry the leader epoch (semantics 2.1)."""
    bench = follower("2.6", ibp=ibp)
    assert question(bench)[0] == 0
    bench.follow(leader=1, epoch=2)
    epoch_ends(bench, 0, 2)
    assert cuts(bench) == []
    bench.advance(1_000.0)
    assert question(bench)[0] == 0
    epoch_ends(bench, 0, 2)
    assert [to for to, _, _ in cuts(bench)] == [2]


# --- connections ---


def test_a_lost_connection_is_opened_again_after_a_while() -> None:
    bench = follower("2.8")
    bench.lose(bench.opened("fetcher")[-1])
    assert len(bench.opened("fetcher")) == 1
    bench.advance(2_000.0)
    assert len(bench.opened("fetcher")) == 2
    bench.establish(bench.opened("fetcher")[-1])
    assert fetch(bench) == (3, 1, 0)


def test_one_connection_per_source_and_none_without_partitions() -> None:
    bench = follower("2.8")
    first = bench.opened("fetcher")[-1]
    bench.follow(leader=2, epoch=2)
    bench.advance(0.0)
    assert bench.closed(first)
    assert [bench.opens[c].to for c in bench.opened("fetcher")] == ["broker-1", "broker-2"]


def test_old_wrappers_may_overlap() -> None:
    """KIP-101 case 2, compressed (semantics 11.9).
    The whole wrapper that holds offset 4 is taken.
    """
    bench = Bench("0.10.2")
    bench.follow(leader=1)
    bench.advance(0.0)
    bench.establish(bench.opened("fetcher")[0])
    fetched(bench, encode([b"x"] * 3, magic=1, timestamp_ms=0, base_offset=Offset(1), compression="gzip"))
    assert fetch(bench)[0] == 4
    fetched(bench, encode([b"y"] * 5, magic=1, timestamp_ms=0, base_offset=Offset(1), compression="gzip"))
    assert (fetch(bench)[0], changes(bench)) == (6, ["added"])


# --- a partition without epochs beside one that is asked about ---

U0 = ("u", 0)


def two_followed(version: str) -> Bench:
    """Follows t-0, which has an epoch, and u-0, which is empty, and asks broker-1."""
    bench = Bench(version)
    bench.update_metadata()
    bench.lead(0, isr=(0, 1))
    bench.produce("a")
    bench.leader_and_isr(state(1, 1), state(1, 0, topic_partition=U0))
    bench.advance(0.0)
    bench.establish(bench.opened("fetcher")[-1])
    return bench


def cuts_of(bench: Bench, topic: str) -> list[int]:
    return [event.to for event in bench.events(LogTruncated) if event.topic == topic]


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.6"])
def test_what_needs_no_question_is_cut_after_the_answer_about_the_others(version: str) -> None:
    bench = two_followed(version)
    assert (question(bench), cuts_of(bench, "u")) == ((0, 1), [])
    epoch_ends(bench, 0, 1)
    assert cuts_of(bench, "u") == [0]
    message = epoch_request(bench)
    assert isinstance(message, FetchRequest)
    assert {(one.topic, one.fetch_offset) for one in message.partitions} == {("t", 1), ("u", 0)}


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.6"])
def test_what_needs_no_question_is_cut_though_no_answer_comes(version: str) -> None:
    bench = two_followed(version)
    bench.lose(bench.opened("fetcher")[-1])
    assert cuts_of(bench, "u") == [0]


@pytest.mark.parametrize(("version", "ends"), [("2.1", True), ("2.2", False), ("2.3", False), ("2.6", False)])
def test_a_partition_that_is_removed_while_others_are_in_a_request(version: str, ends: bool) -> None:
    """KAFKA-8012. The thread that has ended is replaced when none of its partitions is left."""
    bench = two_followed(version)
    source = bench.opened("fetcher")[-1]
    bench.leader_and_isr(state(2, 1, (2, 1), topic_partition=U0))
    bench.respond(source, OffsetForLeaderEpochResponse([EpochEnd(*T0, 0, LeaderEpoch(0), Offset(1))]))
    assert (bench.fetching() == "stopped") is ends
    failed = [event.topic for event in bench.events(FetcherChanged) if event.change == "failed"]
    assert failed == (["t"] if ends else [])
    assert bench.broker.fetchers.activity(U0, bench.now_ms) != "stopped"
    bench.leader_and_isr(state(0, 2))
    bench.leader_and_isr(state(1, 3))
    assert bench.fetching() != "stopped"


@pytest.mark.parametrize("version", ["2.1", "2.6"])
def test_a_partition_that_is_removed_while_no_request_is_open(version: str) -> None:
    bench = Bench(version)
    bench.update_metadata()
    bench.leader_and_isr(state(1, 0), state(1, 0, topic_partition=U0))
    bench.leader_and_isr(state(2, 1, (2, 1), topic_partition=U0))
    bench.advance(0.0)
    assert bench.fetching() == "fetching"
