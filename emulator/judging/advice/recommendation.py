"""Fewest changes of settings that end most findings, and the findings left after them. Pure.

A finding is a fault that breaks a promise: (check, fault's name). Each finding has at most one smallest change
(`remedies`). The recommendation is a union of such changes; its runs are played, so what remains is measured.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from emulator.judging.advice.summary import FaultSummary

Finding = tuple[str, str]
"""(check, fault's name)"""
COSTS: Final = {
    "producer.acks": "a write waits for every in-sync replica",
    "producer.enable.idempotence": "none; brokers must be 0.11 or newer",
    "min.insync.replicas": "writes fail while fewer replicas are in sync",
    "topic.min.insync.replicas": "writes fail while fewer replicas are in sync",
    "unclean.leader.election.enable": "a partition waits while its in-sync replicas are down",
    "topic.unclean.leader.election.enable": "a partition waits while its in-sync replicas are down",
    "default.replication.factor": "disk and network for one more copy",
    "log.flush.interval.messages": "an fsync for each batch",
    "topic.flush.messages": "an fsync for each batch",
    "producer.max.in.flight.requests.per.connection": "throughput: one request at a time",
    "eligible.leader.replicas.version": "an upgrade of a feature; brokers must be 4.0 or newer",
    "--kafka-version": "an upgrade of the brokers",
}
"""{setting: what a change of it costs}"""


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """A recommended change of settings, and its measured effect.

    `change`: {words of `--set`, or a version: findings whose smallest change has them}. `findings`: count without the
    change. `left`: findings with the change, also of promises that held before. `runs`: count of runs with the change.
    `before_ms`, `after_ms`: {AZ: the longest wait of a write}.
    """

    change: dict[str, int]
    findings: int
    left: tuple[Finding, ...]
    runs: int
    before_ms: dict[str, float]
    after_ms: dict[str, float]

    @property
    def ended(self) -> int:
        return max(self.findings - len(self.left), 0)


def findings_of(summaries: Iterable[FaultSummary]) -> tuple[Finding, ...]:
    return tuple((broken.check, one.fault.name) for one in summaries for broken in one.broken)


def fewest(remedies: Mapping[Finding, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Changes that together end all findings.

    First comes the change that ends most findings for each setting that it adds.
    """
    left = dict(remedies)
    chosen: list[tuple[str, ...]] = []
    made: frozenset[str] = frozenset()
    while left:
        options = sorted(set(left.values()))
        best = max(options, key=lambda one: _worth(one, made, left))
        chosen.append(best)
        made |= frozenset(best)
        left = {finding: change for finding, change in left.items() if not made.issuperset(change)}
    return chosen


def _worth(change: tuple[str, ...], made: frozenset[str], left: Mapping[Finding, tuple[str, ...]]) -> float:
    after = made | frozenset(change)
    return sum(after.issuperset(one) for one in left.values()) / len(after - made)


def shares(words: Iterable[str], remedies: Mapping[Finding, tuple[str, ...]]) -> dict[str, int]:
    """{word of a change: findings whose smallest change has it}"""
    return {word: sum(word in change for change in remedies.values()) for word in words}


def cost_of(word: str) -> str:
    name = word.partition("=")[0].partition(" ")[0]
    return COSTS.get(name, "")
