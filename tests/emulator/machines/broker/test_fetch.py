"""Fetch, ListOffsets and OffsetForLeaderEpoch answers of a leader.
Semantics 1.9, 2.1, 2.2.
"""

import pytest

from protocol.errors import ErrorCode
from protocol.ids import EPOCH_UNKNOWN, BrokerId, LeaderEpoch, Offset
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    LATEST_TIMESTAMP,
    EpochEnd,
    EpochRequest,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProducePartition,
    ProduceRequest,
)
from protocol.records.format import encode, iter_headers
from verification.broker_bench import T0, Bench


def leader(version: str = "2.6", isr: tuple[int, ...] = (0, 1), records: int = 3, epoch: int = 0) -> Bench:
    bench = Bench(version)
    bench.lead(epoch, isr=isr)
    for number in range(records):
        bench.produce(f"v{number}")
    return bench


def count(records: bytes) -> int:
    return len(list(iter_headers(records)))


def test_consumers_read_to_the_high_watermark_followers_to_the_log_end() -> None:
    bench = leader()
    bench.fetch(1, replica=1)
    assert bench.log.high_watermark == 1
    assert count(bench.fetched(bench.fetch(0)).records) == 1
    assert count(bench.fetched(bench.fetch(0, replica=1)).records) == 3


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "0.11", "2.3", "2.8"])
def test_a_high_watermark_within_a_batch_lets_no_consumer_read_it(version: str) -> None:
    """LogSegment.read: what is read ends where the batch begins that holds the high watermark."""
    bench = leader(version, records=1)
    bench.produce(records=encode([b"a", b"b", b"c"], magic=bench.magic, timestamp_ms=0, compression="gzip"))
    bench.produce("last")
    bench.fetch(3, replica=1)
    assert (bench.log.high_watermark, bench.log.log_end) == (3, 5)
    assert count(bench.fetched(bench.fetch(0)).records) == 1
    for offset in (1, 2):
        answer = bench.fetched(bench.fetch(offset))
        assert (answer.error, answer.records, answer.high_watermark, answer.incomplete) == (0, b"", 3, False)
    parked = bench.fetch(1, wait_ms=500)
    assert not bench.answers(parked)
    bench.fetch(4, replica=1)
    assert count(bench.fetched(parked).records) == 1, "the whole batch is there"


def test_between_high_watermark_and_log_end_a_consumer_gets_nothing_and_no_error() -> None:
    bench = leader()
    for offset in (0, 1, 2, 3):
        answer = bench.fetched(bench.fetch(offset))
        assert (answer.error, answer.records, answer.high_watermark) == (0, b"", 0)


def test_up_to_0_9_a_consumer_between_high_watermark_and_log_end_receives_an_error() -> None:
    """Semantics 1.9: a maximum below the start of a read fails the read.
    LogSegment.read of 0.8.2.2 throws there.
    """
    bench = leader("0.8.2")
    bench.fetch(1, replica=1)
    assert bench.log.high_watermark == 1
    above = bench.fetched(bench.fetch(2, wait_ms=500))
    assert (above.error, above.records, above.high_watermark) == (ErrorCode.UNKNOWN_SERVER_ERROR, b"", -1)
    for offset, found in ((0, 1), (1, 0), (3, 0)):
        answer = bench.fetched(bench.fetch(offset))
        assert (answer.error, count(answer.records)) == (0, found), "at either of the two there is nothing yet"
    assert count(bench.fetched(bench.fetch(2, replica=1)).records) == 1, "a follower reads on"


@pytest.mark.parametrize(
    ("version", "errors"), [("0.8.2", [-1, -1]), ("0.11", [-1, -1]), ("1.0", [0, 3]), ("2.8", [0, 3])]
)
def test_a_follower_that_is_not_assigned(version: str, errors: list[int]) -> None:
    """Semantics 1.2: NotAssignedReplicaException fails the whole fetch.
    From 1.0 the partition comes empty.
    """
    bench = leader(version)
    requested = [FetchPartition("t", 0, Offset(0)), FetchPartition("strange", 0, Offset(0))]
    results = bench.answer(bench.ask(FetchRequest(BrokerId(9), 0, 1, 1_048_576, requested)), FetchResponse).partitions
    assert [(result.error, result.records) for result in results] == [(error, b"") for error in errors]


def test_a_follower_that_is_not_assigned_is_given_records_when_its_wait_is_over() -> None:
    """Semantics 1.2: DelayedFetch reads again, and does not look who asks."""
    bench = leader()
    parked = bench.fetch(0, replica=9, wait_ms=500)
    bench.produce("another")
    assert bench.answers(parked) == [], "an append wakes no fetch that waits for nothing"
    bench.advance(500.0)
    assert count(bench.fetched(parked).records) == 4
    assert 9 not in bench.partition.remotes


@pytest.mark.parametrize("replica", [-1, 1])
def test_beyond_the_log_end_is_out_of_range(replica: int) -> None:
    bench = leader()
    assert bench.fetched(bench.fetch(4, replica)).error == ErrorCode.OFFSET_OUT_OF_RANGE
    assert bench.fetched(bench.fetch(4, replica, wait_ms=500)).error == ErrorCode.OFFSET_OUT_OF_RANGE


def test_below_the_log_start_is_out_of_range() -> None:
    bench = leader()
    bench.log.truncate_fully(Offset(10))
    assert bench.fetched(bench.fetch(9)).error == ErrorCode.OFFSET_OUT_OF_RANGE


def test_parked_until_data_comes() -> None:
    bench = leader(isr=(0,))
    parked = bench.fetch(3, wait_ms=500)
    assert bench.answers(parked) == []
    bench.produce("d")
    assert count(bench.fetched(parked).records) == 1
    assert not any(key[0] == "fetch-wait" for key in bench.timers)


def test_parked_until_enough_data_has_come() -> None:
    bench = leader(isr=(0,))
    size = bench.log.segments[0].headers[0].size_bytes
    parked = bench.fetch(3, wait_ms=500, min_bytes=2 * size)
    bench.produce("v3")
    assert bench.answers(parked) == []
    bench.produce("v4")
    assert count(bench.fetched(parked).records) == 2


def test_parked_until_time_is_up() -> None:
    bench = leader()
    parked = bench.fetch(3, wait_ms=500)
    bench.advance(499.0)
    assert bench.answers(parked) == []
    bench.advance(1.0)
    assert (bench.fetched(parked).error, bench.fetched(parked).records) == (0, b"")


def test_lost_leadership_ends_waiting() -> None:
    bench = leader()
    parked = bench.fetch(3, replica=1, wait_ms=500)
    bench.follow(leader=1, epoch=1)
    assert bench.fetched(parked).error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_no_partitions_are_answered_at_once() -> None:
    bench = leader()
    connection = bench.ask(FetchRequest(BrokerId(1), 500, 1, 1000, []))
    assert bench.answer(connection, FetchResponse).partitions == []


def test_max_bytes_bounds_the_answer_but_never_starves_it() -> None:
    bench = leader(isr=(0,))
    size = bench.log.segments[0].headers[0].size_bytes
    assert count(bench.fetched(bench.fetch(0, max_bytes=2 * size)).records) == 2
    assert count(bench.fetched(bench.fetch(0, max_bytes=1)).records) == 1


# --- fencing (2.2) ---


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(-1, 0), (3, 0), (2, ErrorCode.FENCED_LEADER_EPOCH), (4, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_the_leader_epoch_of_a_request_is_checked(epoch: int, error: int) -> None:
    bench = leader(epoch=3)
    assert bench.fetched(bench.fetch(0, replica=1, current_leader_epoch=epoch)).error == error
    requested = ListOffsetsRequest(BrokerId(1), [ListOffsetsPartition(*T0, -1, LeaderEpoch(epoch))])
    assert bench.answer(bench.ask(requested), ListOffsetsResponse).partitions[0].error == error
    question = OffsetForLeaderEpochRequest([EpochRequest(*T0, LeaderEpoch(3), LeaderEpoch(epoch))])
    assert bench.answer(bench.ask(question), OffsetForLeaderEpochResponse).partitions[0].error == error


def test_a_follower_is_fenced_even_by_a_broker_that_leads_no_more() -> None:
    bench = leader(epoch=3)
    bench.follow(leader=1, epoch=4)
    assert bench.fetched(bench.fetch(0, replica=1, current_leader_epoch=3)).error == ErrorCode.FENCED_LEADER_EPOCH
    assert bench.fetched(bench.fetch(0, replica=1, current_leader_epoch=4)).error == ErrorCode.NOT_LEADER_OR_FOLLOWER


# --- divergence told in the answer (E4) ---


def diverged() -> Bench:
    """Epoch 0 at [0,3), epoch 2 from 3: log end 5."""
    bench = leader("2.8")
    bench.lead(2, isr=(0, 1))
    bench.produce("x")
    bench.produce("y")
    return bench


@pytest.mark.parametrize(
    ("offset", "last_epoch", "diverging"),
    [(3, 0, None), (5, 2, None), (4, 0, (0, 3)), (5, 1, (0, 3)), (3, 1, (0, 3)), (2, 0, None)],
)
def test_a_diverging_follower_receives_the_divergence(
    offset: int, last_epoch: int, diverging: tuple[int, int] | None
) -> None:
    """Semantics 2.1, E4: e < lastFetchedEpoch or end < fetchOffset."""
    bench = diverged()
    answer = bench.fetched(bench.fetch(offset, replica=1, wait_ms=0, last_fetched_epoch=last_epoch))
    reported = answer.diverging_epoch
    assert (reported and (reported.epoch, reported.end_offset)) == diverging
    assert answer.error == 0
    if diverging:
        assert answer.records == b""
        assert bench.partition.remotes[BrokerId(1)].log_end == -1, "such a fetch never updates the follower's state"


def test_a_last_epoch_from_the_future_is_out_of_range() -> None:
    assert diverged().log.end_offset_for_epoch(LeaderEpoch(3)) == (-1, -1)


def test_below_the_log_start_it_is_out_of_range_without_a_divergence() -> None:
    """Partition.readRecords: whether its epoch diverges or not."""
    bench = diverged()
    bench.log.high_watermark = bench.log.log_end
    bench.log.increment_log_start(Offset(1))
    reported = bench.fetched(bench.fetch(0, replica=1, last_fetched_epoch=1))
    assert (reported.error, reported.diverging_epoch) == (ErrorCode.OFFSET_OUT_OF_RANGE, None)
    bench = diverged()
    answer = bench.fetched(bench.fetch(5, replica=1, last_fetched_epoch=3))
    assert answer.error == ErrorCode.OFFSET_OUT_OF_RANGE


# --- questions ---


@pytest.mark.parametrize(("version", "below_first"), [("0.11", (-1, -1)), ("2.0.0", (-1, -1)), ("2.0.1", (1, 0))])
def test_where_epochs_end(version: str, below_first: tuple[int, int]) -> None:
    """Semantics 2.1: KIP-101 answers an offset alone; the rest is the cache's own test."""
    bench = leader(version, epoch=2)
    bench.lead(5, isr=(0, 1))
    bench.produce("x")

    def ends(epoch: int) -> tuple[int, int]:
        question = OffsetForLeaderEpochRequest([EpochRequest(*T0, LeaderEpoch(epoch))])
        requested = bench.ask(question, bench.gates.epoch_request_version)
        answer = bench.answer(requested, OffsetForLeaderEpochResponse)
        (one,) = answer.partitions
        assert isinstance(one, EpochEnd)
        return one.leader_epoch, one.end_offset

    known = -1 if version == "0.11" else 2
    assert ends(2) == (known, 3)
    assert ends(4) == (known, 3)
    assert ends(5) == (-1 if version == "0.11" else 5, 4)
    assert ends(6) == (-1, -1)
    assert ends(1) == below_first
    assert ends(-1) == (-1, -1)


def test_kip_101_with_nothing_cached_answers_its_log_end() -> None:
    """Semantics 2.1: q = -1, undefined, but the log end if its own cache is empty too."""
    bench = leader("0.11", records=0)
    question = OffsetForLeaderEpochRequest([EpochRequest(*T0, EPOCH_UNKNOWN)])
    assert bench.answer(bench.ask(question), OffsetForLeaderEpochResponse).partitions[0].end_offset == 0


def test_log_start_and_ends() -> None:
    bench = leader()
    bench.fetch(1, replica=1)

    def listed(timestamp: int, replica: int) -> ListedOffset:
        requested = ListOffsetsRequest(BrokerId(replica), [ListOffsetsPartition(*T0, timestamp)])
        return bench.answer(bench.ask(requested), ListOffsetsResponse).partitions[0]

    assert (listed(-1, 1).offset, listed(-1, -1).offset, listed(-2, 1).offset) == (3, 1, 0)


@pytest.mark.parametrize(("version", "error"), [("2.1", 0), ("2.2", ErrorCode.OFFSET_NOT_AVAILABLE)])
def test_latest_while_the_high_watermark_is_behind_the_election(version: str, error: int) -> None:
    """Semantics 1.9."""
    bench = leader(version)
    bench.lead(1, isr=(0, 1))
    requested = ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*T0, -1)])
    assert bench.answer(bench.ask(requested, 5), ListOffsetsResponse).partitions[0].error == error
    older = ErrorCode.LEADER_NOT_AVAILABLE if error else ErrorCode.NONE
    assert bench.answer(bench.ask(requested, 4), ListOffsetsResponse).partitions[0].error == older
    bench.fetch(3, replica=1)
    assert bench.answer(bench.ask(requested), ListOffsetsResponse).partitions[0].offset == 3


def test_a_time_that_is_below_the_high_watermark_is_found_meanwhile() -> None:
    """Partition.fetchOffsetForTimestamp: only what is not found there is not available."""
    bench = Bench("2.8")
    bench.lead(0, isr=(0, 1))
    for time_ms in (10, 20):
        records = encode([b"v"], magic=2, timestamp_ms=time_ms)
        bench.ask(ProduceRequest(1, 0, [ProducePartition(*T0, records)]))
    bench.fetch(1, replica=1)
    bench.lead(1, isr=(0, 1))

    def listed(time_ms: int) -> ListedOffset:
        requested = ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*T0, time_ms)])
        return bench.answer(bench.ask(requested, 5), ListOffsetsResponse).partitions[0]

    assert [(one.error, one.offset) for one in map(listed, (5, 11))] == [(0, 0), (ErrorCode.OFFSET_NOT_AVAILABLE, -1)]
    bench.fetch(2, replica=1)
    assert [(one.error, one.offset) for one in map(listed, (11, 21))] == [(0, 1), (0, -1)]


@pytest.mark.parametrize(("version", "epochs"), [("2.1", (-1, -1, -1)), ("2.2", (0, 7, 0)), ("2.8", (0, 7, 0))])
def test_epochs_of_listed_offsets(version: str, epochs: tuple[int, int, int]) -> None:
    """Earliest, latest and by time: Log.fetchOffsetByTimestamp, 2.2 on."""
    bench = Bench(version)
    bench.lead(0, isr=(0,))
    bench.produce("a")
    bench.lead(7, isr=(0,))

    def listed(timestamp: int) -> int:
        requested = ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*T0, timestamp)])
        return bench.answer(bench.ask(requested, 4), ListOffsetsResponse).partitions[0].leader_epoch

    assert tuple(map(listed, (-2, -1, 0))) == epochs


def test_records_older_than_the_first_epoch_have_none() -> None:
    """Before an upgrade of the record format no epochs were noted."""
    bench = Bench("2.8")
    bench.lead(3, isr=(0,))
    bench.produce("a")
    bench.log.epochs.entries = [(LeaderEpoch(3), Offset(1))]
    requested = ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*T0, -2)])
    assert bench.answer(bench.ask(requested, 4), ListOffsetsResponse).partitions[0].leader_epoch == -1


def test_the_first_record_of_a_time_or_later_below_the_high_watermark() -> None:
    """KIP-79, Log.fetchOffsetByTimestamp."""
    bench = Bench()
    bench.lead(0, isr=(0, 1))
    for number, time_ms in enumerate((10, 30, 20, 40)):
        records = encode([f"v{number}".encode(), b"w"], magic=2, timestamp_ms=time_ms)
        bench.ask(ProduceRequest(1, 0, [ProducePartition(*T0, records)]))
    bench.fetch(6, replica=1)

    def listed(time_ms: int) -> ListedOffset:
        requested = ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*T0, time_ms)])
        return bench.answer(bench.ask(requested), ListOffsetsResponse).partitions[0]

    assert [(found.offset, found.timestamp_ms) for found in map(listed, (0, 10, 11, 30))] == [
        (0, 10), (0, 10), (2, 30), (2, 30),
    ]  # fmt: skip
    assert (listed(31).error, listed(31).offset, listed(31).timestamp_ms) == (0, -1, -1), "40 is above it"


def test_messages_without_a_timestamp_are_not_found_by_it() -> None:
    requested = ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*T0, 5)])
    bench = leader("0.8.2")
    found = bench.answer(bench.ask(requested), ListOffsetsResponse).partitions[0]
    assert found.error == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


@pytest.mark.parametrize("version", ["0.10.2", "2.8"])
def test_a_partition_that_is_listed_twice_is_no_question(version: str) -> None:
    """ListOffsetsRequest.duplicatePartitions: answered, each time, and not looked up."""
    bench = Bench(version)
    bench.lead(isr=(0,))
    bench.produce("a")
    requested = [ListOffsetsPartition("t", number, LATEST_TIMESTAMP) for number in (0, 1, 0)]
    answer = bench.answer(bench.ask(ListOffsetsRequest(CONSUMER_REPLICA_ID, requested)), ListOffsetsResponse)
    unknown, twice = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_REQUEST
    assert [one.error for one in answer.partitions] == [twice, unknown, twice]
