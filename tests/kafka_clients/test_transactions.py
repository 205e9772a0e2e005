"""Transactions of unmodified clients: exactly-once, fencing, isolation, look-ups."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AsyncPartition
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonPartition
from kafka.admin import AbortTransactionSpec

import faultline
from tests.kafka_clients.capabilities import works
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network

LIMIT_S = PATIENCE_S
FIRST = "0.11"


def producer_of(servers: str, transactional_id: str) -> Producer:
    about = {"bootstrap.servers": servers, "transactional.id": transactional_id, "transaction.timeout.ms": 30_000}
    producer = Producer(about | {"linger.ms": 1, "log_level": 2})
    producer.init_transactions(LIMIT_S)
    return producer


def consumer_of(servers: str, group: str, isolation: str) -> Consumer:
    about = {"bootstrap.servers": servers, "group.id": group, "isolation.level": isolation, "log_level": 2}
    return Consumer(about | {"auto.offset.reset": "earliest", "enable.auto.commit": False})


def write(producer: Producer, topic: str, values: list[str]) -> None:
    """Each in both partitions, acknowledged by the brokers."""
    for value in values:
        for partition in (0, 1):
            producer.produce(topic, value, partition=partition)
    assert producer.flush(LIMIT_S) == 0


def read(servers: str, topic: str, isolation: str, partition: int = 0) -> list[str]:
    """All values of one partition, up to its end as the isolation level has it."""
    consumer = consumer_of(servers, "unused", isolation)
    place = TopicPartition(topic, partition, 0)
    _, end = consumer.get_watermark_offsets(place, LIMIT_S, cached=False)
    consumer.assign([place])
    found: list[Message] = []
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until and consumer.position([place])[0].offset < end:
        message = consumer.poll(0.1)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(message)
    assert consumer.position([place])[0].offset >= end
    consumer.close()
    return [(message.value() or b"").decode() for message in found]


def becomes(expected: Any, look: Callable[[], Any]) -> None:
    """Markers come after the answer to EndTxn."""
    until = time.monotonic() + LIMIT_S
    while (found := look()) != expected:
        assert time.monotonic() < until, found


@works("librdkafka", "transactions: commit, abort, fencing; read_committed; consume, transform, produce", FIRST)
def test_librdkafka(cluster: faultline.Cluster, topic: str) -> None:
    servers = cluster.bootstrap_servers()
    producer = producer_of(servers, f"{topic}-a")
    ended: list[tuple[str, Callable[[float], None]]] = [
        ("a", producer.commit_transaction), ("b", producer.abort_transaction), ("c", producer.commit_transaction)
    ]  # fmt: skip
    for value, end in ended:
        producer.begin_transaction()
        write(producer, topic, [f"{value}0", f"{value}1"])
        end(LIMIT_S)
    committed = ["a0", "a1", "c0", "c1"]
    becomes(committed, lambda: read(servers, topic, "read_committed"))
    becomes(committed, lambda: read(servers, topic, "read_committed", 1))
    assert read(servers, topic, "read_uncommitted") == ["a0", "a1", "b0", "b1", "c0", "c1"]

    # An open transaction holds up read_committed alone, and a newer producer of that id ends it.
    producer.begin_transaction()
    write(producer, topic, ["d0"])
    plain = Producer({"bootstrap.servers": servers})
    write(plain, topic, ["plain"])
    assert read(servers, topic, "read_committed") == committed
    assert read(servers, topic, "read_uncommitted")[-2:] == ["d0", "plain"]
    successor = producer_of(servers, f"{topic}-a")
    becomes([*committed, "plain"], lambda: read(servers, topic, "read_committed"))
    with pytest.raises(KafkaException) as raised:
        producer.commit_transaction(LIMIT_S)
    assert raised.value.args[0].fatal() and raised.value.args[0].code() == KafkaError._FENCED

    # Consume, transform, produce: the offsets are part of the transaction.
    group = f"{topic}-group"
    consumer = consumer_of(servers, group, "read_committed")
    consumer.subscribe([topic])
    first = consumer.poll(LIMIT_S)
    assert first is not None and first.error() is None
    number, offset = first.partition(), first.offset()
    assert number is not None and offset is not None
    place = TopicPartition(topic, number)
    for aborts in (True, False):
        successor.begin_transaction()
        successor.produce(topic, f"out-{aborts}", partition=1)
        position = [TopicPartition(topic, number, offset + 1)]
        successor.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), LIMIT_S)
        if aborts:
            successor.abort_transaction(LIMIT_S)
            assert consumer.committed([place], LIMIT_S)[0].offset < 0
        else:
            successor.commit_transaction(LIMIT_S)
            becomes(offset + 1, lambda: consumer.committed([place], LIMIT_S)[0].offset)
    consumer.close()
    becomes([*committed, "plain", "out-False"], lambda: read(servers, topic, "read_committed", 1))


@works("aiokafka", "transactions: commit, abort; read_committed; offsets of a group", FIRST)
def test_aiokafka(cluster: faultline.Cluster, topic: str) -> None:
    servers = cluster.bootstrap_servers("az-0").split(",")
    place = AsyncPartition(topic, 0)

    async def values(isolation: str, many: int) -> list[bytes]:
        async with AIOKafkaConsumer(
            bootstrap_servers=servers, auto_offset_reset="earliest", isolation_level=isolation
        ) as consumer:
            consumer.assign([place])
            return [(await consumer.getone()).value for _ in range(many)]

    async def work() -> None:
        async with AIOKafkaProducer(bootstrap_servers=servers, transactional_id=f"{topic}-b") as producer:
            async with producer.transaction():
                await producer.send_and_wait(topic, b"a", partition=0)
                await producer.send_offsets_to_transaction({place: 1}, f"{topic}-async")
            with pytest.raises(ZeroDivisionError):
                async with producer.transaction():
                    await producer.send_and_wait(topic, b"b", partition=0)
                    raise ZeroDivisionError
            async with producer.transaction():
                await producer.send_and_wait(topic, b"c", partition=0)
            assert await values("read_committed", 2) == [b"a", b"c"]
            assert await values("read_uncommitted", 3) == [b"a", b"b", b"c"]
        async with AIOKafkaConsumer(bootstrap_servers=servers, group_id=f"{topic}-async") as member:
            member.assign([place])
            while await member.committed(place) != 1:
                pass  # the marker comes after the answer to EndTxn

    asyncio.run(asyncio.wait_for(work(), LIMIT_S))


@works("kafka-python", "transactions: commit, abort; read_committed", FIRST)
def test_kafka_python(cluster: faultline.Cluster, topic: str) -> None:
    servers = cluster.bootstrap_servers().split(",")
    producer = KafkaProducer(bootstrap_servers=servers, transactional_id=f"{topic}-c", max_block_ms=LIMIT_S * 1000)
    producer.init_transactions()
    for value, commits in ((b"a", True), (b"b", False), (b"c", True)):
        producer.begin_transaction()
        producer.send(topic, value, partition=0).get(LIMIT_S)
        if commits:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    producer.close()
    consumer = KafkaConsumer(
        topic, bootstrap_servers=servers, group_id=None, auto_offset_reset="earliest", isolation_level="read_committed",
        consumer_timeout_ms=LIMIT_S * 1000,
    )  # fmt: skip
    assert [next(consumer).value for _ in range(2)] == [b"a", b"c"]
    consumer.close()


@works("kafka-python", "producers of a partition described; an open transaction aborted by the tool", "2.8")
def test_the_tool_ends_a_transaction(cluster: faultline.Cluster, topic: str) -> None:
    """As kafka-transactions.sh abort: a marker from a client, which no authorizer refuses."""
    servers = cluster.bootstrap_servers()
    owner = producer_of(servers, f"{topic}-d")
    owner.begin_transaction()
    write(owner, topic, ["left"])
    admin = KafkaAdminClient(bootstrap_servers=servers.split(","))
    places = [PythonPartition(topic, partition) for partition in (0, 1)]
    for place, known in admin.describe_producers(places).items():
        (open_,) = [one for one in known.active_producers if one.current_transaction_start_offset >= 0]
        assert (open_.current_transaction_start_offset, open_.coordinator_epoch) == (0, -1)
        admin.abort_transaction(AbortTransactionSpec(place, open_.producer_id, open_.producer_epoch, 0))
    for place, known in admin.describe_producers(places).items():
        assert [one.current_transaction_start_offset for one in known.active_producers] == [-1], place
        assert read(servers, topic, "read_committed", place.partition) == []
    admin.close()
    owner.abort_transaction(LIMIT_S)
