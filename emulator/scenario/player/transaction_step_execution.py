"""Steps of single requests about transactions, as work that waits.

Each request has a connection of its own, without a look-up. Producer ids appear as numbers (`producer_numbers`).
"""

from collections.abc import Callable
from typing import Any, Final

from emulator.faults import actions as act
from emulator.faults.actions import ActDone
from emulator.machines.client.client_state import Failure
from emulator.scenario import scenario_model as m
from emulator.scenario.client_steps import CreateTopic
from emulator.scenario.observations.producer_numbers import ProducerNumbers
from emulator.scenario.player.player_context import Stage
from emulator.scenario.player.tasks import Order, StepFailed, Steps
from emulator.scenario.player.timeline import Timeline
from emulator.scenario.player.topic_steps import TopicSteps
from emulator.scenario.player.wait_steps import SAMPLE_EVERY_MS
from emulator.scenario.recorded_transactions import is_retriable
from emulator.storage.batch_entries import batch_entries
from emulator.topology import broker_name
from protocol.ids import NO_LEADER, NO_OFFSET, BrokerId, topic_partition_of, topic_partition_text
from protocol.messages.groups import (
    TRANSACTION_KEY,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupPartition,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from protocol.messages.message_base import Message
from protocol.messages.placement import DescribeProducersRequest, DescribeProducersResponse, PartitionNamed
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    LATEST_TIMESTAMP,
    LEADERS_FETCH_VERSION,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
)
from protocol.messages.transactions import (
    AddedPartitions,
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from protocol.records.batch import encode_batch
from protocol.records.offset_commits import OFFSETS_TOPIC
from protocol.records.transaction_states import TRANSACTIONS_TOPIC

Entry = dict[str, Any]
FETCH_MAX_WAIT_MS: Final = 500
FETCH_MAX_BYTES: Final = 1_048_576
REPEAT_EVERY_MS: Final = 200.0
REPEAT_LIMIT_MS: Final = 60_000.0
AFTER_INTERNAL_TOPICS_MS: Final = 1_500.0
"""From the topics' creation to the script's next request, as recorded."""
CLIENT_VERSION_1: Final = 1
"""Version of the recordings' requests of clients without transaction version 2."""
PRODUCE_VERSION_1: Final = 10
"""Of Produce; later ones know TRANSACTION_ABORTABLE."""
PRODUCE_VERSION_2: Final = 12
END_VERSION_2: Final = 5
STABLE_TIMEOUT_MS: Final = 2_000.0


class TransactionSteps:
    """Runs these steps for a player. `topics`: creates the internal topics."""

    def __init__(self, stage: Stage, topics: TopicSteps, timeline: Timeline) -> None:
        self._stage = stage
        self._topics = topics
        self._timeline = timeline
        self._numbers = ProducerNumbers()
        self._created: list[str] = []

    # --- steps ---

    def internal_topics(self, step: m.InternalTopics) -> Steps:
        """Create the topics, then wait for their coordinators, as the recordings' script."""
        for topic, replicas in step.assignments:
            configs = self._configs(topic)
            yield from self._topics.topic(CreateTopic(topic=topic, assignment=(replicas,), configs=configs))
            self._created.append(topic)
        yield self._stage.sleep(AFTER_INTERNAL_TOPICS_MS)

    def _configs(self, topic: str) -> dict[str, object]:
        if topic == OFFSETS_TOPIC:
            return {"cleanup.policy": "compact"}
        if topic == TRANSACTIONS_TOPIC:
            return {"cleanup.policy": "compact", "min.insync.replicas": 2, "unclean.leader.election.enable": False}
        return {}

    def request(self, step: m.TransactionStep) -> Steps:
        """The request, and its answer in the timeline.

        Repeated while the answer is retriable, if the step says so.
        """
        repeats = getattr(step, "repeat", False)
        began_ms, last = self._stage.now.mono_ms, None
        while True:
            saw = yield from self._answer(step)
            if saw != last:
                if repeats and last is not None:
                    self._timeline.did(self._stage.now.mono_ms, step.entry())
                self._timeline.add(self._stage.now.mono_ms, {"saw": step.DO, "broker": step.broker, **saw})
                last = saw
            over = self._stage.now.mono_ms - began_ms >= REPEAT_LIMIT_MS
            if not repeats or over or not is_retriable(saw):
                return
            yield self._stage.sleep(REPEAT_EVERY_MS)

    def _answer(self, step: m.TransactionStep) -> Any:
        request, version = self._request(step)

        def begin(done: Callable[[Any], None]) -> None:
            self._stage.transaction_exchanges.ask(
                self._stage.out, node=broker_name(step.broker), request=request, version=version,
                timeout_ms=step.socket_timeout_s * 1000.0, answered=lambda now, out, answer: done(answer),
            )  # fmt: skip

        answer: Message | Failure = yield Order(f"{step.VERB} at {broker_name(step.broker)}", begin)
        if isinstance(answer, Failure):
            return {"error": answer.error}
        return self._numbers.renamed(self._saw(step, answer))

    # --- requests ---

    def _producer_id(self, number: int) -> int:
        producer_id = self._numbers.producer_id(number)
        if producer_id is None:
            raise StepFailed(f"producer {number}: no answer has had so many producer ids; init-producer-id first")
        return producer_id

    def _request(self, step: m.TransactionStep) -> tuple[Message, int]:
        """The request and its version. Raises StepFailed."""
        match step:
            case m.InitProducerId():
                return InitProducerIdRequest(step.transactional_id, step.timeout_ms), CLIENT_VERSION_1
            case m.FindCoordinator():
                return FindCoordinatorRequest(step.key, TRANSACTION_KEY), 1
            case m.AddPartitionsToTxn():
                added = AddedPartitions(
                    step.transactional_id, self._producer_id(step.producer), step.epoch,
                    [GroupPartition(*_place(one)) for one in step.partitions],
                )  # fmt: skip
                return AddPartitionsToTxnRequest([added]), CLIENT_VERSION_1
            case m.AddOffsetsToTxn():
                producer_id = self._producer_id(step.producer)
                request = AddOffsetsToTxnRequest(step.transactional_id, producer_id, step.epoch, step.group)
                return request, CLIENT_VERSION_1
            case m.TxnOffsetCommit():
                offset = OffsetToCommit(*_place(step.partition), step.offset)
                producer_id = self._producer_id(step.producer)
                return (
                    TxnOffsetCommitRequest(step.transactional_id, step.group, producer_id, step.epoch, [offset]),
                    step.version,
                )
            case m.EndTxn():
                producer_id = self._producer_id(step.producer)
                end = EndTxnRequest(step.transactional_id, producer_id, step.epoch, step.commits)
                return end, END_VERSION_2 if step.v5 else CLIENT_VERSION_1
            case m.ProduceBatch():
                return self._produce(step), PRODUCE_VERSION_2 if step.v12 else PRODUCE_VERSION_1
            case m.FetchBatches():
                isolation = READ_COMMITTED if step.committed else READ_UNCOMMITTED
                position = FetchPartition(*_place(step.partition), step.offset, FETCH_MAX_BYTES)
                fetch = FetchRequest(
                    CONSUMER_REPLICA_ID, FETCH_MAX_WAIT_MS, 1, FETCH_MAX_BYTES, [position], isolation=isolation
                )
                return fetch, LEADERS_FETCH_VERSION
            case m.OffsetFetch():
                partitions = [GroupPartition(*_place(step.partition))]
                return OffsetFetchRequest(step.group, partitions, stable=step.stable), OffsetFetchRequest.VERSIONS[1]
            case m.DescribeProducers():
                return DescribeProducersRequest([PartitionNamed(*_place(step.partition))]), 0
            case m.DescribeTransaction():
                return DescribeTransactionsRequest([step.transactional_id]), 0
            case _:
                raise StepFailed(f"{step.VERB}: not a request")

    def _produce(self, step: m.ProduceBatch) -> ProduceRequest:
        batch = encode_batch(
            [value.encode() for value in step.values],
            timestamp_ms=int(self._stage.now.wall_ms),
            producer_id=self._producer_id(step.producer),
            producer_epoch=step.epoch,
            base_sequence=step.sequence,
            is_transactional=step.txn_batch,
        )
        topic, partition = _place(step.partition)
        return ProduceRequest(
            -1, step.timeout_ms, [ProducePartition(topic, partition, batch)], step.transactional_id
        )

    # --- answers ---

    def _saw(self, step: m.TransactionStep, answer: Message) -> Entry:
        """An answer as an entry of the recordings."""
        match answer:
            case InitProducerIdResponse():
                return {"error": answer.error, "pid": answer.producer_id, "epoch": answer.producer_epoch}
            case FindCoordinatorResponse():
                return {"error": answer.error, "coordinator": answer.broker}
            case AddPartitionsToTxnResponse():
                results = answer.transactions[0].partitions
                return {"errors": {topic_partition_text(one.topic, one.partition): one.error for one in results}}
            case AddOffsetsToTxnResponse():
                return {"error": answer.error}
            case TxnOffsetCommitResponse():
                return {"error": answer.partitions[0].error}
            case EndTxnResponse():
                ids = {"pid": answer.producer_id, "epoch": answer.producer_epoch}
                return {"error": answer.error, **(ids if isinstance(step, m.EndTxn) and step.v5 else {})}
            case ProduceResponse():
                return {"error": answer.partitions[0].error, "base": answer.partitions[0].base_offset}
            case FetchResponse():
                return self._fetched(step, answer)
            case OffsetFetchResponse():
                if answer.error:
                    return {"error": answer.error, "offset": None}
                return {"error": answer.partitions[0].error, "offset": answer.partitions[0].offset}
            case DescribeProducersResponse():
                (described,) = answer.partitions
                producers = [
                    {
                        "pid": one.producer_id, "epoch": one.producer_epoch, "last_sequence": one.last_sequence,
                        "coordinator_epoch": one.coordinator_epoch, "txn_start": one.transaction_start,
                    }
                    for one in described.producers
                ]  # fmt: skip
                return {"error": described.error, "producers": producers}
            case DescribeTransactionsResponse():
                (known,) = answer.transactions
                partitions = [topic_partition_text(one.topic, one.partition) for one in known.partitions]
                return {
                    "error": known.error, "state": known.state, "pid": known.producer_id,
                    "epoch": known.producer_epoch, "partitions": partitions,
                }  # fmt: skip
            case _:
                raise StepFailed(f"{step.VERB}: an answer of another kind, {type(answer).__name__}")

    def _fetched(self, step: m.TransactionStep, answer: FetchResponse) -> Entry:
        assert isinstance(step, m.FetchBatches), step
        (one,) = answer.partitions
        stable = one.last_stable_offset if one.last_stable_offset >= 0 else one.high_watermark
        if not step.committed and not self._stage.gates.fetch_always_has_last_stable_offset:
            stable = NO_OFFSET
        return {
            "error": one.error, "high_watermark": one.high_watermark, "last_stable_offset": stable,
            "aborted": [[aborted.producer_id, aborted.first_offset] for aborted in one.aborted],
            "batches": batch_entries(one.records),
        }  # fmt: skip

    # --- observing ---

    @property
    def observes_batches(self) -> bool:
        """Whether snapshots show batches: the script has created the internal topics."""
        return bool(self._created)

    def snapshot(self, label: str) -> Steps:
        """Batches of the script's topics and states of transactional ids, on each replica."""
        stage = self._stage
        batches: dict[str, Any] = {}
        topics = [self._timeline.first.rpartition("-")[0], *(one for one in self._created if one != OFFSETS_TOPIC)]
        for topic in topics:
            name = topic_partition_text(topic, 0)
            nodes = tuple(broker_name(broker) for broker in sorted(stage.seen.assignments.get(name, ())))
            done: ActDone = yield stage.act(act.BatchEntries(name, nodes))
            if done.error:
                raise StepFailed(done.error)
            batches[topic] = done.result
        entry = self._numbers.renamed({"saw": "snapshot", "label": label, "batches": batches})
        self._timeline.add(stage.now.mono_ms, entry)

    def until_stable(self, partition: str, at_least: int, limit_s: float) -> Any:
        """Whether the leader's last stable offset has reached an offset within the limit."""
        stage = self._stage
        deadline_ms = stage.now.mono_ms + limit_s * 1000.0
        while True:
            state = stage.seen.states.get(partition)
            leader = NO_LEADER if state is None else state.leader
            if leader != NO_LEADER and (yield from self._stable_offset(partition, leader)) >= at_least:
                return True
            if stage.now.mono_ms >= deadline_ms:
                return False
            yield stage.sleep(SAMPLE_EVERY_MS)

    def _stable_offset(self, partition: str, leader: BrokerId) -> Any:
        listed = ListOffsetsPartition(*_place(partition), LATEST_TIMESTAMP)
        request = ListOffsetsRequest(CONSUMER_REPLICA_ID, [listed], READ_COMMITTED)

        def begin(done: Callable[[Any], None]) -> None:
            self._stage.transaction_exchanges.ask(
                self._stage.out, node=broker_name(leader), request=request, timeout_ms=STABLE_TIMEOUT_MS,
                answered=lambda now, out, answer: done(answer),
            )  # fmt: skip

        answer: Message | Failure = yield Order(f"the last stable offset from {broker_name(leader)}", begin)
        if not isinstance(answer, ListOffsetsResponse) or answer.partitions[0].error:
            return NO_OFFSET
        return answer.partitions[0].offset


def _place(partition: str) -> tuple[str, int]:
    place = topic_partition_of(partition)
    if place is None:
        raise StepFailed(f"partition {partition!r}: not a partition's name; write it as t-0")
    return place
