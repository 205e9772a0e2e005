"""Faults of a seed, drawn by chance, and their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.quorum.leader_state import Leader
from controller.quorum.quorum_inputs import RequestReceived, ResignRequested, ShutdownRequested
from protocol.ids import NO_BROKER
from protocol.messages.voter_messages import AddRaftVoterRequest, RemoveRaftVoterRequest
from verification.quorum.quorum_world import QuorumWorld

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol.ids import BrokerId

SHUTDOWN_TIMEOUT_MS = 5000
APPEND_PERIOD_MS = (20.0, 400.0)
FAULT_PERIOD_MS = (50.0, 1500.0)
LONG_MS = 7_500.0
TWO_VOTERS = 2


class QuorumFaults:
    """Faults of one run, up to `end_ms`."""

    def __init__(self, world: QuorumWorld, end_ms: float) -> None:
        self._world = world
        self._end_ms = end_ms
        self._quiet_ms = 0.0
        """Extra time until the next fault."""
        self._kinds: tuple[Callable[[], None], ...] = (
            self._kill, self._kill_within, self._partition, self._isolate, self._one_way, self._heal, self._heal,
            self._lossy, self._late, self._pause, self._resign, self._shut_down, self._isolate_long,
        )  # fmt: skip
        if world.dynamic:
            self._kinds += (
                self._add_voter, self._add_voter, self._remove_voter, self._remove_voter, self._remove_leader,
                self._change_twice, self._change_twice, self._change_and_fail, self._change_and_fail,
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

    # --- changes of the voters ---

    def _administer(self, request: AddRaftVoterRequest | RemoveRaftVoterRequest) -> None:
        """Send a request of an administrator to each leader."""
        for leader in self._world.leaders():
            self._world.give(leader, RequestReceived(NO_BROKER, 0, request))

    def _add_voter(self) -> None:
        node = self._any()
        one = self._world.nodes[node]
        self._administer(AddRaftVoterRequest(node, one.directory, f"node-{node}"))

    def _remove_voter(self) -> None:
        """Remove a voter, but no leader of two voters.

        If that leader fails before the removal is committed, Kafka's quorum stands still: the other voter's log is
        shorter, and the leader itself is no voter by its own log.
        """
        self._remove(self._any())

    def _remove_leader(self) -> None:
        self._remove(self._leader_or_any())

    def _remove(self, node: BrokerId) -> None:
        state = self._world.nodes[node].view.state
        if not (isinstance(state, Leader) and len(state.voters) == TWO_VOTERS):
            self._administer(RemoveRaftVoterRequest(node, self._world.nodes[node].directory))

    def _change(self) -> None:
        self._world.random.choice((self._add_voter, self._remove_voter, self._remove_leader))()

    def _change_twice(self) -> None:
        """A change while another one is under way."""
        self._change()
        self._world.after(self._world.random.uniform(0, 8), self._change)

    def _change_and_fail(self) -> None:
        """A leader that fails with a change under way."""
        self._change()
        fail = self._world.random.choice((self._kill, self._isolate, self._partition))
        self._world.after(self._world.random.uniform(0, 12), fail)

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
