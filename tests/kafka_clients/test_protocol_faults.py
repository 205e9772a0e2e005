"""Protocol faults: librdkafka, aiokafka and kafka-python meet each, and recover.

A fault hits the requests of one client id, so the tests share a cluster.
"""

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer

import faultline
from protocol.protocol_faults import ProtocolFaultAction
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.network, pytest.mark.parametrize("cluster", ["2.6"], indirect=True)]

SHORT_MS = 3_000
"""Request timeout of clients that meet a dropped response."""
ERROR = "NOT_LEADER_OR_FOLLOWER"
FAULTS: dict[str, dict[str, Any]] = {
    "error": {"error": ERROR, "times": 2},
    "delay": {"delay_ms": 300.0},
    "drop-response": {},
    "close": {},
    "close-after": {},
}
"""{action: the rest of the fault}"""


@pytest.fixture(autouse=True)
def _healed(cluster: faultline.Cluster) -> Iterator[None]:
    yield
    cluster.heal()


def records(cluster: faultline.Cluster, topic: str) -> list[str]:
    """Values of partition 0, read by a client that no fault concerns."""
    reader = KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers(), client_id="reader", auto_offset_reset="earliest",
        consumer_timeout_ms=2_000, enable_auto_commit=False,
    )  # fmt: skip
    with reader:
        from kafka import TopicPartition as Place

        reader.assign([Place(topic, 0)])
        return [one.value.decode() for one in reader]


def produce_librdkafka(servers: str, client: str, topic: str) -> None:
    about = {
        "bootstrap.servers": servers, "client.id": client, "acks": "all", "enable.idempotence": True, "log_level": 0,
        "socket.timeout.ms": SHORT_MS, "message.timeout.ms": 120_000,
    }  # fmt: skip
    producer, reports = Producer(about), []
    producer.produce(topic, "a", partition=0, on_delivery=lambda error, _message: reports.append(error))
    assert producer.flush(PATIENCE_S) == 0 and reports == [None]


def produce_kafka_python(servers: str, client: str, topic: str) -> None:
    producer = KafkaProducer(
        bootstrap_servers=servers, client_id=client, acks="all", enable_idempotence=True, request_timeout_ms=SHORT_MS,
        delivery_timeout_ms=120_000,
    )  # fmt: skip
    with producer:
        producer.send(topic, b"a", partition=0).get(PATIENCE_S)


def produce_aiokafka(servers: str, client: str, topic: str) -> None:
    async def run() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=servers, client_id=client, enable_idempotence=True, request_timeout_ms=SHORT_MS
        )
        async with producer:
            await producer.send_and_wait(topic, b"a", partition=0)

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def consume_librdkafka(servers: str, client: str, topic: str) -> str:
    about = {
        "bootstrap.servers": servers, "client.id": client, "group.id": client, "log_level": 0,
        "socket.timeout.ms": SHORT_MS, "enable.auto.commit": False,
    }  # fmt: skip
    consumer = Consumer(about)
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while True:
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            error = message.error()
            if error is None:
                value = message.value()
                assert value is not None
                return value.decode()
            assert error.code() != KafkaError._FATAL
    finally:
        consumer.close()


def consume_kafka_python(servers: str, client: str, topic: str) -> str:
    from kafka import TopicPartition as Place

    consumer = KafkaConsumer(
        bootstrap_servers=servers, client_id=client, auto_offset_reset="earliest", request_timeout_ms=SHORT_MS,
        enable_auto_commit=False, consumer_timeout_ms=60_000,
    )  # fmt: skip
    with consumer:
        consumer.assign([Place(topic, 0)])
        return str(next(consumer).value.decode())


def consume_aiokafka(servers: str, client: str, topic: str) -> str:
    async def run() -> str:
        from aiokafka import TopicPartition as Place

        consumer = AIOKafkaConsumer(
            bootstrap_servers=servers, client_id=client, auto_offset_reset="earliest", request_timeout_ms=SHORT_MS,
            enable_auto_commit=False,
        )  # fmt: skip
        async with consumer:
            consumer.assign([Place(topic, 0)])
            return str((await consumer.getone()).value.decode())

    return asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


PRODUCERS = {"librdkafka": produce_librdkafka, "kafka-python": produce_kafka_python, "aiokafka": produce_aiokafka}
CONSUMERS = {"librdkafka": consume_librdkafka, "kafka-python": consume_kafka_python, "aiokafka": consume_aiokafka}


@pytest.mark.parametrize("action", FAULTS)
def test_each_client_writes_once_and_reads_on(
    cluster: faultline.Cluster, topic: str, action: ProtocolFaultAction, subtests: pytest.Subtests
) -> None:
    """An idempotent producer writes once, also if its first request had no response."""
    servers = cluster.bootstrap_servers()
    written = 0
    for name, produce in PRODUCERS.items():
        with subtests.test(f"{name} writes"):
            client = f"{name}-{action}-writer"
            rule = cluster.protocol_fault(action, "Produce", client_id=client, **FAULTS[action])
            produce(servers, client, topic)
            written += 1
            assert cluster.hits(rule) == FAULTS[action].get("times", 1)
            assert records(cluster, topic) == ["a"] * written
    for name, consume in CONSUMERS.items():
        with subtests.test(f"{name} reads"):
            client = f"{name}-{action}-reader"
            rule = cluster.protocol_fault(action, "Fetch", client_id=client, **FAULTS[action])
            assert consume(servers, client, topic) == "a"
            assert cluster.hits(rule, at_least=1) >= 1


def test_skip_times_and_nodes(cluster: faultline.Cluster, topic: str) -> None:
    at_leader = cluster.protocol_fault(
        "error", "Produce", error=ERROR, client_id="counted", nodes=[f"leader:{topic}-0"], skip=1, times=2
    )
    elsewhere = cluster.protocol_fault("close", "produce", client_id="another", times=0)
    about = {"bootstrap.servers": cluster.bootstrap_servers(), "client.id": "counted", "log_level": 0}
    producer = Producer(about)
    for value in "abc":
        producer.produce(topic, value, partition=0)
        assert producer.flush(PATIENCE_S) == 0
    assert cluster.hits(at_leader) == 2 and cluster.hits(elsewhere) == 0
    assert records(cluster, topic) == ["a", "b", "c"]
    rules = {fault["id"]: fault["rule"] for fault in cluster.status()["faults"] if fault["healed"] is None}
    assert rules[elsewhere] == "protocol-fault close of Produce, clients another, always"
    assert rules[at_leader].startswith(f"protocol-fault error {ERROR} of Produce, clients counted, at broker-")
    cluster.heal(elsewhere)
    with pytest.raises(faultline.Refused, match="no protocol fault 'rule-999'"):
        cluster.hits("rule-999")


def test_a_silent_connection_ends_with_its_client(cluster: faultline.Cluster) -> None:
    """After a dropped response nothing is answered on the connection; a new one works."""
    rule = cluster.protocol_fault("drop-response", "Metadata", client_id="raw")
    host, port = cluster.bootstrap_servers().split(",")[0].split(":")
    request = b"\x00\x03\x00\x00\x00\x00\x00\x07\x00\x03raw\x00\x00\x00\x00"
    frame = len(request).to_bytes(4, "big") + request
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as sock:
        sock.sendall(frame)
        assert cluster.hits(rule, at_least=1) == 1
        sock.sendall(frame)
        sock.settimeout(0.5)
        with pytest.raises(TimeoutError):
            sock.recv(1)
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as sock:
        sock.sendall(frame)
        assert len(sock.recv(8)) == 8


@pytest.mark.parametrize(
    ("action", "apis", "more", "why"),
    [
        ("error", ["Fetch"], {}, "error: belongs to the action error"),
        ("error", ["Fetch"], {"error": "not_leader_or_folower"}, "did you mean NOT_LEADER_OR_FOLLOWER"),
        ("error", ["Fetch"], {"error": "0"}, "no error 0"),
        ("error", ["ApiVersions"], {"error": "6"}, "ApiVersions: has no response with an error here"),
        ("delay", ["Fetch"], {}, "delay_ms: belongs to the action delay"),
        ("close", ["Fecth"], {}, "no API 'Fecth'; did you mean Fetch"),
        ("close", ["Fetch"], {"nodes": ["client-0"]}, "client-0: is no broker"),
    ],
)
def test_unusable_faults_are_refused(
    cluster: faultline.Cluster, action: Any, apis: list[str], more: dict[str, Any], why: str
) -> None:
    with pytest.raises(faultline.Refused, match=why.replace("(", r"\(")):
        cluster.protocol_fault(action, *apis, **more)
