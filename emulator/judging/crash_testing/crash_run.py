"""Plays a simulated run with one death: the script, then healing, then time to settle."""

from emulator.judging.crash_testing.crash_driver import Attendant
from emulator.judging.crash_testing.crash_plan import Plan, resolved_for
from emulator.judging.explain.finished_run import FinishedRun
from emulator.judging.explain.settled_partitions import Unsettled
from emulator.judging.explain.settled_state import unsettled
from emulator.judging.oracle.probe import Probe
from emulator.runs.simulated import collector_disabled, let_pass, play_script, scripted_world
from emulator.scenario.player.player import Player
from emulator.worlds.simulated.node import SimulatedNode
from emulator.worlds.simulated.world import SimulatedWorld

SETTLE_LIMIT_MS = 300_000.0
"""Limit from the end of the script.

The longest waits are a session of 30 s, a parked fetch of 50 s, a connection given up after 60 s (scenario
kip101-case1), and TCP's retransmission after the longest cut.
"""
STILL_MS = 12_000.0
"""Time for which the cluster must stay settled: twice a session's timeout."""
LOOK_MS = 1_000.0


class Died(FinishedRun, kw_only=True):
    """A finished run. `settled_ms`: time from the end of the script."""

    plan: Plan
    player: Player
    attendant: Attendant
    settled_ms: float


def play_death(plan: Plan) -> Died:
    """Play a plan. Raises every error of a machine, which is a bug of this program."""
    resolved = resolved_for(plan.scenario, plan.version)
    spec = resolved.spec
    steps, magic = resolved.scenario.steps, resolved.record_magic
    player = Player(spec.topology, steps, magic, spec.kafka_version, steps_may_fail=True)
    operations = player.operations
    attendant, probe = Attendant(plan), Probe(operations)

    def look(node: SimulatedNode, now_ms: float) -> None:
        probe.look(node, now_ms)
        attendant.look(node, now_ms)

    world = scripted_world(player, plan.seed, lambda: spec, after_step=look)
    attendant.attend(world, player)
    with collector_disabled():
        play_script(world, player)
        if attendant.hit_ms is None and world.nodes[plan.victim].alive:
            attendant.strike()
        ended_ms = world.now_ms
        for rule in list(world.in_force):
            world.heal(rule)
        attendant.start_all()
        let_pass(world, plan.back_ms)
        attendant.spare()
        still = settle(world)
    return Died(
        resolved=resolved, world=world, probe=probe, operations=operations, recoveries=attendant.logs.found,
        exits=attendant.exits, unsettled=still, plan=plan, player=player, attendant=attendant,
        settled_ms=world.now_ms - ended_ms,
    )  # fmt: skip


def settle(world: SimulatedWorld) -> list[Unsettled]:
    """Let time pass until the cluster has settled, or the limit; returns the failures to settle."""
    limit_ms = world.now_ms + SETTLE_LIMIT_MS
    since_ms = world.now_ms
    found: list[Unsettled] = []
    while world.now_ms < limit_ms:
        let_pass(world, LOOK_MS)
        found = unsettled(world)
        if found:
            since_ms = world.now_ms
        elif world.now_ms - since_ms >= STILL_MS:
            break
    return found
