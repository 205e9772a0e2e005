"""`python -m verification.attack.request_costs`: cost of requests at a listener's bounds.

    python -m verification.attack.request_costs [--versions 2.8,0.10.2] [--best-of 3]

Every API and version of a broker of these Kafka versions, each list of its schema filled to the bound, with names of
five kinds; produces with as many records, batches, messages and unpacked bytes as are read; frames of the largest size
with equal bytes. In this process, without sockets, in CPU time. Writes verification/results/request_costs.json.
Exit code 1 if a figure misses its budget.
"""

import argparse
import gc
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.figure_records import Figure, show, write
from emulator.toplevel_errors import ended
from emulator.worlds.network.kafka_listener import apis
from emulator.worlds.network.kafka_listener.apis import apis_of
from emulator.worlds.network.kafka_listener.record_validation import (
    MESSAGES_MAX,
    MIB,
    RECORDS_MAX,
    RECORDS_PER_MIB,
    REWRITTEN_BYTES_MAX,
    REWRITTEN_COSTS,
    UNPACKED_BYTES_PER_MIB,
    WRAPPER_COSTS,
    WRAPPERS_ARE_UNPACKED,
)
from protocol.framing import MAX_FRAME_BYTES
from protocol.gates import gates_for
from protocol.ids import Offset
from protocol.records.batch import encode_batch
from protocol.records.compression import CODEC_IDS, CODECS, Compression, compress
from protocol.records.format import encode
from protocol.records.message import Fields, encode_message
from verification import RESULTS
from verification.attack.heavy_requests import Broker, Cost, Heavy, heavy_requests
from verification.attack.kafka_frames import request_payload

PER_MIB_MS: Final = 50.0
SLOWEST_S: Final = 0.5
SLOWEST_SHOWN: Final = 20
FILLINGS: Final = (b"\x00", b"\x01", b"\x02", b"\x7f", b"\x80", b"\xff")


class Measured(NamedTuple):
    name: str
    size_bytes: int
    cost: Cost

    @property
    def per_mib_ms(self) -> float:
        """Of each MiB that the frame has begun."""
        return self.cost.total_s * 1_000 / (1 + self.size_bytes // MIB)


def produced(version: int, partitions: list[bytes]) -> bytes:
    data = [{"index": number, "records": records} for number, records in enumerate(partitions)]
    topics = [{"name": "t", "partition_data": data}]
    return request_payload(
        apis.PRODUCE, version, {"transactional_id": None, "acks": 1, "timeout_ms": 1_000, "topic_data": topics}
    )


def anew(values: list[bytes], magic: int) -> bytes:
    """A wrapper whose inner offsets count from 1."""
    inner = encode(values, magic=magic, timestamp_ms=1, base_offset=Offset(1))
    wrapper = Fields(None, compress("gzip", inner), 1)
    return encode_message(len(values), wrapper, 1 if magic else 0, CODEC_IDS["gzip"])


def of_records(version: int, magic: int) -> Iterator[Heavy]:
    """Produces at the bounds of their records' cost, and beyond them."""

    def heavy(what: str, partitions: list[bytes]) -> Heavy:
        return Heavy(apis.PRODUCE, version, what, "no", produced(version, partitions))

    if magic < 2:
        one = encode([b"v"], magic=magic, timestamp_ms=1)
        yield heavy("as many messages as are read", [one * MESSAGES_MAX])
        yield heavy("a million messages", [one * 1_000_000])
        mixed = one + encode([b"v"], magic=magic, timestamp_ms=1, compression="snappy")
        yield heavy("messages and wrappers by turns", [mixed * (MESSAGES_MAX // (WRAPPER_COSTS + 2))])
        full = encode([bytes(100)] * (MESSAGES_MAX - WRAPPER_COSTS), magic=magic, timestamp_ms=1, compression="gzip")
        yield heavy("a full wrapper", [full])
        small = (MESSAGES_MAX - WRAPPER_COSTS) // REWRITTEN_COSTS
        for count, each_bytes in ((small, 1), (2, REWRITTEN_BYTES_MAX // 2 - 100)):
            rewritten = anew([bytes(each_bytes)] * count, magic)
            yield heavy(f"a wrapper of {count} messages that is packed anew", [rewritten])
        yield heavy("a wrapper that unpacks to 16 MiB", [encode([bytes(16 * MIB - 100)], magic=magic, timestamp_ms=1,
                                                                compression="gzip")])  # fmt: skip
        unpacked = bytes(UNPACKED_BYTES_PER_MIB // WRAPPERS_ARE_UNPACKED - 100)
        yield heavy("a wrapper of as many bytes as are read", [encode([unpacked], magic=magic, timestamp_ms=1,
                                                                      compression="gzip")])  # fmt: skip
        return
    one = encode_batch([b"v"], timestamp_ms=1)
    yield heavy("a hundred thousand batches", [one * 100_000])
    yield heavy("a MiB of records of 1 kB", [encode_batch([bytes(1_000)] * 1_000, timestamp_ms=1)])
    yield heavy("as many records as are read of a MiB", [encode_batch([b""] * RECORDS_PER_MIB, timestamp_ms=1)])
    many = encode_batch([b"12345"] * RECORDS_PER_MIB, timestamp_ms=1)
    yield heavy("as many records as are read", [many] * (RECORDS_MAX // RECORDS_PER_MIB))
    for codec in CODECS[1:]:
        yield from _packed(heavy, codec, version)


def _packed(heavy: Any, codec: Compression, version: int) -> Iterator[Heavy]:
    if codec == "zstd" and version < 7:
        return
    small = encode_batch([b""] * RECORDS_PER_MIB, timestamp_ms=1, compression=codec)
    yield heavy(f"{codec}: {RECORDS_PER_MIB} records", [small])
    most = UNPACKED_BYTES_PER_MIB - 100
    yield heavy(f"{codec}: {most} bytes unpacked", [encode_batch([bytes(most)], timestamp_ms=1, compression=codec)])
    yield heavy(f"{codec}: 90 MiB unpacked", [encode_batch([bytes(90 * MIB)], timestamp_ms=1, compression=codec)])


def filled(spoken: dict[int, Any]) -> Iterator[Heavy]:
    """Frames as large as may be."""
    for api, range_ in spoken.items():
        for version in {range_.least, range_.most}:
            for filling in FILLINGS:
                head = struct.pack(">hhih", api, version, 1, -1)
                yield Heavy(api, version, f"32 MiB of {filling.hex()}", "no", head + filling * (MAX_FRAME_BYTES - 10))


def measured(kafka_version: str, best_of: int) -> Iterator[Measured]:
    """Every request at its bounds."""
    with tempfile.TemporaryDirectory(prefix="faultline-") as directory:
        yield from _measured(kafka_version, Broker(kafka_version, Path(directory)), best_of)


def _measured(kafka_version: str, broker: Broker, best_of: int) -> Iterator[Measured]:
    gates = gates_for(kafka_version)
    spoken = apis_of(gates)
    newest = spoken[apis.PRODUCE].most
    for heavy in (*of_records(newest, gates.record_magic), *heavy_requests(kafka_version)):
        yield _least(broker, kafka_version, heavy, best_of)
    for heavy in filled(spoken):
        yield _least(broker, kafka_version, heavy, best_of)


def _least(broker: Broker, kafka_version: str, heavy: Heavy, best_of: int) -> Measured:
    """The cheapest of several measurements, so that other work of the machine counts little."""
    costs = [broker.cost(heavy.payload) for _ in range(best_of)]
    return Measured(f"{kafka_version}: {heavy.name}", len(heavy.payload), min(costs, key=lambda one: one.total_s))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.attack.request_costs", description=__doc__)
    parser.add_argument("--versions", default="2.8,0.10.2", help="Kafka versions, comma-separated")
    parser.add_argument("--best-of", type=int, default=3, help="Measurements of each request; the cheapest counts")
    options = parser.parse_args(arguments)
    gc.freeze()
    found = [one for version in options.versions.split(",") for one in measured(version, options.best_of)]
    slowest = max(found, key=lambda one: one.cost.total_s)
    dearest = max(found, key=lambda one: one.per_mib_ms)
    slowest_with_events = max(found, key=lambda one: one.cost.total_s + one.cost.telling_s)
    figures = [
        Figure(line="requests at the bounds", value=len(found), unit="", target=1_000, higher_is_better=True),
        Figure(line="the slowest", value=round(slowest.cost.total_s, 3), unit="s", target=SLOWEST_S,
               bound=slowest.name),
        Figure(line="highest cost per MiB begun", value=round(dearest.per_mib_ms, 1), unit="ms",
               target=PER_MIB_MS, bound=dearest.name),
        Figure(line="the slowest, with the events of its operations",
               value=round(slowest_with_events.cost.total_s + slowest_with_events.cost.telling_s, 3), unit="s",
               target=SLOWEST_S,
               bound=slowest_with_events.name),
    ]  # fmt: skip
    show(figures)
    shown = sorted(found, key=lambda one: -one.per_mib_ms)[:SLOWEST_SHOWN]
    rows = [
        {"request": one.name, "bytes": one.size_bytes, "became": one.cost.became,
         "ms": round(one.cost.total_s * 1_000, 1), "ms_per_mib": round(one.per_mib_ms, 1),
         "events_ms": round(one.cost.telling_s * 1_000, 1)}
        for one in shown
    ]  # fmt: skip
    write("request_costs", figures, {"dearest": rows}, results=RESULTS)
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(ended("verification.attack.request_costs", lambda: main(sys.argv[1:])))
