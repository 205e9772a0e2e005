"""ListOffsets 0 of a client: beginnings of segments.

Source: Log.legacyFetchOffsetsBefore."""

import pytest

from protocol.errors import ErrorCode
from protocol.ids import Offset
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from protocol.records.format import encode
from verification.broker_bench import T0, Bench

BATCHES = 3
"""A segment each."""


def segmented(version: str, readable: int = BATCHES) -> Bench:
    """A log whose batches, of 100 ms, 200 ms and 300 ms, are a segment each.

    Consumers may read up to `readable`."""
    bench = Bench(version, log_segment_bytes=120)
    bench.update_metadata(live=(0, 1))
    bench.lead(isr=(0, 1))
    for number in range(1, BATCHES + 1):
        records = encode([b"v" * 40], magic=bench.magic, timestamp_ms=100 * number)
        bench.log.append_as_leader(records, bench.partition.leader_epoch)
    bench.fetch(readable, replica=1)
    assert (len(bench.log.segments), bench.log.high_watermark) == (BATCHES, readable)
    return bench


def listed(bench: Bench, timestamp: int, most: int = 10) -> ListedOffset:
    question = ListOffsetsPartition(*T0, timestamp, offsets_max=most)
    answer = bench.answer(bench.ask(ListOffsetsRequest(CONSUMER_REPLICA_ID, [question])), ListOffsetsResponse)
    return answer.partitions[0]


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.8"])
@pytest.mark.parametrize(
    ("timestamp", "most", "offsets"),
    [
        (LATEST_TIMESTAMP, 10, [3, 2, 1, 0]),
        (LATEST_TIMESTAMP, 1, [3]),
        (LATEST_TIMESTAMP, 0, []),
        (EARLIEST_TIMESTAMP, 10, [0]),
        (99, 10, []),
        (200, 10, [1, 0]),
        (299, 1, [1]),
        (1 << 60, 2, [3, 2]),
    ],
)
def test_the_beginnings_of_segments_are_listed(version: str, timestamp: int, most: int, offsets: list[int]) -> None:
    found = listed(segmented(version), timestamp, most)
    assert (found.error, found.offsets) == (ErrorCode.NONE, offsets)


def test_nothing_above_the_high_watermark_is_listed() -> None:
    assert listed(segmented("2.8", readable=1), LATEST_TIMESTAMP).offsets == [1, 1, 0]
    assert listed(segmented("2.8", readable=0), EARLIEST_TIMESTAMP).offsets == [0]


def test_a_log_begins_where_records_were_deleted() -> None:
    bench = segmented("2.8")
    bench.log.increment_log_start(Offset(1))
    assert listed(bench, EARLIEST_TIMESTAMP).offsets == [1]


def test_absurd_questions_are_answered() -> None:
    assert listed(segmented("2.8"), LATEST_TIMESTAMP, -1).error == ErrorCode.UNKNOWN_SERVER_ERROR
    bench = segmented("2.8")
    bench.follow(leader=1, epoch=9)
    assert listed(bench, LATEST_TIMESTAMP).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
