"""The heap: virtual time jumps from one thing to the next. What may be done to nodes and links is here too.

    heap of (at_ms, seq, what)      what: a closure over a frame's arrival, a timer, a gate to look at, ...

Everything drawn comes from one seeded source; ties are broken by `seq`. Nothing of a dead life reaches the next one:
every entry checks the incarnation it was made for. """

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from emulator.injector.enforcement import LinkState, Path, Stopped
from emulator.storage import inspect
from emulator.storage.files import NodeKilled
from emulator.storage.memory import MemoryFiles
from emulator.topology import Topology
from emulator.world import actions as act
from emulator.world.links import Rule
from emulator.world.simulated.chance import CALM, Draws, Latencies
from emulator.world.simulated.node import MachineFactory, SimulatedNode
from emulator.world.simulated.trace import Cause, Trace
from emulator.world.simulated.wire import EOF, End, Wire
from protocol.events import (
    ConnectionChanged,
    FaultAsked,
    FrameReceived,
    FrameSent,
    FrameStopped,
    MachineFault,
    NodeStarted,
    NodeStopped,
)
from protocol.framing import decode, encode
from protocol.machine import (
    CancelTimer,
    Close,
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Emit,
    Exit,
    Input,
    MessageReceived,
    Now,
    Open,
    Send,
    SetTimer,
    Started,
    StopRequested,
    TimerFired,
    TimerKey,
)
from protocol.messages.base import DIRECTIONS
from protocol.messages.leadership import LeaderAndIsrRequest

WALL_EPOCH_MS = 1_600_000_000_000.0
START_MS = 120.0
"""From the order to start a process to its first input; a broker's is drawn."""


class RunTooLong(Exception):
    """The bound on inputs or on virtual time was reached: the scenario does not end."""


class SimulatedWorld:
    """All nodes of a topology. `factories`: role -> how a node's machine is made for each life."""

    def __init__(
        self,
        topology: Topology,
        factory: MachineFactory,
        seed: int,
        *,
        latencies: Latencies = CALM,
        wire_events: bool = False,
        after_step: Callable[[SimulatedNode, float], None] | None = None,
    ) -> None:
        """`after_step(node, now_ms)`: called when a node has handled an input, or has died. It only looks."""
        self.topology = topology
        self.now_ms = 0.0
        self.inputs = 0
        self.trace = Trace()
        self.draws = Draws(seed, latencies)
        self._factory = factory
        self._after_step = after_step
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._seq = 0
        self._wire_events = wire_events
        self._cause: Cause = "start"
        self.in_force: dict[str, Rule] = {}
        self.nodes = {
            node.name: SimulatedNode(node, LinkState(node.name, self.draws.random.getrandbits(32)))
            for node in topology.nodes
        }
        self.stopped = False
        self.on_act: Callable[[SimulatedNode, act.Act], None] = self._act

    # --- the heap ---

    def at(self, at_ms: float, what: Callable[[], None]) -> None:
        """Do `what` at `at_ms`."""
        self._seq += 1
        heappush(self._heap, (at_ms, self._seq, what))

    def run(self, until: Callable[[], bool], *, max_ms: float = 3_600_000.0, max_inputs: int = 20_000_000) -> None:
        """Until the condition holds (looked at after every entry), or nothing is left. Raises RunTooLong."""
        heap = self._heap
        while heap and not until():
            at_ms, _, what = heappop(heap)
            if at_ms > max_ms or self.inputs > max_inputs:
                raise RunTooLong(f"{self.inputs} inputs until {at_ms:.0f} ms; bounds: {max_inputs}, {max_ms:.0f} ms")
            self.now_ms = at_ms
            what()

    # --- one input ---

    def _step(self, node: SimulatedNode, event: Input | act.ActDone, cause: Cause) -> None:
        machine = node.machine
        if machine is None:
            return
        if node.paused:
            incarnation = node.incarnation

            def later() -> None:
                if node.incarnation == incarnation:
                    self._step(node, event, cause)

            node.held.append(later)
            return
        now_ms = self.now_ms
        if node.busy_until_ms > now_ms:
            self._hold(node, event, cause)
            return
        self.inputs += 1
        self._cause = cause
        try:
            effects = machine.step(Now(now_ms, WALL_EPOCH_MS + now_ms), event)  # type: ignore[arg-type]
        except NodeKilled:
            self._die(node, "killed between two storage operations")
            return
        if node.stall_ms:
            self._stall(node, effects, cause)
            return
        if self._after_step is not None:
            self._after_step(node, now_ms)
        carry_out = self._carry_out
        for effect in effects:
            kind = type(effect)
            if kind is Send:
                self._send(node, effect)  # type: ignore[arg-type]
            elif kind is Emit:
                self.trace.add(node, cause, now_ms, effect.event)  # type: ignore[union-attr]
            elif kind is SetTimer:
                self._set_timer(node, effect.key, effect.after_ms)  # type: ignore[union-attr]
            else:
                carry_out(node, effect)
                if node.machine is not machine:
                    return

    def _hold(self, node: SimulatedNode, event: Input | act.ActDone, cause: Cause) -> None:
        """A node that is stalled takes its inputs when it goes on, in order."""
        incarnation = node.incarnation

        def later() -> None:
            if node.incarnation == incarnation:
                self._step(node, event, cause)

        self.at(node.busy_until_ms, later)

    def _stall(self, node: SimulatedNode, effects: list[Effect], cause: Cause) -> None:
        """The step took its time: what it ordered happens at its end."""
        machine = node.machine
        node.busy_until_ms = self.now_ms + node.stall_ms
        node.stall_ms = 0.0

        def finish() -> None:
            node.busy_until_ms = 0.0
            self._cause = cause
            if self._after_step is not None and node.machine is machine:
                self._after_step(node, self.now_ms)
            for effect in effects:
                if node.machine is machine:
                    self._carry_out(node, effect)

        self.at(node.busy_until_ms, finish)

    def _before_storage(self, node: SimulatedNode, operation: str, path: str) -> None:
        if operation == "make_directory":
            node.stall_ms += self.draws.stall_ms()
        if node.before_storage is not None:
            node.before_storage(operation, path)

    def _carry_out(self, node: SimulatedNode, effect: Effect | act.Act) -> None:
        match effect:
            case Send():
                self._send(node, effect)
            case SetTimer(key, after_ms):
                self._set_timer(node, key, after_ms)
            case Emit(event):
                self.trace.add(node, self._cause, self.now_ms, event)
            case CancelTimer(key):
                node.timers.pop(key, None)
            case Open():
                self._open(node, effect)
            case Close(connection):
                end = node.ends.pop(connection, None)
                if end is not None:
                    self._close(end, "closed")
            case Exit(code, reason):
                node.died = (code, reason)
                self.trace.add(node, self._cause, self.now_ms, NodeStopped(code, reason))
                self._die(node, reason)
            case act.Act():
                self.on_act(node, effect)
            case _:
                raise AssertionError(effect)

    # --- timers ---

    def _set_timer(self, node: SimulatedNode, key: TimerKey, after_ms: float) -> None:
        node.timer_generation += 1
        generation = node.timer_generation
        node.timers[key] = generation

        def due() -> None:
            if node.timers.get(key) == generation:
                if not node.paused:
                    del node.timers[key]
                    self._step(node, TimerFired(key), f"timer:{key[0]}")
                else:
                    node.held.append(due)

        self.at(self.now_ms + after_ms + self.draws.timer_ms(), due)

    # --- connections ---

    def _open(self, node: SimulatedNode, order: Open) -> None:
        wire = Wire(f"{node.node.name}.{node.incarnation}#{order.connection}", order.purpose)
        out, back = node.links.connect(order.to, order.purpose, True)
        end = End(wire, node.node.name, node.incarnation, order.connection, out, back)
        wire.opener = end
        node.ends[order.connection] = end
        end.opening = node.links.opening(out, back)
        self._connection_changed(node, end, order.to, "opening")
        self._syn(node, end, order.to)

    def _syn(self, node: SimulatedNode, end: End, to: str) -> None:
        """Try to reach the peer; again when the gate says so."""
        if end.closed or end.opening is None:
            return
        opening = end.opening
        stopped = opening.attempt(self.now_ms)
        if stopped is not None:
            self._look_again(opening.next_ms, lambda: self._syn_again(node, end, to))
            return
        node.links.forget(opening)
        end.opening = None
        incarnation = node.incarnation
        self.at(self.now_ms + self.draws.frame_ms(), lambda: self._arrive(node, incarnation, end, to))

    def _syn_again(self, node: SimulatedNode, end: End, to: str) -> None:
        opening = end.opening
        if end.closed or opening is None:
            return
        if opening.given_up(self.now_ms):
            self._lose(node, end, "connection timed out")
        elif opening.next_ms is not None and opening.next_ms > self.now_ms:
            self._look_again(opening.next_ms, lambda: self._syn_again(node, end, to))
        else:
            self._syn(node, end, to)

    def _arrive(self, node: SimulatedNode, incarnation: int, end: End, to: str) -> None:
        """The SYN is at the peer's: accepted if there is a process, refused if not."""
        if end.closed:
            return
        peer = self.nodes[to]
        if not peer.alive:
            self.at(self.now_ms + self.draws.frame_ms(), lambda: self._lose(node, end, "connection refused"))
            return
        peer.accepted += 1
        out, back = peer.links.connect(node.node.name, end.wire.purpose, False)
        other = End(end.wire, to, peer.incarnation, -peer.accepted, out, back)
        end.wire.acceptor = other
        end.peer, other.peer = other, end
        other.opened = True
        peer.ends[other.connection] = other
        self._connection_changed(peer, other, node.node.name, "accepted")
        accepted = ConnectionAccepted(other.connection, node.node.name, end.wire.purpose)
        self._step(peer, accepted, f"{end.wire.name}/0")

        def opened() -> None:
            if not end.closed:
                end.opened = True
                self._connection_changed(node, end, to, "opened")
                self._step(node, ConnectionOpened(end.connection), f"{end.wire.name}/0")

        back_ms = self.now_ms + self.draws.frame_ms()
        other.last_arrival_ms = back_ms
        self.at(back_ms, opened)

    def _lose(self, node: SimulatedNode, end: End, reason: str) -> None:
        """This end's machine hears that the connection is gone."""
        if end.closed:
            return
        self._end(end)
        node.ends.pop(end.connection, None)
        self._connection_changed(node, end, "", "lost", reason)
        self._step(node, ConnectionLost(end.connection, reason), f"{end.wire.name}/lost")

    def _close(self, end: End, reason: str) -> None:
        """This end is closed by its own process; the peer's kernel is told, behind what was sent."""
        node = self.nodes[end.node]
        self._end(end)
        self._connection_changed(node, end, end.peer.node if end.peer else "", "closed", reason)
        peer = end.peer
        if peer is not None and not peer.closed:
            at_ms = max(end.last_arrival_ms, self.now_ms + self.draws.frame_ms())
            self.at(at_ms, lambda: self._at_gate(peer, EOF, ""))

    def _end(self, end: End) -> None:
        end.closed = True
        links = self.nodes[end.node].links
        links.forget(end.out, end.back)
        if end.opening is not None:
            links.forget(end.opening)
            end.opening = None

    # --- frames ---

    def _send(self, node: SimulatedNode, order: Send) -> None:
        end = node.ends.get(order.connection)
        if end is None or not end.opened:
            assert end is None or order.connection < 0, f"{node.node.name} sends on a connection not yet open: {order}"
            return
        data = encode(order.message, order.correlation_id, order.version)
        end.sent += 1
        message = order.message
        if self._wire_events:
            assert end.peer is not None
            sent = FrameSent(
                end.wire.name, end.peer.node, end.wire.purpose, end.sent, message.API_NAME,
                DIRECTIONS[message.DIRECTION], order.correlation_id, len(data),
            )  # fmt: skip
            self.trace.add(node, self._cause, self.now_ms, sent)
        if type(message) is LeaderAndIsrRequest:
            self._first_leadership(end)
        if not end.out.calm:
            stopped = end.out.offer(self.now_ms, data, message.API_NAME)
            if stopped is not None:
                self._stopped(node, end, stopped, message.API_NAME, len(data))
                self._watch_gate(end, end.out)
                return
        self._travel(end, data)

    def _first_leadership(self, end: End) -> None:
        """The first LeaderAndIsr of a broker's life is slow, and what comes behind it on its connection."""
        peer = end.peer
        if peer is not None and self.nodes[peer.node].cold:
            self.nodes[peer.node].cold = False
            end.last_arrival_ms = max(end.last_arrival_ms, self.now_ms + self.draws.first_leadership_ms())

    def _travel(self, end: End, data: bytes) -> None:
        """Past the sender's gate: on its way, behind what went before."""
        peer = end.peer
        if peer is None:
            return
        at_ms = self.now_ms + self.draws.frame_ms()
        at_ms = max(end.last_arrival_ms, at_ms)
        end.last_arrival_ms = at_ms
        self._seq += 1
        heappush(self._heap, (at_ms, self._seq, lambda: self._at_gate(peer, data, "")))

    def _at_gate(self, end: End, data: bytes, api: str) -> None:
        """At the receiver's gate."""
        if end.closed:
            return
        if not end.back.calm:
            stopped = end.back.offer(self.now_ms, data, api)
            if stopped is not None:
                self._stopped(self.nodes[end.node], end, stopped, api, len(data))
                self._watch_gate(end, end.back)
                return
            self._note_link_events(self.nodes[end.node])
        self._receive(end, data)

    def _receive(self, end: End, data: bytes) -> None:
        node = self.nodes[end.node]
        if data is EOF:
            self._lose(node, end, "closed by peer")
            return
        end.received += 1
        frame = decode(memoryview(data)[4:])
        name = end.wire.name
        if self._wire_events:
            assert end.peer is not None
            received = FrameReceived(
                name, end.peer.node, end.wire.purpose, end.received, frame.message.API_NAME,
                DIRECTIONS[frame.message.DIRECTION], frame.correlation_id, len(data),
            )  # fmt: skip
            self.trace.add(node, (name, end.received), self.now_ms, received)
        event = MessageReceived(end.connection, frame.correlation_id, frame.version, frame.message)
        self._step(node, event, (name, end.received))

    def _watch_gate(self, end: End, path: Path) -> None:
        """Look at a shut gate again when it may open."""
        self._look_again(path.next_ms, lambda: self._pass_gate(end, path))

    def _look_again(self, at_ms: float | None, what: Callable[[], None]) -> None:
        if at_ms is not None:
            self.at(max(at_ms, self.now_ms), what)

    def _pass_gate(self, end: End, path: Path) -> None:
        if end.closed:
            return
        if path.given_up(self.now_ms):
            self._lose(self.nodes[end.node], end, "connection timed out")
            return
        passing: list[Any] = path.take(self.now_ms)
        self._note_link_events(self.nodes[end.node])
        for data in passing:
            if path.outgoing:
                self._travel(end, data)
            else:
                self._receive(end, data)
        if not path.calm and path.next_ms is not None and path.next_ms > self.now_ms:
            self._watch_gate(end, path)

    # --- what is done to nodes ---

    def start(self, name: str) -> None:
        """Begin a life."""
        node = self.nodes[name]
        assert not node.alive, f"{name} is alive"
        node.incarnation += 1
        node.seq = 0
        node.accepted = 0
        node.paused = False
        node.cold = True
        node.died = None
        node.timers.clear()
        node.busy_until_ms = node.stall_ms = 0.0
        node.files.capacity_bytes = None
        if "broker" in node.node.roles:
            node.files.operation_hook = lambda operation, path: self._before_storage(node, operation, path)
        node.machine = self._factory(node.node, node.files)
        event = NodeStarted(",".join(node.node.roles), node.node.az, "", "")
        self.trace.add(node, "start", self.now_ms, event)
        self._step(node, Started(self.draws.random.getrandbits(48), node.incarnation), "start")

    def _die(self, node: SimulatedNode, reason: str) -> None:
        """The process is gone; its kernel closes what it had open."""
        node.machine = None
        node.paused = False
        node.held.clear()
        node.timers.clear()
        if self._after_step is not None:
            self._after_step(node, self.now_ms)
        ends, node.ends = list(node.ends.values()), {}
        for end in ends:
            self._close(end, reason)

    def kill(self, name: str, what: str = "kill") -> None:
        """SIGKILL; a dead node stays dead."""
        node = self.nodes[name]
        if node.alive:
            self.trace.add(node, "fault", self.now_ms, MachineFault(what, name))
            self._die(node, "killed")

    def stop(self, name: str) -> None:
        """SIGTERM."""
        node = self.nodes[name]
        self.trace.add(node, "fault", self.now_ms, MachineFault("stop", name))
        self._step(node, StopRequested(), "stop")

    def pause(self, name: str) -> None:
        """SIGSTOP: inputs wait."""
        node = self.nodes[name]
        self.trace.add(node, "fault", self.now_ms, MachineFault("pause", name))
        node.paused = True

    def resume(self, name: str) -> None:
        """SIGCONT: what waited is handled in order."""
        node = self.nodes[name]
        self.trace.add(node, "fault", self.now_ms, MachineFault("resume", name))
        node.paused = False
        held, node.held = list(node.held), type(node.held)()
        for what in held:
            what()

    def fill_disk(self, name: str) -> None:
        """Its disk takes nothing more in this life; who starts it again has made room."""
        node = self.nodes[name]
        self.trace.add(node, "fault", self.now_ms, MachineFault("disk-full", name))
        node.files.capacity_bytes = node.files.used_bytes

    def apply(self, rule: Rule) -> None:
        """In force at every node at once."""
        self.in_force[rule.rule] = rule
        for node in self.nodes.values():
            node.links.apply(self.now_ms, rule)
            self._note_link_events(node)

    def heal(self, rule_id: str) -> dict[str, int]:
        """Lift a rule everywhere; {node: frames stopped}."""
        self.in_force.pop(rule_id, None)
        for node in self.nodes.values():
            node.links.heal(self.now_ms, rule_id)
            self._note_link_events(node)
        for node in self.nodes.values():
            for end in list(node.ends.values()):
                self._recheck(node, end)
        return {name: node.links.frames_stopped.get(rule_id, 0) for name, node in self.nodes.items()}

    def _recheck(self, node: SimulatedNode, end: End) -> None:
        """After a heal every gate may open at another time."""
        if end.opening is not None:
            to = end.out.receiver
            self._look_again(end.opening.next_ms, lambda: self._syn_again(node, end, to))
        for path in (end.out, end.back):
            if not path.calm:
                self._watch_gate(end, path)

    def _note_link_events(self, node: SimulatedNode) -> None:
        for event in node.links.take_events():
            self.trace.add(node, "link", self.now_ms, event)

    def _stopped(self, node: SimulatedNode, end: End, stopped: Stopped, api: str, size_bytes: int) -> None:
        if self._wire_events:
            peer = end.out.receiver
            event = FrameStopped(end.wire.name, peer, end.wire.purpose, stopped.rule, stopped.action, api, size_bytes)
            self.trace.add(node, self._cause, self.now_ms, event)

    def _connection_changed(self, node: SimulatedNode, end: End, peer: str, change: str, reason: str = "") -> None:
        if self._wire_events:
            event = ConnectionChanged(end.wire.name, peer, end.wire.purpose, change, reason)
            self.trace.add(node, self._cause, self.now_ms, event)

    # --- the player's actions ---

    def _act(self, node: SimulatedNode, order: act.Act) -> None:
        """Carry out an action and tell the player."""
        number = order.number
        result: dict[str, Any] = {}
        error = ""

        def done() -> None:
            self._step(node, act.ActDone(number, result, error), f"act:{number}")

        match order.action:
            case act.StartNode(name):
                if self.nodes[name].alive:
                    error = f"{name} is alive"
                else:
                    broker = "broker" in self.nodes[name].node.roles
                    takes_ms = self.draws.start_ms() if broker else START_MS
                    self.at(self.now_ms + takes_ms, lambda: self.start(name))
            case act.KillNode(name):
                self.kill(name)
            case act.StopNode(name):
                self.stop(name)
                self._when_dead(name, done)
                return
            case act.PauseNode(name):
                self.pause(name)
            case act.ResumeNode(name):
                self.resume(name)
            case act.PowerLoss(name, batches_kept):
                self._power_loss(name, batches_kept)
            case act.LoseUnsynced(name, partition, batches_kept):
                inspect.keep_batches(self.nodes[name].files, partition, batches_kept)
                self.trace.add(self.nodes[name], "fault", self.now_ms, MachineFault("lose-unsynced", name))
            case act.DiskFull(name):
                self.fill_disk(name)
            case act.ApplyRule(rule):
                asked = FaultAsked(rule.rule, rule.what, rule.expects_traffic)
                self.trace.add(node, self._cause, self.now_ms, asked)
                self.apply(rule)
            case act.HealRules(rules):
                result = {"frames_stopped": {rule: self.heal(rule) for rule in rules or tuple(self.in_force)}}
            case act.Snapshot(partition, names):
                result = {name: self._look(name, inspect.read_partition, partition) for name in names}
            case act.Batches(partition, names):
                result = {name: self._look(name, inspect.batches_of, partition) for name in names}
            case other:
                raise AssertionError(other)
        self.at(self.now_ms + 1.0, done)

    def _look(self, name: str, read: Callable[[MemoryFiles, str], Any], partition: str) -> Any:
        """What the world itself reads is no storage operation of the node's: nobody dies of being looked at."""
        files = self.nodes[name].files
        hook, files.operation_hook = files.operation_hook, None
        found = read(files, partition)
        files.operation_hook = hook
        return found

    def _when_dead(self, name: str, done: Callable[[], None]) -> None:
        if self.nodes[name].alive:
            self.at(self.now_ms + 20.0, lambda: self._when_dead(name, done))
        else:
            done()

    def _power_loss(self, name: str, batches_kept: int) -> None:
        """Everything past what was synced may be lost; the seed, or the caller, says how much."""
        self.kill(name, "power-loss")
        random = self.draws.random
        self.nodes[name].files.power_loss(lambda path, synced, size: random.randint(synced, size))
        if batches_kept >= 0:
            for directory in self.nodes[name].files.list(""):
                if "-" in directory and self.nodes[name].files.list(directory):
                    inspect.keep_batches(self.nodes[name].files, directory, batches_kept)
