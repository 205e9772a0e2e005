"""Control records of voters and snapshots, byte for byte."""

import pytest

from protocol.ids import BrokerId
from protocol.records.quorum_control_records import (
    ControlRecord,
    KRaftVersion,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    Voters,
    decode_control_record,
    encode_control_record,
)
from protocol.records.quorum_records import LeaderChange
from protocol.records.schema_fields import UnreadableRecord

DIRECTORY = "AAECAwQFBgcICQoLDA0ODw"
VOTERS = Voters((Voter(BrokerId(1000), DIRECTORY, "c0"), Voter(BrokerId(1001), "", "c1")))
BYTES: dict[str, tuple[ControlRecord, str, str]] = {
    "header": (SnapshotHeader(7), "00000003", "0000" "0000000000000007" "00"),
    "footer": (SnapshotFooter(), "00000004", "0000" "00"),
    "version": (KRaftVersion(1), "00000005", "0000" "0001" "00"),
    "voters": (
        VOTERS, "00000006",
        "0000" "03"
        "000003e8" "000102030405060708090a0b0c0d0e0f" "02" "0b434f4e54524f4c4c4552" "036330" "2385" "00" "00000001" "00"
        "00"
        "000003e9" "00000000000000000000000000000000" "02" "0b434f4e54524f4c4c4552" "036331" "2385" "00" "00000001" "00"
        "00" "00",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BYTES)
def test_a_control_record_has_kafkas_bytes(name: str) -> None:
    record, key, value = BYTES[name]
    assert encode_control_record(record) == (bytes.fromhex(key), bytes.fromhex(value), ())
    assert decode_control_record(bytes.fromhex(key), bytes.fromhex(value)) == record


def test_a_leader_change_is_one_of_them() -> None:
    change = LeaderChange(BrokerId(1), (BrokerId(1),), (BrokerId(1),))
    key, value, _ = encode_control_record(change)
    assert decode_control_record(key, value) == change
    assert decode_control_record(bytes.fromhex("00000001"), b"") is None


@pytest.mark.parametrize("name", BYTES)
def test_damage_is_named(name: str) -> None:
    _, key, value = BYTES[name]
    whole = bytes.fromhex(value)
    for damaged in (whole[:-1], whole + b"\0", b"\0\1" + whole[2:]):
        with pytest.raises(UnreadableRecord):
            decode_control_record(bytes.fromhex(key), damaged)
