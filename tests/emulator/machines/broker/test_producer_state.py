"""Idempotent producers: what a leader remembers of sequences (semantics 6, 11.1; KIP-98)."""

import pytest

from emulator.machines.broker import producer_ids
from emulator.machines.broker.producer_state import SEQUENCE_BOUND, ProducerState
from protocol.errors import ErrorCode
from protocol.gates import gates_for
from protocol.ids import Offset
from protocol.messages.replication_messages import FetchedPartition, FetchResponse
from protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from protocol.records.format import read_header
from protocol.records.types import BatchHeader
from verification.broker_bench import T0, Bench, batch

VERSIONS = ("0.11", "1.0", "2.4", "2.5", "2.8")


def header(sequence: int, count: int = 1, *, offset: int = 0, epoch: int = 0) -> BatchHeader:
    data = batch(*["v"] * count, base_offset=offset, producer_id=7, producer_epoch=epoch, base_sequence=sequence)
    return read_header(data)


def remembering(version: str, *headers: BatchHeader) -> ProducerState:
    held = ProducerState(gates_for(version))
    for one in headers:
        held.appended(one)
    return held


@pytest.mark.parametrize("version", VERSIONS)
def test_the_next_sequence_follows_the_last(version: str) -> None:
    held = remembering(version, header(0, 3))
    assert held.check(header(3)) == (ErrorCode.NONE, None)
    assert held.check(header(2))[0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert held.check(header(4))[0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("version", VERSIONS)
def test_an_exact_match_is_a_duplicate_with_the_first_offsets(version: str) -> None:
    held = remembering(version, header(0, 3, offset=10))
    error, written = held.check(header(0, 3))
    assert (error, written and (written.base_offset, written.last_offset)) == (ErrorCode.NONE, (10, 12))
    assert held.check(header(0, 2))[0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize(("version", "remembered"), [("0.11", 1), ("1.0", 5), ("2.8", 5)])
def test_as_many_batches_are_remembered_as_may_be_in_flight(version: str, remembered: int) -> None:
    """Semantics 6: one batch in 0.11, five from 1.0.
    An older duplicate is out of order, in every version's log.
    """
    held = remembering(version, *(header(number, offset=number) for number in range(8)))
    duplicates = [number for number in range(8) if held.check(header(number))[1] is not None]
    assert duplicates == list(range(8 - remembered, 8))
    assert held.check(header(7 - remembered))[0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize(
    ("version", "error"),
    [
        ("0.11", ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ("1.0", ErrorCode.UNKNOWN_PRODUCER_ID),
        ("2.4", ErrorCode.UNKNOWN_PRODUCER_ID),
        ("2.5", ErrorCode.NONE),
        ("2.8", ErrorCode.NONE),
    ],
)
def test_an_unknown_producer_that_does_not_begin_at_zero(version: str, error: ErrorCode) -> None:
    """Semantics 6."""
    held = ProducerState(gates_for(version))
    assert held.check(header(0)) == (ErrorCode.NONE, None)
    assert held.check(header(5)) == (error, None)


@pytest.mark.parametrize("version", VERSIONS)
def test_producer_epochs_fence(version: str) -> None:
    """Semantics 6: an older one is refused.
    a newer one begins at zero and forgets the old one's batches.
    """
    held = remembering(version, header(0, epoch=2))
    assert held.check(header(1, epoch=1))[0] == ErrorCode.INVALID_PRODUCER_EPOCH
    assert held.check(header(1, epoch=3))[0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert held.check(header(0, epoch=3)) == (ErrorCode.NONE, None)
    held.appended(header(0, epoch=3, offset=50))
    error, written = held.check(header(0, epoch=3))
    assert error == ErrorCode.NONE and written is not None and written.base_offset == 50


def test_sequences_wrap() -> None:
    """KIP-98: after 2^31 - 1 comes 0."""
    held = remembering("2.8", header(SEQUENCE_BOUND - 2, 2))
    assert held.check(header(0)) == (ErrorCode.NONE, None)
    held = remembering("2.8", header(SEQUENCE_BOUND - 1, 3))
    assert held.check(header(2)) == (ErrorCode.NONE, None)


# --- through a broker ---


def idempotent(sequence: int) -> bytes:
    return batch(f"v{sequence}", producer_id=7, producer_epoch=0, base_sequence=sequence)


def test_a_retry_that_is_in_the_log_already_waits_again_for_the_high_watermark() -> None:
    """Semantics 11.1: parked like the first, then success with the first one's offset; one copy."""
    bench = Bench("2.8")
    bench.lead(isr=(0, 1))
    first = bench.produce(acks=-1, timeout_ms=1500, records=idempotent(0))
    bench.advance(1500.0)
    assert (bench.produced(first).error, bench.produced(first).base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    again = bench.produce(acks=-1, records=idempotent(0))
    assert bench.answers(again) == []
    bench.fetch(1, replica=1)
    assert (bench.produced(again).error, bench.produced(again).base_offset) == (ErrorCode.NONE, 0)
    assert bench.log.log_end == 1


def test_a_retry_with_acks_1_is_answered_at_once() -> None:
    bench = Bench("2.8")
    bench.lead(isr=(0, 1))
    bench.produce(acks=1, records=idempotent(0))
    again = bench.produce(acks=1, records=idempotent(0))
    assert (bench.produced(again).error, bench.produced(again).base_offset, bench.log.log_end) == (0, 0, 1)


def test_a_gap_is_refused_and_not_written() -> None:
    bench = Bench("2.8")
    bench.lead(isr=(0,))
    bench.produce(acks=1, records=idempotent(0))
    gap = bench.produce(acks=1, records=idempotent(2))
    assert bench.produced(gap).error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (bench.produced(gap).base_offset, bench.log.log_end) == (-1, 1)


def test_sequences_survive_a_failover() -> None:
    """Semantics 6: a follower learns them from batches; as leader it knows the duplicate."""
    bench = Bench("2.8", number=1)
    bench.follow(leader=0)
    (connection,) = _fetching(bench)
    data = batch("v0", base_offset=0, epoch=0, producer_id=7, producer_epoch=0, base_sequence=0)
    bench.respond(connection, FetchResponse([FetchedPartition(*T0, 0, Offset(0), records=data)]))
    bench.become(1, 1, (1,))
    again = bench.produce(acks=-1, records=idempotent(0))
    assert (bench.produced(again).error, bench.produced(again).base_offset, bench.log.log_end) == (0, 0, 1)


def _fetching(bench: Bench) -> list[int]:
    bench.advance(0.0)
    for connection in bench.opened("fetcher"):
        bench.establish(connection)
    return bench.opened("fetcher")


def test_producer_ids_are_unique_per_broker_and_life() -> None:
    ids = set()
    for number, incarnation in ((0, 1), (0, 2), (1, 1)):
        bench = Bench(number=number)
        bench.broker.producer_ids.incarnation = incarnation
        for _ in range(3):
            ids.add(bench.answer(bench.ask(InitProducerIdRequest()), InitProducerIdResponse).producer_id)
    assert len(ids) == 9


def test_a_broker_without_producer_ids_left_refuses_and_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_ids, "PRODUCER_IDS_PER_LIFE", 3)
    bench = Bench()
    answers = [bench.answer(bench.ask(InitProducerIdRequest()), InitProducerIdResponse) for _ in range(4)]
    refused = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert [answer.error for answer in answers] == [ErrorCode.NONE, ErrorCode.NONE, refused, refused]
