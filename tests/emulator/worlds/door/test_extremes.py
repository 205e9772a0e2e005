"""Every field of every request at its extremes is answered, as Kafka answers it.

No connection ends, nothing fails.
"""

import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from benchmarks.attack.heavy_requests import written
from benchmarks.attack.kafka_frames import BITS, PLACE
from emulator.worlds.network.door import apis, codec
from emulator.worlds.network.door.apis import BUILT, Range, apis_of
from emulator.worlds.network.door.translation import answer_to, message_of
from emulator.worlds.network.mailbox import AnsweredHere
from protocol.errors import ErrorCode
from protocol.framing import ProtocolError
from protocol.gates import gates_for
from protocol.messages.message_base import Message
from protocol.records.format import encode as encode_batch
from tests.emulator.machines.broker.harness import Bench

TEXTS = ("", "x" * 300, "x" * 32_767, "\x00", "é/..", ".")
NULLABLE = ("transactional_id", "group_instance_id")
BOUNDED = "group_instance_id"
"""At most 255 characters; a member's id is made of it."""


class Extreme(NamedTuple):
    api: int
    version: int
    field: str
    value: Any
    payload: bytes


class _Writer:
    """Ordinary values, and `value` at the path `field`.

    Of a list `twice` and `none` are such values.
    """

    def __init__(self, version: int, field: str, value: Any, records: bytes) -> None:
        self._version = version
        self._field = field
        self._value_there = value
        self._records = records

    def structure(self, of: Any, path: str = "") -> dict[str, Any]:
        return {one.name: self._value(one, f"{path}/{one.name}") for one in of.untagged_fields(self._version)}

    def _value(self, field: Any, path: str) -> Any:
        if not field.is_array():
            return self._value_there if path == self._field else self._scalar(field)
        if path == self._field and self._value_there in (None, "none"):
            return None if self._value_there is None else []
        if field.is_struct_array():
            entries = [self.structure(field, path)]
        elif path == self._field and self._value_there != "twice":
            entries = [self._value_there]
        else:
            entries = [self._scalar(field.array_of)]
        return entries * 2 if path == self._field and self._value_there == "twice" else entries

    def _scalar(self, field: Any) -> Any:
        match field.type_str:
            case "string":
                return None if field.name in NULLABLE else "t"
            case "records":
                return self._records
            case "bytes":
                return b"x"
            case "bool":
                return False
            case "float64":
                return 0.5
            case "uuid":
                return uuid.UUID(int=1)
        return 1


def fields_of(of: Any, version: int, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, extreme value)"""
    for field in of.untagged_fields(version):
        here = f"{path}/{field.name}"
        null = [None] if field.nullable_for_version_q(version) else []
        if field.is_array():
            yield from ((here, value) for value in ("twice", "none", *null))
            if field.is_struct_array():
                yield from fields_of(field, version, here)
                continue
            field, null = field.array_of, []
        if (bits := BITS.get(field.type_str)) is not None:
            signed = (-(2 ** (bits - 1)), -5, -1, 0, 2 ** (bits - 1) - 1)
            yield from ((here, value) for value in ((0, 2**16 - 1) if field.type_str == "uint16" else signed))
        elif field.type_str == "string":
            yield from ((here, value) for value in (*TEXTS, *null))
        elif field.type_str in ("bytes", "records"):
            yield from ((here, value) for value in (b"", bytes(70_000), *null))


def extremes(kafka_version: str) -> Iterator[Extreme]:
    gates = gates_for(kafka_version)
    records = encode_batch([b"v"], magic=gates.record_magic, timestamp_ms=1)
    for api, range_ in apis_of(gates).items():
        schema = codec._REQUESTS[api]._struct
        for version in {range_.least, range_.most}:
            for field, value in fields_of(schema, version):
                values = _Writer(version, field, value, records).structure(schema)
                yield Extreme(api, version, field, value, written(api, version, values))


def read(extreme: Extreme, spoken: dict[int, Range], magic: int) -> tuple[codec.Asked, Message]:
    requested = codec.read_request(extreme.payload, spoken)
    return requested, message_of(requested, spoken, magic)


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.3", "2.8"])
def test_every_extreme_is_answered(version: str) -> None:
    spoken, magic = apis_of(gates_for(version)), gates_for(version).record_magic
    bench = Bench(version)
    bench.sessions.znodes["/brokers/topics/t/partitions/0/state"] = (b"{}", 0)
    bench.lead(isr=(0,))
    bench.update_metadata()
    answered = 0
    for extreme in extremes(version):
        try:
            requested, message = read(extreme, spoken, magic)
        except ProtocolError as error:
            too_long = extreme.field.endswith(BOUNDED) and len(extreme.value) > 255
            assert too_long or "exactly one batch of magic 2" in str(error), (extreme[:4], error)
            continue
        if isinstance(message, AnsweredHere):
            answered += 1
            continue
        connection = bench.ask(message, requested.version)
        for answer in bench.answers(connection):
            assert answer_to(requested, answer, PLACE)
            answered += 1
        bench.effects.clear()
    assert answered > 100


def answer(api: int, version: int, field: str, value: Any, *, kafka_version: str = "2.8") -> Any:
    """A leader's answer, as its client reads it."""
    schema = codec._REQUESTS[api]._struct
    records = encode_batch([b"v"], magic=2, timestamp_ms=1)
    payload = written(api, version, _Writer(version, field, value, records).structure(schema))
    requested, message = read(Extreme(api, version, field, value, payload), apis_of(gates_for(kafka_version)), 2)
    if isinstance(message, AnsweredHere):
        frame = message.frame
    else:
        bench = Bench(kafka_version)
        bench.sessions.znodes["/brokers/topics/t/partitions/0/state"] = (b"{}", 0)
        bench.lead(isr=(0,))
        bench.update_metadata()
        (reported,) = bench.answers(bench.ask(message, requested.version))
        frame = answer_to(requested, reported, PLACE)
    return codec._RESPONSES[api].decode(frame[4:], version=version, header=True)


@pytest.mark.parametrize("offset", [-(2**63), -5, 2**62, 2**63 - 1])
def test_offsets_that_no_log_reaches_are_out_of_range(offset: int) -> None:
    deleted = _deleted(offset)
    assert deleted.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def _deleted(offset: int) -> Any:
    """Of partition 0; the ordinary value of its number is 1."""
    payload = written(
        apis.DELETE_RECORDS, 2,
        {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "offset": offset}]}], "timeout_ms": 100},
    )  # fmt: skip
    requested, message = read(Extreme(apis.DELETE_RECORDS, 2, "", offset, payload), apis_of(gates_for("2.8")), 2)
    bench = Bench("2.8")
    bench.sessions.znodes["/brokers/topics/t/partitions/0/state"] = (b"{}", 0)
    bench.lead(isr=(0,))
    bench.update_metadata()
    (reported,) = bench.answers(bench.ask(message, requested.version))
    read_back = codec._RESPONSES[apis.DELETE_RECORDS].decode(
        answer_to(requested, reported, PLACE)[4:], version=2, header=True
    )
    return read_back.topics[0].partitions[0]


@pytest.mark.parametrize("number", [-(2**31), -5, 2**31 - 1])
def test_partitions_that_no_topic_has_are_unknown_and_named_as_they_came(number: int) -> None:
    listed = answer(apis.LIST_OFFSETS, 6, "/topics/partitions/partition_index", number).topics[0].partitions[0]
    assert (listed.partition_index, listed.error_code) == (number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    produced = answer(apis.PRODUCE, 9, "/topic_data/partition_data/index", number).responses[0].partition_responses[0]
    assert (produced.index, produced.error_code) == (number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("election", [-128, -1, 2, 127])
def test_an_unknown_kind_of_election_fails_as_elections_type_does(election: int) -> None:
    answered = answer(apis.ELECT_LEADERS, 2, "/election_type", election)
    (of_partition,) = answered.replica_election_results[0].partition_result
    assert answered.error_code == of_partition.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("kind", [-128, -1, 2, 127])
def test_an_unknown_kind_of_coordinator_fails_as_coordinator_type_does(kind: int) -> None:
    assert answer(apis.FIND_COORDINATOR, 3, "/key_type", kind).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_all_apis_are_requested() -> None:
    assert {extreme.api for extreme in extremes("2.8")} >= set(BUILT) - {apis.DESCRIBE_CLUSTER}
