"""Changes of topics and broker settings in a live cluster, as Kafka's admin tools make them.

Topics are altered, grown, moved and deleted by the session service.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import trio

from emulator.cluster.control_requests import (
    AddPartitions,
    AlterBroker,
    AlterTopic,
    DeleteTopic,
    DescribeTopic,
    Reassign,
    Refused,
)
from emulator.cluster.name_suggestions import broker_meant, broker_numbered, nearest, topics_of
from emulator.cluster.player_mailbox import Job, PlayerMailbox
from emulator.machines.broker.settings import BrokerSettings
from emulator.machines.node.specs import RunSpec
from emulator.scenario import scenario_model as m
from emulator.settings.setting import BROKER, TOPIC, Value
from emulator.settings.setting_registry import BY_SCOPE, UnusableSetting, alterable
from emulator.topology import broker_name, node_name
from emulator.worlds.network.node_supervisor import Cluster
from protocol.ids import topic_partition_of
from protocol.records.offset_commits import OFFSETS_TOPIC

REASSIGN_LIMIT_S: Final = 600.0
DELETE_LIMIT_S: Final = 600.0


class TopicChanges:
    """`describe`: a topic as the session service has it."""

    def __init__(
        self,
        cluster: Cluster,
        mailbox: PlayerMailbox,
        describe: Callable[[DescribeTopic], dict[str, Any]],
        spec: RunSpec,
    ) -> None:
        self._cluster = cluster
        self._mailbox = mailbox
        self._describe = describe
        self._spec = spec
        self._kafka_version = spec.kafka_version

    async def alter(self, ask: AlterTopic, job: Job) -> dict[str, Any]:
        """Write the change; done when brokers are notified. Raises Refused."""
        topic = self._topic(ask.topic)
        configs, removed = self._altered(ask, TOPIC, BY_SCOPE[TOPIC])
        await self._mailbox.do((m.AlterTopic(topic=topic, configs=configs, remove=removed),), job)
        return {"topic": topic, "set": configs, "removed": list(removed)}

    async def alter_broker(self, ask: AlterBroker, job: Job) -> dict[str, Any]:
        """Write the change; done when brokers are notified. Raises Refused."""
        targets: dict[str, str] = {}
        node_of = self._mailbox.player.seen.node_of
        number = None if ask.broker is None else broker_meant(self._cluster.topology, ask.broker, node_of, targets)
        known = {name for name, one in BY_SCOPE[BROKER].items() if one.can_be_altered_in(self._kafka_version)}
        if not known:
            since = "brokers change settings at run time since 1.1 (KIP-226)"
            raise Refused(f"{since}; these are of Kafka {self._kafka_version}")
        configs, removed = self._altered(ask, BROKER, known)
        broker = broker_name(number or 0)
        handlers = BrokerSettings.from_settings(self._spec.settings.get(broker, {})).num_io_threads
        step = m.AlterBroker(broker=number, configs=configs, remove=removed, handlers=handlers)
        await self._mailbox.do((step,), job)
        reported = {"broker": number, "set": configs, "removed": list(removed)}
        return reported | ({"targets": targets} if targets else {})

    def _altered(
        self, ask: AlterTopic | AlterBroker, scope: str, known: Iterable[str]
    ) -> tuple[dict[str, Value], tuple[str, ...]]:
        """(settings to set, settings to remove). Raises Refused."""
        if not ask.settings and not ask.remove:
            raise Refused("which settings? --set name=value, or --remove name")
        try:
            configs = {name: alterable(scope, name, value, self._kafka_version) for name, value in ask.settings.items()}
        except UnusableSetting as error:
            raise Refused(str(error)) from error
        return configs, tuple(nearest(f"{scope} setting", name, known) for name in ask.remove)

    async def add_partitions(self, ask: AddPartitions, job: Job) -> dict[str, Any]:
        """Add partitions; done when every new one has a leader. Raises Refused."""
        topic = self._topic(ask.topic)
        for replicas in ask.assignment:
            self._check_replicas(replicas)
        if ask.partitions > m.PARTITIONS_MAX:
            raise Refused(f"a topic has at most {m.PARTITIONS_MAX} partitions here")
        assignment = tuple(map(tuple, ask.assignment))
        await self._mailbox.do((m.AddPartitions(topic=topic, partitions=ask.partitions, assignment=assignment),), job)
        return self._describe(DescribeTopic(topic))

    async def reassign(self, ask: Reassign, job: Job) -> dict[str, Any]:
        """Move partitions; done when the controller has moved all. Raises Refused."""
        seen = self._mailbox.player.seen
        targets = {}
        for name, replicas in ask.targets.items():
            self._check_replicas(replicas)
            targets[nearest("partition", name, seen.assignments)] = tuple(replicas)
        await self._mailbox.do((m.Reassign(targets=tuple(targets.items())),), job)
        with trio.move_on_after(REASSIGN_LIMIT_S):
            await self._mailbox.until(lambda: all(seen.assignments.get(name) == to for name, to in targets.items()))
            return {"moved": {name: list(to) for name, to in targets.items()}}
        left = ", ".join(name for name, to in targets.items() if seen.assignments.get(name) != to)
        raise Refused(f"not moved after {REASSIGN_LIMIT_S:g} s: {left}; a replica that is not in sync holds it up")

    async def delete(self, ask: DeleteTopic, job: Job) -> dict[str, Any]:
        """Delete it; done when the controller has removed it from the session service.

        Raises Refused.
        """
        topic, seen = self._topic(ask.topic), self._mailbox.player.seen
        if topic == OFFSETS_TOPIC:
            raise Refused(f"{topic} is one of Kafka's own topics, and is not to be deleted")
        controller = seen.controller
        if controller is not None and not self._may_delete(node_name(controller)):
            raise Refused(
                f"{topic} cannot be deleted: delete.topic.enable is false at {node_name(controller)}, the controller; "
                "a cluster has it on with up --set delete.topic.enable=true"
            )
        await self._mailbox.do((m.DeleteTopic(topic=topic),), job)
        with trio.move_on_after(DELETE_LIMIT_S):
            await self._mailbox.until(lambda: topic not in seen.topics)
            return {"topic": topic, "deleted": True}
        away = sorted({broker_name(b) for name in seen.assignments for b in self._away(topic, name)})
        why = f"not running: {', '.join(away)}" if away else "a reassignment or a log directory that failed holds it up"
        raise Refused(f"{topic} is marked for deletion, and not deleted after {DELETE_LIMIT_S:g} s; {why}")

    def _may_delete(self, node: str) -> bool:
        return BrokerSettings.from_settings(self._spec.settings[node]).delete_topic_enable

    def _away(self, topic: str, name: str) -> list[int]:
        """Brokers of a partition of the topic that are not registered."""
        topic_partition, seen = topic_partition_of(name), self._mailbox.player.seen
        if topic_partition is None or topic_partition[0] != topic:
            return []
        return [broker for broker in seen.assignments[name] if broker not in seen.live]

    def _check_replicas(self, replicas: Sequence[int]) -> None:
        for broker in replicas:
            broker_numbered(self._cluster.topology, broker)
        if not replicas or len(set(replicas)) < len(replicas):
            raise Refused(f"replicas are brokers, each once, the preferred leader first, not {list(replicas)}")

    def _topic(self, given: str) -> str:
        return nearest("topic", given, topics_of(self._mailbox.player.seen.assignments))

