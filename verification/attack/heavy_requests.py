"""The heaviest requests that a broker's listener accepts, and their cost for a broker.

Of every API and version, with the maximum of list entries, laid out in every way that the schema allows.

A request passes all stages of a broker: the frame is decoded, translated, bounded, handled by the broker's machine, and
its response encoded. The machine is a broker that leads the partition t-0 and has no peers, so requests to a controller
are handed over and get no response.
"""

import itertools
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from emulator.worlds.network.event_file import EventFile
from emulator.worlds.network.kafka_listener import codec
from emulator.worlds.network.kafka_listener.apis import apis_of
from emulator.worlds.network.kafka_listener.client import Arrived, KafkaClient
from emulator.worlds.network.kafka_listener.client_observer import ClientObserver
from emulator.worlds.network.kafka_listener.message_schemas import (
    REQUESTS,
    Schema,
    entry_type,
    field_name,
    is_list,
    split_fields,
    within,
)
from emulator.worlds.network.kafka_listener.request_decoder import ENTRIES_MAX
from emulator.worlds.network.kafka_listener.translation import answer_to, message_of
from emulator.worlds.network.mailbox import AnsweredHere
from protocol.events import Event
from protocol.framing import ProtocolError
from protocol.gates import gates_for
from protocol.ids import BrokerId
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.records.format import encode as encode_batch
from verification.attack.kafka_frames import PLACE, request_payload
from verification.broker_bench import Bench

NAMINGS: Final = ("empty", "same", "distinct", "known", "long")
"""Of strings in lists."""
LONG: Final = "x" * 200
VERSIONS: Final = ("2.8", "0.10.2")
NOW: Final = Now(1.0, 1)


class Heavy(NamedTuple):
    """`shape`: which list has the entries, by its path, or `records`."""

    api: int
    version: int
    shape: str
    naming: str
    payload: bytes

    @property
    def name(self) -> str:
        return f"{codec.api_name(self.api)} {self.version}, {self.shape}, {self.naming} names"


class _Writer:
    """Values of a request with `count` entries in the list at `shape`, and one in each other."""

    def __init__(self, version: int, shape: str, naming: str, count: int, records: bytes) -> None:
        self._version = version
        self._shape = shape
        self._naming = naming
        self._count = count
        self._records = records
        self._number = 0

    def structure(self, of: Schema, path: str = "") -> dict[str, Any]:
        plain, _ = split_fields(of["fields"], self._version)
        return {field_name(one): self._value(one, f"{path}/{field_name(one)}") for one in plain}

    def _value(self, field: Schema, path: str) -> Any:
        if not is_list(field):
            return self._scalar(field)
        count = self._count if path == self._shape else 1 if self._shape.startswith(path + "/") else 0
        return [self.structure(field, path) if "fields" in field else self._scalar(field) for _ in range(count)]

    def _scalar(self, field: Schema) -> Any:
        self._number += 1
        name = field_name(field)
        match entry_type(field):
            case "bool":
                return False
            case "string":
                return self._text(name, nullable=within(field.get("nullableVersions"), self._version))
            case "records":
                return self._records
            case "bytes":
                return b""
            case "uuid":
                return uuid.UUID(int=self._number)
            case "float64":
                return 1.0
            case "int8":
                return 2 if name == "resource_type" else 0
            case _:
                return 1_000 if name.endswith("_ms") else self._number % 100 if "partition" in name else 1

    def _text(self, name: str, *, nullable: bool) -> Any:
        if nullable and name in ("transactional_id", "group_instance_id"):
            return None
        number = self._number
        return {"empty": "", "same": "no", "distinct": f"n{number}", "known": "t", "long": LONG}[self._naming]


def lists_of(of: Schema, version: int, path: str = "") -> Iterator[str]:
    """Paths of all lists in a request."""
    plain, _ = split_fields(of["fields"], version)
    for field in plain:
        here = f"{path}/{field_name(field)}"
        if is_list(field):
            yield here
            if "fields" in field:
                yield from lists_of(field, version, here)


def heavy_requests(
    kafka_version: str, count: int = ENTRIES_MAX, *, namings: Sequence[str] = NAMINGS, newest: bool = False
) -> Iterator[Heavy]:
    """`count`: entries of all lists together. `newest`: only the newest version of each API."""
    gates = gates_for(kafka_version)
    batch = encode_batch([b"v"], magic=gates.record_magic, timestamp_ms=1)
    for api, range_ in apis_of(gates).items():
        schema = REQUESTS[api]
        for version in range(range_.most if newest else range_.least, range_.most + 1):
            for shape in lists_of(schema, version):
                depth = shape.count("/") - 1  # the lists that it is in have an entry each
                for naming in namings:
                    writer = _Writer(version, shape, naming, count - depth, batch)
                    yield Heavy(api, version, shape, naming, request_payload(api, version, writer.structure(schema)))


class Cost(NamedTuple):
    """CPU seconds, by their use."""

    became: str
    decoding_s: float
    translating_s: float
    handling_s: float
    answering_s: float
    telling_s: float = 0.0
    """The events of the client's operations, written to a file; `total_s` is without them."""

    @property
    def total_s(self) -> float:
        return self.decoding_s + self.translating_s + self.handling_s + self.answering_s


class Broker:
    """A broker of `kafka_version` that handles one request after the other.

    Its events are written into `run_dir`, if there is one."""

    def __init__(self, kafka_version: str, run_dir: Path | None = None) -> None:
        self._version = kafka_version
        self._listener = codec.listener_of(gates_for(kafka_version), PLACE)
        self.bench = Bench(kafka_version)
        self.bench.sessions.znodes["/brokers/topics/t/partitions/0/state"] = (b"{}", 0)
        self.bench.lead(isr=(0,))
        self.bench.update_metadata()
        self._events = None if run_dir is None else EventFile(run_dir, "run", "broker-0", 1, ("client",))
        self._observer = ClientObserver("broker-0", 1, BrokerId(0), self._write)

    def _write(self, event: Event, cause: str) -> None:
        if self._events is not None:
            self._events.write(event, cause, NOW)

    def cost(self, payload: bytes) -> Cost:
        times = [time.thread_time()]
        try:
            request = codec.read_request(payload, self._listener)
            times.append(time.thread_time())
            message = message_of(request)
        except ProtocolError:
            return Cost("refused", *_spent(times))
        times.append(time.thread_time())
        if isinstance(message, AnsweredHere):
            return Cost("answered at once", *_spent(times))
        connection = self.bench.ask(message, request.version)
        times.append(time.thread_time())
        answers = self.bench.answers(connection)
        self.bench.effects.clear()
        if not answers:
            return Cost("waits", *_spent(times))
        answer_to(request, answers[0])
        cost = Cost("answered", *_spent(times))
        return cost if self._events is None else cost._replace(telling_s=self._events_s(request, message, answers[0]))

    def _events_s(self, request: codec.KafkaRequest, message: Message, answer: Message) -> float:
        """Seconds of the processor."""
        client = KafkaClient(self._observer, lambda: True)
        arrived = Arrived(request.correlation_id, request.version, message, request)
        began = time.thread_time()
        client.taken(arrived)
        client.passed(arrived, "cause")
        began_answer = time.thread_time()
        client.answered(answer)
        ended_answer = time.thread_time()
        client.left()
        client.written()
        assert self._events is not None
        self._events.flush()
        return time.thread_time() - began - (ended_answer - began_answer)


def _spent(times: list[float]) -> list[float]:
    now = [*times, time.thread_time()]
    spent = [after - before for before, after in itertools.pairwise(now)]
    return [*spent, 0.0, 0.0, 0.0][:4]
