"""Topics of a cluster that stays, altered, grown and moved: what Kafka's admin tools do by the session service."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import trio

from emulator.live.desk import Desk, Job
from emulator.live.requests import AddPartitions, AlterTopic, DescribeTopic, Reassign, Refused
from emulator.live.words import broker_numbered, nearest, topics_of
from emulator.scenario import model as m
from emulator.settings.registry import BY_SCOPE, UnusableSetting, alterable
from emulator.settings.setting import TOPIC
from emulator.world.network.cluster import Cluster

REASSIGN_LIMIT_S: Final = 600.0


class TopicChanges:
    """`describe`: a topic as the session service has it."""

    def __init__(
        self, cluster: Cluster, desk: Desk, describe: Callable[[DescribeTopic], dict[str, Any]], kafka_version: str
    ) -> None:
        self._cluster = cluster
        self._desk = desk
        self._describe = describe
        self._kafka_version = kafka_version

    async def alter(self, ask: AlterTopic, job: Job) -> dict[str, Any]:
        """Until it is written, and brokers are notified. Raises Refused."""
        topic = self._topic(ask.topic)
        if not ask.settings and not ask.removed:
            raise Refused("which settings? --set name=value, or --remove name")
        try:
            configs = {name: alterable(TOPIC, name, value, self._kafka_version) for name, value in ask.settings.items()}
        except UnusableSetting as error:
            raise Refused(str(error)) from error
        removed = tuple(nearest("topic setting", name, BY_SCOPE[TOPIC]) for name in ask.removed)
        await self._desk.do((m.AlterTopic(topic=topic, configs=configs, remove=removed),), job)
        return {"topic": topic, "set": configs, "removed": list(removed)}

    async def add_partitions(self, ask: AddPartitions, job: Job) -> dict[str, Any]:
        """Until every new one is led. Raises Refused."""
        topic = self._topic(ask.topic)
        for replicas in ask.assignment:
            self._check_replicas(replicas)
        if ask.partitions > m.PARTITIONS_MAX:
            raise Refused(f"a topic has at most {m.PARTITIONS_MAX} partitions here")
        assignment = tuple(map(tuple, ask.assignment))
        await self._desk.do((m.AddPartitions(topic=topic, partitions=ask.partitions, assignment=assignment),), job)
        return self._describe(DescribeTopic(topic))

    async def reassign(self, ask: Reassign, job: Job) -> dict[str, Any]:
        """Until the controller has moved them. Raises Refused."""
        seen = self._desk.player.seen
        targets = {}
        for name, replicas in ask.targets.items():
            self._check_replicas(replicas)
            targets[nearest("partition", name, seen.assignments)] = tuple(replicas)
        await self._desk.do((m.Reassign(targets=tuple(targets.items())),), job)
        with trio.move_on_after(REASSIGN_LIMIT_S):
            await self._desk.until(lambda: all(seen.assignments.get(name) == to for name, to in targets.items()))
            return {"moved": {name: list(to) for name, to in targets.items()}}
        left = ", ".join(name for name, to in targets.items() if seen.assignments.get(name) != to)
        raise Refused(f"not moved after {REASSIGN_LIMIT_S:g} s: {left}; a replica that is not in sync holds it up")

    def _check_replicas(self, replicas: Sequence[int]) -> None:
        for broker in replicas:
            broker_numbered(self._cluster.topology, broker)
        if not replicas or len(set(replicas)) < len(replicas):
            raise Refused(f"replicas are brokers, each once, the preferred leader first, not {list(replicas)}")

    def _topic(self, given: str) -> str:
        return nearest("topic", given, topics_of(self._desk.player.seen.assignments))

