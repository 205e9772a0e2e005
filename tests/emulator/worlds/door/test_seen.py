"""What a broker's door tells of a client's records, as operations for the audit."""

import pytest

from emulator.worlds.network.door.seen import Seen
from protocol.events import Event, OperationEnded, OperationInvoked
from protocol.ids import BrokerId, Offset
from protocol.messages.replication import ProducePartition, ProduceRequest, ProduceResponse, ProduceResult
from protocol.records.batch import encode_batch


def told(records: bytes) -> list[Event]:
    """Of one produce with acks=all, which was answered with offset 5."""
    written: list[Event] = []
    seen = Seen("broker-0", 1, BrokerId(0), lambda event, cause: written.append(event))
    producing = seen.produced("app", -1, ProduceRequest(-1, 100, [ProducePartition("t", 0, records)]), "cause")
    producing.told(ProduceResponse([ProduceResult("t", 0, 0, Offset(5))]))
    return written


@pytest.mark.parametrize("producer_id", [-1, 0, 4711])
def test_each_record_is_an_operation_and_knows_whether_its_producer_is_idempotent(producer_id: int) -> None:
    events = told(encode_batch([b"a", b"b"], timestamp_ms=1, producer_id=producer_id, base_sequence=0))
    invoked = [event for event in events if isinstance(event, OperationInvoked)]
    ended = [event for event in events if isinstance(event, OperationEnded)]
    assert [(event.value, event.acks, event.client) for event in invoked] == [("a", -1, "app"), ("b", -1, "app")]
    assert [(event.outcome, event.offset) for event in ended] == [("ok", 5), ("ok", 6)]
    assert {event.idempotent for event in ended} == {producer_id >= 0}


def test_what_validation_refused_is_no_operation() -> None:
    """Its header may say anything, and its client is told of an error."""
    written: list[Event] = []
    seen = Seen("broker-0", 1, BrokerId(0), lambda event, cause: written.append(event))
    records = encode_batch([b"a"], timestamp_ms=1)
    asked = [ProducePartition("t", 0, records, fault=87), ProducePartition("t", 1, records)]
    producing = seen.produced("app", -1, ProduceRequest(-1, 100, asked), "cause")
    producing.told(ProduceResponse([ProduceResult("t", 0, 87), ProduceResult("t", 1, 0, Offset(5))]))
    assert {event.partition for event in written if isinstance(event, OperationInvoked)} == {1}
