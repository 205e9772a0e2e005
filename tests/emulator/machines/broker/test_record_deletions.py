"""DeleteRecords, from the leader's log over followers to a restart (semantics 1.10)."""

import pytest

from emulator.machines.broker.settings import with_topic_overrides
from emulator.storage.log_directory import LOG_STARTS
from protocol.errors import ErrorCode
from protocol.events import FetcherChanged, LogLoaded, LogStartMoved
from protocol.ids import EPOCH_DURING_DELETE, BrokerId, ControllerEpoch, Offset
from protocol.messages.administration import (
    DeletedRecords,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
)
from protocol.messages.leadership_messages import StoppedPartition, StopReplicaRequest
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    EARLIEST_TIMESTAMP,
    EpochEnd,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from verification.broker_bench import T0, Bench, batch, state

KIP_107 = ("0.11", "1.1", "2.3", "2.8")
UNKNOWN = -1


def leader(version: str = "2.6", records: int = 5, **settings: int) -> Bench:
    """In sync with broker-1; broker-2 is assigned, too, and not there."""
    bench = Bench(version, **settings)  # type: ignore[arg-type]
    bench.update_metadata(live=(0, 1))
    bench.lead(isr=(0, 1))
    for number in range(records):
        bench.produce(f"v{number}")
    bench.fetch(records, replica=1)
    assert bench.log.high_watermark == records
    return bench


def delete(bench: Bench, offset: int, timeout_ms: int = 1_000, topic: str = "t") -> int:
    return bench.ask(DeleteRecordsRequest([DeleteRecordsPartition(topic, 0, offset)], timeout_ms))


def deleted(bench: Bench, connection: int) -> tuple[int, int]:
    (found,) = bench.answer(connection, DeleteRecordsResponse).partitions
    assert isinstance(found, DeletedRecords)
    return found.error, found.low_watermark


def at_once(bench: Bench, offset: int, topic: str = "t") -> tuple[int, int]:
    return deleted(bench, delete(bench, offset, topic=topic))


@pytest.mark.parametrize("version", KIP_107)
def test_the_response_waits_until_a_follower_reports_that_it_begins_there(version: str) -> None:
    bench = leader(version)
    waiting = delete(bench, 3)
    assert bench.answers(waiting) == [] and bench.log.log_start == 3
    answered = bench.fetched(bench.fetch(5, replica=1))
    assert (answered.log_start, bench.answers(waiting)) == (3, []), "it has only been told"
    bench.fetch(5, replica=1, log_start=Offset(3))
    assert deleted(bench, waiting) == (0, 3)
    assert not [key for key in bench.timers if key[0] == "delete-records-wait"]
    (moved,) = bench.events(LogStartMoved)
    assert (moved.log_start, moved.previous, moved.reason, moved.epochs) == (3, 0, "requested", "0:3")


def test_a_silent_follower_lets_it_time_out_and_the_records_are_gone_all_the_same() -> None:
    bench = leader()
    waiting = delete(bench, 3)
    bench.advance(999.0)
    assert bench.answers(waiting) == []
    bench.advance(1.0)
    assert deleted(bench, waiting) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert bench.fetched(bench.fetch(2)).error == ErrorCode.OFFSET_OUT_OF_RANGE
    assert bench.fetched(bench.fetch(3)).error == 0


def test_only_replicas_whose_broker_lives_are_waited_for_in_sync_or_not() -> None:
    bench = leader()
    bench.fetch(5, replica=1, log_start=Offset(2))
    assert at_once(bench, 2) == (0, 2), "broker-2 is not there"
    bench.update_metadata(live=(0, 1, 2))
    waiting = delete(bench, 2)
    assert bench.answers(waiting) == [], "of broker-2 it is not known"
    bench.advance(1_000.0)
    assert deleted(bench, waiting) == (ErrorCode.REQUEST_TIMED_OUT, UNKNOWN)


def test_minus_one_is_the_high_watermark_and_above_it_nothing_is_deleted() -> None:
    bench = leader()
    bench.produce("not yet")
    for offset in (6, 7, -2):
        assert at_once(bench, offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, UNKNOWN)
    assert bench.log.log_start == 0
    delete(bench, -1)
    assert bench.log.log_start == 5
    bench.fetch(5, replica=1, log_start=Offset(5))
    assert at_once(bench, 3) == (0, 5), "below the start there is nothing to delete"


def test_errors_are_kafkas() -> None:
    bench = leader()
    assert at_once(bench, 1, "__consumer_offsets") == (ErrorCode.INVALID_TOPIC_EXCEPTION, UNKNOWN)
    assert at_once(bench, 1, "unknown") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN)
    waiting = delete(bench, 1)
    bench.follow(leader=1, epoch=1)
    assert at_once(bench, 1) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, UNKNOWN)
    bench.advance(999.0)
    assert bench.answers(waiting) == [], "who waits at a leader that is deposed is not looked at"
    bench.advance(1.0)
    assert deleted(bench, waiting) == (ErrorCode.REQUEST_TIMED_OUT, 0)


@pytest.mark.parametrize(("version", "start"), [("0.11", 2), ("1.0", 0), ("2.8", 0)])
def test_a_compacted_topic_refuses_and_0_11_has_done_it_by_then(version: str, start: int) -> None:
    """Partition.deleteRecordsOnLeader looks at the policy first from 1.0 on."""
    bench = leader(version)
    bench.broker.replicas.configure("t", {"cleanup.policy": "compact"})
    assert at_once(bench, 2) == (ErrorCode.POLICY_VIOLATION, UNKNOWN)
    assert bench.log.log_start == start
    bench.broker.replicas.configure("t", {"cleanup.policy": "compact,delete"})
    delete(bench, 3)
    assert bench.log.log_start == 3


def numbered(value: str, sequence: int) -> bytes:
    return batch(value, producer_id=7, producer_epoch=0, base_sequence=sequence)


def test_an_unknown_producer_receives_the_log_start() -> None:
    """LogAppendInfo.unknownLogAppendInfoWithLogStartOffset, 1.0 on.
    So it knows that nothing of its own was lost.
    """
    bench = leader("2.3", records=0)
    bench.produce(records=numbered("a", 0))
    bench.fetch(1, replica=1)
    delete(bench, 1)
    reported = bench.produced(bench.produce(records=numbered("b", 1)))
    assert (reported.error, reported.base_offset, reported.log_start) == (ErrorCode.UNKNOWN_PRODUCER_ID, -1, 1)


def test_so_is_a_request_with_written_records_and_too_few_replicas_in_sync() -> None:
    bench = leader()
    delete(bench, 3)
    assert bench.produced(bench.produce("z")).log_start == 3
    first = bench.produced(bench.produce(records=numbered("a", 0)))
    again = bench.produced(bench.produce(records=numbered("a", 0)))
    assert (again.base_offset, again.log_start) == (first.base_offset, first.log_start) == (6, 3)
    bench.partition.configured(with_topic_overrides(bench.context.settings, {"min.insync.replicas": "3"}))
    reported = bench.produced(bench.produce("y", acks=-1))
    assert (reported.error, reported.log_start) == (ErrorCode.NOT_ENOUGH_REPLICAS, 3)


def test_usual_errors_come_without() -> None:
    """ReplicaManager.appendToLocalLog: UnknownLogAppendInfo."""
    bench = leader(message_max_bytes=200)
    delete(bench, 3)
    large = bench.produced(bench.produce("x" * 300))
    broken = bench.produced(bench.produce(records=b"?"))
    bench.follow(leader=1, epoch=1)
    moved = bench.produced(bench.produce("a"))
    assert [(one.error, one.log_start) for one in (large, broken, moved)] == [(10, -1), (2, -1), (6, -1)]


def test_0_10_2_does_not_have_it() -> None:
    bench = leader("0.10.2")
    connection = delete(bench, 1)
    assert bench.closed(connection) and bench.log.log_start == 0


def test_the_earliest_offset_is_where_the_log_begins_within_a_batch_too() -> None:
    bench = leader(records=0)
    bench.produce("a", "b", "c")
    bench.fetch(3, replica=1)
    delete(bench, 2)
    requested = ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*T0, EARLIEST_TIMESTAMP)])
    assert bench.answer(bench.ask(requested), ListOffsetsResponse).partitions[0].offset == 2
    assert bench.fetched(bench.fetch(2)).records, "the whole batch comes, as Kafka's does"
    assert bench.log.epochs.entries == [(0, 2)]


# --- followers ---


def follower(version: str = "2.6") -> tuple[Bench, int]:
    """Of broker-1, with its connection; it has fetched nothing yet."""
    bench = Bench(version)
    bench.follow()
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.establish(connection)
    return bench, connection


def fetched(high_watermark: int, log_start: int, records: bytes = b"") -> FetchResponse:
    return FetchResponse([FetchedPartition(*T0, 0, Offset(high_watermark), Offset(log_start), None, records)])


def to_fetch(bench: Bench, connection: int) -> FetchRequest:
    message = bench.last_sent(connection).message
    assert isinstance(message, FetchRequest), message
    return message


@pytest.mark.parametrize("version", ["2.3", "2.8"])
def test_a_follower_begins_where_its_leader_does_and_reports_it(version: str) -> None:
    bench, connection = follower(version)
    records = batch("a", "b", epoch=0) + batch("c", base_offset=2, epoch=0)
    assert to_fetch(bench, connection).partitions[0].log_start == 0
    bench.respond(connection, fetched(3, 1, records))
    assert (bench.log.log_start, bench.log.log_end) == (1, 3)
    assert to_fetch(bench, connection).partitions[0].log_start == 1
    (moved,) = bench.events(LogStartMoved)
    assert (moved.reason, moved.log_start) == ("leader", 1)
    bench.respond(connection, fetched(3, 0))
    assert bench.log.log_start == 1, "it only moves forward"


def test_with_an_older_protocol_the_log_start_is_not_sent() -> None:
    """FETCH carries it from version 5 on."""
    bench = Bench("2.6", ibp="0.10.2")
    bench.follow()
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.establish(connection)
    bench.respond(connection, fetched(0, 0))
    bench.respond(connection, fetched(1, 1, batch("a", magic=1)))
    assert bench.log.log_start == 0


def test_a_start_above_its_high_watermark_fails_the_partition() -> None:
    """ReplicaFetcherThread.processPartitionData.
    An OffsetOutOfRangeException that it does not expect.
    """
    bench, connection = follower()
    bench.respond(connection, fetched(3, 2, batch("a", epoch=0)))
    assert bench.log.log_start == 0
    assert [event.change for event in bench.events(FetcherChanged)][-1] == "failed"


@pytest.mark.parametrize("version", ["0.11", "1.0", "2.3", "2.8"])
def test_an_empty_log_begins_with_the_batch_in_whose_midst_its_leaders_does(version: str) -> None:
    """Partition.appendRecordsToFollower (KAFKA-6975). Before 1.0 the follower stops for good.
    What it is sent begins before its log.
    """
    bench, connection = follower(version)
    if isinstance(bench.last_sent(connection).message, OffsetForLeaderEpochRequest):
        bench.respond(connection, OffsetForLeaderEpochResponse([EpochEnd(*T0)]))
    out_of_range = FetchedPartition(*T0, ErrorCode.OFFSET_OUT_OF_RANGE, Offset(-1), Offset(-1), None, b"")
    bench.respond(connection, FetchResponse([out_of_range]))
    for offset in (3, 1):  # where its leader's log ends, and where it begins
        bench.respond(connection, ListOffsetsResponse([ListedOffset(*T0, 0, Offset(offset))]))
    assert to_fetch(bench, connection).partitions[0].fetch_offset == 1
    bench.respond(connection, fetched(3, 1, batch("a", "b", "c", epoch=0)))
    if version == "0.11":
        assert (bench.log.log_end, [event.change for event in bench.events(FetcherChanged)][-1]) == (1, "failed")
        return
    assert (bench.log.log_start, bench.log.log_end, bench.log.high_watermark) == (1, 3, 3)
    assert [segment.base_offset for segment in bench.log.segments] == [0]
    assert to_fetch(bench, connection).partitions[0].fetch_offset == 3


# --- restarts ---


def test_a_start_that_is_checkpointed_survives_a_kill_and_another_one_does_not() -> None:
    """Every log.flush.start.offset.checkpoint.interval.ms, first after 30 s.
    What was deleted since is there again.
    """
    bench = leader()
    delete(bench, 2)
    bench.advance(29_999.0)
    assert not bench.files.exists(LOG_STARTS)
    bench.advance(1.0)
    assert bench.files.read(LOG_STARTS, 0, 100).decode() == "0\n1\nt 0 2\n"
    bench.fetch(5, replica=1, log_start=Offset(2))
    delete(bench, 4)
    bench.advance(59_999.0)
    again = Bench(files=bench.files)
    (loaded,) = again.events(LogLoaded)
    assert (loaded.log_start, loaded.log_end) == (2, 5), "3 and 4 are read again"
    bench.advance(1.0)
    (loaded,) = Bench(files=bench.files).events(LogLoaded)
    assert loaded.log_start == 4


def test_an_orderly_stop_writes_it() -> None:
    bench = leader()
    delete(bench, 3)
    bench.do(bench.broker.stop)
    (loaded,) = Bench(files=bench.files).events(LogLoaded)
    assert (loaded.log_start, loaded.epochs) == (3, "0:3")


def test_the_tasks_go_on_after_a_restart() -> None:
    """Both tasks have work if a log begins within a segment."""
    bench = leader(log_segment_bytes=100)
    delete(bench, 1)
    bench.do(bench.broker.stop)
    assert {("log-start-checkpoint",), ("log-retention",)} <= set(Bench(files=bench.files).timers)
    assert ("log-start-checkpoint",) not in Bench().timers, "as long as nothing was deleted there is nothing to do"


def test_a_log_that_ends_below_its_checkpointed_start_begins_anew_there() -> None:
    """Log.recoverLog, from 2.2."""
    bench = leader()
    delete(bench, 4)
    bench.advance(30_000.0)
    bench.files.truncate("t-0/00000000000000000000.log", 0)
    (loaded,) = Bench(files=bench.files).events(LogLoaded)
    assert (loaded.log_start, loaded.log_end, loaded.high_watermark) == (4, 4, 4)


def test_segments_are_deleted_when_whole_and_by_the_task() -> None:
    """log.retention.check.interval.ms, first after 30 s; the last segment stays."""
    bench = leader(log_segment_bytes=100)
    bases = [segment.base_offset for segment in bench.log.segments]
    assert len(bases) > 3
    delete(bench, bases[2] + 0)
    assert [segment.base_offset for segment in bench.log.segments] == bases
    bench.advance(30_000.0)
    assert [segment.base_offset for segment in bench.log.segments] == bases[2:]
    assert len([name for name in bench.files.list("t-0") if name.endswith(".log")]) == len(bases) - 2
    bench.fetch(5, replica=1, log_start=bases[2])
    delete(bench, -1)
    bench.advance(300_000.0)
    assert [segment.base_offset for segment in bench.log.segments] == bases[-1:]
    bench.do(bench.broker.stop)
    (loaded,) = Bench(files=bench.files).events(LogLoaded)
    assert (loaded.log_start, loaded.log_end) == (5, 5)


@pytest.mark.parametrize(("version", "error"), [("2.3", ErrorCode.UNKNOWN_PRODUCER_ID), ("2.4", ErrorCode.NONE)])
def test_producers_whose_batches_are_deleted_are_unknown_up_to_2_3(version: str, error: ErrorCode) -> None:
    """ProducerStateManager.truncateHead; KIP-360."""
    bench = leader(version, records=0)
    bench.produce(records=batch("a", producer_id=7, producer_epoch=0, base_sequence=0))
    bench.fetch(1, replica=1)
    delete(bench, 1)
    wanted = bench.produced(bench.produce(records=batch("b", producer_id=7, producer_epoch=0, base_sequence=1)))
    assert wanted.error == error


def test_a_cut_below_the_start_of_a_log_takes_the_start_along() -> None:
    """Log.truncateTo: within the first segment it is cut, not begun anew."""
    bench = leader()
    delete(bench, 4)
    bench.log.truncate_to(Offset(2))
    assert (bench.log.log_start, bench.log.log_end, bench.log.high_watermark) == (2, 2, 2)
    assert bench.log.epochs.entries == []


@pytest.mark.parametrize("version", KIP_107)
def test_a_topic_made_anew_does_not_begin_where_the_deleted_one_did(version: str) -> None:
    """LogManager.asyncDelete writes the starts of its directory.
    What is acknowledged since is found again. Up to 2.6 only where the directory holds another log
    (LogManager.logsByDir): else the old start is taken for the new log's, and what lies below it is gone.
    """
    for another in (True, False):
        bench = leader(version)
        if another:
            bench.leader_and_isr(state(0, isr=(0,), topic_partition=("u", 0)))
        delete(bench, 4)
        bench.advance(30_000.0)
        stopped = StoppedPartition(*T0, True, EPOCH_DURING_DELETE)
        bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), [stopped]))
        assert (bench.files.read(LOG_STARTS, 0, 100) == b"0\n0\n") == (another or version == "2.8")
        bench.lead(0, isr=(0,))
        bench.produce("a")
        loaded = {event.topic: event for event in Bench(version, files=bench.files).events(LogLoaded)}["t"]
        assert (loaded.log_start == 0) == (another or version == "2.8")
