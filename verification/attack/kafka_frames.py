"""Invalid Kafka frames for a broker's listener, and their effect.

Of every API key and version: well-formed with unusual values, flipped, truncated, spliced, with the key of another, or
no frames at all.

The well-formed ones are written from Kafka's own schemas, so that later damage is deep inside.
"""

import random
import struct
import time
from collections import Counter
from typing import Any, Final
from uuid import UUID

import msgspec

from emulator.worlds.network.kafka_listener import apis, codec
from emulator.worlds.network.kafka_listener.advertised_listeners import Place
from emulator.worlds.network.kafka_listener.apis import apis_of
from emulator.worlds.network.kafka_listener.client import Arrived, KafkaClient
from emulator.worlds.network.kafka_listener.client_observer import ClientObserver
from emulator.worlds.network.kafka_listener.message_encoder import message_writer
from emulator.worlds.network.kafka_listener.message_schemas import (
    REQUESTS,
    Schema,
    entry_type,
    field_name,
    is_flexible,
    is_list,
    split_fields,
    within,
)
from emulator.worlds.network.kafka_listener.translation import message_of
from emulator.worlds.network.mailbox import AnsweredHere
from emulator.worlds.network.spec import Address
from protocol.errors import ErrorCode
from protocol.events import Event
from protocol.framing import MAX_FRAME_BYTES, FrameDecoder, ProtocolError
from protocol.gates import gates_for
from protocol.ids import NO_OFFSET, BrokerId
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
)
from protocol.messages.replication_messages import ProduceResult as Result
from protocol.records.format import encode as encode_batch

MIB: Final = 1 << 20
PER_VERSION: Final = 20
"""Well-formed frames in the pool, of each API and version."""
NUMBERS: Final = (-(2**63), -(2**31), -(2**15), -129, -2, -1, 0, 1, 2, 3, 5, 100, 127, 2**15 - 1, 2**31 - 1, 2**63 - 1)
WORDS: Final = ("", "t", "t-0", "no such", "__consumer_offsets", "..", "a/b", "é\u202e", "x" * 249, "x" * 300, "\x00",
                "flush.ms", "1", "-1", "PLAIN", "consumer", "g")  # fmt: skip
BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16}
HEAD: Final = struct.Struct(">hhi")
NO_UTF_8: Final = b"\x00\x03\x00\x04\x00\x00\x00\x01\x00\x02\xff\xfe\x00\x00\x00\x01\x00\x02\xc3\x28"
HOSTILE_SIZES: Final = (0, -1, 2**25 + 1, 2**31 - 1)
UNFRAMED: Final = (
    b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x00" * 64
)  # fmt: skip
FILLINGS: Final = (b"\x00", b"\x01", b"\x02", b"\x7f", b"\x80", b"\xff")
LONG: Final = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xfe", b"\xff\xff\xff\xff\x0f", b"\x80")
"""Lengths, plain and of varying size, beyond the data."""
PLACE: Final = Place("az-0", "client-0", {"broker-0": Address("127.0.0.1", 9092)}, {"broker-0": 0}, "run")


def request_payload(
    api: int, version: int, values: dict[str, Any], *, correlation_id: int = 1, client_id: str | None = None
) -> bytes:
    """A request without its length. `values`: by the names of its schema's fields."""
    schema = REQUESTS[api]
    client = b"\xff\xff" if client_id is None else struct.pack(">h", len(client_id.encode())) + client_id.encode()
    chunks = [HEAD.pack(api, version, correlation_id), client, b"\x00" if is_flexible(schema, version) else b""]
    message_writer(schema, version)(chunks, values)
    return b"".join(chunks)


class KafkaFrames:
    """Generator of frames. `payload()`: the next one, without its length.

    `seed` decides all. Written for a broker of `kafka_version`, and for versions that it does not support.
    """

    def __init__(self, seed: int, kafka_version: str = "2.8") -> None:
        self.chance = random.Random(seed)
        self.gates = gates_for(kafka_version)
        self.spoken = apis_of(self.gates)
        magic = self.gates.record_magic
        self._batches = [encode_batch([b"v" * size] * count, magic=magic, timestamp_ms=1)
                         for size, count in ((1, 1), (10, 3), (300, 40))]  # fmt: skip
        self._pool: list[bytes] = []
        for api, range_ in self.spoken.items():
            for version in range(range_.least, range_.most + 1):
                self._pool += [self.written(api, version) for _ in range(PER_VERSION)]

    def written(self, api: int, version: int) -> bytes:
        """A well-formed request: each field has a value of its type."""
        client = self.chance.choice(WORDS)
        number = self.chance.randrange(2**31)
        values = self._struct(REQUESTS[api], version)
        return request_payload(api, version, values, correlation_id=number, client_id=client)

    def _struct(self, of: Schema, version: int) -> dict[str, Any]:
        plain, _ = split_fields(of["fields"], version)
        return {field_name(field): self._value(field, version) for field in plain}

    def _value(self, field: Schema, version: int) -> Any:
        chance = self.chance
        if within(field.get("nullableVersions"), version) and chance.random() < 0.2:
            return None
        if not is_list(field):
            return self._scalar(field)
        count = chance.choice((0, 1, 1, 1, 2, 3))
        return [self._struct(field, version) if "fields" in field else self._scalar(field) for _ in range(count)]

    def _scalar(self, field: Schema) -> Any:
        chance = self.chance
        match entry_type(field):
            case "bool":
                return chance.random() < 0.5
            case "string":
                return chance.choice(WORDS)
            case "records":
                return self._records()
            case "float64":
                return chance.choice((0.0, -1.0, 1e308, float("inf")))
            case "uuid":
                return UUID(int=chance.choice((0, 1, 2**128 - 1)))
            case "bytes":
                return chance.randbytes(chance.choice((0, 1, 30)))
            case kind if kind in BITS:
                bits = BITS[kind]
                low, high = (0, 2**bits) if kind == "uint16" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
                return chance.choice([one for one in NUMBERS if low <= one < high])
        raise AssertionError(f"no values for {field['type']}, of {field['name']}")

    def _records(self) -> bytes:
        data = bytearray(self.chance.choice(self._batches))
        if self.chance.random() < 0.6:
            self._flip(data)
        if self.chance.random() < 0.2:
            data = data[: self.chance.randrange(len(data) + 1)]
        return bytes(data)

    def _flip(self, data: bytearray) -> None:
        for _ in range(self.chance.choice((1, 1, 2, 5))):
            data[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)

    def valid(self) -> bytes:
        return self.chance.choice(self._pool)

    def payload(self) -> bytes:
        chance = self.chance
        which = chance.randrange(10)
        if which < 3:
            return self.valid()
        if which < 5:  # bits flipped
            data = bytearray(self.valid())
            self._flip(data)
            return bytes(data)
        if which == 5:  # truncated
            data = bytearray(self.valid())
            return bytes(data[: chance.randrange(len(data) + 1)])
        if which == 6:  # one spliced into another
            one, other = self.valid(), self.valid()
            return one[: chance.randrange(len(one) + 1)] + other[chance.randrange(len(other)) :]
        if which == 7:  # another's key or version: the body does not fit
            api = chance.choice([*self.spoken, *range(70), -1, 999, 2**15 - 1])
            return struct.pack(">hh", api, chance.choice((*range(14), -1, 2**15 - 1))) + self.valid()[4:]
        if which == 8:  # long lists and strings that are not there, in place of something
            data = bytearray(self.valid())
            at = chance.randrange(8, len(data) + 1)
            data[at : at + 4] = chance.choice(LONG)
            return bytes(data)
        api, range_ = chance.choice(list(self.spoken.items()))
        head = HEAD.pack(api, chance.randint(range_.least, range_.most), 1)
        return chance.choice((NO_UTF_8, chance.randbytes(chance.randrange(60)), head + chance.randbytes(40)))

    def large(self) -> bytes:
        """A payload of 1 KiB up to the largest frame, with equal numbers of each size.

        After a request's beginning come wrong counts, endless data, filled lists, tags or records, or random bytes.
        """
        chance = self.chance
        size = min(MAX_FRAME_BYTES, int(2 ** chance.uniform(10, 25.01)))
        beginning = bytearray(self.valid())
        at = chance.randrange(8, len(beginning) + 1)
        match chance.randrange(6):
            case 0:  # the same byte for ever: endless numbers, empty entries
                data = beginning[:at] + chance.choice(FILLINGS) * size
            case 1:  # a count of the size of the rest, or larger
                count = chance.choice((*LONG, struct.pack(">i", size // 2), struct.pack(">i", 4_000), b"\xa1\x1f"))
                data = beginning[:at] + count + chance.choice(FILLINGS) * size
            case 2:
                data = beginning[:at] + chance.randbytes(size)
            case 3:  # its own bytes again and again, as entries of a list
                data = beginning[:at] + bytes(beginning[8:]) * (size // max(1, len(beginning) - 8))
            case 4:  # tagged fields
                data = beginning[:at] + chance.choice((b"\xff\xff\x03", b"\xa0\x1f")) + b"\x07\x00" * (size // 2)
            case _:
                return self._large_produce(size)
        return bytes(data[:MAX_FRAME_BYTES])

    def _large_produce(self, size: int) -> bytes:
        """With as many batches, or as much of one, damaged or not."""
        batch = self.chance.choice(self._batches)
        records = batch * (size // len(batch))
        if self.chance.random() < 0.5:  # one batch of that length
            records = batch[:8] + struct.pack(">i", len(records) - 12) + records[12:]
        one = {"index": 0, "records": records[: MAX_FRAME_BYTES - 1_000]}
        values = {"transactional_id": None, "acks": 1, "timeout_ms": 1,
                  "topic_data": [{"name": "t", "partition_data": [one]}]}  # fmt: skip
        version = self.chance.randint(*self.spoken[apis.PRODUCE])
        return request_payload(apis.PRODUCE, version, values)

    def framed(self, payload: bytes) -> bytes:
        """With its length, which now and then is none."""
        chance = self.chance
        if chance.random() < 0.98:
            return self.with_length(payload)
        return chance.choice((*UNFRAMED, struct.pack(">i", chance.choice(HOSTILE_SIZES)) + payload))

    @staticmethod
    def with_length(payload: bytes) -> bytes:
        return struct.pack(">i", len(payload)) + payload


class Reading:
    """Requests that a listener of a broker of that version reads."""

    def __init__(self, frames: KafkaFrames) -> None:
        self._listener = codec.listener_of(frames.gates, PLACE)

    def read(self, payload: bytes) -> Arrived:
        """Raises ProtocolError."""
        request = codec.read_request(payload, self._listener)
        return Arrived(request.correlation_id, request.version, message_of(request), request)

    def understands(self, payload: bytes) -> bool:
        try:
            self.read(payload)
        except ProtocolError:
            return False
        return True


class HostileListener:
    """A broker's listener without sockets: the bytes of a stream, up to its machine.

    `became`: outcomes of frames, by name. Any exception is a bug.
    """

    def __init__(self, frames: KafkaFrames) -> None:
        self._frames = frames
        self._reading = Reading(frames)
        self._client = KafkaClient(ClientObserver("broker-0", 1, BrokerId(0), self._count), lambda: True)
        self._stream = FrameDecoder()
        self.became: Counter[str] = Counter()
        self.apis: Counter[int] = Counter()
        """{API: frames that would reach the machine}"""
        self.events = 0
        self.slowest_s = 0.0
        self.dearest_s_per_mib = 0.0
        """Of each MiB that a frame has begun."""

    def large(self) -> bytes:
        return self._frames.large()

    def _count(self, event: Event, cause: str) -> None:
        """It can be written, and is read again as it was."""
        self.events += 1
        assert msgspec.json.decode(msgspec.json.encode(event), type=type(event)) == event, event

    def hear(self, payload: bytes | None = None) -> None:
        """One frame, or invalid bytes; after a refusal a new connection."""
        frame = self._frames.framed(self._frames.payload()) if payload is None else self._frames.with_length(payload)
        began = time.thread_time()
        self._hear(frame)
        took = time.thread_time() - began
        self.slowest_s = max(self.slowest_s, took)
        self.dearest_s_per_mib = max(self.dearest_s_per_mib, took / (1 + len(frame) // MIB))

    def _hear(self, frame: bytes) -> None:
        try:
            payloads = self._stream.feed(frame)
            for payload in payloads:
                self._requested(payload)
            if not payloads:  # it continues with the next bytes: an unauthenticated connection's time is limited
                self.became["not ended"] += 1
                self._stream = FrameDecoder()
        except ProtocolError:
            self.became["refused"] += 1
            self._stream = FrameDecoder()

    def _requested(self, payload: bytes) -> None:
        arrived = self._reading.read(payload)
        message = arrived.message
        self._client.taken(arrived)
        self._client.passed(arrived, "cause")
        if isinstance(message, AnsweredHere):
            self.became["answered at the listener"] += 1
            self._client.dropped()
            return
        self.became["asked the machine"] += 1
        self.apis[arrived.request.api] += 1
        answer = self._answer(message)
        if answer is not None and self._client.answered(answer) is not None:  # with acks=0 nothing leaves
            self._client.left()
        self._client.dropped()

    def _answer(self, message: Message) -> Message | None:
        """Responses to requests with records, which events report to clients."""
        if isinstance(message, ProduceRequest):
            code = self._frames.chance.choice((ErrorCode.NONE, ErrorCode.CORRUPT_MESSAGE))
            return ProduceResponse([Result(one.topic, one.partition, code, NO_OFFSET) for one in message.partitions])
        if isinstance(message, FetchRequest):
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return FetchResponse([FetchedPartition(one.topic, one.partition, unknown) for one in message.partitions])
        return None


HARMLESS: Final = (apis.API_VERSIONS, apis.METADATA, apis.LIST_OFFSETS, apis.OFFSET_FOR_LEADER_EPOCH, apis.LIST_GROUPS)
"""Requests that may be repeated without limit, with immediate responses."""
