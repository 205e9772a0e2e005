"""Control records of the metadata log, byte for byte."""

import pytest

from protocol.ids import BrokerId
from protocol.records.batch import encode_batch
from protocol.records.format import read_header
from protocol.records.quorum_records import LeaderChange, decode_leader_change, encode_leader_change
from protocol.records.schema_fields import UnreadableRecord

CHANGE = LeaderChange(BrokerId(1), (BrokerId(0), BrokerId(1), BrokerId(2)), (BrokerId(1), BrokerId(2)))
KEY = bytes.fromhex("00000002")
VALUE = bytes.fromhex(
    "0000"  # version 0
    "00000001"  # leader 1
    "04" "0000000000" "0000000100" "0000000200"  # three voters, each without tagged fields
    "03" "0000000100" "0000000200"  # two that granted
    "00"  # no tagged fields
)  # fmt: skip


def test_a_leader_change_has_kafkas_bytes() -> None:
    assert encode_leader_change(CHANGE) == (KEY, VALUE, ())
    assert decode_leader_change(KEY, VALUE) == CHANGE


def test_another_control_record_is_none() -> None:
    assert decode_leader_change(bytes.fromhex("00000003"), b"") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, VALUE), (KEY, None), (b"\0", VALUE), (KEY, VALUE[:-1]), (KEY, VALUE + b"\0"), (KEY, b"\0\1" + VALUE[2:]),
        (KEY, VALUE[:6] + b"\0" + VALUE[7:]), (KEY, VALUE[:-1] + b"\1"), (KEY, VALUE[:6] + b"\xff" + VALUE[7:]),
    ],
)  # fmt: skip
def test_damage_is_named(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(UnreadableRecord):
        decode_leader_change(key, value)


def test_a_control_batch_is_marked() -> None:
    record = encode_leader_change(CHANGE)
    assert read_header(encode_batch([record], timestamp_ms=1, is_control=True)).is_control
    assert not read_header(encode_batch([record], timestamp_ms=1)).is_control
