"""Workload that consumes, transforms and produces in transactions (KIP-98, KIP-447).

Output and offsets are one transaction. It polls between two transactions only. All that a poll returned, up to the
number of records of a transaction, is written to the output with the offsets behind it. After an abort it begins again
at the committed offsets. A rebalance waits for the transaction under way, as poll() is not called meanwhile.
"""

from collections import deque

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_state import NO_MEMBER, FetchedEntry, FetchedRecord, Sent
from emulator.machines.client.consumer_position import ReadProblem
from emulator.machines.client.offset_store import Committed
from emulator.machines.client.producer import Producer
from emulator.machines.client.subscribed_consumer import SubscribedConsumer
from emulator.machines.client.transaction_loop import TransactionLoop
from emulator.machines.client.workload_pace import Stopped, count_outcome, note_problem
from emulator.machines.client.workload_settings import transforming_settings
from protocol.chance import Chance
from protocol.errors import error_name
from protocol.ids import Offset, TopicPartition, topic_partition_text
from protocol.machine import Now
from protocol.messages.workload_messages import WorkloadReport, WorkloadSpec
from protocol.outbox import Due, Outbox


class TransformWorkload:
    """A member of a group that transforms what it is assigned. Raises UnusableSetting."""

    def __init__(
        self,
        key: str,
        spec: WorkloadSpec,
        brokers: list[str],
        operations: OperationLog,
        kafka_version: str,
        chance: Chance,
    ) -> None:
        reading, writing = transforming_settings(spec, kafka_version, operations.node)
        self._spec = spec
        self._report = WorkloadReport(spec.name, spec.kind, True, problems=[])

        def make(name: str) -> Producer:
            return Producer(name, brokers, operations, writing, Chance(chance.below(1 << 62)), self._look)

        self._loop = TransactionLoop(key, make, self._report, self._opened, self._ended, self._is_over)
        self._consumer = SubscribedConsumer(
            f"{key}-in",
            brokers,
            operations,
            kafka_version,
            reading,
            chance,
            self._read,
            self._problem,
            self._membership_ended,
            wants=self._wants,
            before_rebalance=self._before_rebalance,
        )
        self._records: deque[tuple[TopicPartition, FetchedRecord]] = deque()
        self._rebalances: list[Due] = []
        self._stopping: list[Stopped] = []

    @property
    def report(self) -> WorkloadReport:
        member, report = self._consumer.member, self._report
        report.rebalances, report.lost, report.refused = member.joined, member.lost, member.refused_commits
        return report

    def start(self, now: Now, out: Outbox) -> None:
        self._loop.start(now, out)
        self._consumer.subscribe(now, out, [self._spec.topic])

    def stop(self, now: Now, out: Outbox, stopped: Stopped, *, at_once: bool) -> None:
        """Stop; the transaction under way ends first, unless `at_once`."""
        self._stopping.append(stopped)
        if at_once:
            self._consumer.close(now, out)
            self._loop.close(now, out, "")
        else:
            self._loop.stop(now, out)

    # --- the loop -------------------------------------------------------------------------------------------

    def _wants(self) -> bool:
        """Whether the application calls poll(): all that it has returned is processed."""
        return self._loop.is_open and not self._records and not self._stopping

    def _read(self, now: Now, out: Outbox, key: TopicPartition, entries: list[FetchedEntry]) -> None:
        records = [(key, record) for entry in entries for record in entry.records]
        self._report.read += len(records)
        self._records.extend(records)
        self._transform(now, out)

    def _transform(self, now: Now, out: Outbox) -> None:
        """Write a transaction's worth of records, and their offsets."""
        if not self._loop.is_open or not self._records or self._stopping:
            return
        spec, producer = self._spec, self._loop.producer
        offsets: dict[TopicPartition, Committed] = {}
        self._loop.is_open = False  # the rest of the records is of the next transaction
        for _ in range(min(spec.records_per_transaction, len(self._records))):
            key, record = self._records.popleft()
            offsets[key] = Committed(Offset(record.offset + 1), record.leader_epoch)
            partition = spec.output_partitions[key[1] % len(spec.output_partitions)]
            value = f"{spec.value_prefix}{topic_partition_text(*key)}@{record.offset}".encode()
            self._report.sent += 1
            producer.send(now, out, spec.output, partition, value, self._sent)
        identity = self._consumer.member.last_identity if spec.group_metadata else NO_MEMBER
        producer.transactions.send_offsets(now, out, offsets, spec.group, self._offsets_ended, identity)

    def _offsets_ended(self, now: Now, out: Outbox, error: str) -> None:
        if not self._report.running:
            return
        if error:
            note_problem(self._report, f"offsets of group {self._spec.group}: {error}")
            self._loop.failed(now, out, error)
        else:
            self._loop.commit(now, out)

    def _look(self, now: Now, out: Outbox) -> None:
        self._loop.look(now, out)

    def _opened(self, now: Now, out: Outbox) -> None:
        self._transform(now, out)
        if self._loop.is_open:
            waiting, self._rebalances = self._rebalances, []
            for then in waiting:
                then(now, out)
            self._consumer.look_again(now, out)

    def _ended(self, now: Now, out: Outbox, committed: bool) -> None:
        if not committed and not self._consumer.closed:
            self._records.clear()
            self._consumer.rewind(now, out)

    def _before_rebalance(self, now: Now, out: Outbox, then: Due) -> None:
        if self._wants() or self._stopping:
            then(now, out)
        else:
            self._rebalances.append(then)

    # --- ends and problems ----------------------------------------------------------------------------------

    def _is_over(self, now: Now, out: Outbox, reason: str) -> None:
        if reason:
            note_problem(self._report, f"transactions ended: {reason}")

        def left(now: Now, out: Outbox, error: int | str) -> None:
            self._report.running = False
            waiting, self._stopping = self._stopping, []
            for stopped in waiting:
                stopped(now, out, self.report)

        if self._consumer.closed:
            left(now, out, 0)
        else:
            self._consumer.leave(now, out, left)

    def _sent(self, now: Now, out: Outbox, sent: Sent) -> None:
        count_outcome(self._report, sent)

    def _problem(self, now: Now, out: Outbox, problem: ReadProblem) -> None:
        where = topic_partition_text(problem.topic, problem.partition)
        note_problem(self._report, f"{where} at offset {problem.offset}: {problem.error}")

    def _membership_ended(self, now: Now, out: Outbox, error: int | str) -> None:
        name = error_name(error) if isinstance(error, int) else error
        note_problem(self._report, f"group {self._spec.group}: the membership ended: {name}")
