"""Records of the metadata log: round trips, and the bytes of real controllers."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.ids import BrokerId, LeaderEpoch
from protocol.records.compact_fields import is_uuid, uuid, uuid_text
from protocol.records.metadata_codec import decode_metadata_record, encode_metadata_record
from protocol.records.metadata_records import (
    UNCHANGED,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)
from protocol.records.schema_fields import UnreadableRecord

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
broker = int32.map(BrokerId)
ids = st.lists(broker, max_size=200).map(tuple)
text = st.text(max_size=300)
uuids = st.binary(min_size=16, max_size=16).map(uuid_text)
change = st.sampled_from([-1, 0, 1])
records = st.one_of(
    st.builds(FeatureLevelRecord, text, st.integers(-(2**15), 2**15 - 1)),
    st.builds(RegisterBrokerRecord, broker, uuids, int64, text, text, st.booleans(), st.booleans()),
    st.builds(UnregisterBrokerRecord, broker, int64),
    st.builds(BrokerRegistrationChangeRecord, broker, int64, change, change),
    st.builds(TopicRecord, text, uuids),
    st.builds(RemoveTopicRecord, uuids),
    st.builds(
        PartitionRecord, uuids, int32, ids, ids, broker, int32.map(LeaderEpoch), int32, ids, ids, st.booleans(), ids,
        ids,
    ),
    st.builds(
        PartitionChangeRecord, uuids, int32, int32, *([st.none() | ids] * 4), st.none() | st.booleans(),
        st.none() | ids, st.none() | ids,
    ),
    st.builds(ConfigRecord, st.integers(-128, 127), text, text, st.none() | text),
    st.builds(ClearElrRecord, text),
    st.builds(ProducerIdsRecord, broker, int64, int64),
    st.just(NoOpRecord()),
)  # fmt: skip

TOPIC = "mhTR0jkrTGaaqtPmX0ZHaQ"
ISR_AND_ELR = "010502000000009a14d1d2392b4c669aaad3e65f464769020005020000000006050200000001"
REAL: list[tuple[str, MetadataRecord]] = [
    ("010c00116d657461646174612e76657273696f6e001500", FeatureLevelRecord("metadata.version", 21)),
    ("01140000", NoOpRecord()),
    (  # 3.9: features and log directories are skipped
        "0100030000000000692bbfba9c144de5b419b3c3a362824f0000000000000017020a504c41494e544558540b31302e39392e302e313023"
        "84000000030e6b726166742e76657273696f6e0000000100116d657461646174612e76657273696f6e00010015000001000100110280c5"
        "91be582a98d8c67bc7c68cd31000",
        RegisterBrokerRecord(BrokerId(0), "aSu_upwUTeW0GbPDo2KCTw", 23, "10.99.0.10"),
    ),
    (  # 4.4: version 4
        "0100040000000000bc7a7d8181324998bcf59a0be08b76f2000000000000001a020a504c41494e544558540b31302e39392e302e313023"
        "84000000080e67726f75702e76657273696f6e00000001000e6b726166742e76657273696f6e00000001000e73686172652e7665727369"
        "6f6e0000000200116d657461646174612e76657273696f6e000700210021656c696769626c652e6c65616465722e7265706c696361732e"
        "76657273696f6e0000000100147472616e73616374696f6e2e76657273696f6e00000002001073747265616d732e76657273696f6e0000"
        "000100000100010011024f70ebe1a1d0549090c53b64af2545b7",
        RegisterBrokerRecord(BrokerId(0), "vHp9gYEySZi89ZoL4It28g", 26, "10.99.0.10"),
    ),
    ("011100000000000000000000000017010001ff", BrokerRegistrationChangeRecord(BrokerId(0), 23, fenced=-1)),
    ("01110300000000000000000000001a01030101", BrokerRegistrationChangeRecord(BrokerId(0), 26)),
    ("010200027428c8d2ee2e5c423697c0609437e8f57100", TopicRecord("t", "KMjS7i5cQjaXwGCUN-j1cQ")),
    (
        "010302000000009a14d1d2392b4c669aaad3e65f4647690400000000000000010000000204000000000000000100000002010100000000"
        "0000000000000000044f70ebe1a1d0549090c53b64af2545b7fd7d460a04bbfd526bfecd94f0491acc39c25e5f5fc21b78f341284361d7"
        "b5fb00",
        PartitionRecord(
            TOPIC, 0, (BrokerId(0), BrokerId(1), BrokerId(2)), (BrokerId(0), BrokerId(1), BrokerId(2)), BrokerId(0)
        ),
    ),
    (
        "0105010000000028c8d2ee2e5c423697c0609437e8f5710100050200000000",
        PartitionChangeRecord("KMjS7i5cQjaXwGCUN-j1cQ", 0, isr=(BrokerId(0),)),
    ),
    (ISR_AND_ELR, PartitionChangeRecord(TOPIC, 0, UNCHANGED, isr=(BrokerId(0),), elr=(BrokerId(1),))),
    (
        "0104000401146d696e2e696e73796e632e7265706c69636173023200", ConfigRecord(4, "", "min.insync.replicas", "2"),
    ),
    ("011c00027400", ClearElrRecord("t")),
]  # fmt: skip


@given(records)
def test_every_record_comes_back(record: MetadataRecord) -> None:
    assert decode_metadata_record(encode_metadata_record(record)) == record


@pytest.mark.parametrize(("data", "record"), REAL)
def test_real_bytes_are_read(data: str, record: MetadataRecord) -> None:
    assert decode_metadata_record(bytes.fromhex(data)) == record


@pytest.mark.parametrize(
    "data",
    [
        "010c00116d657461646174612e76657273696f6e001500", "01140000", "010200027428c8d2ee2e5c423697c0609437e8f57100",
        ISR_AND_ELR, "0104000401146d696e2e696e73796e632e7265706c69636173023200", "011c00027400",
    ],
)  # fmt: skip
def test_records_without_skipped_fields_have_kafkas_bytes(data: str) -> None:
    assert encode_metadata_record(decode_metadata_record(bytes.fromhex(data))).hex() == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("02140000", "frame version 2"),
        ("0115000001", "unknown API key 21"),
        ("01140100", "version 1 of API key 20"),
        ("0114000000", "1 bytes after the last field"),
        ("011400", "end inside"),
        ("011c00ffffffff0f74", "end inside"),
        ("011c00ffffffff7f74", "more than 32 bits"),
        ("011c00027401010274", "end inside"),
        ("011c000000", "null before"),
        ("011c0002ff00", "no UTF-8"),
    ],
)
def test_damage_is_named(data: str, reason: str) -> None:
    with pytest.raises(UnreadableRecord, match=reason):
        decode_metadata_record(bytes.fromhex(data))


@given(st.binary(max_size=60) | st.sampled_from([bytes.fromhex(data) for data, _ in REAL]), st.data())
def test_damaged_bytes_raise_nothing_else(start: bytes, data: st.DataObject) -> None:
    damaged = bytearray(b"\1" + start[1:])
    if len(damaged) > 2:
        damaged[data.draw(st.integers(1, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(UnreadableRecord):
        decode_metadata_record(bytes(damaged))


@pytest.mark.parametrize("other", ["", "t", TOPIC + "=", TOPIC[:-1] + "R", TOPIC[:-1] + "é", TOPIC[:-1] + "+"])
def test_other_texts_are_no_uuid(other: str) -> None:
    assert not is_uuid(other)
    with pytest.raises(ValueError, match="uuid"):
        uuid(other)
