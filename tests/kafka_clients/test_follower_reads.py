"""Kafka clients that read from the follower of their AZ (KIP-392, semantics 1.11)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as OfAio
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as OfPython

import faultline
from emulator.settings.tables.replication_settings import RACK_AWARE
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network
RACK = "az-1"
VALUES = ["a", "b", "c"]


def librdkafka(servers: str, limit_s: float) -> list[str]:
    about: dict[str, Any] = {
        "bootstrap.servers": servers, "group.id": "g", "client.rack": RACK, "log_level": 0,
        "enable.auto.commit": False,
    }  # fmt: skip
    consumer, values = Consumer(about), list[str]()
    deadline = time.monotonic() + limit_s
    try:
        consumer.assign([TopicPartition("t", 0, 0)])
        while len(values) < len(VALUES) and time.monotonic() < deadline:
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                values.append((message.value() or b"").decode())
    finally:
        consumer.close()
    return values


def kafka_python(servers: str, limit_s: float) -> list[str]:
    consumer, values = KafkaConsumer(bootstrap_servers=servers, client_rack=RACK), list[str]()
    deadline = time.monotonic() + limit_s
    try:
        place = OfPython("t", 0)
        consumer.assign([place])
        consumer.seek(place, 0)
        while len(values) < len(VALUES) and time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=500).values():
                values += [record.value.decode() for record in records]
    finally:
        consumer.close()
    return values


def aiokafka(servers: str, limit_s: float) -> list[str]:
    async def read() -> list[str]:
        consumer, values = AIOKafkaConsumer(bootstrap_servers=servers, client_rack=RACK), list[str]()
        await consumer.start()
        try:
            place = OfAio("t", 0)
            consumer.assign([place])
            consumer.seek(place, 0)
            async with asyncio.timeout(limit_s):
                while len(values) < len(VALUES):
                    values.append((await consumer.getone()).value.decode())
        finally:
            await consumer.stop()
        return values

    return asyncio.run(read())


def reads(directory: Path) -> list[tuple[int, int]]:
    """(broker, last offset) of each batch that clients of the listener read."""
    lines = [line for path in (directory / "events").glob("broker-*.jsonl") for line in path.read_bytes().splitlines()]
    events = [msgspec.json.decode(line) for line in lines if b'"records_read"' in line]
    return [(event["broker"], event["last_offset"]) for event in events if event["topic"] == "t"]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.4", "4.4"])
@pytest.mark.parametrize("read", [librdkafka, kafka_python, aiokafka])
def test_a_client_with_a_rack_reads_from_the_follower_there(
    state_home: Path, tmp_path: Path, version: str, read: Callable[[str, float], list[str]]
) -> None:
    settings = {"replica.selector.class": RACK_AWARE}
    with faultline.Cluster(kafka_version=version, settings=settings, directory=tmp_path / "run") as cluster:
        cluster.create_topic("t", assignment=[[0, 1, 2]])
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers(), "acks": "all", "log_level": 0})
        for value in VALUES:
            producer.produce("t", value)
        assert producer.flush(PATIENCE_S) == 0
        assert read(cluster.bootstrap_servers("az-2"), PATIENCE_S) == VALUES
    found = reads(tmp_path / "run")
    assert {broker for broker, _ in found} == {1}
    assert max(last for _, last in found) == len(VALUES) - 1
