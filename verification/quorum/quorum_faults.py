"""Faults of a seed, drawn by chance, and their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.quorum.leader_state import Leader
from controller.quorum.quorum_inputs import ResignRequested, ShutdownRequested
from verification.quorum.quorum_world import QuorumWorld

if TYPE_CHECKING:
    from protocol.ids import BrokerId

SHUTDOWN_TIMEOUT_MS = 5000
APPEND_PERIOD_MS = (20.0, 400.0)
FAULT_PERIOD_MS = (50.0, 1500.0)
LONG_MS = 7_500.0


class QuorumFaults:
    """Faults of one run, up to `end_ms`."""

    def __init__(self, world: QuorumWorld, end_ms: float) -> None:
        self._world = world
        self._end_ms = end_ms
        self._quiet_ms = 0.0
        """Extra time until the next fault."""
        self._kinds = (
            self._kill, self._kill_within, self._partition, self._isolate, self._one_way, self._heal, self._heal,
            self._lossy, self._late, self._pause, self._resign, self._shut_down, self._isolate_long,
        )  # fmt: skip

    def begin(self) -> None:
        self._append()
        self._next()

    def _append(self) -> None:
        world = self._world
        world.append()
        world.after(world.random.uniform(*APPEND_PERIOD_MS), self._append)

    def _next(self) -> None:
        world = self._world
        if world.now_ms < self._end_ms:
            world.random.choice(self._kinds)()
            world.after(world.random.uniform(*FAULT_PERIOD_MS) + self._quiet_ms, self._next)
            self._quiet_ms = 0.0
        else:
            self._end()

    def _end(self) -> None:
        world = self._world
        world.cut.clear()
        world.loss_share = world.late_share = 0.0
        for node, one in world.nodes.items():
            one.operations_left = -1
            one.files.operation_hook = None
            one.paused_until_ms = 0.0
            world.start(node)

    def _any(self) -> BrokerId:
        return self._world.random.choice(list(self._world.nodes))

    def _leader_or_any(self) -> BrokerId:
        leaders = self._world.leaders()
        return self._world.random.choice(leaders) if leaders else self._any()

    # --- kinds ---

    def _kill(self) -> None:
        world, node = self._world, self._leader_or_any()
        world.kill(node, power_loss=world.random.random() < 0.7)
        world.after(world.random.uniform(20, 4000), lambda: world.start(node))

    def _kill_within(self) -> None:
        self._world.kill_within(self._leader_or_any(), self._world.random.randint(0, 12))

    def _partition(self) -> None:
        world = self._world
        nodes = list(world.nodes)
        world.random.shuffle(nodes)
        side = set(nodes[: world.random.randint(1, len(nodes))])
        world.cut |= {(a, b) for a in nodes for b in nodes if (a in side) != (b in side)}

    def _isolate(self) -> None:
        world, node = self._world, self._leader_or_any()
        world.cut |= {(node, other) for other in world.nodes} | {(other, node) for other in world.nodes}

    def _isolate_long(self) -> None:
        """Isolate a node for longer than a leader may lead without its quorum."""
        self._isolate()
        self._quiet_ms = LONG_MS

    def _one_way(self) -> None:
        self._world.cut.add((self._any(), self._any()))

    def _heal(self) -> None:
        self._world.cut.clear()

    def _lossy(self) -> None:
        self._world.loss_share = self._world.random.choice((0.0, 0.0, 0.1, 0.3))

    def _late(self) -> None:
        self._world.late_share = self._world.random.choice((0.0, 0.0, 0.05, 0.3))

    def _pause(self) -> None:
        self._world.pause(self._leader_or_any(), self._world.random.uniform(200, 4500))

    def _resign(self) -> None:
        for leader in self._world.leaders():
            state = self._world.nodes[leader].view.state
            assert isinstance(state, Leader)
            self._world.give(leader, ResignRequested(state.epoch))

    def _shut_down(self) -> None:
        node = self._leader_or_any()
        if self._world.nodes[node].machine is not None:
            self._world.give(node, ShutdownRequested(SHUTDOWN_TIMEOUT_MS))
