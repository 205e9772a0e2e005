"""First and last offsets of a topic's partitions, for consumers and at each replica.

Consumers' offsets come from the leaders, replicas' from their brokers. The requests come from outside every AZ, so a
broker that is cut off answers, too.
"""

from typing import Any

import trio

from emulator.cluster.control_requests import Refused, TopicOffsets
from emulator.cluster.name_suggestions import nearest, topics_of
from emulator.cluster.player_mailbox import Job, PlayerMailbox
from emulator.scenario import scenario_model as m
from emulator.scenario.player.timeline import Entry, epoch_or_null
from emulator.topology import broker_name
from emulator.worlds.network.node_supervisor import Cluster
from protocol.ids import BrokerId, topic_partition_text
from protocol.messages.status_messages import NodeStatus

NO_LEADER = "no leader"


class Offsets:
    """Answers `topic offsets`."""

    def __init__(self, cluster: Cluster, mailbox: PlayerMailbox) -> None:
        self._cluster = cluster
        self._mailbox = mailbox

    async def of_topic(self, ask: TopicOffsets, job: Job) -> dict[str, Any]:
        """{"topic", "partitions": [...]}. Raises Refused."""
        seen = self._mailbox.player.seen
        topics = topics_of(seen.assignments)
        topic = nearest("topic", ask.topic, topics)
        names = [topic_partition_text(topic, number) for number in topics[topic]]
        by_leader: dict[BrokerId, list[str]] = {}
        for name in names:
            state = seen.states.get(name)
            if state is not None and state.leader >= 0:
                by_leader.setdefault(state.leader, []).append(name)
        answers: dict[str, Entry | str] = {}
        async with trio.open_nursery() as nursery:
            for leader, led in by_leader.items():
                nursery.start_soon(self._ask, leader, led, answers)
        statuses = await self._cluster.statuses()
        listed = []
        for number, name in zip(topics[topic], names, strict=True):
            state = seen.states.get(name)
            replicas = [_replica(name, broker, statuses) for broker in seen.assignments.get(name, ())]
            led_by = state.leader if state is not None and state.leader >= 0 else None
            listed.append({"partition": number, "leader": led_by, **_listed(answers.get(name)), "replicas": replicas})
        return {"topic": topic, "partitions": listed}

    async def _ask(self, leader: BrokerId, names: list[str], answers: dict[str, Entry | str]) -> None:
        steps = tuple(m.ListOffsets(broker=leader, partition=name) for name in names)
        try:
            answers.update(zip(names, await self._mailbox.do(steps, Job()), strict=True))
        except Refused as refused:
            answers.update(dict.fromkeys(names, str(refused)))


def _listed(answer: Entry | str | None) -> dict[str, Any]:
    """`error`: 0, Kafka's code, an exception's name, or the reason why no request was sent."""
    if not isinstance(answer, dict):
        return {"earliest": None, "latest": None, "leader_epoch": None, "error": answer or NO_LEADER}
    return {key: answer[key] for key in ("earliest", "latest", "leader_epoch", "error")}


def _replica(name: str, broker: int, statuses: dict[str, NodeStatus]) -> dict[str, Any]:
    """Offsets of a replica. `why`: reason why they are missing."""
    status = statuses.get(broker_name(broker))
    if status is None:
        return {"broker": broker, "why": "it does not run, or does not answer"}
    held = status.partitions.get(name)
    if held is None or held.log_end < 0:
        return {"broker": broker, "why": "it has no log"}
    return {
        "broker": broker, "log_start": held.log_start, "log_end": held.log_end, "high_watermark": held.high_watermark,
        "leader_epoch": epoch_or_null(held.leader_epoch), "is_leader": held.is_leader,
    }  # fmt: skip
