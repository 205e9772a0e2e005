"""Verbs of topics and their placement, and alter-broker.

create-topic, delete-topic, alter-topic, add-partitions, reassign, and elections.
"""

from collections.abc import Callable

import msgspec
from ruamel.yaml.nodes import MappingNode, Node

from emulator.scenario import scenario_model as m
from emulator.scenario.document import plain
from emulator.scenario.step_reader import Keys, Steps
from emulator.settings.setting import ALTERED, BROKER, TOPIC
from emulator.settings.setting_registry import BY_SCOPE
from protocol.ids import BrokerId, topic_partition_of

Assignment = tuple[tuple[BrokerId, ...], ...]


def or_fails(read: Callable[[Keys, float | None], Steps]) -> Callable[[Keys, float | None], Steps]:
    """The verb with `may_fail`."""

    def steps(k: Keys, at_s: float | None) -> Steps:
        may_fail = _may_fail(k)
        return [msgspec.structs.replace(step, may_fail=may_fail) if may_fail else step for step in read(k, at_s)]

    return steps


def _may_fail(k: Keys) -> bool:
    return k.get("may_fail", lambda n: k.reader.truth(n, "may_fail"), False)


def create_topic(k: Keys, at_s: float | None) -> Steps:
    topic = k.need("topic", k.reader.topic_name)
    configs: dict[str, object] = k.get("settings", k.reader.topic_configs, {})
    none: Assignment = ()
    assignment = k.get("assignment", k.reader.assignment, none)
    partitions = k.get("partitions", lambda n: k.reader.integer(n, "partitions", 1, m.PARTITIONS_MAX), 0)
    brokers = len(k.reader.topology.with_role("broker"))
    replicas = k.get("replicas", lambda n: k.reader.integer(n, "replicas", 1, brokers), 0)
    if "assignment" in k and ("partitions" in k or "replicas" in k):
        k.reader.problem(k.node, "an assignment determines the numbers of partitions and replicas; leave them out")
    count = len(assignment or ()) or partitions or k.reader.num_partitions
    k.reader.partitions.update(f"{topic}-{number}" for number in range(count))
    return [
        m.CreateTopic(
            topic=topic, assignment=assignment, partitions=partitions, replicas=replicas, configs=configs, at_s=at_s
        )
    ]


def alter_topic(k: Keys, at_s: float | None) -> Steps:
    configs: dict[str, object] = k.get("settings", k.reader.topic_configs, {})
    remove = _removed(k, "alter-topic", TOPIC)
    return [m.AlterTopic(topic=_topic(k), configs=configs, remove=remove, at_s=at_s)]


def alter_broker(k: Keys, at_s: float | None) -> Steps:
    """Settings that can be altered in a running broker of some version."""

    def read(node: Node) -> dict[str, object]:
        configs = k.reader.settings_of(BROKER, node, "broker settings")
        for key, _ in node.value if isinstance(node, MappingNode) else ():
            _alterable(k, BROKER, key)
        return configs

    broker: BrokerId | str | None = k.get("broker", k.reader.broker_or_target, None)
    configs: dict[str, object] = k.get("settings", read, {})
    remove = _removed(k, "alter-broker", BROKER)
    return [m.AlterBroker(broker=broker, configs=configs, remove=remove, at_s=at_s)]


def _alterable(k: Keys, scope: str, node: Node) -> str:
    """The name that `node` is."""
    name = str(plain(node))
    setting = BY_SCOPE[scope].get(name)
    if scope == BROKER and setting is not None and setting.update not in ALTERED:
        k.reader.problem(node, f"{name} cannot be altered while a broker runs")
    return name


def _removed(k: Keys, verb: str, scope: str) -> tuple[str, ...]:
    what, known = f"{scope} setting", sorted(BY_SCOPE[scope])

    def one(node: Node) -> str | None:
        return k.reader.word(node, what, known) and _alterable(k, scope, node)

    def removed(node: Node) -> tuple[str, ...]:
        return k.reader.each(node, f"{what}s", one, single=True)

    none: tuple[str, ...] = ()
    if "settings" not in k and "remove" not in k:
        k.reader.problem(k.node, f"{verb} needs 'settings' to set, or names to 'remove'")
    return k.get("remove", removed, none)


def add_partitions(k: Keys, at_s: float | None) -> Steps:
    topic = _topic(k)
    partitions = k.need("partitions", lambda n: k.reader.integer(n, "partitions", 1, m.PARTITIONS_MAX))
    count = sum(
        topic_partition[0] == topic
        for topic_partition in map(topic_partition_of, k.reader.partitions)
        if topic_partition is not None
    )
    none: Assignment = ()
    assignment = k.get("assignment", k.reader.assignment, none)
    if not k.failed and partitions <= count and not _may_fail(k):
        more = f"it has {count} partitions, and can only have more"
        k.reader.problem(k.nodes["partitions"], f"{topic} cannot have {partitions}: {more}")
    elif not k.failed and assignment and len(assignment) != partitions - count:
        what = f"{len(assignment)} lists of replicas for {partitions - count} new partitions"
        k.reader.problem(k.nodes["assignment"], what)
    k.reader.partitions.update(f"{topic}-{number}" for number in range(count, partitions or 0))
    return [m.AddPartitions(topic=topic, partitions=partitions, assignment=assignment, at_s=at_s)]


def reassign(k: Keys, at_s: float | None) -> Steps:
    def read(node: Node) -> tuple[tuple[str, tuple[BrokerId, ...]], ...] | None:
        found = []
        for name, key, value in k.reader.pairs(node, "partitions"):
            k.reader.partition(key)
            replicas = k.reader.assignment(value)
            if replicas is not None and len(replicas) != 1:
                k.reader.problem(value, f"{name} has one list of replicas")
            elif replicas is not None:
                found.append((name, replicas[0]))
        return tuple(found) or None

    return [m.Reassign(targets=k.need("partitions", read), at_s=at_s)]


def delete_topic(k: Keys, at_s: float | None) -> Steps:
    return [m.DeleteTopic(topic=_topic(k), at_s=at_s)]


def elect_preferred(k: Keys, at_s: float | None) -> Steps:
    def read(node: Node) -> tuple[str, ...]:
        return k.reader.each(node, "partitions", k.reader.partition, single=True)

    return [m.ElectPreferred(partitions=k.get("partitions", read, ()), at_s=at_s)]


def elect_controller(k: Keys, at_s: float | None) -> Steps:
    return [m.ElectController(at_s=at_s)]


def _topic(k: Keys) -> str:
    """None, and `k.failed`, if there is none of that name."""
    return k.need("topic", lambda n: k.reader.word(n, "topic", k.reader.topics))
