"""The producer: the Java client's reaction to each answer, and promises under faults."""

from collections.abc import Iterable
from functools import partial
from itertools import groupby
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_settings import librdkafka_settings, producer_settings
from emulator.machines.client.client_state import Sent
from emulator.machines.client.producer import Producer
from protocol.chance import Chance
from protocol.events import AttemptSent, OperationInvoked
from protocol.ids import BrokerId, LeaderEpoch
from protocol.machine import ConnectionOpened, Emit, MessageReceived, Now, Open, Send, SetTimer
from protocol.messages.leadership_messages import BrokerEndpoint, MetadataRequest, MetadataResponse, PartitionMetadata
from protocol.messages.replication_messages import ProducePartition, ProduceRequest, ProduceResponse
from protocol.messages.transactions import InitProducerIdRequest
from protocol.outbox import Outbox
from protocol.records.batch import encode_batch
from protocol.records.format import read_header, read_records
from tests.emulator.machines.client.fake_cluster import FakeCluster, Fate

APPENDING = (7, 20)


class Bench:
    """A producer in a fake cluster and what it told its callers."""

    def __init__(self, fates: Iterable[Fate] = (), brokers: int = 1, version: str = "2.8", **options: Any) -> None:
        self.cluster = FakeCluster(brokers, iter(fates))
        given = {name.replace("_", "."): value for name, value in options.items()}
        self.settings = producer_settings(version, given)
        self.start()

    def start(self) -> None:
        names = [f"broker-{broker}" for broker in self.cluster.brokers]
        self.producer = Producer("producer", names, OperationLog("client-0", 1), self.settings, Chance(7))
        self.sent: list[Sent] = []

    def send(self, *values: bytes, partition: int = 0) -> None:
        for value in values:
            self.producer.send(
                self.cluster.now, self.cluster.out, "t", partition, value, lambda _n, _o, sent: self.sent.append(sent)
            )
        self.cluster.flush()

    def produce_requests(self) -> list[tuple[float, str, ProduceRequest]]:
        return [(ms, node, m) for ms, node, m in self.cluster.requests if isinstance(m, ProduceRequest)]

    def results(self) -> list[tuple[bytes, int | str, int | None, str]]:
        return [(sent.value, sent.error, sent.offset, sent.outcome) for sent in self.sent]


def test_the_first_send_requests_metadata_then_writes_to_the_leader() -> None:
    out, now = Outbox(), Now(50.0, 1_700_000_000_000.0)
    given = producer_settings("2.8", {"socket.connection.setup.timeout.max.ms": 10_000})
    producer = Producer("p", ["broker-7"], OperationLog("client-0", 1), given, Chance(1))
    producer.send(now, out, "t", 0, b"a", lambda *_: None)
    assert out.take() == [
        Emit(OperationInvoked("client-0.1:1", "produce", "t", 0, 1, "a", -1, -1)),
        Open(1, "broker-7", "client"),
        SetTimer(("p", "poll"), 10_000.0),
    ]
    assert out.route(now, ConnectionOpened(1))
    assert out.take() == [Send(1, 1, 9, MetadataRequest(["t"])), SetTimer(("p", "poll"), 30_000.0)]
    answer = MetadataResponse(
        BrokerId(1),
        [BrokerEndpoint(BrokerId(1), "broker-1")],
        [PartitionMetadata("t", 0, 0, BrokerId(1), LeaderEpoch(4))],
    )
    assert out.route(now, MessageReceived(1, 1, 9, answer))
    assert out.take() == [Open(2, "broker-1", "client"), SetTimer(("p", "poll"), 10_000.0)]
    assert out.route(now, ConnectionOpened(2))
    batch = encode_batch([b"a"], timestamp_ms=1_700_000_000_000)
    effects = out.take()
    assert [type(each.event) for each in effects if isinstance(each, Emit)] == [AttemptSent]
    assert effects[1:] == [
        Send(2, 2, 8, ProduceRequest(1, 30_000, [ProducePartition("t", 0, batch)])),
        SetTimer(("p", "poll"), 30_000.0),
    ]


def test_records_that_wait_share_a_batch() -> None:
    bench = Bench(linger_ms=5)
    log = bench.cluster.add()
    bench.send(b"a", b"b")
    bench.cluster.run(20)
    bench.send(b"c")
    bench.cluster.run(50)
    assert log.values == [b"a", b"b", b"c"]
    assert len(log.entries) == 2
    assert bench.results() == [(b"a", 0, 0, "ok"), (b"b", 0, 1, "ok"), (b"c", 0, 2, "ok")]
    assert bench.producer.unfinished == 0


def test_a_full_batch_does_not_linger() -> None:
    bench = Bench(linger_ms=1000, batch_size=150)
    log = bench.cluster.add()
    bench.send(b"x" * 60, b"y" * 60)
    bench.cluster.run(100)
    assert log.values == [b"x" * 60], "the second is not full yet"
    bench.cluster.run(1100)
    assert len(log.entries) == 2


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(10, "failed"), (87, "failed"), (250, "unknown"), (-1, "unknown"), (47, "failed"), (21, "failed")],
)
def test_a_fatal_error_is_reported_at_once(error: int, outcome: str) -> None:
    bench = Bench([error])
    bench.cluster.add()
    bench.send(b"a")
    bench.cluster.run(1000)
    assert bench.results() == [(b"a", error, None, outcome)]
    assert len(bench.produce_requests()) == 1


@pytest.mark.parametrize("error", [2, 3, 5, 6, 7, 13, 19, 20, 56])
def test_retriable_errors_are_retried_after_the_backoff(error: int) -> None:
    """Semantics 6: the retriable codes, and which of them ask for new metadata."""
    bench = Bench([error], retry_backoff_ms=100)
    log = bench.cluster.add()
    bench.send(b"a")
    bench.cluster.run(1000)
    first, second = [ms for ms, _, _ in bench.produce_requests()]
    assert second - first == pytest.approx(102), "an answer's way, then retry.backoff.ms"
    assert log.values == ([b"a", b"a"] if error in APPENDING else [b"a"]), "a copy per attempt that appended"
    assert bench.results() == [(b"a", 0, 1 if error in APPENDING else 0, "ok")]
    refreshed = sum(isinstance(m, MetadataRequest) for _, _, m in bench.cluster.requests) > 1
    assert refreshed == (error in (3, 5, 6, 13, 56))


def test_retries_are_counted() -> None:
    bench = Bench([19] * 9, version="2.0", retries=2)
    bench.cluster.add()
    bench.send(b"a")
    bench.cluster.run(5000)
    assert len(bench.produce_requests()) == 3
    assert bench.results() == [(b"a", 19, None, "failed")]


def test_before_2_1_nothing_is_retried_by_default() -> None:
    bench = Bench([19], version="2.0")
    bench.cluster.add()
    bench.send(b"a")
    bench.cluster.run(5000)
    assert bench.results() == [(b"a", 19, None, "failed")]


def test_a_silent_broker_costs_the_connection_and_a_copy_per_attempt() -> None:
    """Semantics 6: the client may disconnect (13) instead of seeing 7."""
    bench = Bench(["answer lost", "answer lost"], request_timeout_ms=1500)
    log = bench.cluster.add()
    bench.send(b"a")
    bench.cluster.run(10_000)
    assert log.values == [b"a"] * 3
    assert bench.results() == [(b"a", 0, 2, "ok")]


def test_a_new_leader_is_found() -> None:
    bench = Bench(brokers=2)
    log = bench.cluster.add()
    bench.send(b"a")
    bench.cluster.run(100)
    log.leader, log.epoch = 1, 1
    bench.send(b"b")
    bench.cluster.run(1000)
    assert log.values == [b"a", b"b"]
    assert [node for _, node, _ in bench.produce_requests()] == ["broker-0", "broker-0", "broker-1"]


def test_a_dead_leader_is_left_for_the_new_one() -> None:
    bench = Bench(brokers=2)
    log = bench.cluster.add()
    bench.send(b"a")
    bench.cluster.run(100)
    bench.cluster.down.add("broker-0")
    bench.cluster.lose_connections("broker-0")
    bench.send(b"b")
    bench.cluster.at(3000, lambda: setattr(log, "leader", 1))
    bench.cluster.run(10_000)
    assert bench.results()[-1] == (b"b", 0, 1, "ok")


def test_metadata_of_an_older_epoch_is_ignored() -> None:
    """A broker cut off from the controller names the old leader.
    From 2.2 on a client keeps the newer one.
    """
    for version, last_node in (("2.8", "broker-1"), ("2.2", "broker-1"), ("2.1", "broker-0")):
        bench = Bench([0, 13], brokers=2, version=version)
        log = bench.cluster.add()
        log.leader, log.epoch = 1, 5
        bench.send(b"a")
        bench.cluster.run(100)
        log.epoch, log.leader = 4, 0
        bench.send(b"b")
        bench.cluster.run(140)
        assert bench.produce_requests()[-1][1] == "broker-1"
        bench.cluster.run(400)
        assert bench.produce_requests()[-1][1] == last_node, version


def test_a_retry_may_be_overtaken_without_idempotence() -> None:
    """Semantics 6, "Reordering": max.in.flight above 1, retries, no idempotence."""
    bench = Bench([19], acks="all", batch_size=1)
    log = bench.cluster.add()
    bench.send(b"warm up")
    bench.cluster.run(500)
    assert log.values == [b"warm up"]
    bench.cluster.fates = iter([19])
    bench.send(b"a", b"b")
    bench.cluster.run(1000)
    assert log.values == [b"warm up", b"b", b"a"]


@pytest.mark.parametrize(
    "options", [{"max_in_flight_requests_per_connection": 1}, {"enable_idempotence": True}], ids=["one", "idempotent"]
)
def test_one_in_flight_or_idempotence_keeps_the_order(options: dict[str, Any]) -> None:
    bench = Bench([], batch_size=1, **options)
    log = bench.cluster.add()
    bench.send(b"warm up")
    bench.cluster.run(500)
    bench.cluster.fates = iter([19])
    bench.send(b"a", b"b", b"c")
    bench.cluster.run(2000)
    assert log.values == [b"warm up", b"a", b"b", b"c"]


def test_behind_a_failed_batch_numbered_ones_go_one_by_one() -> None:
    """Kafka's shouldStopDrainBatchesForPartition.
    a retry waits until it is the first of those not acknowledged.
    """
    bench = Bench(batch_size=1, enable_idempotence=True)
    bench.cluster.add()
    bench.send(b"warm up")
    bench.cluster.run(500)
    bench.cluster.fates = iter([19])
    bench.send(b"a", b"b", b"c")
    bench.cluster.run(2000)
    times = [round(ms) for ms, _, _ in bench.produce_requests()[1:]]
    assert times == [500, 500, 500, 602, 604, 606], "b and c were answered 45, then each waits for the one before"


def test_with_one_in_flight_a_new_leader_changes_nothing_about_the_order() -> None:
    bench = Bench(brokers=2, max_in_flight_requests_per_connection=1, request_timeout_ms=5000, metadata_max_age_ms=300)
    log = bench.cluster.add()
    bench.send(b"warm up")
    bench.cluster.run(200)
    lost: Fate = "request lost"
    bench.cluster.fates = iter([lost])
    bench.send(b"a")
    log.leader = 1
    bench.cluster.at(2000, lambda: bench.send(b"b"))
    bench.cluster.run(20_000)
    assert log.values == [b"warm up", b"a", b"b"]


def test_an_idempotent_producer_writes_once_however_often_it_sends() -> None:
    """Recording retry-idempotent@2.8: one copy, success with the first copy's offset."""
    bench = Bench()
    given = {"enable.idempotence": True, "acks": -1, "request.timeout.ms": 1500, "message.timeout.ms": 60_000}
    bench.settings = librdkafka_settings(given | {"retry.backoff.ms": 100, "linger.ms": 0})
    bench.start()
    bench.cluster.fates = iter([7, 7, 7])
    log = bench.cluster.add()
    bench.send(b"c")
    bench.cluster.run(60_000)
    assert log.values == [b"c"]
    assert len(bench.produce_requests()) == 4
    assert bench.results() == [(b"c", 0, 0, "ok")]
    assert sum(isinstance(m, InitProducerIdRequest) for _, _, m in bench.cluster.requests) == 1


def headers(bench: Bench) -> list[tuple[int, int, int]]:
    """(producer id, epoch, base sequence) of every batch that left, in order."""
    reported = [read_header(each.records) for _, _, message in bench.produce_requests() for each in message.partitions]
    return [(header.producer_id, header.producer_epoch, header.base_sequence) for header in reported]


@pytest.mark.parametrize(("version", "second"), [("1.0", (1002, 0, 0)), ("2.4", (1002, 0, 0)), ("2.5", (1001, 1, 0))])
def test_an_unknown_producer_takes_another_id_up_to_2_4(version: str, second: tuple[int, int, int]) -> None:
    """Semantics 6: 59 though the log, which begins at 0, still has what was acknowledged last."""
    bench = Bench(version=version, enable_idempotence=True)
    log = bench.cluster.add()
    bench.send(b"warm up")
    bench.cluster.run(500)
    bench.cluster.fates = iter([59])
    bench.send(b"a")
    bench.cluster.run(1000)
    bench.send(b"b")
    bench.cluster.run(2000)
    assert headers(bench)[:2] == [(1001, 0, 0), (1001, 0, 1)]
    if version == "2.5":
        assert bench.results()[1:] == [(b"a", 0, 1, "ok"), (b"b", 0, 2, "ok")]
    else:
        assert bench.results()[1:] == [(b"a", 59, None, "failed"), (b"b", 0, 1, "ok")]
    assert headers(bench)[2] == second
    assert log.values == ([b"warm up", b"a", b"b"] if version == "2.5" else [b"warm up", b"b"])


def test_in_0_11_a_time_out_after_a_failure_costs_the_id() -> None:
    bench = Bench([19], version="0.11", enable_idempotence=True, request_timeout_ms=1000)
    log = bench.cluster.add()
    bench.send(b"a")
    bench.cluster.at(20, lambda: setattr(log, "leader", -1))
    bench.cluster.run(5000)
    assert bench.results() == [(b"a", "TimeoutException", None, "unknown")]
    assert set(headers(bench)) == {(1001, 0, 0)}
    log.leader = 0
    bench.send(b"b")
    bench.cluster.run(9000)
    assert headers(bench)[-1] == (1002, 0, 0)


@pytest.mark.parametrize("version", ["1.0", "2.4"])
def test_up_to_2_4_what_would_be_tried_again_under_an_old_id_ends_as_out_of_order(version: str) -> None:
    """Semantics 6: `b` was on its way when `a`, in the other partition, cost the id."""
    bench = Bench(brokers=2, version=version, enable_idempotence=True)
    for partition in range(2):
        bench.cluster.add(partition=partition, leader=partition)
        bench.send(b"warm up", partition=partition)
    bench.cluster.run(500)
    bench.cluster.fates = iter([45, 19])
    bench.send(b"a")
    bench.send(b"b", partition=1)
    bench.cluster.run(1000)
    assert bench.results()[2:] == [(b"a", 45, None, "failed"), (b"b", 45, None, "failed")]
    assert headers(bench)[2:] == [(1001, 0, 1), (1001, 0, 1)], "neither left again"


@pytest.mark.parametrize(
    ("version", "number", "offset", "stored"),
    [("2.4", (1001, 0, 0), 0, [b"a"]), ("2.5", (1001, 1, 0), 1, [b"a", b"b"])],
)
def test_an_answer_after_the_delivery_timeout_moves_the_numbers(
    version: str, number: tuple[int, int, int], offset: int, stored: list[bytes]
) -> None:
    """Semantics 6: `a` leaves after 1.1 s, is given up after 2, its connection after 3.
    It is stored all the same. Up to 2.4 its number is given away, so that the broker takes `b` for its copy.
    """
    bench = Bench(version=version, enable_idempotence=True, delivery_timeout_ms=2000, request_timeout_ms=1900)
    log = bench.cluster.add(leader=-1)
    bench.cluster.at(1100, lambda: setattr(log, "leader", 0))
    lost: Fate = "answer lost"
    bench.cluster.fates = iter([lost])
    bench.send(b"a")
    bench.cluster.run(5000)
    assert bench.results() == [(b"a", "TimeoutException", None, "unknown")]
    bench.send(b"b")
    bench.cluster.run(9000)
    assert headers(bench) == [(1001, 0, 0), number]
    assert bench.results()[1:] == [(b"b", 0, offset, "ok")]
    assert log.values == stored


def test_delivery_timeout_ends_what_cannot_be_delivered() -> None:
    bench = Bench(["request lost"] * 99, delivery_timeout_ms=5000, request_timeout_ms=1500)
    bench.cluster.add()
    bench.send(b"a")
    bench.cluster.run(20_000)
    ((ended_at, _event),) = bench.cluster.ended()
    assert ended_at == pytest.approx(5004, abs=5), "from the moment it joined a batch"
    assert bench.results() == [(b"a", "TimeoutException", None, "unknown")]


def test_what_never_left_failed_for_certain() -> None:
    bench = Bench(delivery_timeout_ms=5000, request_timeout_ms=1500)
    log = bench.cluster.add()
    log.leader = -1
    bench.send(b"a")
    bench.cluster.run(20_000)
    assert bench.results() == [(b"a", "TimeoutException", None, "failed")]


def test_before_2_1_request_timeout_bounds_the_wait_in_the_queue() -> None:
    bench = Bench(version="0.10.2", request_timeout_ms=2000, linger_ms=10)
    bench.cluster.add().leader = -1
    bench.send(b"a")
    bench.cluster.run(20_000)
    ((ended_at, _event),) = bench.cluster.ended()
    assert ended_at == pytest.approx(2010 + 3, abs=2)
    assert bench.results() == [(b"a", "TimeoutException", None, "failed")]


@pytest.mark.parametrize(("version", "expected"), [("0.10.2", 2300), ("2.0.1", 2300), ("2.1", 3000)])
def test_a_full_batch_expires_after_its_last_record(version: str, expected: float) -> None:
    """Semantics 6; ProducerBatch.maybeExpire up to 2.0.
    `isFull && requestTimeoutMs < (now - this.lastAppendTime)`.
    """
    bound: dict[str, Any] = {} if version != "2.1" else {"delivery_timeout_ms": 3000}
    bench = Bench(version=version, request_timeout_ms=2000, linger_ms=1000, batch_size=120, **bound)
    bench.cluster.add().leader = -1
    bench.send(b"a")
    bench.cluster.run(300)
    bench.send(b"b")
    bench.cluster.run(400)
    bench.send(b"c" * 80)
    bench.cluster.run(20_000)
    assert [value for value, *_ in bench.results()] == [b"a", b"b", b"c" * 80]
    ended = [ms for ms, _event in bench.cluster.ended()]
    assert ended[0] == ended[1]
    assert ended[0] == pytest.approx(expected, abs=10)


def test_in_0_8_2_a_batch_that_cannot_leave_waits() -> None:
    """Semantics 6; `client_batches_expire`: RecordAccumulator of 0.8.2.2 gives up nothing."""
    bench = Bench(version="0.8.2", request_timeout_ms=2000)
    partition = bench.cluster.add()
    partition.leader = -1
    bench.send(b"a")
    bench.cluster.run(100_000)
    assert bench.results() == []
    partition.leader = 0
    bench.cluster.run(200_000)
    assert bench.results() == [(b"a", 0, 0, "ok")]


def test_max_block_bounds_the_wait_for_metadata() -> None:
    bench = Bench(max_block_ms=3000)
    bench.cluster.silent.add("broker-0")
    bench.send(b"a")
    assert bench.producer.blocked
    bench.cluster.run(10_000)
    assert [ms for ms, _ in bench.cluster.ended()] == [3000]
    assert bench.results() == [(b"a", "TimeoutException", None, "failed")]


def test_a_full_buffer_blocks_senders_until_memory_returns() -> None:
    bench = Bench(buffer_memory=200, batch_size=100, linger_ms=10_000, request_timeout_ms=1000)
    log = bench.cluster.add()
    bench.send(b"warm up")
    bench.cluster.run(11_000)
    bench.send(*[b"%d" % n + b"x" * 60 for n in range(5)])
    assert bench.producer.blocked
    bench.cluster.run(11_100)
    assert len(log.values) == 6, "while senders wait nothing lingers"
    assert not bench.producer.blocked


def test_a_record_too_large_for_any_request_is_refused() -> None:
    bench = Bench(max_request_size=1000)
    bench.send(b"x" * 1000)
    assert bench.results() == [(b"x" * 1000, 10, None, "failed")]
    assert bench.cluster.open_connections() == 0


def test_acks_0_succeeds_when_it_left() -> None:
    bench = Bench(acks=0)
    log = bench.cluster.add()
    bench.send(b"a", b"b")
    bench.cluster.run(100)
    assert log.values == [b"a", b"b"]
    assert [each[1:] for each in bench.results()] == [(0, None, "ok")] * 2


def test_closing_ends_everything_once() -> None:
    bench = Bench(["answer lost"], brokers=1)
    bench.cluster.add()
    bench.send(b"a")
    bench.cluster.run(10)
    bench.send(b"b", partition=5)
    bench.producer.close(bench.cluster.now, bench.cluster.out)
    bench.cluster.run(100)
    assert bench.results() == [(b"a", "KafkaException", None, "unknown"), (b"b", "KafkaException", None, "failed")]
    assert bench.producer.unfinished == 0
    assert bench.cluster.open_connections() == 0


def test_partitions_of_one_leader_share_a_request() -> None:
    bench = Bench(linger_ms=10)
    logs = [bench.cluster.add(partition=n) for n in range(3)]
    for n in range(3):
        bench.send(b"v", partition=n)
    bench.cluster.run(100)
    assert [log.values for log in logs] == [[b"v"]] * 3
    assert [len(request.partitions) for _, _, request in bench.produce_requests()] == [3]


def test_an_answer_that_lacks_a_partition_leaves_it_unknown() -> None:
    bench = Bench()
    bench.cluster.add()
    bench.send(b"a")
    bench.cluster.run(3.5)
    assert len(bench.produce_requests()) == 1
    assert bench.cluster.out.route(bench.cluster.now, MessageReceived(1, 2, 8, ProduceResponse([])))
    assert bench.results() == [(b"a", -1, None, "unknown")]


# --- promises under faults ----------------------------------------------------------------------------------------

FATES = st.lists(
    st.sampled_from(["ok", "request lost", "answer lost", "reset", "append and reset", 3, 6, 7, 19, 20]), max_size=25
)
SENDS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3000)), min_size=1, max_size=20)
"""(partition, pause before it in ms)."""


def play(bench: Bench, sends: list[tuple[int, int]]) -> list[bytes]:
    """After a first record each (before it a broker takes any sequence number) send values.
    Run until all must have ended.
    """
    for partition in range(2):
        bench.cluster.add(partition=partition)
    fates, bench.cluster.fates = bench.cluster.fates, None
    bench.send(b"first", partition=0)
    bench.send(b"first", partition=1)
    bench.cluster.run(1000)
    bench.cluster.fates = fates
    at, values = 1000.0, []
    for number, (partition, pause_ms) in enumerate(sends):
        at += pause_ms
        values.append(b"%06d" % number)
        bench.cluster.at(at, partial(bench.send, values[-1], partition=partition))
    settings = bench.settings
    assert settings.delivery_timeout_ms is not None
    bench.cluster.run(at + settings.delivery_timeout_ms + settings.max_block_ms + 1000)
    return values


def sent_to(partition: int, values: list[bytes], sends: list[tuple[int, int]]) -> list[bytes]:
    return [value for value, (to, _) in zip(values, sends, strict=True) if to == partition]


def check_every_operation_ended_once_in_time(bench: Bench) -> None:
    began = {event.operation: ms for ms, event in bench.cluster.invoked()}
    ended = [event.operation for _, event in bench.cluster.ended()]
    assert sorted(ended) == sorted(began)
    settings = bench.settings
    assert settings.delivery_timeout_ms is not None
    for ms, event in bench.cluster.ended():
        assert ms - began[event.operation] <= settings.delivery_timeout_ms + settings.max_block_ms + 0.01
    assert bench.producer.unfinished == 0


@given(fates=FATES, sends=SENDS, batch_size=st.sampled_from([1, 200]))
@settings(max_examples=60, deadline=None)
def test_with_one_in_flight_values_never_overtake(
    fates: list[Fate], sends: list[tuple[int, int]], batch_size: int
) -> None:
    bench = Bench(
        fates,
        acks="all",
        batch_size=batch_size,
        max_in_flight_requests_per_connection=1,
        request_timeout_ms=1000,
        delivery_timeout_ms=120_000,
    )
    values = play(bench, sends)
    check_every_operation_ended_once_in_time(bench)
    for partition in range(2):
        batches = [[r.value for r in read_records(e)] for e in bench.cluster.partitions["t", partition].entries]
        log = [value for batch, _copies in groupby(batches[1:]) for value in batch]
        assert log == sent_to(partition, values, sends), "copies of a batch are neighbours"


@given(
    fates=FATES,
    sends=SENDS,
    batch_size=st.sampled_from([1, 200]),
    version=st.sampled_from(["0.11", "1.1", "2.4", "2.8"]),
)
@settings(max_examples=100, deadline=None)
def test_with_idempotence_each_value_lies_there_once_and_in_order(
    fates: list[Fate], sends: list[tuple[int, int]], batch_size: int, version: str
) -> None:
    bench = Bench(fates, version=version, batch_size=batch_size, request_timeout_ms=1000, enable_idempotence=True)
    # Before 2.1 a queue's bound is request.timeout.ms; here nothing is to be given up.
    bench.settings = msgspec.structs.replace(bench.settings, delivery_timeout_ms=120_000.0)
    bench.start()
    values = play(bench, sends)
    check_every_operation_ended_once_in_time(bench)
    for partition in range(2):
        log = bench.cluster.partitions["t", partition].values[1:]
        assert log == sent_to(partition, values, sends)
    assert {sent.outcome for sent in bench.sent} == {"ok"}


@given(fates=FATES, sends=SENDS, idempotent=st.booleans())
@settings(max_examples=60, deadline=None)
def test_nothing_exceeds_its_bound_and_everything_ends(
    fates: list[Fate], sends: list[tuple[int, int]], idempotent: bool
) -> None:
    bench = Bench(
        fates,
        batch_size=100,
        buffer_memory=250,
        max_block_ms=2000,
        request_timeout_ms=1000,
        delivery_timeout_ms=2500,
        enable_idempotence=idempotent,
    )

    def check() -> None:
        producer = bench.producer
        assert 0 <= producer._accumulator.memory_used_bytes <= 250
        assert producer._connections.in_flight("broker-0") <= 5

    bench.cluster.checks.append(check)
    play(bench, sends)
    check_every_operation_ended_once_in_time(bench)
    stored = {v for p in range(2) for v in bench.cluster.partitions["t", p].values}
    for sent in bench.sent:
        if sent.outcome == "ok":
            assert sent.value in stored
        elif sent.outcome == "failed":
            assert sent.value not in stored, "failed means certainly not stored"
    assert bench.producer._accumulator.memory_used_bytes == 0
