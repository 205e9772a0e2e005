"""A cluster with a Kafka listener is ready when its brokers know the controller.

They can then report it to Kafka clients.
"""

from types import SimpleNamespace
from typing import Any

import pytest
import trio

from emulator.cluster.live_cluster import LiveCluster
from emulator.topology import three_azs
from emulator.worlds.network.spec import Address
from protocol.messages.status_messages import NodeStatus

KAFKA_NETWORK = {"": {"broker-0": Address("127.0.0.1", 1)}}


def untold(kafka_ports: dict[str, Any], controllers: dict[str, str]) -> str:
    async def statuses() -> dict[str, NodeStatus]:
        return {name: NodeStatus(controller=controller) for name, controller in controllers.items()}

    live: Any = LiveCluster.__new__(LiveCluster)
    live.cluster = SimpleNamespace(engine=SimpleNamespace(kafka=kafka_ports), statuses=statuses)
    live.spec = SimpleNamespace(run=SimpleNamespace(topology=three_azs()))
    return trio.run(LiveCluster._uninformed, live)


@pytest.mark.parametrize(
    ("kafka_ports", "controllers", "lacking"),
    [
        (KAFKA_NETWORK, {"broker-0": "broker-0", "broker-1": "", "broker-2": ""},
         "controller not known yet: broker-1, broker-2"),
        (KAFKA_NETWORK, {"broker-0": "broker-0", "broker-1": "broker-0", "session-0": ""}, ""),  # broker-2 is paused
        ({}, {"broker-0": ""}, ""),
    ],
)  # fmt: skip
def test_brokers_without_the_controllers_metadata_are_waited_for(
    kafka_ports: dict[str, Any], controllers: dict[str, str], lacking: str
) -> None:
    assert untold(kafka_ports, controllers) == lacking
