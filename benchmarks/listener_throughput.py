"""librdkafka against the listener: a million records of 1 kB, acks=all, three replicas.

On one partition and on 64, by one client and by 200 connections; single records in turn; and a client that sends
requests and never reads.

    python -m benchmarks.listener_throughput [RECORDS]

Real processes, the client beside them on the same cores. Every record is delivered, or the benchmark fails. Brokers'
memory is their own (USS), before and after.
"""

import os
import socket
import statistics
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psutil
from confluent_kafka import KafkaError, Message, Producer

import faultline
from benchmarks.figure_records import Figure, show, write
from emulator.exit_codes import BROKEN, HELD
from emulator.toplevel_errors import ended

RECORDS = 1_000_000
VALUE = b"x" * 1_000
SINGLE = 2_000
PRODUCERS = 67
"""Each with a connection to each of three brokers: 201."""
IN_A_ROW = 500
"""Records of one client before it is another's turn."""
PARTITIONS = 64
DEAF = 40
"""Connections that ask for records and never read."""
UNREAD_FETCHES = 50
"""Number of fetches of each such client, of up to 1 MiB."""
FLUSH_LIMIT_S = 120.0
QUEUED_MAX = 200_000
JAVA_BATCH_BYTES = 16_384
"""A Java producer's default: some fifteen of the records."""
JAVA_IN_FLIGHT = 5
BOUND = "three brokers and the client on two cores: each record is checked, written three times and is an event"


class Delivered:
    """Delivery reports, counted."""

    def __init__(self) -> None:
        self.count = 0
        self.failed: list[str] = []

    def __call__(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self.count += 1
        else:
            self.failed.append(str(error))


def producer(servers: str, linger_ms: int = 5, batch_bytes: int = 1_000_000) -> Producer:
    about: dict[str, Any] = {
        "bootstrap.servers": servers, "acks": "all", "linger.ms": linger_ms, "batch.size": batch_bytes,
        "queue.buffering.max.messages": QUEUED_MAX, "log_level": 0,
    }  # fmt: skip
    if batch_bytes == JAVA_BATCH_BYTES:
        about["max.in.flight.requests.per.connection"] = JAVA_IN_FLIGHT
    return Producer(about)


def produced(producers: list[Producer], topic: str, records: int) -> float:
    """Seconds until all are delivered, dealt out over the producers."""
    delivered = Delivered()
    began_s = time.perf_counter()
    for number in range(records):
        one = producers[number // IN_A_ROW % len(producers)]
        while True:
            try:
                one.produce(topic, VALUE, on_delivery=delivered)
                break
            except BufferError:
                one.poll(0.05)
        if number % 1_000 == 0:
            for each in producers:
                each.poll(0)
    left = [one.flush(FLUSH_LIMIT_S) for one in producers]
    took_s = time.perf_counter() - began_s
    assert delivered.count == records and not any(left), (delivered.count, delivered.failed[:3], left)
    return took_s


def one_by_one(servers: str, topic: str) -> list[float]:
    """Milliseconds of each, sorted."""
    delivered, one = Delivered(), producer(servers, linger_ms=0)
    produced([one], topic, 1)  # it knows the leader then
    took_ms = []
    for _ in range(SINGLE):
        began_s = time.perf_counter()
        one.produce(topic, VALUE, on_delivery=delivered)
        one.flush(FLUSH_LIMIT_S)
        took_ms.append((time.perf_counter() - began_s) * 1_000)
    assert delivered.count == SINGLE, delivered.failed[:3]
    return sorted(took_ms)


@contextmanager
def deaf(servers: str, topic: str) -> Iterator[None]:
    """A client that repeatedly fetches a topic's beginning from each broker and reads nothing."""
    name = topic.encode()
    body = struct.pack(">iiiibi", -1, 500, 1, 1 << 20, 0, 1) + struct.pack(">h", len(name)) + name
    body += struct.pack(">iiqi", 1, 0, 0, 1 << 20)
    with ExitStack() as stack:
        for number in range(DEAF):
            host, _, port = servers.split(",")[number % 3].partition(":")
            sock = stack.enter_context(socket.create_connection((host, int(port)), timeout=5))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            for correlation in range(UNREAD_FETCHES):
                request = struct.pack(">hhih", 1, 4, correlation, 4) + b"deaf" + body
                sock.sendall(struct.pack(">i", len(request)) + request)
        yield


def brokers() -> list[psutil.Process]:
    found = [one for one in psutil.Process().children(recursive=True) if one.name().startswith("broker-")]
    assert found, "no broker is a process of ours"
    return found


def memory_mib() -> float:
    """Of the largest broker."""
    return max(float(one.memory_full_info().uss) for one in brokers()) / 2**20


def processor_s() -> dict[str, float]:
    """CPU seconds of each broker and of this process, the client, in user and kernel mode."""
    return {one.name(): sum(one.cpu_times()[:2]) for one in brokers()} | {"client": sum(os.times()[:2])}


def main(records: int = RECORDS) -> list[Figure]:
    """Each figure from a cluster of its own."""
    megabytes = records * len(VALUE) / 1e6
    more: dict[str, object] = {"records": records, "value_bytes": len(VALUE)}

    def rate(line: str, partitions: int, clients: int, batch_bytes: int = 1_000_000) -> Figure:
        with faultline.Cluster(kafka_version="2.8") as cluster:
            cluster.create_topic("t", partitions=partitions, replicas=3)
            servers = cluster.bootstrap_servers()
            producers = [producer(servers, batch_bytes=batch_bytes) for _ in range(clients)]
            produced(producers, "t", 10 * clients)
            before, used_s = memory_mib(), processor_s()
            took_s = produced(producers, "t", records)
            more[line] = {
                "took_s": round(took_s, 2),
                "brokers_grew_mib": round(memory_mib() - before, 1),
                "processor_s": {name: round(now_s - used_s[name], 2) for name, now_s in processor_s().items()},
            }
        return Figure(line=line, value=megabytes / took_s, unit="MB/s", target=30, stretch=60, higher_is_better=True,
                      bound=BOUND)  # fmt: skip

    figures = [
        rate("librdkafka, 1 kB, acks=all, three replicas, one partition", 1, 1),
        rate("the same in batches of 16 kB, a Java producer's default", 1, 1, JAVA_BATCH_BYTES),
        rate(f"the same on {PARTITIONS} partitions", PARTITIONS, 1),
        rate(f"the same by {PRODUCERS} clients with {3 * PRODUCERS} connections", PARTITIONS, PRODUCERS),
    ]
    with faultline.Cluster(kafka_version="2.8") as cluster:
        cluster.create_topic("t", partitions=1, replicas=3)
        servers = cluster.bootstrap_servers()
        took_ms = one_by_one(servers, "t")
        produced([producer(servers)], "t", 20_000)
        before = memory_mib()
        with deaf(servers, "t"):
            took_s = produced([producer(servers)], "t", records // 4)
            grew_mib = memory_mib() - before
    figures += [
        Figure(line="single records, the median", value=statistics.median(took_ms), unit="ms", target=2, stretch=1,
               bound=BOUND),
        Figure(line=f"growth of a broker while {DEAF} clients send requests and never read, and one produces",
               value=grew_mib, unit="MiB", target=64, bound="responses wait in memory, one for each connection"),
    ]  # fmt: skip
    more |= {"single_p99_ms": took_ms[int(0.99 * SINGLE)], "beside_the_deaf_mb_s": megabytes / 4 / took_s}
    if records == RECORDS:
        write("listener_throughput", figures, more)
    print(more)
    return figures


def alone() -> int:
    """`python -m benchmarks.listener_throughput`."""
    figures = main(int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS)
    show(figures)
    return HELD if all(figure.met for figure in figures) else BROKEN


if __name__ == "__main__":
    sys.exit(ended("benchmarks.listener_throughput", alone))
