"""A small deterministic world for tests: nodes, one heap of (time, number), links.

Links follow emulator/faults/links.py: a cut black-holes, data flows again at the sender's next retransmission after
the heal. A killed node's connections are reset at the other end, unless a cut swallows the reset. Frames go through the
real codec, so that nodes share no objects.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from emulator.faults.links import SYN, retransmission_at
from protocol.chance import Chance
from protocol.events import Event
from protocol.framing import decode, encode
from protocol.link_rules import LinkRule
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
    Machine,
    MessageReceived,
    Now,
    Open,
    Send,
    SetTimer,
    Started,
    StopRequested,
    TimerFired,
)
from protocol.outbox import Outbox

WALL_START_MS = 1_700_000_000_000.0


@dataclass
class Node:
    name: str
    make: Callable[[], Machine]
    machine: Machine | None = None
    incarnation: int = 0
    paused: bool = False
    inbox: list[Input] = field(default_factory=list)
    timers: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    ends: dict[int, "tuple[Connection, int]"] = field(default_factory=dict)
    next_accepted: int = -1
    steps: int = 0


class Connection:
    """`ends[0]` opened it. `ids[side]` is its number there, None once that end is done with it."""

    def __init__(self, opener: Node, acceptor: Node, purpose: str, opener_id: int) -> None:
        self.nodes = (opener, acceptor)
        self.purpose = purpose
        self.ids: list[int | None] = [opener_id, None]
        self.stuck: tuple[list[bytes | None], list[bytes | None]] = ([], [])
        self.first_lost_ms = [0.0, 0.0]
        self.arrives_ms = [0.0, 0.0]


class World:
    """Nodes, links and one clock.
    `now_ms` is the monotonic clock of all nodes. `events`: (time, node, event).
    """

    def __init__(self, seed: int) -> None:
        self.chance = Chance(seed)
        self.now_ms = 0.0
        self.nodes: dict[str, Node] = {}
        self.rules: list[LinkRule] = []
        self.events: list[tuple[float, str, Event]] = []
        self.after_step: list[Callable[[Node], None]] = []
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self._connections: list[Connection] = []

    # --- orders ---------------------------------------------------------------------------------------------

    def add(self, name: str, make: Callable[[], Machine]) -> Node:
        node = self.nodes[name] = Node(name, make)
        return node

    def start(self, *names: str) -> None:
        for name in names:
            node = self.nodes[name]
            assert node.machine is None, f"{name} runs"
            node.machine = node.make()
            node.incarnation += 1
            self._deliver(node, Started(self.chance.below(1 << 32), node.incarnation))

    def kill(self, name: str) -> None:
        node = self.nodes[name]
        if node.machine is None:
            return
        node.machine = None
        node.paused = False
        node.inbox.clear()
        node.timers.clear()
        for connection, side in list(node.ends.values()):
            connection.ids[side] = None
            self._transmit(connection, side, None)
        node.ends.clear()

    def stop(self, name: str) -> None:
        self._deliver(self.nodes[name], StopRequested())

    def pause(self, name: str) -> None:
        self.nodes[name].paused = True

    def resume(self, name: str) -> None:
        node = self.nodes[name]
        node.paused = False
        inbox, node.inbox = node.inbox, []
        for event in inbox:
            self._deliver(node, event)

    def cut(self, rule: str, a: tuple[str, ...], b: tuple[str, ...], *, one_way: bool = False) -> None:
        self.rules.append(LinkRule(rule, rule, "cut", a, b, one_way))

    def isolate(self, rule: str, inside: tuple[str, ...]) -> None:
        self.cut(rule, inside, tuple(name for name in self.nodes if name not in inside and name != "observer"))

    def heal(self, rule: str = "") -> None:
        """Without a name: everything."""
        self.rules = [r for r in self.rules if rule and r.rule != rule]
        for connection in self._connections:
            for side in (0, 1):
                if connection.stuck[side]:
                    self._retransmit(connection, side)

    def run_until(self, end_ms: float) -> None:
        while self._heap and self._heap[0][0] <= end_ms:
            self.now_ms, _, action = heapq.heappop(self._heap)
            action()
        self.now_ms = end_ms

    def run_for(self, ms: float) -> None:
        self.run_until(self.now_ms + ms)

    def wait_for(self, condition: Callable[[], bool], within_ms: float, what: str = "") -> float:
        """Runs input by input until the condition holds; how long it took."""
        began_ms, end_ms = self.now_ms, self.now_ms + within_ms
        while not condition():
            assert self._heap and self._heap[0][0] <= end_ms, f"not within {within_ms} ms: {what or condition}"
            self.now_ms, _, action = heapq.heappop(self._heap)
            action()
        return self.now_ms - began_ms

    def at(self, when_ms: float, action: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._heap, (max(when_ms, self.now_ms), self._number, action))

    def act(self, name: str, order: Callable[[Now, Outbox], None]) -> None:
        """Gives an order to a component of a node, as if it were an input.
        The machine's `out` collects the effects.
        """
        node = self.nodes[name]
        out = getattr(node.machine, "out", None)
        assert isinstance(out, Outbox), f"{name} takes no orders"
        order(self.now(), out)
        self._perform(node, out.take())

    def now(self) -> Now:
        return Now(self.now_ms, WALL_START_MS + self.now_ms)

    # --- machinery ------------------------------------------------------------------------------------------

    def _latency_ms(self) -> float:
        return self.chance.between(0.2, 0.7)

    def _deliver(self, node: Node, event: Input) -> None:
        if node.machine is None:
            return
        if node.paused:
            node.inbox.append(event)
            return
        node.steps += 1
        effects = node.machine.step(self.now(), event)
        self._perform(node, effects)
        for check in self.after_step:
            check(node)

    def _perform(self, node: Node, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(connection, correlation_id, version, message):
                    if connection in node.ends:
                        there, side = node.ends[connection]
                        self._transmit(there, side, encode(message, correlation_id, version))
                case SetTimer(key, after_ms):
                    self._number += 1
                    node.timers[key] = self._number
                    self.at(self.now_ms + after_ms, self._timer(node, key, self._number, node.incarnation))
                case CancelTimer(key):
                    node.timers.pop(key, None)
                case Emit(event):
                    self.events.append((self.now_ms, node.name, event))
                case Open(connection, to, purpose):
                    opened = Connection(node, self.nodes[to], purpose, connection)
                    node.ends[connection] = (opened, 0)
                    self._connections.append(opened)
                    self._knock(opened, self.now_ms)
                case Close(connection):
                    if connection in node.ends:
                        there, side = node.ends.pop(connection)
                        there.ids[side] = None
                        self._transmit(there, side, None)
                case Exit():
                    self.kill(node.name)
                    return

    def _timer(self, node: Node, key: tuple[str | int, ...], number: int, incarnation: int) -> Callable[[], None]:
        def fire() -> None:
            if node.incarnation == incarnation and node.timers.get(key) == number and node.machine is not None:
                if node.paused:
                    self.at(self.now_ms + 50.0, fire)
                    return
                del node.timers[key]
                self._deliver(node, TimerFired(key))

        return fire

    def _passes(self, connection: Connection, side: int) -> bool:
        sender, receiver = connection.nodes[side].name, connection.nodes[1 - side].name
        opener = connection.nodes[0].name
        return not any(rule.matches(sender, receiver, opener, connection.purpose) for rule in self.rules)

    def _knock(self, connection: Connection, first_ms: float) -> None:
        """SYN; repeated after 1, 2, 3 ... s while a cut swallows it."""
        opener, acceptor = connection.nodes
        if connection.ids[0] is None:
            return
        if not (self._passes(connection, 0) and self._passes(connection, 1)):
            again_ms = retransmission_at(first_ms, self.now_ms + 1.0, SYN)
            self.at(again_ms, lambda: self._knock(connection, first_ms))
            return
        there_ms = self.now_ms + self._latency_ms()

        def arrive() -> None:
            if acceptor.machine is None:
                self.at(self.now_ms + self._latency_ms(), lambda: self._lose(connection, 0, "refused"))
                return
            number = acceptor.next_accepted
            acceptor.next_accepted -= 1
            connection.ids[1] = number
            acceptor.ends[number] = (connection, 1)
            back_ms = self.now_ms + self._latency_ms()
            connection.arrives_ms[1] = back_ms
            self.at(back_ms, confirm)
            self._deliver(acceptor, ConnectionAccepted(number, opener.name, connection.purpose))

        def confirm() -> None:
            if connection.ids[0] is not None:
                self._deliver(opener, ConnectionOpened(connection.ids[0]))

        self.at(there_ms, arrive)

    def _transmit(self, connection: Connection, side: int, frame: bytes | None) -> None:
        """`frame` None: the end of the stream."""
        if connection.stuck[side] or not self._passes(connection, side):
            if not connection.stuck[side]:
                connection.first_lost_ms[side] = self.now_ms
            connection.stuck[side].append(frame)
            return
        at_ms = max(self.now_ms + self._latency_ms(), connection.arrives_ms[side])
        connection.arrives_ms[side] = at_ms
        self.at(at_ms, lambda: self._arrive(connection, side, frame))

    def _arrive(self, connection: Connection, side: int, frame: bytes | None) -> None:
        if frame is None:
            self._lose(connection, 1 - side, "closed by peer")
            return
        number = connection.ids[1 - side]
        if number is not None:
            got = decode(frame[4:])
            receiver = connection.nodes[1 - side]
            self._deliver(receiver, MessageReceived(number, got.correlation_id, got.version, got.message))

    def _lose(self, connection: Connection, side: int, reason: str) -> None:
        number = connection.ids[side]
        if number is not None:
            connection.ids[side] = None
            node = connection.nodes[side]
            node.ends.pop(number, None)
            self._deliver(node, ConnectionLost(number, reason))

    def _retransmit(self, connection: Connection, side: int) -> None:
        at_ms = retransmission_at(connection.first_lost_ms[side], self.now_ms)

        def flush() -> None:
            if connection.stuck[side] and self._passes(connection, side):
                frames = list(connection.stuck[side])
                connection.stuck[side].clear()
                for frame in frames:
                    self._transmit(connection, side, frame)

        self.at(at_ms, flush)
