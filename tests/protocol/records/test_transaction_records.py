"""Markers, and records of `__transaction_state`: Kafka's bytes (semantics 12)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.ids import TopicPartition
from protocol.records.batch import encode_batch
from protocol.records.format import read_header, read_records
from protocol.records.schema_fields import UnreadableRecord
from protocol.records.transaction_markers import Marker, decode_marker, encode_marker
from protocol.records.transaction_states import (
    LOGGED_STATES,
    VALUE_VERSIONS,
    StoredTransaction,
    TransactionState,
    decode_transaction,
    decode_transaction_key,
    encode_transaction,
    encode_transaction_key,
)

MS = st.integers(-1, 2**62)


def hexadecimal(words: str) -> bytes:
    return bytes.fromhex(words)


@pytest.mark.parametrize(("commits", "kind"), [(False, "0000"), (True, "0001")])
def test_a_marker_has_the_bytes_of_kafka(commits: bool, kind: str) -> None:
    """EndTransactionMarker: key (version, type), value (version, coordinator epoch)."""
    data = encode_marker(Marker(commits, 7), producer_id=3, producer_epoch=2, timestamp_ms=9)
    header = read_header(data)
    assert (header.is_transactional, header.is_control, header.base_sequence) == (True, True, -1)
    assert (header.producer_id, header.producer_epoch, header.max_timestamp_ms) == (3, 2, 9)
    (record,) = read_records(data)
    assert (record.key, record.value) == (hexadecimal(f"0000 {kind}"), hexadecimal("0000 00000007"))
    assert decode_marker(data) == Marker(commits, 7)


def test_other_control_records_are_no_markers() -> None:
    leader_change = encode_batch(
        [(hexadecimal("0000 0002"), b"", ())], timestamp_ms=0, producer_id=-1, producer_epoch=-1, is_control=True
    )
    assert decode_marker(leader_change) is None


def test_a_value_has_the_bytes_of_kafka() -> None:
    """TransactionLogValue.json, in both versions."""
    stored = StoredTransaction(5, 1, 60_000, TransactionState.ONGOING, (("t", 0), ("t", 2)), 17, 16)
    head, times = "0000000000000005 0001 0000ea60 01", "0000000000000011 0000000000000010"
    old = f"0000 {head} 00000001 0001 74 00000002 00000000 00000002 {times}"
    compact = f"0001 {head} 02 02 74 03 00000000 00000002 00 {times} 00"
    assert encode_transaction(stored, 0) == hexadecimal(old)
    assert encode_transaction(stored, 1) == hexadecimal(compact)
    empty = StoredTransaction(5, 1, 60_000, TransactionState.EMPTY, (), 17, -1)
    assert b"\xff\xff\xff\xff" in encode_transaction(empty, 0)[17:21]
    assert encode_transaction_key("A") == hexadecimal("0000 0001 41")


PARTITIONS: st.SearchStrategy[list[TopicPartition]] = st.lists(
    st.tuples(st.sampled_from(["t", "u", "__consumer_offsets"]), st.integers(0, 9)), unique=True, max_size=6
)


@given(
    st.integers(0, 2**62),
    st.integers(0, 32_767),
    st.sampled_from(sorted(LOGGED_STATES - {TransactionState.EMPTY})),
    PARTITIONS,
    MS,
    MS,
    st.sampled_from(VALUE_VERSIONS),
)
def test_values_are_read_back(
    pid: int,
    epoch: int,
    state: TransactionState,
    partitions: list[TopicPartition],
    updated: int,
    began: int,
    version: int,
) -> None:
    stored = StoredTransaction(pid, epoch, 1000, state, tuple(sorted(partitions)), updated, began, 2 * version)
    data = encode_transaction(stored, version)
    assert decode_transaction(data) == stored
    for length in (0, len(data) // 2, len(data) - 1):
        with pytest.raises(UnreadableRecord):
            decode_transaction(data[:length])


def test_what_cannot_be_read() -> None:
    stored = encode_transaction(StoredTransaction(5, 1, 1, TransactionState.EMPTY), 0)
    for data, words in (
        (b"\x00\x09" + stored[2:], "value version 9"),
        (stored[:16] + b"\x07" + stored[17:], "state 7"),
        (stored[:16] + b"\x01\x7f\xff\xff\xff" + stored[21:], "entries"),
    ):
        with pytest.raises(UnreadableRecord, match=words):
            decode_transaction(data)
    with pytest.raises(UnreadableRecord, match="key version 1"):
        decode_transaction_key(b"\x00\x01\x00\x01A")
