"""Workloads of a client process: producing at a rate, consuming all records.

Both have bounds of their own. A producer that cannot keep up skips records and counts them, rather than queue them.
"""

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_state import FetchedEntry, Sent
from emulator.machines.client.consumer import Consumer
from emulator.machines.client.consumer_position import ReadProblem
from emulator.machines.client.coordinator_offsets import CoordinatorOffsets
from emulator.machines.client.offset_store import OffsetStore
from emulator.machines.client.producer import Producer
from emulator.machines.client.subscribed_consumer import SubscribedConsumer
from emulator.machines.client.workload_pace import Pace, Stopped, count_outcome, next_record, note_problem
from emulator.machines.client.workload_settings import consuming_settings, producing_settings
from protocol.chance import Chance
from protocol.errors import ErrorCode, error_name
from protocol.ids import TopicPartition, topic_partition_text
from protocol.machine import Now
from protocol.messages.workload_messages import WorkloadReport, WorkloadSpec
from protocol.outbox import Outbox


class ProduceWorkload:
    """Sends numbered values at a rate, partitions in turn. Raises UnusableSetting."""

    def __init__(
        self,
        key: str,
        spec: WorkloadSpec,
        brokers: list[str],
        operations: OperationLog,
        kafka_version: str,
        chance: Chance,
    ) -> None:
        settings = producing_settings(spec, kafka_version)
        self._spec = spec
        self._producer = Producer(key, brokers, operations, settings, chance, self._settle)
        self._report = WorkloadReport(spec.name, spec.kind, True)
        self._pace = Pace(f"{key}-pace", spec, self._report, self._send_next)
        self._stopping: list[Stopped] = []

    @property
    def report(self) -> WorkloadReport:
        return self._report

    def start(self, now: Now, out: Outbox) -> None:
        self._pace.start(now, out)

    def stop(self, now: Now, out: Outbox, stopped: Stopped, *, at_once: bool) -> None:
        """Stop; `stopped` is called when no send is unfinished."""
        self._stopping.append(stopped)
        self._pace.stop(out)
        if at_once:
            self._producer.close(now, out)
        self._settle(now, out)

    def _settle(self, now: Now, out: Outbox) -> None:
        if not self._stopping or self._producer.unfinished:
            return
        self._producer.close(now, out)
        self._report.running = False
        waiting, self._stopping = self._stopping, []
        for stopped in waiting:
            stopped(now, out, self._report)

    def _send_next(self, now: Now, out: Outbox) -> None:
        if self._producer.unfinished >= self._spec.unfinished_max:
            self._report.skipped += 1
            return
        record = next_record(self._spec, self._report)
        self._producer.send(now, out, self._spec.topic, record.partition, record.value, self._sent, record.key)

    def _sent(self, now: Now, out: Outbox, sent: Sent) -> None:
        count_outcome(self._report, sent)


class ConsumeWorkload:
    """Reads partitions as they grow: the spec's, or the group's assignment.

    Raises UnusableSetting.
    """

    def __init__(
        self,
        key: str,
        spec: WorkloadSpec,
        brokers: list[str],
        operations: OperationLog,
        kafka_version: str,
        chance: Chance,
    ) -> None:
        self._spec = spec
        settings = consuming_settings(spec, kafka_version, operations.node)
        self._report = WorkloadReport(spec.name, spec.kind, True, problems=[])
        self._consumer: Consumer | SubscribedConsumer
        if spec.group:
            self._consumer = SubscribedConsumer(
                key, brokers, operations, kafka_version, settings, chance, self._read, self._problem, self._failed
            )
            return
        store: OffsetStore | None = None
        if settings.group_id:
            store = CoordinatorOffsets(f"{key}-offsets", brokers, operations, settings, chance)
        self._consumer = Consumer(
            key, brokers, operations, settings, chance, self._read, self._problem, self._problem, store
        )

    @property
    def report(self) -> WorkloadReport:
        consumer, report = self._consumer, self._report
        if isinstance(consumer, SubscribedConsumer):
            member = consumer.member
            report.rebalances, report.lost, report.refused = member.joined, member.lost, member.refused_commits
        return report

    def start(self, now: Now, out: Outbox) -> None:
        spec = self._spec
        if isinstance(self._consumer, SubscribedConsumer):
            self._consumer.subscribe(now, out, [spec.topic])
            return
        offset = None if spec.offset < 0 else spec.offset
        self._consumer.assign(now, out, {(spec.topic, partition): offset for partition in spec.partitions})

    def stop(self, now: Now, out: Outbox, stopped: Stopped, *, at_once: bool) -> None:
        """Stop; in a group commit for the last time and leave, unless `at_once`."""

        def left(now: Now, out: Outbox, error: int | str) -> None:
            if error:
                note_problem(self._report, f"the last commit: {error_name(error) if isinstance(error, int) else error}")
            self._report.running = False
            stopped(now, out, self.report)

        if at_once:
            self._consumer.close(now, out)
            left(now, out, ErrorCode.NONE)
        else:
            self._consumer.leave(now, out, left)

    def _read(self, now: Now, out: Outbox, key: TopicPartition, entries: list[FetchedEntry]) -> None:
        self._report.read += sum(len(entry.records) for entry in entries)

    def _problem(self, now: Now, out: Outbox, problem: ReadProblem) -> None:
        note_problem(
            self._report,
            f"{topic_partition_text(problem.topic, problem.partition)} at offset {problem.offset}: {problem.error}"
        )

    def _failed(self, now: Now, out: Outbox, error: str) -> None:
        note_problem(self._report, f"group {self._spec.group}: the membership ended: {error}")
