"""The direct client: exactly what a script with plain sockets would do and see."""

from collections.abc import Sequence
from typing import Any

import pytest

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_state import Attempt, Described, Fetched, FetchedRecord, TooManyExchanges
from emulator.machines.client.direct import VALUES_MAX, DirectClient
from emulator.machines.client.exchange import EXCHANGES_MAX
from protocol.events import (
    AttemptEnded,
    AttemptSent,
    OperationEnded,
    OperationInvoked,
    RecordsRead,
)
from protocol.ids import NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.machine import (
    CancelTimer,
    Close,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Emit,
    Input,
    Loss,
    MessageReceived,
    Now,
    Open,
    Send,
    SetTimer,
    TimerFired,
)
from protocol.messages.leadership_messages import BrokerEndpoint, MetadataRequest, MetadataResponse, PartitionMetadata
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    LEADERS_FETCH_VERSION,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from protocol.outbox import Outbox
from protocol.records.format import encode, place, read_header

NOW = Now(1000.0, 1_700_000_000_000.0)
TOPIC = "t"


def batch(*values: bytes, magic: int = 2) -> bytes:
    return encode(values, magic=magic, timestamp_ms=int(NOW.wall_ms))


def digest_of(*values: bytes, magic: int = 2) -> int:
    return read_header(batch(*values, magic=magic)).crc


class Bench:
    """One direct client and what it told its caller."""

    def __init__(self, magic: int = 2) -> None:
        self.client = DirectClient("direct", OperationLog("observer", 1), magic)
        self.out = Outbox()
        self.attempts: list[Attempt] = []
        self.fetched: list[Fetched] = []
        self.described: list[Described] = []
        self.done = 0

    def produce(self, *values: bytes, **options: Any) -> list[Effect]:
        def ended(now: Now, out: Outbox) -> None:
            self.done += 1

        settings: dict[str, Any] = {
            "broker": 0,
            "topic": TOPIC,
            "partition": 0,
            "acks": -1,
            "timeout_ms": 1500,
        }
        settings |= options
        self.client.produce(
            NOW,
            self.out,
            values=values,
            attempted=lambda now, out, attempt: self.attempts.append(attempt),
            done=ended,
            **settings,
        )
        return self.out.take()

    def fetch(self, offset: int = 0, **options: Any) -> list[Effect]:
        self.client.fetch(
            NOW,
            self.out,
            broker=BrokerId(0),
            topic=TOPIC,
            partition=0,
            offset=Offset(offset),
            done=lambda now, out, fetched: self.fetched.append(fetched),
            **options,
        )
        return self.out.take()

    def metadata(self) -> list[Effect]:
        self.client.metadata(
            NOW, self.out, broker=BrokerId(2), done=lambda now, out, described: self.described.append(described)
        )
        return self.out.take()

    def step(self, event: Input) -> list[Effect]:
        assert self.out.route(NOW, event)
        return self.out.take()

    def answer(self, connection: int, message: Message) -> list[Effect]:
        return self.step(MessageReceived(connection, 1, 0, message))


def produced(error: int, offset: int) -> ProduceResponse:
    return ProduceResponse([ProduceResult(TOPIC, 0, error, Offset(offset))])


def ended(operation: int, outcome: str, error: int, offset: int, digest: int, acks: int = -1, tries: int = 1) -> Emit:
    name = f"observer.1:{operation}"
    return Emit(OperationEnded(name, "produce", outcome, error, TOPIC, 0, offset, -1, digest, acks, 0, tries))


def names(effects: Sequence[Effect]) -> list[str]:
    return [type(e.event).__name__ if isinstance(e, Emit) else type(e).__name__ for e in effects]


def test_a_value_is_one_batch_over_a_connection_of_its_own() -> None:
    bench = Bench()
    crc = digest_of(b"a")
    assert bench.produce(b"a") == [
        Emit(OperationInvoked("observer.1:1", "produce", TOPIC, 0, -1, "a", 0, -1)),
        Emit(AttemptSent("observer.1:1", 1, 0, crc, timeout_ms=20_000)),
        Open(1, "broker-0", "client"),
        SetTimer(("direct", "socket", 1), 10_000.0),
    ]
    request = ProduceRequest(-1, 1500, [ProducePartition(TOPIC, 0, batch(b"a"))])
    assert bench.step(ConnectionOpened(1)) == [
        Send(1, 1, 8, request),
        SetTimer(("direct", "socket", 1), 10_000.0),
    ]
    assert bench.answer(1, produced(0, 5)) == [
        CancelTimer(("direct", "socket", 1)),
        Close(1),
        Emit(AttemptEnded("observer.1:1", 1, 0, 5, "")),
        ended(1, "ok", 0, 5, crc),
    ]
    assert bench.attempts == [Attempt("observer.1:1", BrokerId(0), "a", -1, 1, 0, Offset(5))]
    assert bench.done == 1
    assert bench.client.idle


def test_values_are_written_one_after_the_other_each_with_its_retries() -> None:
    """Recording az-isolated-leader-acks-all: c fails four times, then d begins."""
    bench = Bench()
    bench.produce(b"c", b"d", retries=1)
    bench.step(ConnectionOpened(1))
    effects = bench.answer(1, produced(7, 2))
    assert effects[2:] == [
        Emit(AttemptEnded("observer.1:1", 1, 7, 2, "")),
        Emit(AttemptSent("observer.1:1", 2, 0, digest_of(b"c"), timeout_ms=20_000)),
        Open(2, "broker-0", "client"),
        SetTimer(("direct", "socket", 2), 10_000.0),
    ]
    bench.step(ConnectionOpened(2))
    effects = bench.answer(2, produced(7, 3))
    assert ended(1, "unknown", 7, 3, digest_of(b"c"), tries=2) in effects
    assert effects[-2:] == [Open(3, "broker-0", "client"), SetTimer(("direct", "socket", 3), 10_000.0)]
    assert bench.done == 0
    bench.step(ConnectionOpened(3))
    bench.answer(3, produced(0, 4))
    assert [(a.value, a.attempt, a.error, a.offset) for a in bench.attempts] == [
        ("c", 1, 7, 2),
        ("c", 2, 7, 3),
        ("d", 1, 0, 4),
    ]
    assert bench.done == 1


def test_a_refused_write_is_definite_unless_an_earlier_attempt_was_not() -> None:
    """Semantics 6 and 7: 19 proves that nothing was appended.
    It does not cover the attempt before it.
    """
    bench = Bench()
    bench.produce(b"a")
    bench.step(ConnectionOpened(1))
    assert ended(1, "failed", 19, -1, digest_of(b"a")) in bench.answer(1, produced(19, -1))

    bench.produce(b"b", retries=1)
    bench.step(ConnectionOpened(2))
    bench.step(TimerFired(("direct", "socket", 2)))
    bench.step(ConnectionOpened(3))
    assert ended(2, "unknown", 19, -1, digest_of(b"b"), tries=2) in bench.answer(3, produced(19, -1))


def test_silence_is_a_timeout_and_its_outcome_unknown() -> None:
    bench = Bench()
    bench.produce(b"a", socket_timeout_ms=2000)
    bench.step(ConnectionOpened(1))
    reason = "TimeoutError: waited 2000 ms for an answer"
    assert bench.step(TimerFired(("direct", "socket", 1))) == [
        Close(1),
        Emit(AttemptEnded("observer.1:1", 1, -2, -1, reason)),
        ended(1, "unknown", -2, -1, digest_of(b"a")),
    ]
    assert bench.attempts == [Attempt("observer.1:1", BrokerId(0), "a", -1, 1, "TimeoutError", None)]


def test_a_connection_that_never_stood_leaves_nothing_in_doubt() -> None:
    bench = Bench()
    bench.produce(b"a")
    bench.step(TimerFired(("direct", "socket", 1)))
    bench.produce(b"b")
    effects = bench.step(ConnectionLost(2, "connection refused", Loss.REFUSED))
    assert names(effects) == ["CancelTimer", "AttemptEnded", "OperationEnded"], "nothing is left to close"
    assert ended(2, "failed", -2, -1, digest_of(b"b")) in effects
    assert [a.error for a in bench.attempts] == ["TimeoutError", "ConnectionRefusedError"]


def test_a_connection_lost_before_the_answer_is_a_reset() -> None:
    bench = Bench()
    bench.produce(b"a")
    bench.step(ConnectionOpened(1))
    effects = bench.step(ConnectionLost(1, "closed by the peer"))
    assert ended(1, "unknown", -2, -1, digest_of(b"a")) in effects
    assert [(a.error, a.offset) for a in bench.attempts] == [("ConnectionResetError", None)]


def test_acks_0_awaits_no_answer() -> None:
    bench = Bench()
    bench.produce(b"a", acks=0)
    assert names(bench.step(ConnectionOpened(1))) == [
        "Send",
        "CancelTimer",
        "Close",
        "AttemptEnded",
        "OperationEnded",
    ]
    assert [(a.error, a.offset) for a in bench.attempts] == [(0, -1)]


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_several_values_in_one_batch_are_as_many_operations(magic: int) -> None:
    bench = Bench(magic)
    effects = bench.produce(b"x1", b"x2", batch=True, compression="gzip")
    invoked = [e.event for e in effects if isinstance(e, Emit) and isinstance(e.event, OperationInvoked)]
    sent = [e.event for e in effects if isinstance(e, Emit) and isinstance(e.event, AttemptSent)]
    assert [each.value for each in invoked] == ["x1", "x2"]
    assert sent[0].digest == sent[1].digest, "one wrapper or batch holds both"
    bench.step(ConnectionOpened(1))
    effects = bench.answer(1, produced(0, 7))
    outcomes = [e.event for e in effects if isinstance(e, Emit) and isinstance(e.event, OperationEnded)]
    assert [(each.outcome, each.offset) for each in outcomes] == [("ok", 7), ("ok", 8)]
    assert [(a.value, a.offset) for a in bench.attempts] == [("x1", 7)]


def test_messages_without_a_wrapper_have_a_digest_each() -> None:
    effects = Bench(magic=1).produce(b"x1", b"x2", batch=True)
    sent = [e.event for e in effects if isinstance(e, Emit) and isinstance(e.event, AttemptSent)]
    assert sent[0].digest == digest_of(b"x1", magic=1)
    assert sent[0].digest != sent[1].digest


def test_a_fetch_reads_whole_batches_from_its_offset_on() -> None:
    bench = Bench()
    effects = bench.fetch(offset=1)
    assert names(effects) == ["OperationInvoked", "AttemptSent", "Open", "SetTimer"]
    requested = FetchRequest(CONSUMER_REPLICA_ID, 500, 1, 1_048_576, [FetchPartition(TOPIC, 0, Offset(1), 1_048_576)])
    assert bench.step(ConnectionOpened(1))[0] == Send(1, 1, LEADERS_FETCH_VERSION, requested)
    first, second = place(batch(b"a", b"b"), Offset(0), LeaderEpoch(3)), place(batch(b"c"), Offset(2), LeaderEpoch(4))
    torn = place(batch(b"d"), Offset(3), LeaderEpoch(4))[:-1]
    answer = FetchResponse([FetchedPartition(TOPIC, 0, 0, Offset(3), Offset(0), None, first + second + torn)])
    assert bench.answer(1, answer)[2:] == [
        Emit(RecordsRead("observer.1:1", TOPIC, 0, 1, 1, 3, digest_of(b"a", b"b"), 3, 0)),
        Emit(RecordsRead("observer.1:1", TOPIC, 0, 2, 2, 4, digest_of(b"c"), 3, 0)),
        Emit(AttemptEnded("observer.1:1", 1, 0, 3, "")),
        Emit(OperationEnded("observer.1:1", "fetch", "ok", 0, TOPIC, 0, 3, 4, 0, 0, 0, 1)),
    ]
    records = (FetchedRecord(Offset(1), LeaderEpoch(3), b"b"), FetchedRecord(Offset(2), LeaderEpoch(4), b"c"))
    assert bench.fetched == [Fetched("observer.1:1", BrokerId(0), 0, Offset(3), records)]


def test_a_fetch_reports_the_brokers_error_or_its_silence() -> None:
    bench = Bench()
    bench.fetch()
    bench.step(ConnectionOpened(1))
    effects = bench.answer(1, FetchResponse([FetchedPartition(TOPIC, 0, 6)]))
    assert Emit(OperationEnded("observer.1:1", "fetch", "failed", 6, TOPIC, 0, 0, -1, 0, 0, 0, 1)) in effects
    bench.fetch(socket_timeout_ms=2000)
    bench.step(ConnectionOpened(2))
    bench.step(TimerFired(("direct", "socket", 2)))
    assert bench.fetched == [
        Fetched("observer.1:1", BrokerId(0), 6, NO_OFFSET, ()),
        Fetched("observer.1:2", BrokerId(0), "TimeoutError", None, None),
    ]


def test_damaged_records_are_an_error_with_their_place() -> None:
    bench = Bench()
    bench.fetch()
    bench.step(ConnectionOpened(1))
    damaged = bytearray(batch(b"a"))
    damaged[-2] ^= 1
    effects = bench.answer(
        1, FetchResponse([FetchedPartition(TOPIC, 0, 0, Offset(1), Offset(0), None, bytes(damaged))])
    )
    reasons = [e.event.reason for e in effects if isinstance(e, Emit) and isinstance(e.event, AttemptEnded)]
    assert len(reasons) == 1
    assert reasons[0].startswith("at byte 0: ")
    assert [(f.error, f.records) for f in bench.fetched] == [(2, ())]


def test_metadata_is_the_brokers_own_answer() -> None:
    bench = Bench()
    assert bench.metadata()[2] == Open(1, "broker-2", "client")
    assert bench.step(ConnectionOpened(1))[0] == Send(1, 1, 9, MetadataRequest([]))
    answer = MetadataResponse(
        BrokerId(1),
        [BrokerEndpoint(BrokerId(1), "broker-1")],
        [PartitionMetadata(TOPIC, 0, 0, BrokerId(1), LeaderEpoch(2), [BrokerId(1)])],
    )
    bench.answer(1, answer)
    bench.metadata()
    bench.step(ConnectionLost(2, "connection refused", Loss.REFUSED))
    assert bench.described == [
        Described("observer.1:1", BrokerId(2), 0, answer),
        Described("observer.1:2", BrokerId(2), "ConnectionRefusedError", None),
    ]


def test_an_answer_of_another_kind_ends_the_attempt() -> None:
    bench = Bench()
    bench.produce(b"a")
    bench.step(ConnectionOpened(1))
    bench.answer(1, MetadataResponse(BrokerId(0), [], []))
    assert [a.error for a in bench.attempts] == ["ConnectionResetError"]


def test_an_answer_without_the_partition_is_an_unknown_error() -> None:
    bench = Bench()
    bench.produce(b"a")
    bench.step(ConnectionOpened(1))
    assert ended(1, "unknown", -1, -1, digest_of(b"a")) in bench.answer(1, ProduceResponse([]))


def test_inputs_of_others_are_not_handled() -> None:
    bench = Bench()
    bench.produce(b"a")
    assert not bench.out.route(NOW, ConnectionOpened(2))
    assert not bench.out.route(NOW, TimerFired(("producer", "socket", 1)))
    assert not bench.out.route(NOW, MessageReceived(-1, 1, 0, produced(0, 0)))


def test_bounds_are_clear_errors() -> None:
    bench = Bench()
    with pytest.raises(ValueError, match="produce of 0 values; allowed are 1 to 10000"):
        bench.produce()
    with pytest.raises(ValueError, match="up to 200,020 attempts in one produce; allowed are 100,000: fewer retries"):
        bench.produce(*[b"v"] * 20, retries=10_000)
    with pytest.raises(ValueError, match="produce of 10001 values"):
        bench.produce(*[b"v"] * (VALUES_MAX + 1))
    for _ in range(EXCHANGES_MAX):
        bench.fetch()
    with pytest.raises(TooManyExchanges, match="direct: 256 requests are under way"):
        bench.fetch()
    assert bench.out.take() == [], "nothing is written down of an operation that cannot begin"
