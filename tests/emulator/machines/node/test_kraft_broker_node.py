"""Brokers of KRaft in the simulated world with a small controller (kraft-semantics 3 to 5)."""

from typing import Any

import pytest

from emulator.machines.node.kraft_broker_node import KraftBrokerNode
from emulator.machines.node.kraft_controller_node import KraftControllerNode
from emulator.storage.log_directory import CLEAN_SHUTDOWN
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import KRAFT, Node, three_azs
from protocol.events import BrokerLifecycleChanged, NodeStopped, RoleChanged
from protocol.gates import gates_for
from protocol.ids import BrokerId
from protocol.machine import Now
from protocol.messages.kraft_messages import BrokerRegistrationRequest
from protocol.messages.leadership_messages import AlterIsrRequest
from protocol.records.compact_fields import uuid_text
from protocol.records.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)
from tests.emulator.machines.node.kraft_world import KraftWorld
from tests.emulator.machines.node.small_controller import SmallController
from tests.ids import brokers

VERSIONS = ("3.3", "3.5", "3.7", "3.9")
BROKERS = ("broker-0", "broker-1", "broker-2")
CONTROLLER = "controller-0"
TOPIC_ID = uuid_text(b"0123456789abcdef")
T0 = ("t", 0)


class Cluster(KraftWorld):
    """One controller and three brokers; the test is the cluster's administrator."""

    def __init__(self, version: str = "3.9", seed: int = 1, **settings: Any) -> None:
        super().__init__(three_azs(metadata=KRAFT, controllers=1), self._machine, seed)
        self._version = version
        self._settings = settings
        for name in (CONTROLLER, *BROKERS):
            self.world.start(name)

    def _machine(self, node: Node, files: MemoryFiles) -> KraftControllerNode | KraftBrokerNode:
        if "broker" in node.roles:
            gates = gates_for(self._version, metadata="kraft")
            return KraftBrokerNode(node, self.topology, gates, self._settings, files)
        return KraftControllerNode(node, self.topology, {}, self._version, files, SmallController)

    def broker(self, number: int) -> KraftBrokerNode:
        machine = self.world.nodes[f"broker-{number}"].machine
        assert isinstance(machine, KraftBrokerNode)
        return machine

    @property
    def controller(self) -> SmallController:
        machine = self.world.nodes[CONTROLLER].machine
        assert isinstance(machine, KraftControllerNode)
        controller = machine.part._controller
        assert isinstance(controller, SmallController)
        return controller

    def run(self) -> "Cluster":
        """Wait until all brokers run."""
        self.until(lambda: all(self.broker(number).listens for number in range(3)))
        return self

    def create(self, replicas: tuple[int, ...] = (0, 1, 2)) -> "Cluster":
        """Create t-0, led by its first replica."""
        placed = brokers(*replicas)
        self.controller.write([TopicRecord("t", TOPIC_ID), PartitionRecord(TOPIC_ID, 0, placed, placed, placed[0])])
        self.until(lambda: all(T0 in self.broker(number).broker.replicas.partitions for number in replicas))
        self.go_on(100)
        return self

    def change(self, **fields: Any) -> None:
        self.controller.write([PartitionChangeRecord(TOPIC_ID, 0, **fields)])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_broker_registers_catches_up_and_is_unfenced_before_it_listens(version: str) -> None:
    cluster = Cluster(version)
    took_ms = cluster.until(lambda: all(cluster.broker(number).listens for number in range(3)))
    cluster.go_on(100)
    assert took_ms < 8_000
    for name in BROKERS:
        states = [event.state for event in cluster.events(name, BrokerLifecycleChanged)]
        assert list(dict.fromkeys(states)) == ["starting", "recovery", "running"]
    assert set(cluster.controller.image.unfenced) == {0, 1, 2}
    assert set(cluster.broker(0).broker.metadata.live) == {0, 1, 2}
    lives = [one.incarnation for one in cluster.controller.requests if isinstance(one, BrokerRegistrationRequest)]
    assert len(set(lives)) == 3
    assert {len(life) for life in lives} == {22}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_partition_is_led_and_followed_and_its_new_leader_takes_over(version: str) -> None:
    cluster = Cluster(version).run().create()
    roles = {name: [(e.role, e.leader, e.leader_epoch) for e in cluster.events(name, RoleChanged)] for name in BROKERS}
    assert roles == {
        "broker-0": [("leader", 0, 0)],
        "broker-1": [("follower", 0, 0)],
        "broker-2": [("follower", 0, 0)],
    }
    cluster.change(leader=1)
    cluster.until(lambda: cluster.broker(1).broker.replicas.partitions[T0].leads)
    cluster.go_on(1_000)
    assert not cluster.broker(0).broker.replicas.partitions[T0].leads
    now = Now(cluster.world.now_ms, cluster.world.now_ms)
    for number in (0, 2):
        status = cluster.broker(number).status(now)
        assert (status.controller, status.partitions["t-0"].fetching) == (CONTROLLER, "fetching")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_follower_that_left_the_isr_joins_again_with_its_broker_epoch(version: str) -> None:
    cluster = Cluster(version).run().create()
    cluster.change(isr=brokers(0, 1))
    cluster.until(lambda: cluster.broker(0).broker.replicas.partitions[T0].isr == [0, 1])
    cluster.until(lambda: cluster.broker(0).broker.replicas.partitions[T0].isr == [0, 1, 2])
    (request,) = [one for one in cluster.controller.requests if isinstance(one, AlterIsrRequest)]
    (change,) = request.partitions
    known = cluster.controller.image.brokers
    expected = [known[BrokerId(number)].epoch for number in range(3)] if version >= "3.5" else []
    assert (change.isr, change.zk_version, change.broker_epochs) == ([0, 1, 2], 1, expected)
    assert change.topic_id == TOPIC_ID
    cluster.go_on(1_000)
    assert cluster.broker(0).broker.replicas.partitions[T0].partition_epoch == 2


def test_a_fenced_follower_does_not_join_the_isr_until_it_is_unfenced() -> None:
    cluster = Cluster().run().create()
    epoch = cluster.controller.image.brokers[BrokerId(2)].epoch
    cluster.controller.write([
        PartitionChangeRecord(TOPIC_ID, 0, isr=brokers(0, 1)),
        BrokerRegistrationChangeRecord(BrokerId(2), epoch, fenced=1),
    ])
    leader = cluster.broker(0).broker.replicas.partitions[T0]
    cluster.until(lambda: leader.isr == [0, 1])
    fenced_ms = cluster.until(lambda: leader.isr == [0, 1, 2])
    assert 0 < fenced_ms < 2_500, "its next heartbeat unfences it"
    assert [e.leader_epoch for e in cluster.events("broker-0", RoleChanged)] == [0, 0]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_orderly_stop_waits_for_the_controller_and_marks_its_broker_epoch(version: str) -> None:
    cluster = Cluster(version).run().create()
    epoch = cluster.broker(1).context.broker_epoch
    files = cluster.world.nodes["broker-1"].files
    cluster.world.stop("broker-1")
    cluster.until(lambda: bool(cluster.events("broker-1", NodeStopped)))
    (stopped,) = cluster.events("broker-1", NodeStopped)
    assert (stopped.code, stopped.reason) == (0, "stopped")
    marked = files.read(CLEAN_SHUTDOWN, 0, files.size(CLEAN_SHUTDOWN))
    assert marked == (b'{"version":0,"brokerEpoch":%d}' % epoch if version >= "3.7" else b"")
    cluster.world.start("broker-1")
    cluster.until(lambda: cluster.broker(1).listens)
    registered = [one for one in cluster.controller.requests if isinstance(one, BrokerRegistrationRequest)]
    assert registered[-1].previous_epoch == (epoch if version >= "3.7" else -1)
    assert cluster.broker(1).broker.replicas.partitions[T0].leader == 0
