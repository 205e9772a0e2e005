"""Every field of every request at its extremes is answered, as Kafka answers it.

No connection ends, nothing fails.
"""

import re
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from emulator.worlds.network.kafka_listener import apis, codec
from emulator.worlds.network.kafka_listener.apis import BUILT, apis_of
from emulator.worlds.network.kafka_listener.message_schemas import (
    REQUESTS,
    Schema,
    entry_type,
    field_name,
    is_list,
    split_fields,
    within,
)
from emulator.worlds.network.kafka_listener.translation import answer_to, message_of
from emulator.worlds.network.mailbox import AnsweredHere
from protocol.errors import ErrorCode
from protocol.framing import ProtocolError, decode_body, encode_body
from protocol.gates import gates_for
from protocol.messages.message_base import Message
from protocol.records.format import encode as encode_batch
from tests.emulator.worlds.kafka_listener.library_messages import response_of
from verification.attack.heavy_requests import heavy_requests
from verification.attack.kafka_frames import BITS, PLACE, request_payload
from verification.broker_bench import Bench

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

    def structure(self, of: Schema, path: str = "") -> dict[str, Any]:
        plain, _ = split_fields(of["fields"], self._version)
        return {field_name(one): self._value(one, f"{path}/{field_name(one)}") for one in plain}

    def _value(self, field: Schema, path: str) -> Any:
        if not is_list(field):
            return self._value_there if path == self._field else self._scalar(field)
        if path == self._field and self._value_there in (None, "none"):
            return None if self._value_there is None else []
        if "fields" in field:
            entries = [self.structure(field, path)]
        elif path == self._field and self._value_there != "twice":
            entries = [self._value_there]
        else:
            entries = [self._scalar(field)]
        return entries * 2 if path == self._field and self._value_there == "twice" else entries

    def _scalar(self, field: Schema) -> Any:
        match entry_type(field):
            case "string":
                is_null = field_name(field) in NULLABLE and within(field.get("nullableVersions"), self._version)
                return None if is_null else "t"
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


def fields_of(of: Schema, version: int, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, extreme value)"""
    plain, _ = split_fields(of["fields"], version)
    for field in plain:
        here, kind = f"{path}/{field_name(field)}", entry_type(field)
        null = [None] if within(field.get("nullableVersions"), version) else []
        if is_list(field):
            yield from ((here, value) for value in ("twice", "none", *null))
            if "fields" in field:
                yield from fields_of(field, version, here)
                continue
            null = []
        if (bits := BITS.get(kind)) is not None:
            signed = (-(2 ** (bits - 1)), -5, -1, 0, 2 ** (bits - 1) - 1)
            yield from ((here, value) for value in ((0, 2**16 - 1) if kind == "uint16" else signed))
        elif kind == "string":
            yield from ((here, value) for value in (*TEXTS, *null))
        elif kind in ("bytes", "records"):
            yield from ((here, value) for value in (b"", bytes(70_000), *null))


def extremes(kafka_version: str) -> Iterator[Extreme]:
    gates = gates_for(kafka_version)
    records = encode_batch([b"v"], magic=gates.record_magic, timestamp_ms=1)
    for api, range_ in apis_of(gates).items():
        schema = REQUESTS[api]
        for version in {range_.least, range_.most}:
            for field, value in fields_of(schema, version):
                values = _Writer(version, field, value, records).structure(schema)
                yield Extreme(api, version, field, value, request_payload(api, version, values))


def read(payload: bytes, kafka_version: str = "2.8") -> tuple[codec.KafkaRequest, Message]:
    """A request and its message, which is a valid one."""
    requested = codec.read_request(payload, codec.listener_of(gates_for(kafka_version), PLACE))
    message = message_of(requested)
    if not isinstance(message, AnsweredHere):
        assert decode_body(type(message), encode_body(message)) == message
    return requested, message


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.3", "2.8", "3.9"])
def test_every_extreme_is_answered(version: str) -> None:
    bench = Bench(version)
    bench.sessions.znodes["/brokers/topics/t/partitions/0/state"] = (b"{}", 0)
    bench.lead(isr=(0,))
    bench.update_metadata()
    answered = 0
    for extreme in extremes(version):
        try:
            requested, message = read(extreme.payload, version)
        except ProtocolError as error:
            too_long = extreme.field.endswith(BOUNDED) and len(extreme.value) > 255
            assert too_long or "exactly one batch of magic 2" in str(error), (extreme[:4], error)
            continue
        if isinstance(message, AnsweredHere):
            answered += 1
            continue
        connection = bench.ask(message, requested.version)
        for answer in bench.answers(connection):
            assert answer_to(requested, answer)
            answered += 1
        bench.effects.clear()
    assert answered > 100


@pytest.mark.parametrize("count", [100, 101, 1000, 1001])
def test_a_list_is_refused_or_makes_a_valid_message(count: int) -> None:
    refused = set()
    for heavy in heavy_requests("2.7", count, namings=("distinct",), newest=True):
        try:
            read(heavy.payload, "2.7")
        except ProtocolError as error:
            assert re.search("; at most (100|1000) may be$", str(error)), heavy.name
            refused.add(heavy.api)
    of_both = {apis.JOIN_GROUP: 100, apis.CREATE_TOPICS: 1000, apis.DELETE_TOPICS: 1000}
    assert {api for api, most in of_both.items() if count > most} <= refused


def answer(api: int, version: int, field: str, value: Any, *, kafka_version: str = "2.8") -> Any:
    """A leader's answer, as its client reads it."""
    schema = REQUESTS[api]
    records = encode_batch([b"v"], magic=2, timestamp_ms=1)
    payload = request_payload(api, version, _Writer(version, field, value, records).structure(schema))
    requested, message = read(payload, kafka_version)
    if isinstance(message, AnsweredHere):
        frame = message.frame
    else:
        bench = Bench(kafka_version)
        bench.sessions.znodes["/brokers/topics/t/partitions/0/state"] = (b"{}", 0)
        bench.lead(isr=(0,))
        bench.update_metadata()
        (reported,) = bench.answers(bench.ask(message, requested.version))
        frame = answer_to(requested, reported)
    return response_of(frame, api, version)


@pytest.mark.parametrize("offset", [-(2**63), -5, 2**62, 2**63 - 1])
def test_offsets_that_no_log_reaches_are_out_of_range(offset: int) -> None:
    deleted = _deleted(offset)
    assert deleted.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def _deleted(offset: int) -> Any:
    """Of partition 0; the ordinary value of its number is 1."""
    payload = request_payload(
        apis.DELETE_RECORDS, 2,
        {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "offset": offset}]}], "timeout_ms": 100},
    )  # fmt: skip
    requested, message = read(payload)
    bench = Bench("2.8")
    bench.sessions.znodes["/brokers/topics/t/partitions/0/state"] = (b"{}", 0)
    bench.lead(isr=(0,))
    bench.update_metadata()
    (reported,) = bench.answers(bench.ask(message, requested.version))
    return response_of(answer_to(requested, reported), apis.DELETE_RECORDS, 2).topics[0].partitions[0]


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
    assert {extreme.api for extreme in extremes("3.9")} >= set(BUILT) - {apis.DESCRIBE_CLUSTER}
