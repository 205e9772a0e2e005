"""A hostile peer at the Kafka listener loses its own connection and affects no other client."""

import contextlib
import socket
import struct
from collections.abc import Iterator

import psutil
import pytest
from confluent_kafka import Producer
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.producer import ProduceRequest

import faultline
from emulator.cluster.cluster_registry import registered
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.network, pytest.mark.parametrize("cluster", ["2.6"], indirect=True)]

LIMIT_S = PATIENCE_S
MIB = 1 << 20


def address(cluster: faultline.Cluster, broker: int = 0) -> tuple[str, int]:
    host, port = cluster.bootstrap_servers("az-0").split(",")[broker].split(":")
    return host, int(port)


@contextlib.contextmanager
def knocking(cluster: faultline.Cluster) -> Iterator[socket.socket]:
    with socket.create_connection(address(cluster), LIMIT_S) as sock:
        yield sock


def closed(sock: socket.socket) -> bool:
    """The other end has ended it."""
    with contextlib.suppress(ConnectionResetError):
        while sock.recv(65536):
            pass
    return True


def works(cluster: faultline.Cluster, topic: str) -> None:
    """For all other clients, and every node lives, in its first incarnation."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers("az-0"), "acks": "all"})
    producer.produce(topic, b"v", partition=0)
    assert producer.flush(LIMIT_S) == 0
    lives = {(node["alive"], node["incarnation"]) for node in cluster.status()["nodes"].values()}
    assert lives == {(True, 1)}


def broker_process(cluster: faultline.Cluster) -> psutil.Process:
    """Broker-0's."""
    found = registered(cluster.directory)
    assert found is not None
    nodes = psutil.Process(found.registration.pid).children(recursive=True)
    return next(node for node in nodes if node.name() == "broker-0")


def broker_memory(cluster: faultline.Cluster) -> int:
    """Bytes that broker-0 has in memory."""
    return int(broker_process(cluster).memory_info().rss)


def request(kind: type, version: int, correlation_id: int = 1, **fields: object) -> bytes:
    requested = kind(**fields)
    requested.API_VERSION = version
    requested.with_header(correlation_id=correlation_id, client_id="stranger")
    return bytes(requested.encode(header=True, framed=True))


@pytest.mark.parametrize(
    "output",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(32),
        b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", -1),
        struct.pack(">i", 0),
        struct.pack(">ihhi", 8, 999, 0, 1),
        struct.pack(">ihhi", 8, 0, 99, 1),
        request(MetadataRequest, 9)[:-3] + b"\xff\xff\xff",
        request(ProduceRequest, 8, transactional_id="x", acks=0, timeout_ms=1, topic_data=None),
    ],
    ids=["TLS", "HTTP", "2 GiB", "negative", "empty", "no such API", "no such version", "garbled", "null"],
)
def test_what_is_no_request_ends_its_connection(cluster: faultline.Cluster, topic: str, output: bytes) -> None:
    with knocking(cluster) as sock:
        sock.sendall(output)
        assert closed(sock)
    works(cluster, topic)


def test_connections_stalled_within_a_frame_hold_a_bounded_amount(cluster: faultline.Cluster, topic: str) -> None:
    before = broker_memory(cluster)
    with contextlib.ExitStack() as stack:
        stalled = [stack.enter_context(knocking(cluster)) for _ in range(24)]
        for sock in stalled:
            sock.sendall(request(ApiVersionsRequest, 0))
            assert sock.recv(65536)
            with contextlib.suppress(OSError):  # an older one may have had to make room
                sock.sendall(struct.pack(">i", 30 * MIB) + bytes(8 * MIB))
        works(cluster, topic)
        assert broker_memory(cluster) - before < 320 * MIB, "of 192 MiB that were sent 128 may be held"
    works(cluster, topic)


def test_a_client_that_never_reads_costs_an_answer(cluster: faultline.Cluster, topic: str) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers(), "compression.type": "none"})
    for _ in range(64):
        producer.produce(topic, bytes(256 * 1024), partition=0)
    assert producer.flush(LIMIT_S) == 0
    kind = FetchRequest.FetchTopic
    one = kind.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=16 * MIB)
    requested = request(FetchRequest, 11, max_bytes=16 * MIB, topics=[kind(topic=topic, partitions=[one])])
    before = broker_memory(cluster)
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            sock = stack.enter_context(knocking(cluster))
            sock.sendall(requested * 50)
        works(cluster, topic)
        assert broker_memory(cluster) - before < 4 * 4 * 16 * MIB


def test_ten_thousand_connections_opened_and_dropped(cluster: faultline.Cluster, topic: str) -> None:
    """Nothing of them stays: no descriptor, no memory that grows with their number."""
    works(cluster, topic)
    process, begun = broker_process(cluster), request(ApiVersionsRequest, 0)
    descriptors, before = process.num_fds(), broker_memory(cluster)
    for number in range(10_000):
        with knocking(cluster) as sock:
            if number % 2:
                sock.sendall(begun[: number % 20])
    works(cluster, topic)
    with knocking(cluster) as sock:  # accepted after all others, and taken for what it is: those have ended
        sock.sendall(begun)
        assert sock.recv(1)
    assert process.num_fds() <= descriptors + 20
    assert broker_memory(cluster) - before < 8 * MIB
