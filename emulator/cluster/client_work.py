"""Topics, writes and reads on a live cluster: a request becomes steps of the live player.

Routing: a client process in an AZ sends to the broker that its AZ's broker regards as leader. Without an AZ the player
sends from outside all AZs, where no cut reaches, to the leader in the session service. An idempotent producer finds the
leader by itself.
"""

from collections.abc import Callable
from typing import Any

import trio

from emulator.cluster.control_requests import Consume, CreateTopic, DescribeTopic, ElectPreferred, Produce, Refused
from emulator.cluster.name_suggestions import broker_numbered, client_in, nearest, topics_of
from emulator.cluster.player_mailbox import Job, PlayerMailbox
from emulator.machines.client.client_versions import client_version_named, idempotent_by_default
from emulator.scenario import scenario_model as m
from emulator.scenario.player.timeline import metadata_view
from emulator.settings.setting_registry import UnusableSetting, of_topic
from emulator.topology import broker_name, identifier_of
from emulator.worlds.network.node_supervisor import Cluster
from protocol.ids import BrokerId, can_be_topic, topic_partition_text
from protocol.messages.workload_messages import READ_COMMITTED_LEVEL
from protocol.versions import UnknownVersion

ELECTION_LIMIT_S = 30.0


class ClientWork:
    """Carries out requests for topics and records.

    `check_serves(node)` raises Refused for a node that does not serve now. `topics`: default settings of new topics.
    """

    def __init__(
        self, cluster: Cluster, mailbox: PlayerMailbox, check_serves: Callable[[str], str], kafka_version: str,
        topics: dict[str, Any],
    ) -> None:  # fmt: skip
        self._kafka_version = kafka_version
        self._topics = topics
        self._cluster = cluster
        self._mailbox = mailbox
        self._check_serves = check_serves

    # --- topics ---

    async def create_topic(self, ask: CreateTopic, job: Job) -> dict[str, Any]:
        """Create it and wait until every partition has a leader. Raises Refused."""
        self._check_new(ask.topic)
        if bool(ask.assignment) == bool(ask.partitions):
            raise Refused("a topic takes an assignment, such as --assignment 0,1,2, or --partitions with --replicas")
        for replicas in ask.assignment:
            for broker in replicas:
                broker_numbered(self._cluster.topology, broker)
            if not replicas or len(set(replicas)) < len(replicas):
                raise Refused(f"an assignment names each broker once, the preferred leader first, not {replicas}")
        brokers = len(self._cluster.topology.with_role("broker"))
        if ask.partitions and not (1 <= ask.partitions <= m.PARTITIONS_MAX and 1 <= ask.replicas <= brokers):
            given = f"{ask.partitions} partitions with {ask.replicas or 'no'} replicas"
            raise Refused(f"{given}: partitions are 1 to {m.PARTITIONS_MAX}, replicas 1 to {brokers}; give both")
        step = m.CreateTopic(
            topic=ask.topic,
            assignment=tuple(map(tuple, ask.assignment)),
            partitions=ask.partitions,
            replicas=ask.replicas,
            configs=self._topics | {name: self._topic_setting(name, value) for name, value in ask.settings.items()},
        )
        await self._mailbox.do((step,), job)
        return self.describe(DescribeTopic(ask.topic))

    def describe(self, ask: DescribeTopic) -> dict[str, Any]:
        """{"topics": {topic: [partition, ...]}} with each broker's own view. Raises Refused.

        `marked_for_deletion` has those of them that wait for deletion.
        """
        seen = self._mailbox.player.seen
        topics = topics_of(seen.assignments)
        if ask.topic:
            topic = nearest("topic", ask.topic, topics)
            topics = {topic: topics[topic]}
        result = {topic: [self._described(topic, number) for number in numbers] for topic, numbers in topics.items()}
        return {
            "topics": result,
            "marked_for_deletion": [topic for topic in result if topic in seen.marked],
            "controller": seen.controller,
            "controller_epoch": seen.controller_epoch,
        }

    def _described(self, topic: str, partition: int) -> dict[str, Any]:
        seen, name = self._mailbox.player.seen, topic_partition_text(topic, partition)
        state = seen.states.get(name)
        views = {
            broker_name(broker): metadata_view(broker, metadata, name)
            for broker, metadata in sorted(seen.metadata.items())
        }
        return {
            "partition": partition,
            "replicas": list(seen.assignments[name]),
            "leader": state.leader if state else None,
            "leader_epoch": state.leader_epoch if state else None,
            "isr": list(state.isr) if state else [],
            "views": {broker: {key: view[key] for key in ("leader", "epoch", "isr")} for broker, view in views.items()},
        }

    async def elect_preferred(self, ask: ElectPreferred, job: Job) -> dict[str, Any]:
        """Elect, and wait until those that can be elected lead. Raises Refused."""
        seen = self._mailbox.player.seen
        names = tuple(nearest("partition", name, seen.states) for name in ask.partitions) or tuple(seen.states)
        if not names:
            raise Refused("there are no partitions: create a topic first")
        await self._mailbox.do((m.ElectPreferred(partitions=names),), job)
        with trio.move_on_after(ELECTION_LIMIT_S):
            await self._mailbox.until(lambda: not any(map(self._can_be_preferred, names)))
        return {"leaders": {name: seen.states[name].leader for name in names if name in seen.states}}

    def _can_be_preferred(self, name: str) -> bool:
        seen = self._mailbox.player.seen
        state, replicas = seen.states.get(name), seen.assignments.get(name, ())
        if state is None or not replicas:
            return False
        return state.leader != replicas[0] and replicas[0] in state.isr and replicas[0] in seen.live

    # --- records ---

    async def produce(self, ask: Produce, job: Job) -> dict[str, Any]:
        """Write the values; the result has every attempt. Raises Refused."""
        partition = self._partition(ask.topic, ask.partition)
        client, broker = "", ask.broker
        try:
            version = client_version_named(ask.client_version) if ask.client_version else ""
        except UnknownVersion as unknown:
            raise Refused(str(unknown)) from unknown
        idempotent = ask.idempotent or bool(ask.transactional_id)
        by_library = idempotent or bool(ask.keys) or bool(version)
        if ask.abort and not ask.transactional_id:
            raise Refused("abort is of a transaction: add --transactional-id NAME")
        if ask.keys and len(ask.keys) != len(ask.values):
            raise Refused(f"{len(ask.keys)} keys for {len(ask.values)} values")
        if ask.az or by_library:
            client = self._client(ask.az or self._az_of_leader(partition))
        if broker is not None:
            broker_numbered(self._cluster.topology, broker)
            if by_library:
                who = "an idempotent producer" if idempotent else "a client's own producer"
                raise Refused(f"{who} finds the leader by itself: leave out --broker")
        elif not by_library:
            broker = self._leader_by(ask.az, partition) if ask.az else self._leader(partition)
        settings: dict[str, Any] = {}
        if by_library and not ask.transactional_id:  # the coordinator may be a topic that does not exist yet
            settings["max.block.ms"] = max(ask.timeout_ms, 1_000)
        given = {"acks": ask.acks, "retries": ask.retries}
        by_default = by_library and idempotent_by_default(self._kafka_version, version, given)
        step = m.Produce(
            broker=broker,
            values=tuple(ask.values),
            acks=-1 if idempotent else ask.acks,
            retries=max(ask.retries, 1) if idempotent else ask.retries,
            timeout_ms=ask.timeout_ms,
            socket_timeout_s=ask.timeout_ms / 1000 + 0.5,
            idempotent=idempotent or by_default,
            client_version=version,
            transactional_id=ask.transactional_id,
            ends=("abort",) if ask.abort else (),
            settings=settings,
            client=client,
            keys=tuple(ask.keys),
            partition=m.ANY_PARTITION if ask.keys else partition,
            topic=partition.rpartition("-")[0],
        )
        entries = [dict(entry) for entry in await self._mailbox.do((step,), job)]
        attempts = [entry for entry in entries if entry["saw"] != "transaction"]
        result: dict[str, Any] = {"attempts": attempts, "by": client or "outside every AZ"}
        if ask.transactional_id:
            result["transactions"] = [entry for entry in entries if entry["saw"] == "transaction"]
        return result

    async def consume(self, ask: Consume, job: Job) -> dict[str, Any]:
        """Read records from an offset on, to the high watermark or a count. Raises Refused."""
        partition = self._partition(ask.topic, ask.partition)
        client = self._client(ask.az) if ask.az else ""
        if ask.broker is not None:
            broker = identifier_of(broker_numbered(self._cluster.topology, ask.broker))
        else:
            broker = self._leader_by(ask.az, partition) if ask.az else self._leader(partition)
        records: list[Any] = []
        result: dict[str, Any] = {"broker": broker, "partition": partition, "by": client or "outside every AZ"}
        offset, committed = ask.offset, ask.isolation == READ_COMMITTED_LEVEL
        while True:
            step = m.Fetch(broker=broker, offset=offset, client=client, partition=partition, committed=committed)
            (entry,) = await self._mailbox.do((step,), job)
            found = entry["records"] or []
            records += found[: ask.records_max - len(records)]
            before = offset
            if found:
                offset = found[-1][0] + 1
            result |= {"error": entry["error"], "high_watermark": entry["high_watermark"], "records": records}
            end = entry["high_watermark"]
            if committed and end is not None:
                offset, end = max(offset, entry["next_offset"]), entry["last_stable_offset"]
                result["last_stable_offset"] = end
            if offset == before or len(records) >= ask.records_max or end is None or offset >= end:
                return result

    # --- clients and leaders ---

    def _client(self, az: str) -> str:
        return self._check_serves(client_in(self._cluster.topology, az).name)

    def _leader(self, partition: str) -> BrokerId:
        state = self._mailbox.player.seen.states.get(partition)
        if state is None or state.leader < 0:
            raise Refused(f"{partition} has no leader now; name a broker with --broker")
        return state.leader

    def _leader_by(self, az: str, partition: str) -> BrokerId:
        """Leader by the brokers of an AZ; by the session service if none of them runs."""
        brokers = {node.number for node in self._cluster.topology.with_role("broker") if node.az.lower() == az.lower()}
        for broker, metadata in self._mailbox.player.seen.metadata.items():
            leader = metadata_view(broker, metadata, partition)["leader"]
            if broker in brokers and leader >= 0:
                return BrokerId(leader)
        return self._leader(partition)

    def _az_of_leader(self, partition: str) -> str:
        azs = [node.az for node in self._cluster.topology.with_role("client")]
        az = broker_numbered(self._cluster.topology, self._leader(partition)).az
        return az if az in azs else azs[0]

    def _partition(self, topic: str, partition: int) -> str:
        topics = topics_of(self._mailbox.player.seen.assignments)
        topic = nearest("topic", topic, topics)
        count = len(topics[topic])
        if not 0 <= partition < count:
            raise Refused(f"{topic} has {count} partitions, from 0; not {partition}")
        return topic_partition_text(topic, partition)

    def _check_new(self, topic: str) -> None:
        if not can_be_topic(topic):
            raise Refused(f"a topic's name is of letters, digits, '.', '_' and '-', not {topic!r}")
        if topic in topics_of(self._mailbox.player.seen.assignments):
            marked = topic in self._mailbox.player.seen.marked
            until = "; it is marked for deletion, and exists until all its replicas are deleted" if marked else ""
            raise Refused(f"topic {topic} exists already{until}")

    def _topic_setting(self, name: str, value: object) -> Any:
        try:
            return of_topic(name, value, self._kafka_version)
        except UnusableSetting as error:
            raise Refused(str(error)) from error
