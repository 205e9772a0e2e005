"""Workload that writes numbered values in transactions, and aborts some of them."""

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_state import Sent
from emulator.machines.client.producer import Producer
from emulator.machines.client.transaction_loop import TransactionLoop
from emulator.machines.client.workload_pace import Pace, Stopped, count_outcome, next_record
from emulator.machines.client.workload_settings import producing_settings
from protocol.chance import Chance
from protocol.machine import Now
from protocol.messages.workload_messages import WorkloadReport, WorkloadSpec
from protocol.outbox import Outbox


class TransactionalWorkload:
    """Sends values at a rate, so many in each transaction. Raises UnusableSetting.

    Between two transactions, and after an error, records become late. Aborted ones are spread evenly by their ratio.
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
        settings = producing_settings(spec, kafka_version, operations.node)
        self._spec = spec
        self._report = WorkloadReport(spec.name, spec.kind, True, problems=[])

        def make(name: str) -> Producer:
            return Producer(name, brokers, operations, settings, Chance(chance.below(1 << 62)), self._look)

        self._loop = TransactionLoop(key, make, self._report, self._opened, self._ended, self._is_over)
        self._pace = Pace(f"{key}-pace", spec, self._report, self._send_next, self._may_send)
        self._in_transaction = 0
        self._transactions = 0
        self._stopping: list[Stopped] = []

    @property
    def report(self) -> WorkloadReport:
        return self._report

    def start(self, now: Now, out: Outbox) -> None:
        self._loop.start(now, out)
        self._pace.start(now, out)

    def stop(self, now: Now, out: Outbox, stopped: Stopped, *, at_once: bool) -> None:
        """Stop; the open transaction is committed first, unless `at_once`."""
        self._stopping.append(stopped)
        self._pace.stop(out)
        if at_once:
            self._loop.close(now, out, "")
        else:
            self._loop.stop(now, out)

    def _look(self, now: Now, out: Outbox) -> None:
        self._loop.look(now, out)

    def _opened(self, now: Now, out: Outbox) -> None:
        self._in_transaction = 0

    def _may_send(self) -> bool:
        return self._loop.is_open and self._loop.producer.unfinished < self._spec.unfinished_max

    def _send_next(self, now: Now, out: Outbox) -> None:
        record = next_record(self._spec, self._report)
        self._in_transaction += 1
        full = self._in_transaction >= self._spec.records_per_transaction
        self._loop.producer.send(now, out, self._spec.topic, record.partition, record.value, self._sent, record.key)
        if full and self._loop.is_open:
            self._end(now, out)

    def _end(self, now: Now, out: Outbox) -> None:
        ratio, before = self._spec.abort_ratio, self._transactions
        self._transactions += 1
        if int(self._transactions * ratio) > int(before * ratio):
            self._loop.abort(now, out)
        else:
            self._loop.commit(now, out)

    def _sent(self, now: Now, out: Outbox, sent: Sent) -> None:
        count_outcome(self._report, sent)

    def _ended(self, now: Now, out: Outbox, committed: bool) -> None:
        pass  # the next records are of the next transaction

    def _is_over(self, now: Now, out: Outbox, reason: str) -> None:
        if reason:
            self._report.problems.append(f"transactions ended: {reason}")
        self._pace.stop(out)
        self._report.running = False
        waiting, self._stopping = self._stopping, []
        for stopped in waiting:
            stopped(now, out, self._report)
