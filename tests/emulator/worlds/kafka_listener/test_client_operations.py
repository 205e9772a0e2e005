"""Offsets of groups and reads of Kafka clients, as operations for the audit."""

from collections.abc import Callable
from typing import Any

import pytest
import trio

from emulator.worlds.network.kafka_listener.advertised_listeners import Place
from emulator.worlds.network.kafka_listener.client import Arrived, KafkaClient
from emulator.worlds.network.kafka_listener.client_observer import ClientObserver
from emulator.worlds.network.kafka_listener.codec import KafkaRequest, listener_of
from emulator.worlds.network.spec import Address
from protocol.events import Event, OperationEnded, OperationInvoked, PositionLeft, RecordsRead
from protocol.gates import gates_for
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.messages.groups import (
    CommittedPartition,
    GroupPartition,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from protocol.messages.leadership_messages import PartitionError
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from protocol.records.batch import encode_batch

PLACE = Place("az-0", "client-0", {"broker-0": Address("127.0.0.1", 9092)}, {"broker-0": 0}, "run")
LISTENER = listener_of(gates_for("2.8"), PLACE)
COMMIT = OffsetCommitRequest("g", [OffsetToCommit("t", 0, Offset(5)), OffsetToCommit("t", 1, Offset(7))])
LOOK = OffsetFetchRequest("g", [GroupPartition("t", 0), GroupPartition("t", 1)])
API = {OffsetCommitRequest: (8, 8), OffsetFetchRequest: (9, 7), FetchRequest: (1, 11)}


class Connection:
    """One of a Kafka client to broker-0, without a socket. `written`: the events."""

    def __init__(self, *, there: bool = True) -> None:
        self.written: list[Event] = []
        observer = ClientObserver("broker-0", 1, BrokerId(0), lambda event, cause: self.written.append(event))
        self.client = KafkaClient(observer, lambda: there)

    def ask(self, request: Message) -> None:
        api, version = API[type(request)]
        arrived = Arrived(1, version, request, KafkaRequest(LISTENER, api, version, 1, "app", None))
        self.client.taken(arrived)
        self.client.passed(arrived, "cause")

    def converse(self, request: Message, answer: Message) -> None:
        self.ask(request)
        self.client._answer = answer  # its bytes are another test's
        self.client.left()
        self.client.written()

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.written if isinstance(event, kind)]


def in_trio(test: Callable[[], None]) -> None:
    async def play() -> None:
        test()

    trio.run(play)


def test_a_commit_is_an_operation_of_each_partition_with_its_own_outcome() -> None:
    def test() -> None:
        connection = Connection()
        connection.converse(COMMIT, OffsetCommitResponse([PartitionError("t", 0, 0), PartitionError("t", 1, 3)]))
        assert [
            (one.kind, one.partition, one.value, one.offset, one.broker, one.client)
            for one in connection.of(OperationInvoked)
        ] == [("commit", 0, "g", 5, 0, "app"), ("commit", 1, "g", 7, 0, "app")]
        assert [
            (one.kind, one.outcome, one.error, one.offset, one.broker) for one in connection.of(OperationEnded)
        ] == [
            ("commit", "ok", 0, 5, 0),
            ("commit", "failed", 3, 7, 0),
        ]

    in_trio(test)


def test_a_look_reports_what_it_found() -> None:
    def test() -> None:
        connection = Connection()
        connection.converse(LOOK, OffsetFetchResponse(0, [CommittedPartition("t", 0, Offset(5), LeaderEpoch(2))]))
        assert [(one.kind, one.outcome, one.offset) for one in connection.of(OperationEnded)] == [
            ("committed", "ok", 5),
            ("committed", "ok", -1),
        ]
        refused = Connection()
        refused.converse(LOOK, OffsetFetchResponse(14))
        assert [(one.outcome, one.error) for one in refused.of(OperationEnded)] == [("failed", 14)] * 2

    in_trio(test)


@pytest.mark.parametrize(("request_", "outcome"), [(COMMIT, "unknown"), (LOOK, "failed")])
@pytest.mark.parametrize("end", ["dropped", "ended", "gone"])
def test_an_unreported_operation_ends_once(request_: Message, outcome: str, end: str) -> None:
    """A commit may have been done all the same."""

    def test() -> None:
        connection = Connection(there=end != "gone")
        if end == "gone":
            answer = OffsetCommitResponse([]) if request_ is COMMIT else OffsetFetchResponse(0)
            connection.converse(request_, answer)
        else:
            connection.ask(request_)
            getattr(connection.client, end)()
        connection.client.ended()
        assert [one.outcome for one in connection.of(OperationEnded)] == [outcome] * 2

    in_trio(test)


def test_a_look_at_everything_is_no_operation() -> None:
    """Of partitions that only the answer names."""

    def test() -> None:
        connection = Connection()
        everything = OffsetFetchRequest("g", [], everything=True)
        connection.converse(everything, OffsetFetchResponse(0, [CommittedPartition("t", 0, Offset(5))]))
        assert connection.written == []

    in_trio(test)


def fetch(offset: int) -> FetchRequest:
    request = FetchRequest(BrokerId(-1), 500, 1, 1 << 20, [])
    request.partitions = [FetchPartition("t", 0, Offset(offset), 1 << 20)]
    return request


def fetched(base_offset: int, count: int, error: int = 0) -> FetchResponse:
    records = encode_batch([b"v"] * count, base_offset=Offset(base_offset), timestamp_ms=1) if count else b""
    return FetchResponse([FetchedPartition("t", 0, error, Offset(9), Offset(0), None, records)])


def test_a_connection_that_reads_on_is_one_operation_and_one_that_jumps_begins_another() -> None:
    def test() -> None:
        connection = Connection()
        connection.converse(fetch(0), fetched(0, 2))
        connection.converse(fetch(2), fetched(2, 0))
        connection.converse(fetch(2), fetched(2, 3))
        connection.converse(fetch(3), fetched(2, 3))  # back to the middle of a batch
        connection.client.ended()
        assert [(one.operation, one.offset) for one in connection.of(OperationInvoked)] == [
            ("broker-0.1:1", 0),
            ("broker-0.1:2", 3),
        ]
        assert [(one.operation, one.base_offset, one.last_offset) for one in connection.of(RecordsRead)] == [
            ("broker-0.1:1", 0, 1),
            ("broker-0.1:1", 2, 4),
            ("broker-0.1:2", 3, 4),
        ]
        assert [(one.operation, one.offset) for one in connection.of(OperationEnded)] == [
            ("broker-0.1:1", 5),
            ("broker-0.1:2", 5),
        ]

    in_trio(test)


@pytest.mark.parametrize(("requested", "invoked"), [(2, 0), (7, 7)])
def test_an_offset_out_of_range_is_left_by_the_operation_that_had_come_there(requested: int, invoked: int) -> None:
    """A client's own request is an operation that began there; the check does not judge it."""

    def test() -> None:
        connection = Connection()
        connection.converse(fetch(0), fetched(0, 2))
        connection.converse(fetch(requested), fetched(0, 0, error=1))
        (left,) = connection.of(PositionLeft)
        (begun,) = [one for one in connection.of(OperationInvoked) if one.operation == left.operation]
        assert (left.offset, left.reason, left.stopped) == (requested, "OffsetOutOfRangeException", False)
        assert begun.offset == invoked
        connection.client.ended()
        assert len(connection.of(OperationEnded)) == len(connection.of(OperationInvoked))

    in_trio(test)
