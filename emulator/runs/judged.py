"""A simulated run, played and judged by the oracle: its faults, measures and verdict.

Faults: when a rule was asked for and in force is in the trace; how much it stopped is counted at every node's gates.
"""

from time import perf_counter
from typing import Any

import msgspec

from emulator.observations.model import Observations
from emulator.observations.reading import plain
from emulator.oracle.judge import judge_run
from emulator.oracle.probe import Office, Probe
from emulator.runs.resolve import Resolved
from emulator.runs.simulated import Played, play
from emulator.runs.verdict import Fault, assemble
from emulator.world.simulated.world import SimulatedWorld
from protocol.events import FaultAsked, FaultHealed, FaultInForce, FaultTraffic, MachineFault
from protocol.ids import TopicPartition

WORLD = "sim"
BREAKING = ("kill", "stop", "pause", "power-loss", "disk-full")


class JudgedRun(msgspec.Struct):
    """`observations`: as read, entries as plain dicts."""

    played: Played
    observations: Observations
    verdict: dict[str, Any]


def play_and_judge(
    resolved: Resolved, seed: int, *, run: str, wire_events: bool = False, with_oracle: bool = True
) -> JudgedRun:
    """Play one seed. `with_oracle` False: checks are left out (somebody else judges). Raises what `play` raises."""
    probe = Probe()
    began_s = perf_counter()
    played = play(resolved, seed, wire_events=wire_events, after_step=probe.look if with_oracle else None)
    played_s = perf_counter()
    checks = judge_run(played.world, played.player.operations, probe) if with_oracle else {}
    judged_s = perf_counter()
    observations = plain(played.observations)
    first = played.player.timeline.first
    measures = measures_of(played.world, probe, first) if with_oracle else {}
    measures |= {
        "simulated_s": round(played.world.now_ms / 1000.0, 3),
        "wall_s": round(played_s - began_s, 4),
        "audit_s": round(judged_s - played_s, 4),
    }
    verdict = assemble(
        run=run,
        world=WORLD,
        scenario=resolved.scenario,
        observations=observations,
        checks=checks,
        faults=faults_of(played.world),
        measures=measures,
        unknown_because=deaths_of(played.world),
        more={"seed": seed, "audit": "oracle" if with_oracle else "none"},
    )
    return JudgedRun(played, observations, verdict)


def faults_of(world: SimulatedWorld) -> list[Fault]:
    """Every rule on links, in the order in which they were asked for."""
    faults: dict[str, Fault] = {}
    expects: dict[str, bool] = {}
    flowed: set[str] = set()
    for _, _, _, _, at_ms, event in world.trace.entries:
        match event:
            case FaultAsked(rule=rule, what=what, expects_traffic=expects_traffic):
                faults[rule] = Fault(
                    rule=what, asked_ms=round(at_ms, 3), in_force_ms=None, healed_ms=None, frames_stopped=0,
                    took_effect=False, healed=None,
                )  # fmt: skip
                expects[rule] = expects_traffic
            case FaultInForce(rule=rule):
                faults[rule].in_force_ms = round(at_ms, 3)
            case FaultHealed(rule=rule):
                faults[rule].healed_ms = round(at_ms, 3)
            case FaultTraffic(rule=rule):
                flowed.add(rule)
            case _:
                pass
    for rule, fault in faults.items():
        gates = [node.links for node in world.nodes.values()]
        fault.frames_stopped = sum(links.frames_stopped.get(rule, 0) for links in gates)
        fault.took_effect = fault.frames_stopped > 0 or not expects[rule]
        if fault.healed_ms is not None:
            still = any(rule in links.in_force for links in gates)
            fault.healed = False if still else True if rule in flowed else None
    return list(faults.values())


def deaths_of(world: SimulatedWorld) -> list[str]:
    """Nodes whose last life ended by itself."""
    return [
        f"{name} died by itself: {node.died[1]}"
        for name, node in world.nodes.items()
        if node.died is not None and node.died[0] != 0
    ]


def measures_of(world: SimulatedWorld, probe: Probe, first: str) -> dict[str, Any]:
    """`first`: the partition whose leaders are looked at. `unavailable_ms` is about clients in AZs; the player is in none."""
    topic, _, number = first.rpartition("-")
    place = (topic, int(number)) if topic else None
    return {
        "events": len(world.trace.entries),
        "unavailable_ms": {},
        "time_to_new_leader_ms": time_to_new_leader_ms(probe.leaders, place, first_fault_ms(world, probe, place)),
    }


def first_fault_ms(world: SimulatedWorld, probe: Probe, place: TopicPartition | None) -> float | None:
    """When a link was first cut, or a machine broken, since the partition has a leader."""
    led_ms = min((office.from_ms for office in probe.leaders if office.place == place), default=None)
    if led_ms is None:
        return None
    for _, _, _, _, at_ms, event in world.trace.entries:
        fault = isinstance(event, FaultAsked) or (isinstance(event, MachineFault) and event.what in BREAKING)
        if fault and at_ms >= led_ms:
            return at_ms
    return None


def time_to_new_leader_ms(
    leaders: list[Office], place: TopicPartition | None, fault_ms: float | None
) -> float | None:
    """From the fault until another broker leads in a later epoch; None: none did."""
    held = [office for office in leaders if office.place == place]
    before = [office for office in held if fault_ms is not None and office.from_ms <= fault_ms]
    if fault_ms is None or not before:
        return None
    last = max(before, key=lambda office: office.epoch)
    new = [office.from_ms for office in held if office.epoch > last.epoch and office.node != last.node]
    return round(min(new) - fault_ms, 3) if new else None
