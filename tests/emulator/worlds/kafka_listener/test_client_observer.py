"""Operations for the audit that a broker's Kafka listener reports of a client's records."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.worlds.network.kafka_listener.client_observer import NAMED_BYTES_MAX, NAMED_RECORDS_MAX, ClientObserver
from protocol.events import Event, OperationEnded, OperationInvoked
from protocol.events.record_values import RECORDS_MAX, VALUES_BYTES_MAX, VALUES_MAX, value_bytes_max, values_in
from protocol.ids import BrokerId, Offset
from protocol.messages.replication_messages import ProducePartition, ProduceRequest, ProduceResponse, ProduceResult
from protocol.records.batch import HEADER_BYTES, encode_batch
from protocol.records.compression import CODECS, Compression
from protocol.records.format import encode


def reported(records: bytes, acks: int = -1) -> list[Event]:
    """Of one produce, which was answered with offset 5."""
    written: list[Event] = []
    observer = ClientObserver("broker-0", 1, BrokerId(0), lambda event, cause: written.append(event))
    producing = observer.produced("app", acks, ProduceRequest(-1, 100, [ProducePartition("t", 0, records)]), "cause")
    producing.delivered(ProduceResponse([ProduceResult("t", 0, 0, Offset(5))]))
    return written


def invoked_in(events: list[Event]) -> list[OperationInvoked]:
    return [event for event in events if isinstance(event, OperationInvoked)]


def ended_in(events: list[Event]) -> list[OperationEnded]:
    return [event for event in events if isinstance(event, OperationEnded)]


@pytest.mark.parametrize("producer_id", [-1, 0, 4711])
def test_a_batch_is_an_operation_of_its_records_and_states_whether_its_producer_is_idempotent(producer_id: int) -> None:
    events = reported(encode_batch([b"a", b"b"], timestamp_ms=1, producer_id=producer_id, base_sequence=0))
    [invoked], [ended] = invoked_in(events), ended_in(events)
    assert (invoked.records, invoked.value, invoked.acks, invoked.client) == (2, '["a","b"]', -1, "app")
    assert (ended.records, ended.outcome, ended.offset) == (2, "ok", 5)
    assert ended.idempotent == (producer_id >= 0)


def test_one_record_is_shown_as_its_value() -> None:
    [invoked] = invoked_in(reported(encode_batch([b'["a"]'], timestamp_ms=1)))
    assert (invoked.records, invoked.value) == (1, '["a"]')


@given(
    st.lists(st.binary(max_size=400), min_size=1, max_size=60),
    st.integers(1, 30),
    st.sampled_from(CODECS),
    st.sampled_from((-1, 0, 1)),
)
def test_operations_name_every_record_of_a_batch_once(
    values: list[bytes], times: int, codec: Compression, acks: int
) -> None:
    values = values * times
    events = reported(encode_batch(values, timestamp_ms=1, compression=codec), acks)
    offset, reported_values = 5, []
    for invoked, ended in zip(invoked_in(events), ended_in(events), strict=True):
        assert invoked.operation == ended.operation and invoked.records == ended.records <= VALUES_MAX
        assert ended.offset == (-1 if acks == 0 else offset)
        offset += ended.records
        reported_values += values_in(invoked.value, invoked.records)
        assert sum(len(value) for value in values_in(invoked.value, invoked.records)) <= VALUES_BYTES_MAX
    assert offset == 5 + len(values)
    assert [len(one) > 0 for one in reported_values] == [len(value) > 0 for value in values]
    if len(values) <= VALUES_MAX:
        most = value_bytes_max(len(values))
        assert reported_values == [value[:most].decode("utf-8", "replace") for value in values]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize(("codec", "operations"), [("none", 3), ("gzip", 1)])
def test_records_of_older_formats_are_reported_by_entry_of_the_log(
    magic: int, codec: Compression, operations: int
) -> None:
    events = reported(encode([b"a", b"b", b"c"], magic=magic, timestamp_ms=1, compression=codec))
    each = [value for one in invoked_in(events) for value in values_in(one.value, one.records)]
    assert each == ["a", "b", "c"] and len(invoked_in(events)) == operations
    assert [(one.offset, one.records) for one in ended_in(events)] == (
        [(5, 3)] if operations == 1 else [(5, 1), (6, 1), (7, 1)]
    )


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize(("count", "size_bytes"), [(NAMED_RECORDS_MAX + 1, 1), (5, NAMED_BYTES_MAX)])
def test_of_a_batch_too_large_to_report_each_record_is_counted(codec: Compression, count: int, size_bytes: int) -> None:
    events = reported(encode_batch([bytes(size_bytes)] * count, timestamp_ms=1, compression=codec))
    assert sum(one.records for one in invoked_in(events)) == sum(one.records for one in ended_in(events)) == count
    assert all(values_in(one.value, one.records) == [""] * one.records for one in invoked_in(events))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("claimed", [0, 1, 3, 5_000, RECORDS_MAX + 1, 2**31 - 1])
def test_a_batch_that_lies_about_its_records_costs_no_more_than_its_size(codec: Compression, claimed: int) -> None:
    batch = bytearray(encode_batch([b"a", b"b"], timestamp_ms=1, compression=codec))
    batch[HEADER_BYTES - 4 : HEADER_BYTES] = claimed.to_bytes(4, "big")
    events = reported(bytes(batch))
    assert len(events) <= 12
    if claimed <= NAMED_RECORDS_MAX:
        assert sum(one.records for one in invoked_in(events)) == 1


@given(st.binary(max_size=200), st.sampled_from(CODECS))
def test_records_that_cannot_be_read_are_an_operation_all_the_same(garbage: bytes, codec: Compression) -> None:
    batch = encode_batch([b"a"], timestamp_ms=1, compression=codec)
    head = bytearray(batch[:HEADER_BYTES])
    head[8:12] = (HEADER_BYTES - 12 + len(garbage)).to_bytes(4, "big")
    head[17:21] = zlib.crc32(garbage).to_bytes(4, "big")
    [invoked] = invoked_in(reported(bytes(head) + garbage))
    assert invoked.records == 1


def test_what_validation_refused_is_no_operation() -> None:
    """Its header may say anything, and its client is told of an error."""
    written: list[Event] = []
    observer = ClientObserver("broker-0", 1, BrokerId(0), lambda event, cause: written.append(event))
    records = encode_batch([b"a"], timestamp_ms=1)
    requested = [ProducePartition("t", 0, records, fault=87), ProducePartition("t", 1, records)]
    producing = observer.produced("app", -1, ProduceRequest(-1, 100, requested), "cause")
    producing.delivered(ProduceResponse([ProduceResult("t", 0, 87), ProduceResult("t", 1, 0, Offset(5))]))
    assert {event.partition for event in written if isinstance(event, OperationInvoked)} == {1}
