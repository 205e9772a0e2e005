"""Reads targets of a scenario file, and checks them against its topics and nodes."""

from collections.abc import Collection

from ruamel.yaml.nodes import Node, ScalarNode

from emulator.faults.targets import ACTIVE_CONTROLLER, FORMS, candidates, partition_of, target_in
from emulator.scenario.document import Reader, nearest, shown
from emulator.topology import Topology
from protocol.ids import topic_partition_of
from protocol.numbers import number_in


def read_target(
    reader: Reader, node: Node, topology: Topology, partitions: Collection[str], *, of_brokers: bool = False
) -> str | None:
    """The canonical form; None: the word is no target.

    `partitions`: those that steps before create. `of_brokers`: the target must mean a broker. What is wrong with a
    target is noted."""
    word = str(node.value) if isinstance(node, ScalarNode) else ""
    target = target_in(word)
    if target is None:
        return None
    if target != ACTIVE_CONTROLLER:
        if (name := partition_of(target)) not in partitions:
            reader.problem(node, f"{shown(word)}: {_no_partition(name, partitions)}")
    elif of_brokers:
        dedicated = [one.name for one in candidates(topology, target) if "broker" not in one.roles]
        if dedicated:
            reader.problem(node, f"active controller: {dedicated[0]} is no broker; name a broker")
    return target


def _no_partition(name: str, partitions: Collection[str]) -> str:
    topic, _, number = name.rpartition("-")
    if not topic or number_in(number) is None:
        return f"names no partition; write {FORMS[0]}, such as leader of t-0"
    counts: dict[str, int] = {}
    for known in filter(None, map(topic_partition_of, partitions)):
        counts[known[0]] = counts.get(known[0], 0) + 1
    if topic not in counts:
        return f"no step before creates topic {shown(topic)}{nearest(topic, sorted(counts))}"
    count = counts[topic]
    return f"{topic} has {count} partition{'' if count == 1 else 's'}; expected a number from 0 to {count - 1}"
