"""Runs in the simulated world."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from emulator.faults import actions as act
from emulator.machines.client.client_operations import KeptOperations
from emulator.machines.node.restarts import Roster, UnusableStart
from emulator.machines.node.specs import RunSpec, machine_for
from emulator.runs.observed import observations_of
from emulator.runs.resolve import Resolved
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.player.player import Player
from emulator.scenario.quorum_steps import controller_node
from emulator.scenario.scenario_model import Scenario
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import KRAFT, OBSERVER, Node
from emulator.worlds.simulated.latencies import CALM, LOADED, Latencies
from emulator.worlds.simulated.latencies import KRAFT as RECORDED_KRAFT
from emulator.worlds.simulated.latency_model import Draws
from emulator.worlds.simulated.node import SimulatedNode
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.machine import Machine
from protocol.versions import since

MAX_MS = 3_600_000.0


class Played(msgspec.Struct):
    """A finished run: observations, and the world at its end, for the oracle.

    `operations`: all clients'.
    """

    scenario: Scenario
    observations: Observations
    world: SimulatedWorld
    player: Player
    operations: KeptOperations


@contextmanager
def collector_disabled() -> Iterator[None]:
    """Disable the garbage collector during a run.

    A run makes few cycles and is short: collections would cost a fifth of its time.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def let_pass(world: SimulatedWorld, ms: float) -> None:
    """Let time pass in a world whose script is over."""
    over: list[bool] = []
    world.at(world.now_ms + ms, over.append, True)
    world.run(lambda: bool(over), max_ms=MAX_MS)


def on_roster(world: SimulatedWorld, roster: Roster) -> None:
    """Connect the world's starts to the roster: a start changes it, and reports its state."""

    def change(order: act.Start) -> str:
        try:
            roster.change(order.node, order.version, order.settings)
        except UnusableStart as error:
            return str(error)
        return ""

    world.before_start, world.start_details = change, roster.start_details


def scripted_world(player: Player, seed: int, spec: Callable[[], RunSpec], **options: Any) -> SimulatedWorld:
    """A world whose observer is `player`.

    `spec`: of the machines, at each start. `options`: the world's.
    """
    operations = player.operations

    def factory(node: Node, files: MemoryFiles) -> Machine:
        return player if node.name == OBSERVER else machine_for(spec(), node, files, operations)

    return SimulatedWorld(spec().topology, factory, seed, **options)


def play_script(world: SimulatedWorld, player: Player) -> None:
    """Play until the script is over.

    Raises StepFailed, RunTooLong. An assertion is a bug of ours.
    """
    with collector_disabled():
        world.start(OBSERVER)
        world.play(player, max_ms=MAX_MS)
    waits = player.work.waiting_tasks()
    assert player.finished, f"nothing is left to happen at {world.now_ms:.0f} ms, and the script goes on: {waits}"


def _latencies_of(resolved: Resolved) -> Latencies:
    """Latencies of a run.

    Recordings of KRaft, and random schedules from 3.0 on, were made on slower machines. So were other scripts, which
    wait for what they need.
    """
    scenario = resolved.scenario
    if scenario.as_recorded and scenario.topology.metadata == KRAFT:
        return RECORDED_KRAFT
    random = scenario.as_recorded and scenario.id.startswith("random-")
    return LOADED if random and since(resolved.spec.kafka_version, "3.0") else CALM


def play(
    resolved: Resolved,
    seed: int,
    *,
    latencies: Latencies | None = None,
    wire_events: bool = False,
    after_step: Callable[[SimulatedNode, float], None] | None = None,
    draws: Draws | None = None,
    operations: KeptOperations | None = None,
) -> Played:
    """Play one run; `after_step`, `draws` as the world's. Raises the errors of `play_script`.

    `latencies`: by default those of the machine that recorded a script, else of a calm one. `operations`: where those
    of all clients are put as they begin.
    """
    scenario, spec = resolved.scenario, resolved.spec
    latencies = latencies or _latencies_of(resolved)
    player = Player(spec.topology, scenario.steps, resolved.record_magic, resolved.spec.kafka_version)
    if operations is not None:
        player.operations = operations
    roster = Roster(spec)
    world = scripted_world(
        player, seed, lambda: roster.spec, latencies=latencies, wire_events=wire_events, after_step=after_step,
        draws=draws,
    )  # fmt: skip
    if scenario.first_controller is not None:
        world.first_controller = controller_node(spec.topology, scenario.first_controller)
    on_roster(world, roster)
    play_script(world, player)
    world.over()
    observations = observations_of(resolved, player.timeline, world.trace.entries, world.now_ms)
    return Played(scenario, observations, world, player, player.operations)
