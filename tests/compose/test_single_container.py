"""All nodes in one container on a real engine, by Testcontainers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from faultline.errors import NotStarted, Refused
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from faultline.container import FaultlineContainer

pytestmark = pytest.mark.docker
ROOT = Path(__file__).parents[2]
PORTS = 96


@pytest.fixture(scope="module")
def single(image: str) -> Iterator[str]:
    """The image of docs/single-container.md, on that of the other tests."""
    tag = f"faultline:single-{os.getpid()}"
    command = ["docker", "build", "--build-arg", f"IMAGE={image}", "--file", "compose/single.Dockerfile", "--tag", tag]
    built = subprocess.run(
        [*command, "compose"], cwd=ROOT, check=False, stdin=subprocess.DEVNULL, capture_output=True,
        encoding="utf-8", timeout=PATIENCE_S,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    yield tag
    subprocess.run(["docker", "image", "rm", tag], check=True, capture_output=True)


@pytest.fixture
def container_of(single: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FaultlineContainer]]:
    """Containers to stop. Without its own clean-up container, whose image a registry would have."""
    from testcontainers.core.config import testcontainers_config

    monkeypatch.setattr(testcontainers_config, "ryuk_disabled", True)
    made: list[FaultlineContainer] = []
    yield made
    for one in made:
        one.stop()


def test_a_clients_records_survive_a_cut_and_a_killed_broker(
    single: str, container_of: list[FaultlineContainer]
) -> None:
    from confluent_kafka import Consumer, Producer

    from faultline.container import FaultlineContainer

    cluster = FaultlineContainer(single, kafka_version="3.9", settings={"min.insync.replicas": 2}, kafka_ports=PORTS)
    container_of.append(cluster)
    cluster.start()
    servers = cluster.bootstrap_servers("az-1")
    assert servers == f"127.0.0.1:{PORTS}10,127.0.0.1:{PORTS}11,127.0.0.1:{PORTS}12"
    topic = {"topic": "t", "partitions": 1, "replicas": 3}
    cluster.request("POST", "/v1/topics", topic)
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    failed: list[str] = []

    def send(*values: str) -> None:
        for value in values:
            producer.produce("t", value, on_delivery=lambda error, _: failed.append(str(error)) if error else None)
        assert producer.flush(PATIENCE_S) == 0

    send("a", "b")
    cluster.cut("az-0")
    send("c")
    cluster.heal()
    cluster.break_node("broker-2", "kill")
    send("d")
    cluster.break_node("broker-2", "start")
    assert failed == []
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    read = [message.value() for message in consumer.consume(4, PATIENCE_S)]
    consumer.close()
    assert read == [b"a", b"b", b"c", b"d"]
    with pytest.raises(Refused, match="broker-7"):
        cluster.break_node("broker-7", "kill")
    with pytest.raises(Refused, match="az-9"):
        cluster.bootstrap_servers("az-9")


def test_a_version_that_does_not_exist_is_named(single: str, container_of: list[FaultlineContainer]) -> None:
    from faultline.container import FaultlineContainer

    cluster = FaultlineContainer(single, kafka_version="9.9", kafka_ports=PORTS)
    container_of.append(cluster)
    with pytest.raises(NotStarted, match="unknown Kafka version"):
        cluster.start()
