"""Kafka's listener in containers.

Librdkafka on this machine connects through published ports.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from emulator.worlds.containers.kafka_ports import KAFKA_NETWORK
from emulator.worlds.containers.project import project_name
from tests.compose.test_runs_on_engine import ROOT, faultline, objects
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.docker, pytest.mark.slow]

AZS = ("az-0", "az-1", "az-2", "")
QUICK: dict[str, Any] = {"acks": 1, "log_level": 0, "topic.metadata.refresh.interval.ms": 500}


@pytest.fixture(scope="module")
def run(image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster that each test leaves whole."""
    directory = tmp_path_factory.mktemp("kafka") / "runs" / "with-kafka"
    directory.parent.mkdir()
    home = directory.parents[1]
    faultline(home, "up", "three-az", "--engine", "docker", "--kafka", "--out", str(directory))
    try:
        yield directory
    finally:
        faultline(home, "down")
        assert objects(project_name(directory)) == []


def written(producer: Producer, *values: str) -> dict[str, int]:
    """{value: offset}, as its delivery reports say; all are delivered."""
    reported: dict[str, int] = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        offset = message.offset()
        if error is None and offset is not None:
            reported[(message.value() or b"").decode()] = offset

    for value in values:
        producer.produce("t", value, partition=0, on_delivery=delivered)
    assert producer.flush(PATIENCE_S) == 0
    return reported


def read(servers: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "log_level": 0})
    consumer.assign([TopicPartition("t", 0, 0)])
    messages = [consumer.poll(PATIENCE_S) for _ in range(count)]
    consumer.close()
    return [(one.value() or b"").decode() for one in messages if one is not None]


def engine(*words: str) -> Any:
    done = subprocess.run(["docker", *words], check=True, capture_output=True, encoding="utf-8", timeout=PATIENCE_S)
    return done.stdout.strip()


def test_clients_of_this_machine_come_through_their_az_s_ports_and_its_cuts_are_theirs(run: Path) -> None:
    home = run.parents[1]
    servers: dict[str, str] = faultline(home, "status")["bootstrap"]
    assert set(servers) == set(AZS)
    faultline(home, "topic", "create", "t", "--assignment", "0,1,2")
    for number, az in enumerate(AZS):
        found = AdminClient({"bootstrap.servers": servers[az]}).list_topics(timeout=PATIENCE_S).brokers
        assert sorted(f"{one.host}:{one.port}" for one in found.values()) == sorted(servers[az].split(","))
        about = {"bootstrap.servers": servers[az], "acks": "all", "log_level": 0}
        assert written(Producer(about), f"of {az}") == {f"of {az}": number}
        assert read(servers[az], number + 1)[-1] == f"of {az}"

    inside, outside = (Producer(QUICK | {"bootstrap.servers": servers[az]}) for az in ("az-0", "az-1"))
    inside.list_topics("t", timeout=PATIENCE_S)
    faultline(home, "cut", "az-0")
    lost = written(inside, "lost 0", "lost 1", "lost 2")
    assert lost == {"lost 0": 4, "lost 1": 5, "lost 2": 6}, "by the leader behind the cut"
    assert written(outside, "kept") == {"kept": 4}, "by the leader that was elected meanwhile"
    faultline(home, "heal")
    audited = subprocess.run(
        [sys.executable, "-m", "emulator", "audit", str(run), "--json"], cwd=home, check=False,
        capture_output=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=PATIENCE_S,
    )  # fmt: skip
    check = json.loads(audited.stdout)["checks"]["lost-acknowledged"]
    assert (check["verdict"], check["count"]) == ("violated", 3)
    for value in lost:
        assert any(value in str(one) for one in check["evidence"])


def test_a_container_that_comes_back_has_its_ports_and_no_more_rights_than_others(run: Path) -> None:
    home = run.parents[1]

    def container(node: str) -> str:
        labels = (f"com.docker.compose.project={project_name(run)}", f"com.docker.compose.service={node}")
        found: str = engine("ps", "--all", "--quiet", *(f"--filter=label={label}" for label in labels))
        return found

    def ports() -> Any:
        return json.loads(engine("inspect", container("broker-1")))[0]["NetworkSettings"]["Ports"]

    published = ports()
    assert {one["HostIp"] for bound in published.values() for one in bound} == {"127.0.0.1"}
    about = json.loads(engine("inspect", container("broker-1")))[0]
    assert about["HostConfig"]["CapDrop"] == ["ALL"] and about["HostConfig"]["ReadonlyRootfs"]
    network = json.loads(engine("network", "inspect", f"{project_name(run)}_{KAFKA_NETWORK}"))[0]
    assert network["Options"]["com.docker.network.bridge.enable_ip_masquerade"] == "false"
    assert sorted(one["Name"].split("_")[-2] for one in network["Containers"].values()) == [
        "broker-0", "broker-1", "broker-2",
    ]  # fmt: skip
    faultline(home, "stop", "broker-1", "--wait", "30")
    engine("kill", container("broker-1"))
    faultline(home, "start", "broker-1", "--wait", "60")
    assert ports() == published
    address = faultline(home, "status")["bootstrap"]["az-1"].split(",")[1]
    assert 1 in AdminClient({"bootstrap.servers": address}).list_topics(timeout=PATIENCE_S).brokers
