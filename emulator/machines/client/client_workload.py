"""Workloads of a client process: producing at a rate, consuming all records.

Both have bounds of their own. A producer that cannot keep up skips records and counts them, rather than queue them.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from emulator.machines.client.blocked_sends import ANY_PARTITION
from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_settings import (
    ConsumerSettings,
    ProducerSettings,
    UnusableSetting,
    consumer_settings,
    librdkafka_settings,
    producer_settings,
)
from emulator.machines.client.client_state import FetchedEntry, Sent
from emulator.machines.client.client_versions import IDEMPOTENCE, SAFE_SINCE, ways_of
from emulator.machines.client.consumer import Consumer
from emulator.machines.client.consumer_position import ReadProblem
from emulator.machines.client.coordinator_offsets import CoordinatorOffsets
from emulator.machines.client.offset_store import OffsetStore
from emulator.machines.client.producer import Producer
from emulator.machines.client.subscribed_consumer import SubscribedConsumer
from emulator.machines.client.transaction_behaviour import transaction_behaviour
from protocol.chance import Chance
from protocol.errors import ErrorCode, error_name
from protocol.gates import gates_for
from protocol.ids import TopicPartition, topic_partition_text
from protocol.machine import Now
from protocol.messages.workload_messages import RATE_MAX, WorkloadReport, WorkloadSpec
from protocol.outbox import Outbox
from protocol.versions import UnknownVersion, since

PROBLEMS_MAX = 100
CATCH_UP_MS = 1_000.0
"""Lateness up to which a producer sends overdue records at once (a busy machine).

Beyond it (a paused process) it skips them.
"""
DUE_MARGIN = 1e-6
"""Tolerance, in ticks: a timer that fires on time must find its tick due despite rounding."""

Stopped = Callable[[Now, Outbox, WorkloadReport], None]


def library_settings(
    library: str, kafka_version: str, settings: Mapping[str, Any], client_version: str = ""
) -> ProducerSettings:
    """Settings of a producer of that library. Raises UnusableSetting.

    `client_version`: of Java's, "": as the cluster's. It writes no record format that the cluster does not have.
    Without `enable.idempotence` it is not idempotent: the caller has decided that (`idempotent_by_default`).
    """
    if library == "librdkafka":
        return librdkafka_settings(settings)
    try:
        ways = ways_of(client_version, kafka_version)
    except UnknownVersion as unknown:
        raise UnusableSetting(str(unknown)) from unknown
    by_default = {IDEMPOTENCE: bool(settings.get("transactional.id"))} if since(ways, SAFE_SINCE) else {}
    made = producer_settings(ways, {**by_default, **settings})
    if made.transactional_id:
        made = msgspec.structs.replace(made, transaction_behaviour=transaction_behaviour(ways, kafka_version))
    if made.enable_idempotence and not gates_for(kafka_version).idempotence:
        raise UnusableSetting(f"enable.idempotence needs Kafka 0.11 or later, not {kafka_version}")
    return msgspec.structs.replace(made, magic=min(made.magic, gates_for(kafka_version).record_magic))


def settings_of(spec: WorkloadSpec, kafka_version: str) -> ProducerSettings | ConsumerSettings:
    """Effective settings of a workload. Raises UnusableSetting, as starting it does."""
    return _producing(spec, kafka_version) if spec.kind == "produce" else _consuming(spec, kafka_version)


def _producing(spec: WorkloadSpec, kafka_version: str) -> ProducerSettings:
    if not 0 < spec.rate_per_s <= RATE_MAX:
        raise UnusableSetting(f"{spec.rate_per_s:g} records per second; allowed are more than 0, up to {RATE_MAX:g}")
    return library_settings(spec.library, kafka_version, spec.settings, spec.client_version)


def _consuming(spec: WorkloadSpec, kafka_version: str, node: str = "") -> ConsumerSettings:
    settings = dict(spec.settings)
    if spec.group:
        settings["group.id"] = spec.group
        if settings.get("group.instance.id"):
            settings["group.instance.id"] = f"{settings['group.instance.id']}-{node}"
    return consumer_settings(kafka_version, settings)


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
        settings = _producing(spec, kafka_version)
        self._key = f"{key}-pace"
        self._spec = spec
        self._producer = Producer(key, brokers, operations, settings, chance, self._settle)
        self._report = WorkloadReport(spec.name, spec.kind, True)
        self._began_ms = 0.0
        self._ticks = 0
        self._stopping: list[Stopped] = []

    @property
    def report(self) -> WorkloadReport:
        return self._report

    def start(self, now: Now, out: Outbox) -> None:
        self._began_ms = now.mono_ms
        self._tick(now, out)

    def stop(self, now: Now, out: Outbox, stopped: Stopped, *, at_once: bool) -> None:
        """Stop; `stopped` is called when no send is unfinished."""
        self._stopping.append(stopped)
        out.cancel_timer((self._key,))
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

    def _tick(self, now: Now, out: Outbox) -> None:
        """Send the due records. Paced from the start, so that lateness does not add up."""
        if self._report.sent >= self._spec.limit:
            return
        period_ms = 1000.0 / self._spec.rate_per_s
        due = int((now.mono_ms - self._began_ms) / period_ms + DUE_MARGIN) + 1 - self._ticks
        if (due - 1) * period_ms > CATCH_UP_MS:
            self._report.skipped += due - 1
            self._ticks += due - 1
            due = 1
        for _ in range(due):
            self._ticks += 1
            self._send_next(now, out)
        next_ms = self._began_ms + self._ticks * period_ms
        out.set_timer((self._key,), max(0.0, next_ms - now.mono_ms), self._tick)

    def _send_next(self, now: Now, out: Outbox) -> None:
        spec, report = self._spec, self._report
        if report.sent >= spec.limit:
            return
        if self._producer.unfinished >= spec.unfinished_max:
            report.skipped += 1
            return
        number = report.sent
        report.sent += 1
        value = f"{spec.value_prefix}{number}".encode().ljust(spec.value_bytes, b".")
        partition, key = spec.partitions[number % len(spec.partitions)], None
        if spec.keys:
            partition, key = ANY_PARTITION, f"key-{number % spec.keys}".encode()
        self._producer.send(now, out, spec.topic, partition, value, self._sent, key)

    def _sent(self, now: Now, out: Outbox, sent: Sent) -> None:
        report = self._report
        match sent.outcome:
            case "ok":
                report.ok += 1
            case "failed":
                report.failed += 1
            case _:
                report.unknown += 1


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
        settings = _consuming(spec, kafka_version, operations.node)
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
                self._note(f"the last commit: {error_name(error) if isinstance(error, int) else error}")
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
        self._note(
            f"{topic_partition_text(problem.topic, problem.partition)} at offset {problem.offset}: {problem.error}"
        )

    def _failed(self, now: Now, out: Outbox, error: str) -> None:
        self._note(f"group {self._spec.group}: the membership ended: {error}")

    def _note(self, problem: str) -> None:
        if len(self._report.problems) < PROBLEMS_MAX:
            self._report.problems.append(problem)
