"""Crash driver of a simulated run: kills nodes and restarts them, as an operator would.

The script decides which nodes should be alive: those that it has started and not killed, stopped or given a full disk.
A broker that restarts before its old session has expired exits (semantics 11.10); the driver restarts it until it
stays.
"""

import random

from emulator.faults import actions as act
from emulator.judging.crash_testing.crash_plan import Plan
from emulator.judging.explain.finished_run import Exited
from emulator.judging.explain.recoveries import Recoveries
from emulator.scenario.player.player import Player
from emulator.storage.files import NodeKilled
from emulator.topology import OBSERVER
from emulator.worlds.simulated.node import SimulatedNode
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.events import MachineFault

AGAIN_MS = 3_000.0
"""Time from a node's own exit to its next start."""
STARTS_MAX = 500


class Attendant:
    """Driver of deaths and restarts. `hit_ms`: time of the planned death, None before it.

    `look` is a part of the world's `after_step`; `attend` precedes every start.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.hit_ms: float | None = None
        self.deaths = 0
        self.exits: list[Exited] = []
        self.logs = Recoveries()
        self._lives_left = 1 if plan.again < 0 else 2
        self._draw = random.Random(f"power {plan.seed}")
        self._wanted: set[str] = set()
        self._starting: set[str] = set()
        self._starts = 0
        self._armed = False
        self._dying = ""

    def attend(self, world: SimulatedWorld, player: Player) -> None:
        self._world = world
        self._player = player
        world.on_act = self.do

    # --- what the script orders ---

    def do(self, node: SimulatedNode, order: act.Act) -> None:
        """Do the player's action and record its meaning for the driver."""
        self.logs.ordered(order.action, self._world.nodes, self._world.now_ms)
        match order.action:
            case act.Start(name):
                self._wanted.add(name)
                if self._world.nodes[name].alive or name in self._starting:
                    self._world.nodes[name].files.capacity_bytes = None
                    self._done(node, order, "")
                    return
                self._start_in(name, self._world.executor.start_takes_ms(name))
                self._done(node, order, "")
                return
            case act.Kill(name) | act.Stop(name) | act.DiskFull(name) | act.DiskError(name) | act.PowerLoss(name):
                self._wanted.discard(name)
            case _:
                pass
        about = self._world.nodes.get(getattr(order.action, "node", ""))
        if about is not None and not about.alive and act.unfit(order.action, alive=False, paused=False):
            self._done(node, order, "")  # it died while the script takes it for alive
            return
        self._world.executor.do(node, order)

    def _done(self, node: SimulatedNode, order: act.Act, error: str) -> None:
        done = act.ActDone(order.number, {}, error)
        world = self._world
        world.at(world.now_ms + 1.0, lambda: world.deliver(node, done, f"act:{order.number}"))

    # --- starting ---

    def start_all(self) -> None:
        """Start every node, and keep it alive from now on."""
        for name, node in self._world.nodes.items():
            if name != OBSERVER:
                self._wanted.add(name)
                if node.paused:
                    self._world.resume(name)
                node.files.capacity_bytes = None
                if not node.alive and name not in self._starting:
                    self._start_in(name, self._world.executor.start_takes_ms(name))

    def _start_in(self, name: str, ms: float) -> None:
        world = self._world
        self._starting.add(name)

        def start() -> None:
            self._starting.discard(name)
            if name in self._wanted and not world.nodes[name].alive:
                self._starts += 1
                assert self._starts < STARTS_MAX, f"{name} was started {STARTS_MAX} times"
                world.start(name)

        world.at(world.now_ms + ms, start)

    # --- looking ---

    def look(self, node: SimulatedNode, now_ms: float) -> None:
        """Inspect `node` after an input or its death."""
        name = node.node.name
        if name == OBSERVER:
            if not self._armed and self._player.step_number >= self.plan.step:
                self._armed = True
                self._world.at(now_ms + self.plan.later_ms, self._moment)
            return
        if node.machine is None:
            self._ended(node, now_ms)
        else:
            self.logs.look(node, now_ms)

    def _ended(self, node: SimulatedNode, now_ms: float) -> None:
        name = node.node.name
        if node.died is not None and node.died.code != 0:
            self.exits.append(Exited(now_ms, name, node.died.code, node.died.reason, node.died.kind))
        planned = self._dying == name
        power = planned and self.plan.power
        self.logs.ended(node, now_ms)
        if planned:
            self._dying = ""
            if power:
                self._lose_power(node, now_ms)
        if name in self._wanted and name not in self._starting:
            self._start_in(name, self.plan.back_ms if planned else AGAIN_MS)

    def _lose_power(self, node: SimulatedNode, now_ms: float) -> None:
        self.logs.power_lost(node.node.name, now_ms)
        draw = self._draw
        kept = draw.randint(0, node.files.name_changes_pending)
        node.files.power_loss(lambda path, synced, size: draw.randint(synced, size), name_changes_kept=kept)

    # --- killing ---

    def _moment(self) -> None:
        """The step has begun, and `later_ms` have passed: kill the victim, or arm its storage."""
        if self.hit_ms is not None:
            return
        if self.plan.operations < 0 and self._world.nodes[self.plan.victim].alive:
            self.strike()
        elif not self.plan.orderly:
            self._arm(max(0, self.plan.operations))

    def strike(self) -> None:
        """Kill the victim now, or begin its orderly stop."""
        world, victim = self._world, self.plan.victim
        self._about_to_die()
        if self.plan.orderly:
            world.stop(victim)
            return
        world.kill(victim, "power-loss" if self.plan.power else "kill")

    def _arm(self, operations: int) -> None:
        world, victim = self._world, self.plan.victim
        left = operations

        def before(operation: str, path: str) -> None:
            nonlocal left
            if not world.nodes[victim].alive:
                return  # operations on a dead node's disk are not its own
            left -= 1
            if left < 0:
                self._about_to_die()
                what = "power-loss" if self.plan.power else "kill"
                world.trace.add(world.nodes[victim], "fault", world.now_ms, MachineFault(what, victim))
                raise NodeKilled(f"before {operation} {path}")

        world.watch_storage(victim, before)

    def _about_to_die(self) -> None:
        world = self._world
        self.hit_ms = world.now_ms if self.hit_ms is None else self.hit_ms
        self._dying = self.plan.victim
        self.deaths += 1
        self._lives_left -= 1
        world.watch_storage(self.plan.victim, None)
        if self._lives_left > 0:
            self._arm(self.plan.again)

    def spare(self) -> None:
        """Kill no node any more."""
        self._lives_left = 0
        self._world.watch_storage(self.plan.victim, None)
