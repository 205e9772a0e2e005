"""Steps of each verb, as work that waits. One method per verb.

`fault_steps` has those on machines and links, `topic_steps` those of topics, `group_steps` those of groups,
`workload_steps` those of load.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from emulator.faults import actions as act
from emulator.faults.actions import ActDone
from emulator.faults.targets import NoTarget
from emulator.machines.client.blocked_sends import ANY_PARTITION
from emulator.machines.client.client_state import Attempt, Described, Fetched, Listed
from emulator.machines.client.direct import METADATA_SOCKET_TIMEOUT_MS
from emulator.scenario import scenario_model as m
from emulator.scenario.client_steps import numbered
from emulator.scenario.conditions import LastStableOffset, needs
from emulator.scenario.player.client_step_execution import fetch_order, library_order, produce_order
from emulator.scenario.player.fault_steps import FaultSteps
from emulator.scenario.player.group_steps import GroupSteps
from emulator.scenario.player.log_ends import until_log_ends
from emulator.scenario.player.player_context import Stage
from emulator.scenario.player.quorum_step_execution import QuorumSteps
from emulator.scenario.player.settling import settled
from emulator.scenario.player.tasks import Order, StepFailed, Steps
from emulator.scenario.player.timeline import Timeline
from emulator.scenario.player.topic_steps import TopicSteps
from emulator.scenario.player.transaction_step_execution import TransactionSteps
from emulator.scenario.player.workload_steps import LIMIT_S, WorkloadSteps
from emulator.topology import broker_name
from protocol.ids import topic_partition_of, topic_partition_text
from protocol.messages.workload_messages import ClientProduceResponse
from protocol.records.offset_commits import OFFSETS_TOPIC

KRAFT_METADATA_TIMEOUT_MS: Final = 2_000.0
"""Socket timeout of a metadata request to a broker of KRaft, as recorded."""


def by_number(name: str) -> tuple[str, int]:
    """Sorts t-2 before t-10."""
    return topic_partition_of(name) or ("", -1)


class StepRunner:
    """Runs single steps for a player. `timeline`: receives results; None: the player's."""

    def __init__(self, stage: Stage, timeline: Timeline | None = None) -> None:
        self._stage = stage
        self._timeline = timeline or stage.timeline
        self._faults = FaultSteps(stage)
        self._groups = GroupSteps(stage, self._topic_partition, self._timeline)
        self._quorum = QuorumSteps(stage, self._faults, self._timeline)
        self._topics = TopicSteps(stage, self._topic_partition, self._timeline)
        self._transactions = TransactionSteps(stage, self._topics, self._timeline)
        self._workloads = WorkloadSteps(stage, self._topic_partition, self._timeline)

    def resolved(self, step: m.AnyStep) -> tuple[m.AnyStep, dict[str, str]]:
        """The step with nodes in the place of its targets, and {target: its node}. Raises NoTarget."""
        return self._faults.targets.of_step(step)

    def run(self, step: m.AnyStep, following: m.AnyStep | None) -> Steps:
        """Run a step, its own waiting included. `following`: the next step.

        A start does not wait for its broker if the next step waits. It does not wait either if a topic exists and the
        next step starts another broker: those start together.
        """
        try:
            step, _ = self.resolved(step)
        except NoTarget as error:
            raise StepFailed(str(error)) from error
        match step:
            case m.MachineStep() | m.Together():
                yield from self._faults.machine(step, following)
            case m.LinkFault():
                yield from self._faults.link(step)
            case m.Heal():
                yield from self._faults.heal(step)
            case m.Produce():
                yield from self._produce(step)
            case m.ProduceMessageSet():
                yield from self._produce_message_set(step)
            case m.LibraryProduce():
                yield from self._library_produce(step)
            case m.Fetch():
                yield from self._fetch(step)
            case m.Consume() | m.Commit() | m.LookCommitted():
                yield from self._groups.group(step)
            case m.Workload():
                yield from self._workloads.begin(step)
            case m.StopWorkload(name=name, limit_s=limit_s):
                yield from self._workloads.end(name, limit_s)
            case m.AskMetadata():
                yield from self._metadata(step)
            case m.ListOffsets():
                yield from self._list_offsets(step)
            case (
                m.CreateTopic() | m.DeleteTopic() | m.AlterTopic() | m.AlterBroker() | m.AddPartitions()
                | m.Reassign() | m.ElectPreferred() | m.ElectController()
            ):  # fmt: skip
                yield from self._topics.topic(step)
            case (
                m.CutControllers() | m.DescribeQuorum() | m.RequireController() | m.AddController()
                | m.RemoveController()
            ):  # fmt: skip
                yield from self._quorum.quorum(step)
            case m.TransactionStep():
                yield from self._transactions.request(step)
            case m.InternalTopics():
                yield from self._transactions.internal_topics(step)
            case m.TakeSnapshot(label=label) if self._transactions.observes_batches:
                yield from self._transactions.snapshot(label)
            case m.TakeSnapshot(label=label):
                yield from self._snapshot(label)
            case m.Record(what=what, partition=partition):
                yield from self._record(what, partition)
            case m.Wait():
                yield from self._wait(step)
            case m.Sleep(seconds=seconds):
                yield self._stage.sleep(seconds * 1000.0)
            case m.Settle(quiet_s=quiet_s, limit_s=limit_s):
                yield from settled(self._stage, quiet_s * 1000.0, limit_s * 1000.0)
            case _:
                raise StepFailed(f"{type(step).__name__} cannot be played yet")

    def end(self) -> Steps:
        """After the last step: workloads that still run are stopped."""
        yield from self._workloads.end("", LIMIT_S)

    # --- clients ---

    def _partition(self, partition: str | None) -> str:
        return partition or self._timeline.first

    def _topic_partition(self, partition: str | None) -> tuple[str, int]:
        topic_partition = topic_partition_of(self._partition(partition))
        if topic_partition is None:
            raise StepFailed("no topic has been created yet")
        return topic_partition

    def _produce(self, step: m.Produce) -> Steps:
        produced: ClientProduceResponse
        stage = self._stage
        if step.partitions:
            topic, partition = self._topic_partition(step.partitions[0])[0], ANY_PARTITION
        elif step.partition == m.ANY_PARTITION:
            topic, partition = step.topic or self._topic_partition(None)[0], ANY_PARTITION
        else:
            topic, partition = self._topic_partition(step.partition)
        if step.client:

            def record(attempt: Attempt, chosen: int) -> None:
                any_partition = partition == ANY_PARTITION and chosen >= 0
                self._attempted(attempt, topic_partition_text(topic, chosen if any_partition else max(partition, 0)))

            produced = yield produce_order(stage.asker, stage.out, step.client, (topic, partition), step, record)
            for one in produced.transactions:
                self._timeline.transaction(stage.now.mono_ms, step.transactional_id, one)
            return
        if step.broker is None or step.idempotent:
            raise StepFailed("a produce without `client` needs `broker`, and cannot be idempotent")
        broker = numbered(step.broker)

        def begin(done: Callable[[Any], None]) -> None:
            assert stage.direct is not None
            stage.direct.produce(
                stage.now,
                stage.out,
                broker=broker,
                topic=topic,
                partition=partition,
                values=[value.encode() for value in step.values],
                acks=step.acks,
                timeout_ms=step.timeout_ms,
                retries=step.retries,
                socket_timeout_ms=step.socket_timeout_s * 1000.0,
                attempted=lambda now, out, attempt: self._attempted(attempt, step.partition),
                done=lambda now, out: done(None),
            )

        yield Order(f"a produce to {broker_name(broker)}", begin)

    def _attempted(self, attempt: Attempt, partition: str | None) -> None:
        self._timeline.attempt(self._stage.now.mono_ms, attempt, self._partition(partition))

    def _produce_message_set(self, step: m.ProduceMessageSet) -> Steps:
        stage = self._stage
        topic, partition = self._topic_partition(step.partition)

        def attempted(attempt: Attempt) -> None:
            self._timeline.message_set(stage.now.mono_ms, attempt, self._partition(step.partition))

        def begin(done: Callable[[Any], None]) -> None:
            assert stage.direct is not None
            stage.direct.produce(
                stage.now,
                stage.out,
                broker=numbered(step.broker),
                topic=topic,
                partition=partition,
                values=[value.encode() for value in step.values],
                acks=step.acks,
                timeout_ms=step.timeout_ms,
                batch=True,
                compression=step.compression,  # type: ignore[arg-type]
                attempted=lambda now, out, attempt: attempted(attempt),
                done=lambda now, out: done(None),
            )

        yield Order(f"a produce to {broker_name(numbered(step.broker))}", begin)

    def _library_produce(self, step: m.LibraryProduce) -> Steps:
        stage = self._stage
        assert stage.libraries is not None
        topic_partition = self._topic_partition(step.partition)
        results: list[Any] = yield library_order(stage.libraries, lambda: stage.now, stage.out, topic_partition, step)
        self._timeline.library_result(stage.now.mono_ms, results, self._partition(step.partition))

    def _fetch(self, step: m.Fetch) -> Steps:
        stage = self._stage
        topic, partition = self._topic_partition(step.partition)
        if step.client:
            by_client: Fetched = yield fetch_order(stage.asker, stage.out, step.client, (topic, partition), step)
            self._timeline.fetched(
                stage.now.mono_ms, by_client, self._partition(step.partition), committed=step.committed
            )
            return

        def begin(done: Callable[[Any], None]) -> None:
            assert stage.direct is not None
            stage.direct.fetch(
                stage.now,
                stage.out,
                broker=numbered(step.broker),
                topic=topic,
                partition=partition,
                offset=step.offset,
                committed=step.committed,
                done=lambda now, out, fetched: done(fetched),
            )

        fetched: Fetched = yield Order(f"a fetch from {broker_name(numbered(step.broker))}", begin)
        self._timeline.fetched(stage.now.mono_ms, fetched, self._partition(step.partition), committed=step.committed)

    def _metadata(self, step: m.AskMetadata) -> Steps:
        stage = self._stage

        def begin(done: Callable[[Any], None]) -> None:
            assert stage.direct is not None
            stage.direct.metadata(
                stage.now, stage.out, broker=numbered(step.broker), done=lambda now, out, described: done(described),
                socket_timeout_ms=KRAFT_METADATA_TIMEOUT_MS if stage.kraft else METADATA_SOCKET_TIMEOUT_MS,
            )  # fmt: skip

        described: Described = yield Order(f"metadata of {broker_name(numbered(step.broker))}", begin)
        self._timeline.metadata(stage.now.mono_ms, described, self._partition(step.partition))

    def _list_offsets(self, step: m.ListOffsets) -> Steps:
        stage = self._stage
        topic, partition = self._topic_partition(step.partition)

        def begin(done: Callable[[Any], None]) -> None:
            assert stage.direct is not None
            stage.direct.list_offsets(
                stage.now,
                stage.out,
                broker=numbered(step.broker),
                topic=topic,
                partition=partition,
                done=lambda now, out, listed: done(listed),
            )

        listed: Listed = yield Order(f"offsets of {broker_name(numbered(step.broker))}", begin)
        if not stage.gates.metadata_has_leader_epoch:  # neither have the answers (KIP-320)
            listed = msgspec.structs.replace(listed, leader_epoch=-1)
        self._timeline.offsets(stage.now.mono_ms, listed, self._partition(step.partition))

    # --- observing ---

    def _snapshot(self, label: str) -> Steps:
        stage = self._stage
        for name in sorted({self._timeline.first} | set(stage.seen.states), key=by_number):
            if by_number(name)[0] == OFFSETS_TOPIC:
                continue  # unreadable values: `committed` has the offsets
            assignment = stage.seen.assignments.get(name, ())
            if by_number(name)[0] in self._topics.deleted and not assignment:
                continue
            nodes = tuple(broker_name(broker) for broker in sorted(assignment))
            done: ActDone = yield stage.act(act.Snapshot(name, nodes))
            if done.error:
                raise StepFailed(done.error)
            entry: dict[str, Any] = {"saw": "snapshot", "label": label, "replicas": done.result}
            if name != self._timeline.first:
                entry["partition"] = name
            self._timeline.add(stage.now.mono_ms, entry)

    def _record(self, what: str, partition: str | None) -> Steps:
        stage = self._stage
        if what == "partition-state":
            self._timeline.record_state(stage.now.mono_ms, stage.seen, self._partition(partition))
        elif what == "controller":
            self._timeline.record_controller(stage.now.mono_ms, stage.seen)
        elif what == "partitions":
            self._timeline.record_partitions(stage.now.mono_ms, stage.seen, stage.topology)
        else:
            name = self._partition(partition)
            nodes = tuple(map(broker_name, stage.seen.assignments.get(name, ())[:2]))
            if len(nodes) < 2:
                raise StepFailed(f"{name} has no two replicas whose logs could be noted")
            done: ActDone = yield stage.act(act.Batches(name, nodes))
            logs = {called: done.result[node] for called, node in zip("ab", nodes, strict=False)}
            self._timeline.add(stage.now.mono_ms, {"saw": "logs", **logs})

    def _wait(self, step: m.Wait) -> Steps:
        stage = self._stage
        if isinstance(step.until, LastStableOffset):
            name = step.until.partition or self._timeline.first
            reached = yield from self._transactions.until_stable(name, step.until.at_least, step.limit_s)
        elif needs(step.until).log_ends:
            reached = yield from until_log_ends(stage, step)
        else:
            reached = yield stage.until(step.until, step.limit_s)
        self._timeline.add(stage.now.mono_ms, {"saw": "reached" if reached else "not-reached", "until": step.called})
        if not isinstance(step.until, LastStableOffset):  # the recordings' script goes on at once
            yield stage.sleep(stage.waits.reaction_ms())


__all__ = ["Order", "StepFailed", "StepRunner"]
