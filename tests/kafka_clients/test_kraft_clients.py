"""Kafka clients on a cluster of Kafka 4.4 in KRaft mode: topics, writes, reads, groups."""

from pathlib import Path
from typing import Any

import pytest

import faultline

confluent_kafka = pytest.importorskip("confluent_kafka")
kafka = pytest.importorskip("kafka")
admin = pytest.importorskip("confluent_kafka.admin")

pytestmark = pytest.mark.network
LIMIT_S = 60.0


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


def test_a_combined_cluster_settles_after_its_active_controller_has_died(tmp_path: Path) -> None:
    about: dict[str, Any] = {"kafka_version": "3.9", "metadata": "kraft", "controllers": "combined"}
    with faultline.Cluster(**about, directory=tmp_path / "run") as cluster:
        cluster.create_topic("t", assignment=[[0, 1, 2]])
        cluster.kill("active-controller")
        dead = [name for name, node in cluster.status()["nodes"].items() if not node["alive"]]
        assert len(dead) == 1 and dead[0].startswith("broker-")
        cluster.start(*dead)
        assert cluster.settle(LIMIT_S)


def test_clients_write_and_read_in_a_group(tmp_path: Path) -> None:
    with faultline.Cluster(kafka_version="4.4", directory=tmp_path / "run") as cluster:
        servers = cluster.bootstrap_servers()
        administration = admin.AdminClient({"bootstrap.servers": servers})
        administration.create_topics([admin.NewTopic("t", 1, 3)])["t"].result(LIMIT_S)

        offsets: list[int] = []
        producer = confluent_kafka.Producer({"bootstrap.servers": servers, "acks": "all", "enable.idempotence": True})
        producer.produce("t", b"a", on_delivery=lambda error, message: offsets.append(message.offset()))
        assert producer.flush(LIMIT_S) == 0
        assert offsets == [0]

        settings = {"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"}
        reader = confluent_kafka.Consumer(settings)
        reader.subscribe(["t"])
        message = reader.poll(LIMIT_S)
        assert message is not None and message.value() == b"a"
        assert [one.offset for one in reader.commit(asynchronous=False)] == [1]
        reader.close()

        other = kafka.KafkaProducer(bootstrap_servers=servers, acks="all")
        assert other.send("t", b"b").get(LIMIT_S).offset == 1
        other.close()
        group = kafka.KafkaConsumer("t", bootstrap_servers=servers, group_id="g", consumer_timeout_ms=LIMIT_S * 1000)
        assert next(iter(group)).value == b"b"
        group.close()

        transactional = confluent_kafka.Producer({"bootstrap.servers": servers, "transactional.id": "tx"})
        transactional.init_transactions(LIMIT_S)
        transactional.begin_transaction()
        transactional.produce("t", b"c")
        assert transactional.flush(LIMIT_S) == 0
        tool = kafka.KafkaAdminClient(bootstrap_servers=servers.split(","))
        assert [one.transactional_id for some in tool.list_transactions().values() for one in some] == ["tx"]
        described = tool.describe_transactions(["tx"])["tx"]
        assert (described.state.value, described.topic_partitions) == ("Ongoing", {kafka.TopicPartition("t", 0)})
        features = tool.describe_features()
        assert features["transaction.version"]["finalized"] == (2, 2)
        tool.close()
        transactional.commit_transaction(LIMIT_S)
        committed = confluent_kafka.Consumer({**settings, "group.id": "h", "isolation.level": "read_committed"})
        committed.assign([confluent_kafka.TopicPartition("t", 0, 0)])
        assert [committed.poll(LIMIT_S).value() for _ in range(3)] == [b"a", b"b", b"c"]
        committed.close()
