"""Pace of a workload's records, and what the records are."""

from collections.abc import Callable
from typing import Final, NamedTuple

from emulator.machines.client.blocked_sends import ANY_PARTITION
from emulator.machines.client.client_state import Sent
from protocol.machine import Now
from protocol.messages.workload_messages import WorkloadReport, WorkloadSpec
from protocol.outbox import Due, Outbox

CATCH_UP_MS: Final = 1_000.0
"""Lateness up to which a producer sends overdue records at once (a busy machine).

Beyond it (a paused process) it skips them.
"""
DUE_MARGIN: Final = 1e-6
"""Tolerance, in ticks: a timer that fires on time must find its tick due despite rounding."""


Stopped = Callable[[Now, Outbox, WorkloadReport], None]
"""Callback: a workload has stopped."""

PROBLEMS_MAX: Final = 100


class Pace:
    """Calls `send` at a rate, paced from the start, so that lateness does not add up.

    While `may_send` is false, records become late: they are sent at once when it is true again, or skipped.
    """

    def __init__(
        self,
        key: str,
        spec: WorkloadSpec,
        report: WorkloadReport,
        send: Due,
        may_send: Callable[[], bool] = lambda: True,
    ) -> None:
        self._key = (key,)
        self._spec = spec
        self._report = report
        self._send = send
        self._may_send = may_send
        self._began_ms = 0.0
        self._ticks = 0

    def start(self, now: Now, out: Outbox) -> None:
        """Begin; the first record is due at once."""
        self._began_ms = now.mono_ms
        self._tick(now, out)

    def stop(self, out: Outbox) -> None:
        out.cancel_timer(self._key)

    def _tick(self, now: Now, out: Outbox) -> None:
        report = self._report
        if report.sent >= self._spec.limit:
            return
        period_ms = 1000.0 / self._spec.rate_per_s
        due = int((now.mono_ms - self._began_ms) / period_ms + DUE_MARGIN) + 1 - self._ticks
        if (due - 1) * period_ms > CATCH_UP_MS:
            report.skipped += due - 1
            self._ticks += due - 1
            due = 1
        sent = 0
        while sent < due and report.sent < self._spec.limit and self._may_send():
            sent += 1
            self._ticks += 1
            self._send(now, out)
        next_ms = self._began_ms + (self._ticks + due - sent) * period_ms
        out.set_timer(self._key, max(0.0, next_ms - now.mono_ms), self._tick)


class WorkloadRecord(NamedTuple):
    """A record to send; with a key its partition is ANY_PARTITION."""

    partition: int
    key: bytes | None
    value: bytes


def next_record(spec: WorkloadSpec, report: WorkloadReport) -> WorkloadRecord:
    """The next record of a producer; counts it as sent."""
    number = report.sent
    report.sent += 1
    value = f"{spec.value_prefix}{number}".encode().ljust(spec.value_bytes, b".")
    if spec.keys:
        return WorkloadRecord(ANY_PARTITION, f"key-{number % spec.keys}".encode(), value)
    return WorkloadRecord(spec.partitions[number % len(spec.partitions)], None, value)


def count_outcome(report: WorkloadReport, sent: Sent) -> None:
    """Count the end of a record."""
    match sent.outcome:
        case "ok":
            report.ok += 1
        case "failed":
            report.failed += 1
        case _:
            report.unknown += 1


def note_problem(report: WorkloadReport, problem: str) -> None:
    """Add a problem, up to PROBLEMS_MAX."""
    if len(report.problems) < PROBLEMS_MAX:
        report.problems.append(problem)
