"""Produce (semantics 1.8, 11.2)."""

import pytest

from emulator.machines.broker.purgatory import PARKED_MAX
from protocol.errors import ErrorCode
from protocol.events import DuplicateAnswered, LeaderEpochBegan
from protocol.ids import EPOCH_DURING_DELETE, BrokerId, ControllerEpoch, LeaderEpoch
from protocol.messages.leadership_messages import StoppedPartition, StopReplicaRequest
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    EARLIEST_TIMESTAMP,
    EpochRequest,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
)
from protocol.records.format import encode, read_header
from verification.broker_bench import T0, Bench, batch, state


def leader(version: str = "2.6", isr: tuple[int, ...] = (0, 1), **settings: int) -> Bench:
    bench = Bench(version, **settings)  # type: ignore[arg-type]
    bench.sessions.znodes["/brokers/topics/t/partitions/0/state"] = (b"{}", 0)
    bench.lead(isr=isr)
    return bench


def outcome(bench: Bench, connection: int) -> tuple[int, int]:
    result = bench.produced(connection)
    return result.error, result.base_offset


def test_acks_1_is_answered_after_the_append() -> None:
    bench = leader()
    assert [outcome(bench, bench.produce(value)) for value in "abc"] == [(0, 0), (0, 1), (0, 2)]
    assert bench.log.high_watermark == 0


def test_acks_0_is_never_answered() -> None:
    bench = leader()
    connection = bench.produce("a", acks=0)
    assert (bench.answers(connection), bench.closed(connection), bench.log.log_end) == ([], False, 1)


def test_acks_0_hangs_up_on_an_error() -> None:
    """The only way to tell the producer."""
    bench = leader()
    bench.follow(leader=1, epoch=1)
    connection = bench.produce("a", acks=0)
    assert (bench.answers(connection), bench.closed(connection)) == ([], True)


@pytest.mark.parametrize("acks", [2, -2, 17])
def test_other_acks_are_invalid(acks: int) -> None:
    bench = leader()
    assert outcome(bench, bench.produce("a", acks=acks)) == (ErrorCode.INVALID_REQUIRED_ACKS, -1)
    assert bench.log.log_end == 0


def test_acks_all_waits_for_the_high_watermark() -> None:
    bench = leader(isr=(0, 1, 2))
    waiting = bench.produce("a", acks=-1)
    bench.fetch(1, replica=1)
    assert bench.answers(waiting) == []
    bench.fetch(1, replica=2)
    assert outcome(bench, waiting) == (0, 0)
    assert ("produce-wait", 1) not in bench.timers


def test_acks_all_is_answered_at_once_by_a_leader_alone() -> None:
    bench = leader(isr=(0,))
    assert outcome(bench, bench.produce("a", acks=-1)) == (0, 0)


def test_a_time_out_leaves_the_data_in_the_log() -> None:
    """Semantics 11.2: 7 comes with the real base offset."""
    bench = leader()
    bench.produce("a")
    waiting = bench.produce("b", acks=-1, timeout_ms=1500)
    bench.advance(1499.0)
    assert bench.answers(waiting) == []
    bench.advance(1.0)
    assert outcome(bench, waiting) == (ErrorCode.REQUEST_TIMED_OUT, 1)
    assert bench.log.log_end == 2
    bench.fetch(2, replica=1)
    assert len(bench.answers(waiting)) == 1, "answered once"


def test_too_few_in_sync_replicas_and_nothing_is_written() -> None:
    """19 comes with -1 (semantics 11.2); acks 0 and 1 do not care."""
    bench = leader(isr=(0,), min_insync_replicas=2)
    assert outcome(bench, bench.produce("a", acks=-1)) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)
    assert bench.log.log_end == 0
    assert outcome(bench, bench.produce("b", acks=1)) == (0, 0)


def test_too_few_after_the_append_and_the_data_stays() -> None:
    """20 comes with the real base offset."""
    bench = leader(isr=(0, 1), min_insync_replicas=2, replica_lag_time_max_ms=1000)
    bench.fetch(0, replica=1)
    waiting = bench.produce("a", acks=-1, timeout_ms=60_000)
    bench.advance(2_000.0)
    assert bench.partition.isr == [0]
    assert outcome(bench, waiting) == (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, 0)
    assert bench.log.log_end == 1


def test_lost_leadership_answers_what_waits() -> None:
    """6 comes with -1; the data stays for now."""
    bench = leader()
    waiting = bench.produce("a", acks=-1)
    bench.follow(leader=1, epoch=1)
    assert outcome(bench, waiting) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert bench.log.log_end == 1


def test_a_higher_epoch_for_the_same_leader_keeps_what_waits() -> None:
    """Semantics 11.5: with a shrunk ISR then 20, not 6."""
    bench = leader(min_insync_replicas=2)
    waiting = bench.produce("a", acks=-1)
    bench.lead(epoch=1, isr=(0,))
    assert outcome(bench, waiting) == (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, 0)


def deleted(bench: Bench) -> None:
    bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), [StoppedPartition(*T0, True, EPOCH_DURING_DELETE)]))


@pytest.mark.parametrize(("version", "to_consumer"), [("2.4", 9), ("2.6", 6), ("2.8", 6)])
def test_a_deleted_replica_answers_what_waits(version: str, to_consumer: int) -> None:
    """KAFKA-9198: 6 where it has moved away, 3 where metadata have lost it.

    `to_consumer`: for 6, to a consumer that may read from followers. Source: ReplicaManager.getPartitionOrError.
    """
    bench = leader(version)
    bench.update_metadata(state(0))
    produce, fetch = bench.produce("a", acks=-1), bench.fetch(0, wait_ms=60_000)
    deleted(bench)
    assert outcome(bench, produce) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert bench.fetched(fetch).error == to_consumer
    bench = leader(version)
    produce, fetch = bench.produce("a", acks=-1), bench.fetch(0, wait_ms=60_000)
    deleted(bench)
    assert outcome(bench, produce) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)
    assert bench.fetched(fetch).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "1.1", "2.3"])
def test_up_to_2_3_what_waits_for_a_deleted_replica_waits_until_its_time_is_over(version: str) -> None:
    """ReplicaManager.stopReplica completes nothing."""
    bench = leader(version)
    produce, fetch = bench.produce("a", acks=-1, timeout_ms=5_000), bench.fetch(0, wait_ms=5_000)
    deleted(bench)
    bench.advance(4_999.0)
    assert bench.answers(produce) == bench.answers(fetch) == []
    bench.advance(1.0)
    assert outcome(bench, produce) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert bench.fetched(fetch).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", ["0.10.2", "2.3"])
def test_up_to_2_3_a_deleted_replica_is_answered_when_another_of_the_request_is_checked(version: str) -> None:
    """DelayedProduce.tryComplete: no such partition, 3."""
    bench = leader(version)
    bench.leader_and_isr(state(0, isr=(0, 1), topic_partition=("t", 1)))
    parts = [ProducePartition("t", number, batch("v", magic=bench.magic)) for number in (0, 1)]
    connection = bench.ask(ProduceRequest(-1, 60_000, parts))
    deleted(bench)
    bench.update_metadata()
    bench.leader_and_isr(state(1, epoch=1, topic_partition=("t", 1)))
    answer = bench.answer(connection, ProduceResponse)
    assert [(p.partition, p.error) for p in answer.partitions] == [(0, 3), (1, 6)]


def test_strangers() -> None:
    """3 for a partition never heard of, 6 for one that is known (semantics 11.12)."""
    bench = Bench("2.6")
    assert outcome(bench, bench.produce("a")) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    bench.update_metadata(state(1))
    assert outcome(bench, bench.produce("a")) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


@pytest.mark.parametrize("version", ["0.8.2", "1.1", "2.0.0", "2.1", "2.8"])
def test_a_broker_that_is_no_replica(version: str) -> None:
    """ReplicaManager: 3 up to 1.1, then 6 (getPartitionAndLeaderReplicaIfLocal).
    To who asks for epochs from 2.1 on.
    """
    old, older = (version in versions for versions in (("0.8.2", "1.1"), ("0.8.2", "1.1", "2.0.0")))
    bench = Bench(version)
    bench.update_metadata(state(1, replicas=(1, 2), isr=(1, 2)))
    expected = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if old else ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert outcome(bench, bench.produce("a")) == (expected, -1)
    assert bench.fetched(bench.fetch(0)).error == expected
    assert bench.fetched(bench.fetch(0, replica=2)).error == expected
    listed = bench.ask(ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*T0, EARLIEST_TIMESTAMP)]))
    assert bench.answer(listed, ListOffsetsResponse).partitions[0].error == expected
    if version != "0.8.2":
        requested = bench.ask(OffsetForLeaderEpochRequest([EpochRequest(*T0, LeaderEpoch(0))], BrokerId(2)))
        of_epochs = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if older else ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert bench.answer(requested, OffsetForLeaderEpochResponse).partitions[0].error == of_epochs


@pytest.mark.parametrize("version", ["0.8.2", "1.1", "2.8"])
def test_a_broker_without_orders_in_this_incarnation_has_no_partition(version: str) -> None:
    """Logs on disk do not matter.
    ReplicaManager.allPartitions is empty, and so is the metadata cache.
    """
    bench = leader(version, isr=(0,))
    bench.produce("a")
    again = Bench(version, files=bench.files)
    assert again.broker.replicas.logs
    assert outcome(again, again.produce("a")) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert again.fetched(again.fetch(0)).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_damaged_batches() -> None:
    bench = leader()
    good = batch("a")
    for data in (good[:-1] + b"?", good[:20], good + b"x", b""):
        assert outcome(bench, bench.produce(records=data)) == (ErrorCode.CORRUPT_MESSAGE, -1)
    assert bench.log.log_end == 0


@pytest.mark.parametrize(("version", "named"), [("1.1", ErrorCode.CORRUPT_MESSAGE), ("2.8", ErrorCode.INVALID_RECORD)])
def test_what_validation_refused_is_answered_in_kafkas_order(version: str, named: ErrorCode) -> None:
    """Leadership and replicas, then refusals by version, size, checksum, LogValidator."""
    bench = leader(version, isr=(0,), message_max_bytes=200)

    def answered(records: bytes, fault: int, acks: int = 1) -> tuple[int, int]:
        request = ProduceRequest(acks, 100, [ProducePartition("t", 0, records, fault)])
        return outcome(bench, bench.ask(request))

    good, large = batch("a"), batch("x" * 300)
    assert answered(good, ErrorCode.INVALID_RECORD) == (named, -1)
    assert answered(b"", ErrorCode.INVALID_RECORD) == (named, -1)
    assert answered(good, ErrorCode.INVALID_TIMESTAMP) == (ErrorCode.INVALID_TIMESTAMP, -1)
    assert answered(b"", ErrorCode.UNSUPPORTED_COMPRESSION_TYPE) == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, -1)
    assert answered(large, ErrorCode.INVALID_RECORD) == (ErrorCode.MESSAGE_TOO_LARGE, -1)
    assert answered(good[:-1] + b"?", ErrorCode.INVALID_TIMESTAMP) == (ErrorCode.CORRUPT_MESSAGE, -1)
    assert bench.log.log_end == 0
    bench.follow(leader=1, epoch=1)
    assert answered(good, ErrorCode.INVALID_RECORD) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


@pytest.mark.parametrize("version", ["0.10.2", "2.6"])
def test_message_max_bytes_is_a_batchs_bound(version: str) -> None:
    """Of a message, before 0.11: several messages together may be larger."""
    bench = leader(version, isr=(0,), message_max_bytes=200)
    magic = bench.magic
    assert outcome(bench, bench.produce("x" * 300)) == (ErrorCode.MESSAGE_TOO_LARGE, -1)
    several = encode([b"y" * 80] * 3, magic=magic, timestamp_ms=0)
    expected = (0, 0) if magic == 1 else (ErrorCode.MESSAGE_TOO_LARGE, -1)
    assert outcome(bench, bench.produce(records=several)) == expected


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "1.1", "2.8"])
def test_what_no_segment_can_hold_is_refused(version: str) -> None:
    """Log.append of each release: a batch, before 0.11 all messages together."""
    bench = leader(version, isr=(0,))
    data = encode([b"a" * 100, b"b" * 100], magic=bench.magic, timestamp_ms=0)
    bench.broker.replicas.configure("t", {"segment.bytes": str(len(data) - 1)})
    assert outcome(bench, bench.produce(records=data)) == (ErrorCode.RECORD_LIST_TOO_LARGE, -1)
    assert bench.log.log_end == 0
    bench.broker.replicas.configure("t", {"segment.bytes": str(len(data))})
    assert outcome(bench, bench.produce(records=data)) == (0, 0)


@pytest.mark.parametrize("version", ["0.11", "1.1", "2.3", "2.8"])
def test_the_records_are_checked_before_the_producer(version: str) -> None:
    """Log.append: size, checksum and segment come before the producer's sequence numbers."""
    bench = leader(version, isr=(0,))
    first = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    sent = batch("a", **first)
    assert outcome(bench, bench.produce(records=sent)) == (0, 0)
    ahead = batch("b", **first | {"base_sequence": 5})
    assert outcome(bench, bench.produce(records=ahead)) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert outcome(bench, bench.produce(records=ahead[:-1] + b"?")) == (ErrorCode.CORRUPT_MESSAGE, -1)
    assert outcome(bench, bench.produce(records=sent)) == (0, 0), "a duplicate"
    bench.broker.replicas.configure("t", {"segment.bytes": str(len(sent) - 1)})
    assert outcome(bench, bench.produce(records=sent)) == (ErrorCode.RECORD_LIST_TOO_LARGE, -1)
    bench.broker.replicas.configure("t", {"max.message.bytes": str(len(sent) - 1)})
    assert outcome(bench, bench.produce(records=sent)) == (ErrorCode.MESSAGE_TOO_LARGE, -1)
    assert outcome(bench, bench.produce(records=ahead)) == (ErrorCode.MESSAGE_TOO_LARGE, -1)


@pytest.mark.parametrize("version", ["0.11", "1.1", "2.3", "2.8"])
def test_an_answer_as_duplicate_names_what_was_sent_and_what_is_there(version: str) -> None:
    """ProducerStateManager compares sequence numbers alone.
    Other records under used numbers pass for a retry.
    """
    bench = leader(version, isr=(0,))
    first = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    sent, other = batch("a", "b", **first), batch("c", "d", **first)
    for records in (batch("x"), sent, sent, other):
        assert outcome(bench, bench.produce(records=records))[0] == 0
    assert bench.log.log_end == 3
    digests = [read_header(records).crc for records in (sent, other)]
    assert bench.events(DuplicateAnswered) == [
        DuplicateAnswered("t", 0, 1, 2, bench.partition.leader_epoch, digest, digests[0], 7, 0, 0, 1)
        for digest in digests
    ]


@pytest.mark.parametrize("version", ["0.11", "1.1", "2.0.0", "2.0.1", "2.8"])
def test_a_refused_produce_notes_its_epoch(version: str) -> None:
    """Log.append assigns epochs before it looks at producers.
    From 2.0.1 the leader has noted its own by then.
    """
    bench = leader(version, isr=(0,))
    bench.lead(3, isr=(0,), zk_version=1)
    ahead = batch("b", producer_id=7, producer_epoch=0, base_sequence=5)
    error = outcome(bench, bench.produce(records=ahead))[0]
    assert (error != 0) == (version != "2.8"), "2.8 takes what an unknown producer sends"
    assert bench.log.epochs.entries[-1] == (3, 0)
    assert bench.events(LeaderEpochBegan)[-1].leader_epoch == 3, "and it is told"


@pytest.mark.parametrize("version", ["0.11", "2.3", "2.4", "2.8"])
def test_a_refused_produce_rolls_a_full_segment_from_2_4(version: str) -> None:
    """Log.append: maybeRoll, then analyzeAndValidateProducerState.
    Up to 2.3 the other way round.
    """
    bench = leader(version, isr=(0,))
    sent = batch("a", producer_id=7, producer_epoch=0, base_sequence=0)
    bench.produce(records=sent)
    bench.broker.replicas.configure("t", {"segment.bytes": str(len(sent))})
    assert outcome(bench, bench.produce(records=sent)) == (0, 0)
    rolled = version in ("2.4", "2.8")
    assert [segment.base_offset for segment in bench.log.segments] == ([0, 1] if rolled else [0])
    assert bench.log.recovery_point == (1 if rolled else 0)


@pytest.mark.parametrize(
    ("version", "error"),
    [
        ("0.8.2", ErrorCode.NONE),
        ("0.10.2", ErrorCode.CORRUPT_MESSAGE),
        ("2.3", ErrorCode.CORRUPT_MESSAGE),
        ("2.4", ErrorCode.INVALID_RECORD),
        ("2.8", ErrorCode.INVALID_RECORD),
    ],
)
def test_a_compacted_topic_needs_keys(version: str, error: int) -> None:
    """LogValidator.validateKey, 0.9 on.
    Nothing of what holds one record without a key is written.
    """
    bench = leader(version, isr=(0,))
    bench.broker.replicas.configure("t", {"cleanup.policy": "delete, compact"})
    both = encode([(b"k", b"a", ()), (None, b"b", ())], magic=bench.magic, timestamp_ms=0)
    assert bench.produced(bench.produce(records=both)).error == error
    assert bench.log.log_end == (0 if error else 2)
    keyed = encode([(b"k", b"a", ()), (b"k", None, ())], magic=bench.magic, timestamp_ms=0)
    assert bench.produced(bench.produce(records=keyed)).error == ErrorCode.NONE
    bench.broker.replicas.configure("t", {})
    assert bench.produced(bench.produce(records=both)).error == ErrorCode.NONE


def test_of_a_broken_batch_no_keys_are_looked_at() -> None:
    bench = leader(isr=(0,))
    bench.broker.replicas.configure("t", {"cleanup.policy": "compact"})
    data = encode([b"a"], magic=2, timestamp_ms=0)
    assert outcome(bench, bench.produce(records=data[:-1] + b"?")) == (ErrorCode.CORRUPT_MESSAGE, -1)


def test_one_request_for_several_partitions_waits_for_all() -> None:
    bench = leader(isr=(0,))
    bench.leader_and_isr(state(0, isr=(0, 1), topic_partition=("t", 1)))
    parts = [ProducePartition("t", number, batch("v")) for number in (0, 1, 7)]
    connection = bench.ask(ProduceRequest(-1, 1500, parts))
    assert bench.answers(connection) == []
    bench.advance(1500.0)
    answer = bench.answer(connection, ProduceResponse)
    assert [(p.partition, p.error, p.base_offset) for p in answer.partitions] == [(0, 0, 0), (1, 7, 0), (7, 3, -1)]


def test_the_number_of_parked_requests_is_bounded() -> None:
    """Beyond the bound a request is answered at once with REQUEST_TIMED_OUT."""
    bench = leader()
    bench.broker.produces.waiting = dict.fromkeys(range(PARKED_MAX))  # type: ignore[assignment]
    assert outcome(bench, bench.produce("a", acks=-1)) == (ErrorCode.REQUEST_TIMED_OUT, 0)
