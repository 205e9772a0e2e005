"""Carries out the player's actions in the simulated world: starts, faults, rules, snapshots."""

from collections.abc import Callable
from typing import Any, NamedTuple

from emulator.faults import actions as act
from emulator.storage import inspect
from emulator.storage.files import StorageError
from emulator.storage.inspect import NotSoMany
from emulator.storage.power_loss import surviving_bytes
from emulator.worlds.simulated.fault_targets import Breakable
from emulator.worlds.simulated.node import SimulatedNode
from protocol.events import FaultRequested, MachineFault

CLIENT_START_MS = 120.0
DONE_MS = 1.0
"""Time from an action to the player's notice of it."""
TOGETHER_MS = 100.0
"""Brokers started within this time of the first are started together."""
FIRST_CONTROLLER_MS = 3_000.0
"""Delay of the other controllers' first start, if one is to win the first election."""


class _Starting(NamedTuple):
    """`order`: number of the order."""

    order: int
    at_ms: float


class FaultExecutor:
    """Carries out actions on a world."""

    def __init__(self, world: Breakable) -> None:
        self._world = world
        self._started_ms = -TOGETHER_MS - 1.0
        self._start_takes_ms = 0.0
        self._together = False
        """Whether the brokers started last have been delayed for each other."""
        self._starting: dict[str, _Starting] = {}
        """{node that is being started}"""

    def do(self, node: SimulatedNode, order: act.Act) -> None:
        """Carry out an action and report its end to the player."""
        world = self._world
        if not isinstance(order.action, act.ApplyRule | act.HealRules) or not world.draws.latencies.link_fault_ms[1]:
            self._do(node, order, DONE_MS)
            return
        before_ms, after_ms = (world.draws.takes_ms("", "link_fault_ms") for _ in range(2))
        world.at(world.now_ms + before_ms, self._do, node, order, DONE_MS + after_ms)

    def _do(self, node: SimulatedNode, order: act.Act, done_ms: float) -> None:
        world = self._world
        number = order.number
        result: dict[str, Any] = {}
        error = ""

        def done() -> None:
            world.deliver(node, act.ActDone(number, result, error), f"act:{number}")

        broken = world.nodes.get(getattr(order.action, "node", ""))
        if broken is not None and (error := act.unfit(order.action, alive=broken.alive, paused=broken.paused)):
            world.at(world.now_ms + DONE_MS, done)
            return
        match order.action:
            case act.Start(name):
                error = f"{name} is starting" if name in self._starting else world.before_start(order.action)
                if error:
                    world.at(world.now_ms + DONE_MS, done)
                    return
                life = world.nodes[name].incarnation + 1
                world.trace.add(node, world.cause, world.now_ms, MachineFault("start", name, life=life))
                at_ms = world.now_ms + self.start_takes_ms(name)
                self._starting[name] = _Starting(number, at_ms)
                world.at(at_ms, self._start, name, number)
            case act.Kill(name):
                self._starting.pop(name, None)
                world.kill(name)
            case act.Stop(name):
                world.stop(name)
                self._when_dead(name, done)
                return
            case act.PauseNode(name):
                world.pause(name)
            case act.ResumeNode(name):
                world.resume(name)
            case act.PowerLoss(name, batches_kept, partition):
                try:
                    self._power_loss(name, -1 if batches_kept is None else batches_kept, partition or "")
                except (NotSoMany, StorageError) as why:
                    error = str(why)
            case act.LoseUnsynced(name, batches_kept, partition):
                assert partition is not None, "the player names it"
                try:
                    inspect.keep_batches(world.nodes[name].files, partition, batches_kept)
                    world.trace.add(world.nodes[name], "fault", world.now_ms, MachineFault("lose-unsynced", name))
                except (NotSoMany, StorageError) as why:
                    error = str(why)
            case act.LoseDisk(name, directory):
                world.replace_disk(name, directory)
            case act.DiskFull(name, directory):
                world.fill_disk(name, directory)
            case act.DiskError(name, directory):
                world.fail_disk(name, directory)
            case act.HardwareFault():
                world.change_hardware(order.action)
            case act.ApplyRule(rule):
                requested = FaultRequested(rule.rule, rule.what, rule.expects_traffic)
                world.trace.add(node, world.cause, world.now_ms, requested)
                world.apply(rule)
            case act.HealRules(rules):
                result = {"frames_stopped": {rule: world.heal(rule) for rule in rules or tuple(world.in_force)}}
            case act.Snapshot(partition, names):
                result = {name: self._look(name, inspect.read_partition, partition) for name in names}
            case act.Batches(partition, names):
                result = {name: self._look(name, inspect.batches_of, partition) for name in names}
            case act.LogSizes(names):
                result = {name: self._look(name, inspect.log_sizes) for name in names}
            case other:
                raise AssertionError(other)
        world.at(world.now_ms + done_ms, done)

    def _start(self, name: str, order: int) -> None:
        """Start a node, unless it was killed meanwhile, or is to start later."""
        starting = self._starting.get(name)
        if starting is None or starting.order != order:
            return
        if starting.at_ms > self._world.now_ms:
            self._world.at(starting.at_ms, self._start, name, order)
            return
        del self._starting[name]
        self._world.start(name)

    def start_takes_ms(self, name: str) -> float:
        """Time from the order to the first input; a broker or controller is a slow Java machine."""
        draws, roles = self._world.draws, self._world.nodes[name].node.roles
        if "session" in roles:
            return draws.session_start_ms(name)
        if "broker" not in roles and "controller" not in roles:
            return CLIENT_START_MS
        now_ms = self._world.now_ms
        if now_ms - self._started_ms > TOGETHER_MS:
            self._started_ms, self._start_takes_ms = now_ms, draws.takes_ms(name, "start_ms")
            self._together = False
        elif draws.latencies.start_together_ms[1] and "broker" in roles and not self._together:
            self._delay_together(name, draws.takes_ms(name, "start_together_ms"))
        extra_ms, first = draws.start_extra_ms(name), self._world.first_controller
        if first and "controller" in roles and not self._world.nodes[name].incarnation:
            extra_ms = extra_ms + FIRST_CONTROLLER_MS if name != first else 0.0
        return self._start_takes_ms + extra_ms

    def _delay_together(self, name: str, more_ms: float) -> None:
        """Delay all brokers that are started with this one, by the same time."""
        self._together = True
        self._start_takes_ms += more_ms
        for other, starting in self._starting.items():
            if "broker" in self._world.nodes[other].node.roles and starting.at_ms >= self._world.now_ms:
                self._starting[other] = starting._replace(at_ms=starting.at_ms + more_ms)

    def _look(self, name: str, read: Callable[..., Any], *of: str) -> Any:
        files = self._world.nodes[name].files
        with files.unwatched():
            return read(files, *of)

    def _when_dead(self, name: str, done: Callable[[], None]) -> None:
        world = self._world
        if world.nodes[name].alive:
            world.at(world.now_ms + 20.0, lambda: self._when_dead(name, done))
        else:
            done()

    def _power_loss(self, name: str, batches_kept: int, partition: str) -> None:
        """Lose unsynced bytes; the seed, or the caller, decides how many. Raises NotSoMany."""
        world = self._world
        world.kill(name, "power-loss")
        files = world.nodes[name].files

        def survives(path: str, synced: int, size: int) -> int:
            return world.draws.survives_bytes(name, synced, size)

        if batches_kept < 0 and not partition:
            files.power_loss(survives)
            return
        with files.unwatched():
            left = surviving_bytes(files, files.synced_bytes, survives, partition=partition, batches=batches_kept)
        files.power_loss(lambda path, synced, size: left.get(path, size))
