"""A group outlives its coordinator.

Real consumers go on with the broker that coordinates next.
"""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

import faultline
from emulator.run_layout import EVENTS_FOLDER, event_paths
from protocol.events.event_parsing import event_in
from protocol.records.offset_commits import OFFSETS_TOPIC
from tests.kafka_clients.test_groups import places, until
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network

SETTINGS = {
    "offsets.topic.num.partitions": 1,
    "zookeeper.session.timeout.ms": 2000,
    "group.initial.rebalance.delay.ms": 100,
}


def operations(run: Path) -> list[dict[str, Any]]:
    """Those that have ended."""
    lines = [line for path in event_paths(run / EVENTS_FOLDER) for line in path.read_bytes().splitlines()]
    return [event for line in lines if (event := event_in(line)) and event["event"] == "operation_ended"]


def coordinator(admin: AdminClient) -> int:
    return int(admin.list_topics(OFFSETS_TOPIC, timeout=PATIENCE_S).topics[OFFSETS_TOPIC].partitions[0].leader)


def test_members_go_on_without_a_rebalance_when_their_coordinator_dies(state_home: Path, tmp_path: Path) -> None:
    """The group's metadata in `__consumer_offsets` decides.

    A coordinator without it would have the members join again.
    """
    reported: list[str] = []
    with faultline.Cluster(kafka_version="2.8", settings=SETTINGS, directory=tmp_path / "run") as cluster:
        cluster.create_topic("orders", assignment=[[0, 1, 2], [1, 2, 0]])
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers()})
        producer.produce("orders", "a", partition=0)
        assert producer.flush(PATIENCE_S) == 0
        consumers = [
            Consumer({
                "bootstrap.servers": cluster.bootstrap_servers(), "group.id": "g", "session.timeout.ms": 30_000,
                "heartbeat.interval.ms": 300, "enable.auto.commit": False, "auto.offset.reset": "earliest",
            })
            for _ in range(2)
        ]  # fmt: skip
        for one in consumers:
            one.subscribe(
                ["orders"],
                on_assign=lambda _, __: reported.append("assigned"),
                on_revoke=lambda _, __: reported.append("revoked"),
            )
        until(lambda: sorted(map(places, consumers)) == [[0], [1]], *consumers)
        before, reported[:] = [places(one) for one in consumers], []
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers()})
        first = coordinator(admin)
        cluster.kill(f"broker-{first}")
        until(lambda: coordinator(admin) not in (-1, first), *consumers)
        for one in consumers:
            (place,) = places(one)
            done = one.commit(offsets=[TopicPartition("orders", place, 0)], asynchronous=False)
            assert [one.error for one in done or ()] == [None]
        assert [places(one) for one in consumers] == before
        assert reported == [], "no member had to join again"
        for one in consumers:
            one.close()
    commits = [one for one in operations(tmp_path / "run") if one["kind"] == "commit" and one["outcome"] == "ok"]
    assert {(one["partition"], one["offset"]) for one in commits} >= {(0, 0), (1, 0)}, "the audit hears of commits"
