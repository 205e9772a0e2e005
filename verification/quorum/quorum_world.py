"""Deterministic world of a quorum: nodes with disks, a network, one heap of events.

Each step of a machine is checked by the invariants. A response reaches only the incarnation that sent the request, as
its connection ends with it.

The state machine of a node is a digest of all committed batches. A node writes a snapshot of it every few records.
"""

from __future__ import annotations

import heapq
from random import Random
from typing import TYPE_CHECKING
from zlib import crc32

from controller.quorum.election_file import Election, decode_election
from controller.quorum.leader_state import Leader
from controller.quorum.quorum_inputs import (
    AppendRequested,
    Committed,
    QuorumEffect,
    QuorumFailed,
    QuorumInput,
    QuorumStarted,
    RequestFailed,
    RequestReceived,
    Respond,
    ResponseReceived,
    SendRequest,
    ShutdownCompleted,
    SnapshotCommitted,
    SnapshotRequested,
    WakeUp,
    WokenUp,
)
from controller.quorum.quorum_invariants import InvariantBroken, NodeView, QuorumInvariants
from controller.quorum.quorum_log import BOOTSTRAP_SNAPSHOT, SnapshotId
from controller.quorum.quorum_node import QuorumNode
from controller.quorum.settings import QuorumSettings
from emulator.machines.node.metadata_log import ElectionFile, MetadataLog
from emulator.storage.files import NodeKilled
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import KRAFT
from protocol.chance import Chance
from protocol.gates import gates_for
from protocol.ids import FIRST_OFFSET, NO_BROKER, BrokerId, LeaderEpoch
from protocol.machine import Now
from protocol.messages.quorum_messages import (
    FetchSnapshotRequest,
    QuorumFetchRequest,
    QuorumResponse,
    VoteRequest,
)
from protocol.records.compact_fields import uuid_text
from protocol.records.quorum_control_records import KRaftVersion, SnapshotHeader, Voter, Voters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RETENTION_BYTES = 3000
CLEANING_PERIOD_MS = 1500.0
WALL_START_MS = 1_700_000_000_000.0
LATENCY_MS = (0.2, 4.0)


class SimulatedNode:
    """One node. `machine`: None while it is dead.

    `operations_left`: storage operations until a planned death, -1: none is planned. `applied`, `digest`: end and state
    of its state machine. `directory`: of its disk.
    """

    def __init__(self, node: BrokerId, version: str) -> None:
        self.node = node
        self.version = version
        self.files = MemoryFiles()
        self.log = MetadataLog.open(self.files)
        self.machine: QuorumNode | None = None
        self.incarnation = 0
        self.wakes = 0
        self.paused_until_ms = 0.0
        self.operations_left = -1
        self.applied = FIRST_OFFSET
        self.digest = 0
        self.disks = 0
        self.snapshot_end = FIRST_OFFSET
        self.election: Election | None = None
        """The content of the election's file, as far as it was read since the last write."""

    @property
    def view(self) -> NodeView:
        election = self.election
        if election is None:
            with self.files.unwatched():
                data = ElectionFile(self.files).read()
            election = self.election = Election(LeaderEpoch(0)) if data is None else decode_election(data)
        machine = self.machine
        if machine is None:
            return NodeView(self.node, election, None, self.log)
        return NodeView(self.node, election, machine.state, self.log, machine.voter_history)

    @property
    def directory(self) -> str:
        """Uuid of the present disk."""
        return uuid_text(b"%016d" % (self.node * 1000 + self.disks))


class _WatchedFile:
    """The election's file, and a note of each write.

    No subclass: a class of Python cannot extend one of native code.
    """

    def __init__(self, node: SimulatedNode) -> None:
        self._file = ElectionFile(node.files)
        self._node = node

    def read(self) -> bytes | None:
        return self._file.read()

    def write(self, data: bytes) -> None:
        self._node.election = None
        self._file.write(data)


class QuorumWorld:
    """Nodes 0 to `voters` - 1 vote, the next `observers` observe; `versions`: of each node.

    `dynamic`: the voters are in the log, and any node may become one. `snapshot_records`: records between two snapshots
    of a node, 0: none. `auto_join`: observers ask to become voters.
    """

    def __init__(
        self,
        seed: int,
        voters: int,
        observers: int,
        versions: Sequence[str],
        *,
        dynamic: bool = False,
        snapshot_records: int = 0,
        auto_join: bool = False,
    ) -> None:
        self.random = Random(seed)
        self.now_ms = 0.0
        self.dynamic = dynamic
        self.snapshot_records = snapshot_records
        self.settings = QuorumSettings(auto_join_enable=auto_join, metadata_max_retention_bytes=RETENTION_BYTES)
        self.voters = [BrokerId(number) for number in range(voters)]
        everyone = [BrokerId(number) for number in range(voters + observers)]
        self.nodes = {node: SimulatedNode(node, versions[node % len(versions)]) for node in everyone}
        checks = all(gates_for(one.version, metadata=KRAFT).check_quorum for one in self.nodes.values())
        self.invariants = QuorumInvariants(self.voters, self.settings.fetch_timeout_ms, check_quorum=checks)
        self.cut: set[tuple[BrokerId, BrokerId]] = set()
        """Directed links that lose everything."""
        self.loss_share = 0.0
        self.late_share = 0.0
        self.steps = 0
        self.appended = 0
        self.answers: list[QuorumResponse] = []
        """Responses to administrators' requests."""
        self.failed: list[str] = []
        """Nodes that could not go on; a failure is an outcome of a lost disk alone."""
        self.logs: dict[BrokerId, MetadataLog] = {}
        for one in self.nodes.values():
            self._format(one, self.voters)
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    # --- time ---

    def after(self, delay_ms: float, action: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._heap, (self.now_ms + delay_ms, self._number, action))

    def run_until(self, end_ms: float, stop: Callable[[], bool] | None = None) -> bool:
        """Run to that time; whether `stop` came true before. Raises InvariantBroken."""
        while self._heap and self._heap[0][0] <= end_ms:
            if stop is not None and stop():
                return True
            self.now_ms, _, action = heapq.heappop(self._heap)
            action()
        self.now_ms = end_ms
        return stop is not None and stop()

    # --- nodes ---

    def start(self, node: BrokerId) -> None:
        one = self.nodes[node]
        if one.machine is not None:
            return
        one.incarnation += 1
        one.paused_until_ms = 0.0
        one.applied, one.digest = FIRST_OFFSET, 0
        draw = Chance(self.random.getrandbits(32)).below
        gates = gates_for(one.version, metadata=KRAFT)
        static = () if self.dynamic else self.voters
        one.machine = QuorumNode(
            node, static, self.settings, gates, one.log, _WatchedFile(one), draw,
            directory=one.directory if self.dynamic else "", host=f"node-{node}", servers=tuple(self.nodes),
            may_vote=self.dynamic, cleaning_period_ms=CLEANING_PERIOD_MS,
        )  # fmt: skip
        self._step(one, QuorumStarted())

    def kill(self, node: BrokerId, *, power_loss: bool) -> None:
        """End a node. `power_loss`: any part of what it has not synced is gone."""
        one = self.nodes[node]
        if one.machine is None:
            return
        one.machine = None
        one.election = None
        one.operations_left = -1
        one.files.operation_hook = None
        if power_loss:
            one.files.power_loss(
                lambda _, synced, written: self.random.randint(synced, written),
                name_changes_kept=self.random.randint(0, one.files.name_changes_pending),
            )
        self._opened(one)
        self.invariants.restarted(node)
        self.invariants.check(self.now_ms, one.view, self.logs)

    def lose_disk(self, node: BrokerId) -> None:
        """End a node, and remove all its files."""
        one = self.nodes[node]
        one.machine = None
        one.election = None
        one.files = MemoryFiles()
        one.disks += 1
        self._format(one, ())
        self.invariants.restarted(node)
        self.invariants.lost_disk(node)

    def _format(self, one: SimulatedNode, voters: Sequence[BrokerId]) -> None:
        """A new disk; that of a first voter has a snapshot with all first voters."""
        self._opened(one)
        if self.dynamic and one.node in voters:
            known = tuple(Voter(voter, self.nodes[voter].directory, f"node-{voter}") for voter in voters)
            control = (SnapshotHeader(0), KRaftVersion(1), Voters(known))
            one.log.store_snapshot(BOOTSTRAP_SNAPSHOT, control, (), WALL_START_MS)

    def _opened(self, one: SimulatedNode) -> None:
        one.log = self.logs[one.node] = MetadataLog.open(one.files)

    def kill_within(self, node: BrokerId, operations: int) -> None:
        """Kill the node with power loss before one of its next storage operations."""
        one = self.nodes[node]
        one.operations_left = operations

        def hook(operation: str, path: str) -> None:
            if one.machine is not None and one.operations_left >= 0:
                one.operations_left -= 1
                if one.operations_left < 0:
                    raise NodeKilled(f"{operation} {path}")

        one.files.operation_hook = hook

    def pause(self, node: BrokerId, for_ms: float) -> None:
        self.nodes[node].paused_until_ms = self.now_ms + for_ms

    def give(self, node: BrokerId, event: QuorumInput) -> None:
        """Step a node, once it is not paused."""
        one = self.nodes[node]
        self._arrive(one, one.incarnation, event)

    def leaders(self) -> list[BrokerId]:
        """All nodes that take themselves for the leader."""
        running = ((node, one.machine) for node, one in self.nodes.items())
        return [node for node, machine in running if machine is not None and isinstance(machine.state, Leader)]

    def append(self) -> None:
        """Append a record at one of the leaders."""
        leaders = self.leaders()
        if leaders:
            leader = self.random.choice(leaders)
            self.appended += 1
            view = self.nodes[leader].view
            assert view.state is not None
            self.give(leader, AppendRequested(view.state.epoch, [b"%d" % self.appended]))

    # --- steps ---

    def _arrive(self, one: SimulatedNode, incarnation: int, event: QuorumInput) -> None:
        if one.machine is None or one.incarnation != incarnation:
            return
        if self.now_ms < one.paused_until_ms:
            self.after(one.paused_until_ms - self.now_ms, lambda: self._arrive(one, incarnation, event))
            return
        self._step(one, event)

    def _step(self, one: SimulatedNode, event: QuorumInput) -> None:
        machine = one.machine
        assert machine is not None
        self.steps += 1
        try:
            effects = machine.step(Now(self.now_ms, WALL_START_MS + self.now_ms), event)
        except NodeKilled:
            self.kill(one.node, power_loss=True)
            self.after(self.random.uniform(50, 3000), lambda: self.start(one.node))
            return
        if isinstance(event, RequestReceived) and isinstance(event.request, QuorumFetchRequest | FetchSnapshotRequest):
            self.invariants.fetched(one.node, event.sender, self.now_ms)
        self.invariants.check(self.now_ms, one.view, self.logs)
        for effect in effects:
            self._perform(one, event, effect)

    def _perform(self, one: SimulatedNode, event: QuorumInput, effect: QuorumEffect) -> None:
        incarnation = one.incarnation
        if isinstance(effect, SendRequest):
            self._carry_request(one, effect)
        elif isinstance(effect, Respond):
            if isinstance(event, RequestReceived) and isinstance(event.request, VoteRequest):
                self.invariants.responded(one.view, event.request, effect)
            self._carry_response(one, effect)
        elif isinstance(effect, Committed):
            self._apply(one, effect)
        elif isinstance(effect, SnapshotCommitted):
            self._load(one, SnapshotId(effect.end, effect.epoch))
        elif isinstance(effect, WakeUp):
            one.wakes += 1
            wakes = one.wakes
            if effect.at_ms < float("inf"):
                delay_ms = max(0.0, effect.at_ms - self.now_ms)
                self.after(delay_ms, lambda: self._wake(one, incarnation, wakes))
        elif isinstance(effect, QuorumFailed):
            self.failed.append(effect.reason)
            if self.invariants.disks_are_kept:
                raise InvariantBroken("no-failure", effect.reason)
            one.machine = None
        elif isinstance(effect, ShutdownCompleted):
            self.kill(one.node, power_loss=False)
            self.after(self.random.uniform(50, 2000), lambda: self.start(one.node))

    # --- state machines ---

    def _apply(self, one: SimulatedNode, committed: Committed) -> None:
        """Apply committed batches, and write a snapshot after some of them."""
        assert committed.start == one.applied, (committed, one.applied)
        headers = one.log.batches(committed.start, committed.end)
        for header in headers:
            one.digest = crc32(b"%d %d" % (header.leader_epoch, header.crc), one.digest)
        one.applied = committed.end
        self.invariants.applied(one.node, committed.end, one.digest, snapshot=False)
        if self.snapshot_records and one.applied >= one.snapshot_end + self.snapshot_records:
            one.snapshot_end = one.applied
            state = [b"%d" % one.digest]
            requested = SnapshotRequested(one.applied, headers[-1].leader_epoch, headers[-1].max_timestamp_ms, state)
            self.after(0.0, lambda: self.give(one.node, requested))

    def _load(self, one: SimulatedNode, snapshot: SnapshotId) -> None:
        """Replace the state by that of a snapshot."""
        try:
            values = one.log.snapshot_values(snapshot)
        except ValueError as error:
            raise InvariantBroken("snapshot-content", f"node {one.node}: {error}") from error
        one.applied = one.snapshot_end = snapshot.end
        one.digest = int(values[0]) if values else 0
        self.invariants.applied(one.node, snapshot.end, one.digest, snapshot=True)

    def _wake(self, one: SimulatedNode, incarnation: int, wakes: int) -> None:
        if one.wakes != wakes:
            return
        if self.now_ms < one.paused_until_ms:
            self.after(one.paused_until_ms - self.now_ms, lambda: self._wake(one, incarnation, wakes))
            return
        self._arrive(one, incarnation, WokenUp())

    # --- network ---

    def _carry_request(self, one: SimulatedNode, effect: SendRequest) -> None:
        sender, receiver, incarnation = one.node, effect.receiver, one.incarnation

        def arrive() -> None:
            other = self.nodes[receiver]
            if other.machine is None:
                failed = RequestFailed(receiver, effect.correlation)
                self.after(self._latency_ms(), lambda: self._arrive(one, incarnation, failed))
            else:
                received = RequestReceived(sender, (incarnation << 32) + effect.correlation, effect.request)
                self._arrive(other, other.incarnation, received)

        if not self._is_lost(sender, receiver):
            self.after(self._latency_ms(), arrive)

    def _carry_response(self, one: SimulatedNode, effect: Respond) -> None:
        if effect.receiver == NO_BROKER:  # an administrator
            self.answers.append(effect.response)
            return
        other = self.nodes[effect.receiver]
        incarnation, correlation = effect.correlation >> 32, effect.correlation & 0xFFFFFFFF
        received = ResponseReceived(one.node, correlation, effect.response)
        if not self._is_lost(one.node, effect.receiver):
            self.after(self._latency_ms(), lambda: self._arrive(other, incarnation, received))

    def _is_lost(self, sender: BrokerId, receiver: BrokerId) -> bool:
        return (sender, receiver) in self.cut or self.random.random() < self.loss_share

    def _latency_ms(self) -> float:
        if self.random.random() < self.late_share:
            return self.random.uniform(100, 3500)
        return self.random.uniform(*LATENCY_MS)
