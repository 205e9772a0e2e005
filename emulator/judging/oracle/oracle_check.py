"""Type of the oracle's checks, and the subjects that several of them count."""

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from emulator.judging.oracle.truth import Truth, Violation

Reads = Literal["", "final leaders' logs", "all logs", "states", "transactions"]
"""Facts without which a check is unknown, where it finds nothing.

`transactions`: final leaders' logs, in a run that has transactions.
"""


class OracleCheck(msgspec.Struct, frozen=True):
    """The oracle's half of the check `name` of `emulator.check_table`.

    `subject`: what it judges; `subjects`: their count in a run, without which the check is skipped. `violations`: the
    function.
    """

    name: str
    subject: str
    subjects: Callable[[Truth], int]
    reads: Reads
    violations: Callable[[Truth], Iterator[Violation]]

    def __call__(self, truth: Truth) -> Iterator[Violation]:
        return self.violations(truth)


def oracle_check(
    name: str, subject: str, subjects: Callable[[Truth], int], reads: Reads = ""
) -> Callable[[Callable[[Truth], Iterator[Violation]]], OracleCheck]:
    """Make a function that finds violations the oracle's half of a check."""
    return lambda violations: OracleCheck(name, subject, subjects, reads, violations)


# --- subjects ---


def acknowledged_records(truth: Truth) -> int:
    return sum(write.outcome == "ok" for write in truth.writes)


def records_acknowledged_by_all(truth: Truth) -> int:
    return sum(write.outcome == "ok" and write.acks == -1 for write in truth.writes)


def batches_in_logs(truth: Truth) -> int:
    """Count of batches in the logs; of acknowledged records where no batch is left."""
    left = sum(len(log) for replicas in truth.logs.values() for log in replicas.values())
    return left or acknowledged_records(truth)


def batches_read(truth: Truth) -> int:
    return len(truth.reads)


def replicas_with_role(truth: Truth) -> int:
    return truth.roles_seen


def committed_states(truth: Truth) -> int:
    return len(truth.states)


def of_groups(kind: str) -> Callable[[Truth], int]:
    return lambda truth: sum(one.kind == kind and one.outcome == "ok" for one in truth.of_groups)
