"""Measures of both worlds: clients' unavailability, time to a new leader. Pure.

`simulated_measures` and `audited_measures` take a run's events to them. The query of the audit has the fold of
`FailedWrites` in SQL (`audit.questions`).

Times with two leaders or controllers have no fold here. The checks of both judges need the windows anyway: the oracle
from its terms, Spark from its table `overlaps`, a live audit from late lines. Each measure is their longest window.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from emulator.faults.machine_fault_kinds import DISTURBING
from emulator.judging.oracle.truth import Term
from protocol.ids import TopicPartition

OUTSIDE = "outside"
"""Stands for the AZ of a client that has none."""


class FailedWrites(msgspec.Struct):
    """Failed produces of clients.

    A client cannot write from the end of a failed produce to the end of its next one, or of the run. It can write again
    when the first produce after its last failed one has ended.

    - `unavailable_ms`: {client: total time during which its produces failed, until the last one ended}
    - `failing_since_ms`: {client: end of its last produce}, if that failed
    - `again_ms`: {client: end of the first produce after its last failed one}
    """

    unavailable_ms: dict[str, float] = {}
    failing_since_ms: dict[str, float] = {}
    again_ms: dict[str, float] = {}

    def ended(self, client: str, at_ms: float, outcome: str | None) -> None:
        """Record the end of a produce. A client's produces come in order."""
        self.unavailable_ms.setdefault(client, 0.0)
        if client in self.failing_since_ms:
            self.unavailable_ms[client] += at_ms - self.failing_since_ms.pop(client)
            self.again_ms[client] = at_ms
        if outcome != "ok":
            self.failing_since_ms[client] = at_ms

    def until(self, end_ms: float) -> dict[str, float]:
        """{client: total time of its failing produces}, until the run's end."""
        failing = {client: end_ms - since_ms for client, since_ms in self.failing_since_ms.items()}
        return {client: ms + failing.get(client, 0.0) for client, ms in self.unavailable_ms.items()}

    def recovered_ms(self, client: str, fault_ms: float) -> float | None:
        """Time from the fault until the client could write again: 0 without a failed produce.

        None: its last produce failed.
        """
        if client in self.failing_since_ms:
            return None
        return max(0.0, round(self.again_ms.get(client, fault_ms) - fault_ms, 3))


def availability(
    azs: Mapping[str, str], writes: FailedWrites, fault_ms: float | None, end_ms: float
) -> dict[str, Any]:
    """`unavailable_ms`, `recovered_ms` and `clients` of the clients that wrote.

    `azs`: {node: its AZ}. `fault_ms`: time of the first fault; None: there was none, and nothing to recover from.
    """
    unavailable = writes.until(end_ms)
    recovered = {} if fault_ms is None else {client: writes.recovered_ms(client, fault_ms) for client in unavailable}
    by_az = longest_by_az(azs, {node: ms for node, ms in recovered.items() if ms is not None})
    by_az |= {azs.get(node, OUTSIDE): None for node, ms in recovered.items() if ms is None}
    return {
        "unavailable_ms": longest_by_az(azs, unavailable),
        "recovered_ms": by_az,
        "clients": {
            node: {"unavailable_ms": round(unavailable[node], 3), "recovered_ms": recovered.get(node)}
            for node in sorted(unavailable)
        },
    }


def longest_by_az(azs: Mapping[str, str], of_node: Mapping[str, float]) -> dict[str, float | None]:
    """{AZ: longest time of its clients; null: no client of the AZ wrote}.

    `azs`: {node: its AZ}. `of_node`: {client that wrote: ms}. Clients outside every AZ have an entry if they wrote.
    """
    longest: dict[str, float | None] = dict.fromkeys(sorted(set(azs.values()) - {OUTSIDE}))
    for node, ms in of_node.items():
        az = azs.get(node, OUTSIDE)
        longest[az] = max(longest.get(az) or 0.0, round(ms, 3))
    return longest


def disturbs(event: str, what: str | None) -> bool:
    """Whether an event is a link rule in force, or a fault that may cost a partition its leader."""
    return event == "fault_in_force" or (event == "machine_fault" and what in DISTURBING)


def time_to_new_leader_ms(leaders: Iterable[Term], fault_ms: float | None) -> float | None:
    """Time from the fault to the first later epoch of a partition that had a leader; None: none.

    `leaders` in order of time.
    """
    if fault_ms is None:
        return None
    epochs: dict[TopicPartition | None, int] = {}
    for term in leaders:
        before = epochs.setdefault(term.topic_partition, term.epoch)
        if term.from_ms > fault_ms and term.epoch > before:
            return round(term.from_ms - fault_ms, 3)
        epochs[term.topic_partition] = max(before, term.epoch)
    return None
