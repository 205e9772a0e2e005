"""aiokafka, whose loop is asyncio's, as it comes from the package index."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from confluent_kafka import Producer

import faultline
from protocol.errors import ErrorCode as E
from tests.kafka_clients.capabilities import works
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network

LIMIT_S = PATIENCE_S
FIRST_MS = 1_700_000_000_000


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, LIMIT_S))


@works("aiokafka", "produce, idempotent, gzip, headers (it writes no records older than 0.11)", "0.11")
def test_it_writes(cluster: faultline.Cluster, topic: str) -> None:
    async def work() -> None:
        servers = cluster.bootstrap_servers("az-0").split(",")
        async with AIOKafkaProducer(
            bootstrap_servers=servers, enable_idempotence=True, compression_type="gzip"
        ) as producer:
            for number, value in enumerate((b"a", None, b"c")):
                sent = await producer.send_and_wait(topic, value, b"k", partition=0, headers=[("h", b"1")])
                assert sent.offset == number
        async with AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            found = [await consumer.getone() for _ in range(3)]
            assert [(one.value, one.headers) for one in found] == [(v, (("h", b"1"),)) for v in (b"a", None, b"c")]

    run(work())


@works("aiokafka", "read, seek, offsets by time; members of a group, their offsets")
def test_it_reads(cluster: faultline.Cluster, topic: str) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers()})
    for number in range(4):
        producer.produce(topic, f"v{number}", partition=0, timestamp=FIRST_MS + number)
    assert producer.flush(LIMIT_S) == 0
    place = TopicPartition(topic, 0)

    async def work() -> None:
        servers = cluster.bootstrap_servers("az-2").split(",")
        async with AIOKafkaConsumer(
            topic, bootstrap_servers=servers, group_id=f"g-{topic}", auto_offset_reset="earliest",
            enable_auto_commit=False, heartbeat_interval_ms=300, session_timeout_ms=6000,
        ) as member:  # fmt: skip
            assert [(await member.getone()).value for _ in range(4)] == [b"v0", b"v1", b"v2", b"v3"]
            assert len(member.assignment()) == 2
            member.seek(place, 2)
            assert (await member.getone()).value == b"v2"
            await member.commit()
            assert await member.committed(place) == 3
            found = await member.offsets_for_times({place: FIRST_MS + 1})
            assert found[place].offset == 1
            assert await member.end_offsets([place]) == {place: 4}

    run(work())


@works("aiokafka", "topics, partitions, settings", "1.0")
def test_it_administrates(cluster: faultline.Cluster, topic: str) -> None:
    async def work() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers().split(","))
        await admin.start()
        new = f"aio-{topic}"
        made = await admin.create_topics([NewTopic(new, 1, 3)])
        assert [error for _, error, *_ in made.topic_errors] == [E.NONE]
        grown = await admin.create_partitions({new: NewPartitions(2)})
        assert [error for _, error, _ in grown.topic_errors] == [E.NONE]
        own = ConfigResource(ConfigResourceType.TOPIC, new, configs={"flush.ms": "100"})
        (altered,) = await admin.alter_configs([own])
        while altered.resources[0][0] == E.UNKNOWN_TOPIC_OR_PARTITION:  # who was asked hears of it after the controller
            (altered,) = await admin.alter_configs([own])
        assert [error for error, *_ in altered.resources] == [E.NONE]
        (reported,) = await admin.describe_configs([own])
        ((error, _, _, name, (setting, *_)),) = reported.resources
        assert (error, name, setting[:2]) == (E.NONE, new, ("flush.ms", "100"))
        assert len((await admin.describe_topics([new]))[0]["partitions"]) == 2
        await admin.delete_topics([new])
        await admin.close()

    run(work())
