"""Clients as they come from the package index, unmodified, against brokers of each version."""

import time
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonPartition

import faultline
from tests.kafka_clients.capabilities import works
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network

LIMIT_S = PATIENCE_S
PAUSED_S = 0.5
"""Time for a consumer in which no record must arrive."""


def written(servers: str, topic: str, values: list[bytes | None], **settings: Any) -> list[Message]:
    """By librdkafka, into partition 0; each was reported as delivered."""
    reports: list[Message] = []

    def reported(error: Any, message: Message) -> None:
        assert error is None, error
        reports.append(message)

    about = {"bootstrap.servers": servers, "linger.ms": 20, "message.timeout.ms": 15_000} | {
        name.replace("_", "."): value for name, value in settings.items()
    }
    producer = Producer(about)
    for number, value in enumerate(values):
        producer.produce(topic, value, f"k{number}", 0, on_delivery=reported, timestamp=1_700_000_000_000 + number)
    assert producer.flush(LIMIT_S) == 0
    return reports


def read(servers: str, topic: str, many: int, offset: int = 0) -> list[Message]:
    """By librdkafka, from partition 0, without a group."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, offset)])
    found: list[Message] = []
    until = time.monotonic() + LIMIT_S
    while len(found) < many and time.monotonic() < until:
        message = consumer.poll(1.0)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(message)
    consumer.close()
    return found


def polled(consumer: Consumer) -> Message:
    message = consumer.poll(LIMIT_S)
    assert message is not None and message.error() is None, message
    return message


@works("librdkafka", "produce with acks 0, 1, all; keys, null values, timestamps")
@pytest.mark.parametrize("acks", [0, 1, -1])
def test_what_librdkafka_writes_it_reads(cluster: faultline.Cluster, topic: str, acks: int) -> None:
    servers = cluster.bootstrap_servers("az-1")
    reports = written(servers, topic, [b"a", None, b""], acks=acks)
    assert [m.offset() for m in reports] == ([0, 1, 2] if acks else [None] * 3)
    found = read(cluster.bootstrap_servers(), topic, 3)
    assert [(m.offset(), m.key(), m.value()) for m in found] == [(0, b"k0", b"a"), (1, b"k1", None), (2, b"k2", b"")]
    assert [m.timestamp()[1] for m in found] == [1_700_000_000_000, 1_700_000_000_001, 1_700_000_000_002]


@pytest.mark.parametrize(
    "codec",
    [
        *(pytest.param(codec, marks=works("librdkafka", "gzip, snappy, lz4")) for codec in ("gzip", "snappy", "lz4")),
        pytest.param("zstd", marks=works("librdkafka", "zstd", "2.1")),
    ],
)
def test_codecs_pass_through(cluster: faultline.Cluster, topic: str, codec: str) -> None:
    values: list[bytes | None] = [b"x" * 1000 + str(number).encode() for number in range(50)]
    written(cluster.bootstrap_servers("az-0"), topic, values, compression_type=codec)
    assert [m.value() for m in read(cluster.bootstrap_servers("az-2"), topic, 50)] == values


@pytest.mark.parametrize("cluster", ["0.10.2"], indirect=True)
def test_before_batches_an_idempotent_producer_is_reported(cluster: faultline.Cluster, topic: str) -> None:
    servers = cluster.bootstrap_servers()
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "message.timeout.ms": 3000})
    producer.produce(topic, b"v", partition=0)
    with pytest.raises(KafkaException, match=r"requires Apache Kafka broker version >= 0\.11"):
        producer.flush(LIMIT_S)


@works("librdkafka", "headers, idempotent producer", "0.11")
def test_headers_and_idempotence_since_batches(cluster: faultline.Cluster, topic: str) -> None:
    servers = cluster.bootstrap_servers()
    reported: list[Any] = []
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for number in range(20):
        producer.produce(
            topic, f"v{number}", partition=0, headers=[("h", b"1"), ("n", None)],
            on_delivery=lambda error, message: reported.append((error, message.offset())),
        )  # fmt: skip
    assert producer.flush(LIMIT_S) == 0
    assert reported == [(None, number) for number in range(20)]
    assert read(servers, topic, 1)[0].headers() == [("h", b"1"), ("n", None)]


@works("librdkafka", "assign, seek, pause, watermarks, offsets by time; offsets of a group")
def test_offsets_by_time_seek_and_what_is_committed(cluster: faultline.Cluster, topic: str) -> None:
    servers = cluster.bootstrap_servers("az-1")
    written(servers, topic, [b"a", b"b", b"c", b"d"])
    consumer = Consumer({"bootstrap.servers": servers, "group.id": f"g-{topic}", "enable.auto.commit": False})
    place = TopicPartition(topic, 0)
    assert consumer.get_watermark_offsets(place, timeout=LIMIT_S) == (0, 4)
    requested = [TopicPartition(topic, 0, 1_700_000_000_002), TopicPartition(topic, 1, 1)]
    assert [p.offset for p in consumer.offsets_for_times(requested, timeout=LIMIT_S)] == [2, -1]
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert polled(consumer).value() == b"a"
    consumer.seek(TopicPartition(topic, 0, 3))
    assert polled(consumer).value() == b"d"
    consumer.pause([place])
    consumer.seek(TopicPartition(topic, 0, 1))
    written(servers, topic, [b"e"])
    assert consumer.poll(PAUSED_S) is None, "it was told to pause"
    consumer.resume([place])
    assert polled(consumer).value() == b"b"
    deadline = time.monotonic() + LIMIT_S
    while True:  # the first look for a coordinator makes the topic of offsets
        try:
            consumer.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)
            break
        except KafkaException:
            assert time.monotonic() < deadline
    assert [p.offset for p in consumer.committed([place], timeout=LIMIT_S)] == [3]
    consumer.close()


@works("kafka-python", "produce, read, end offsets")
def test_kafka_python_writes_and_reads(cluster: faultline.Cluster, topic: str) -> None:
    servers = cluster.bootstrap_servers("az-2").split(",")
    producer = KafkaProducer(bootstrap_servers=servers, acks="all")
    sent = [producer.send(topic, f"v{number}".encode(), partition=0) for number in range(5)]
    assert [one.get(LIMIT_S).offset for one in sent] == [0, 1, 2, 3, 4]
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=servers, consumer_timeout_ms=15_000)
    place = PythonPartition(topic, 0)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    assert [next(consumer).value for _ in range(5)] == [b"v0", b"v1", b"v2", b"v3", b"v4"]
    assert consumer.end_offsets([place]) == {place: 5}
    consumer.close()


def test_metadata_name_the_listeners_of_the_same_az(cluster: faultline.Cluster, topic: str) -> None:
    for az in (*cluster.azs, ""):
        servers = cluster.bootstrap_servers(az)
        about = Producer({"bootstrap.servers": servers}).list_topics(topic, timeout=LIMIT_S)
        assert sorted(f"{b.host}:{b.port}" for b in about.brokers.values()) == sorted(servers.split(","))
        assert {n: p.leader for n, p in about.topics[topic].partitions.items()} == {0: 0, 1: 1}
