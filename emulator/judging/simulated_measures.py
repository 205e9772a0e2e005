"""Faults and measures of a simulated run. The oracle, not this module, judges promises.

The trace has the times of a rule's request and effect; every node's link gates count the stopped frames.
"""

from collections import Counter
from collections.abc import Container, Iterator
from typing import Any

from emulator.faults.machine_fault_kinds import MAY_KILL
from emulator.judging.measures import OUTSIDE, FailedWrites, availability, disturbs, time_to_new_leader_ms
from emulator.judging.oracle.controller_terms import overlapping
from emulator.judging.oracle.probe import Probe
from emulator.judging.oracle.truth import Term
from emulator.runs.verdict_file import FaultVerdict
from emulator.worlds.simulated.node import SimulatedNode
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.events import (
    FaultHealed,
    FaultInForce,
    FaultRequested,
    FaultTraffic,
    FaultTried,
    MachineFault,
    NodeStarted,
    NodeStopped,
    OperationEnded,
)

OF_LINKS = frozenset((FaultRequested, FaultInForce, FaultHealed, FaultTraffic, FaultTried))
"""Event types about rules on links. Few events have them, so the others are skipped quickly."""
KAFKAS_EXIT = 1
"""Exit code of a process that ends as Kafka would."""


def faults_of(world: SimulatedWorld) -> list[FaultVerdict]:
    """Verdicts of all rules on links, in the order of their requests.

    `nodes`: nodes where a rule is still in force.
    """
    faults: dict[str, FaultVerdict] = {}
    expects: dict[str, bool] = {}
    flowed: set[str] = set()
    tried: set[str] = set()
    for _, _, _, _, at_ms, event in world.trace.entries:
        if type(event) not in OF_LINKS:
            continue
        match event:
            case FaultRequested(rule=rule, what=what, expects_traffic=expects_traffic):
                faults[rule] = FaultVerdict(what, round(at_ms, 3), None, None, 0, False, None, id=rule)
                expects[rule] = expects_traffic
            case FaultInForce(rule=rule):
                faults[rule].in_force_ms = round(at_ms, 3)
            case FaultHealed(rule=rule):
                faults[rule].healed_ms = round(at_ms, 3)
            case FaultTraffic(rule=rule):
                flowed.add(rule)
            case FaultTried(rule=rule):
                tried.add(rule)
    for rule, fault in faults.items():
        fault.nodes = [name for name, node in world.nodes.items() if rule in node.links.in_force]
        stopped = {node: node.links.frames_stopped.get(rule, 0) for node in world.nodes.values()}
        silent = [node for node in stopped if rule in node.links.in_force and not _tells_its_end(node)]
        fault.frames_stopped = sum(frames for node, frames in stopped.items() if node not in silent)
        untold = fault.healed_ms is None and bool(silent)
        effect = fault.frames_stopped > 0 or not expects[rule] or untold
        fault.took_effect = fault.in_force_ms is not None and effect
        if fault.healed_ms is not None:
            # A heal without later attempts needs no traffic as proof.
            proven = rule in flowed or rule not in tried or not expects[rule]
            fault.healed = False if fault.nodes else True if proven else "unknown"
    return list(faults.values())


def _tells_its_end(node: SimulatedNode) -> bool:
    """Whether a node reports its stopped frames at its end; a killed or paused node does not."""
    return node.died is not None if node.machine is None else not node.paused


def deaths_of(world: SimulatedWorld, expected: Container[str] = ()) -> list[str]:
    """Nodes whose last incarnation ended by itself, unexpectedly.

    Excluded are `expected` nodes with Kafka's exit code, and brokers with a full or broken disk, which Kafka stops too.
    """
    died = {
        name: node.died
        for name, node in world.nodes.items()
        if node.died is not None
        and node.died.code != 0
        and not (name in expected and node.died.code == KAFKAS_EXIT)
    }
    if not died:
        return []
    entries = world.trace.entries
    broken = {event.target for *_, event in entries if type(event) is MachineFault and event.what in MAY_KILL}
    return [
        f"{name} died by itself with code {end.code}: {end.reason}"
        for name, end in died.items()
        if name not in broken
    ]


def exits_of(world: SimulatedWorld) -> dict[str, int]:
    """{node: count of its incarnations that ended by themselves}, without zeros."""
    exits = [entry[0] for entry in world.trace.entries if type(entry[5]) is NodeStopped and entry[5].code != 0]
    return dict(sorted(Counter(exits).items()))


def measures_of(world: SimulatedWorld, probe: Probe) -> dict[str, Any]:
    """All measures of a simulated run.

    `unavailable_ms`, `recovered_ms`, `clients`: as `emulator.judging.audited_measures`. `exits`: as `exits_of`.
    `dual_leader_ms`, `dual_controller_ms`: as `two_at_once_ms`.
    """
    fault_ms, end_ms = first_fault_ms(world), _end_ms(world)
    return {
        "events": len(world.trace.entries),
        "exits": exits_of(world),
        **availability_of(world, fault_ms, end_ms),
        "time_to_new_leader_ms": time_to_new_leader_ms(probe.leaders, fault_ms),
        "dual_leader_ms": two_at_once_ms(probe.leaders, end_ms),
        "dual_controller_ms": two_at_once_ms(probe.controllers, end_ms),
        "simulated_s": round(world.now_ms / 1000.0, 3),
    }


def first_fault_ms(world: SimulatedWorld) -> float | None:
    """Time at which a rule was first in force, or a node first faulted; None: never."""
    for _, _, _, _, at_ms, event in world.trace.entries:
        if (type(event) is FaultInForce or type(event) is MachineFault) and disturbs(event.NAME, event.what):
            return at_ms
    return None


def two_at_once_ms(terms: list[Term], end_ms: float) -> float | None:
    """Longest time during which two nodes held one role in different epochs; None: never."""
    longest: float | None = None
    for one, other in overlapping(terms):
        until_ms = min(end_ms if term.to_ms is None else term.to_ms for term in (one, other))
        both_ms = until_ms - max(one.from_ms, other.from_ms)
        if both_ms > 0.0:
            longest = max(longest or 0.0, both_ms)
    return None if longest is None else round(longest, 3)


def availability_of(world: SimulatedWorld, fault_ms: float | None, end_ms: float) -> dict[str, Any]:
    """Unavailability and recovery of clients.

    `fault_ms`: time of the first fault. `end_ms`: of the last event.
    """
    azs = {entry[0]: entry[5].az or OUTSIDE for entry in world.trace.entries if type(entry[5]) is NodeStarted}
    writes = FailedWrites()
    for node, at_ms, outcome in _produces(world):
        writes.ended(node, at_ms, outcome)
    return availability(azs, writes, None if fault_ms is None else round(fault_ms, 3), end_ms)


def _end_ms(world: SimulatedWorld) -> float:
    """Time of the last event."""
    return round(world.trace.entries[-1][4], 3) if world.trace.entries else 0.0


def _produces(world: SimulatedWorld) -> Iterator[tuple[str, float, str]]:
    for node, _, _, _, at_ms, event in world.trace.entries:
        if type(event) is OperationEnded and event.kind == "produce":
            yield node, round(at_ms, 3), event.outcome
