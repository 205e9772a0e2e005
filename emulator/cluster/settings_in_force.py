"""Present settings of a live cluster: nodes, versions, brokers' and topics' settings.

No node is requested: the settings are those that the supervisor passed to the nodes, and those in the session service.
"""

from typing import Any

import msgspec

from emulator.cluster.name_suggestions import topics_of
from emulator.cluster.specification import LiveSpec
from emulator.machines.node.specs import RunSpec
from emulator.runs.resolve import SESSION_SETTINGS
from emulator.scenario.player.observing import Observing
from emulator.topology import OBSERVER
from protocol.ids import topic_partition_text
from protocol.znodes import EVERY_BROKER, broker_config_path, topic_config_path


def settings_in_force(spec: LiveSpec, now: RunSpec, seen: Observing) -> dict[str, Any]:
    """`now`: specification of the nodes' present incarnations.

    - `nodes`: {name: AZ and roles}; `versions`: binaries of brokers and controllers; `session`: of the ensemble;
    - `given`: {node: settings requested at its start};
    - `altered`: {broker's number, or "" for every one: settings of AlterConfigs};
    - `topics`: {topic: partitions, replicas of each, its own settings};
    - `to_come`: settings of future topics, producers and consumers.
    """
    nodes = [node for node in now.topology.nodes if node.name != OBSERVER]
    brokers = {EVERY_BROKER: ""} | {str(node.number): str(node.number) for node in nodes if "broker" in node.roles}
    altered = {whose: seen.configs.get(broker_config_path(znode), {}) for znode, whose in brokers.items()}
    limits = {name: getattr(now, field) for name, field in SESSION_SETTINGS.items()}
    return {
        "name": spec.name,
        "kafka": now.kafka_version,
        "versions": {name: now.binary(name) for name in now.settings},
        "nodes": {node.name: {"az": node.az, "number": node.number, "roles": list(node.roles)} for node in nodes},
        "session": {name: value for name, value in limits.items() if value >= 0},
        "given": {name: msgspec.to_builtins(given) for name, given in now.given.items()},
        "altered": {whose: own for whose, own in altered.items() if own},
        "topics": {
            topic: {
                "partitions": len(numbers),
                "replicas": [len(seen.assignments[topic_partition_text(topic, number)]) for number in numbers],
                "settings": seen.configs.get(topic_config_path(topic), {}),
            }
            for topic, numbers in topics_of(seen.assignments).items()
        },
        "to_come": {"topics": spec.topics, "producers": spec.producers, "consumers": spec.consumers},
    }
