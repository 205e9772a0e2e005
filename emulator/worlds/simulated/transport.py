"""Connections of a simulated world: opened, refused, lost.

Frames that travel and wait at gates.

A part of `world.SimulatedWorld`, which inherits it: a frame's look-ups happen once, not twice.
"""

from abc import abstractmethod
from collections.abc import Callable
from heapq import heappush
from typing import Any, Final

from emulator.faults.actions import ActDone
from emulator.faults.link_paths import Path, Stopped
from emulator.faults.links import DATA, retransmission_of
from emulator.topology import identifier_of
from emulator.worlds.simulated.in_flight_frame import Parcel
from emulator.worlds.simulated.latencies import Bounded
from emulator.worlds.simulated.latency_model import Draws
from emulator.worlds.simulated.node import SimulatedNode
from emulator.worlds.simulated.simulated_wire import EOF, End, Wire
from emulator.worlds.simulated.trace import Cause, Trace
from protocol.events import ConnectionChanged, FrameReceived, FrameSent, FrameStopped
from protocol.framing import decode_body, encode_body
from protocol.machine import (
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    Input,
    Loss,
    MessageReceived,
    Open,
    Send,
)
from protocol.messages.kraft_messages import BrokerHeartbeatResponse
from protocol.messages.leadership_messages import LeaderAndIsrRequest, MetadataRequest
from protocol.messages.message_base import DIRECTIONS, Message
from protocol.messages.quorum_messages import QuorumFetchResponse, VoteRequest
from protocol.messages.replication_messages import FetchRequest, FetchResponse, ProduceRequest
from protocol.messages.session_messages import GetChildren, SessionRequest
from protocol.znodes import BROKER_IDS

SLOW_AT_FIRST: dict[type[Message], Bounded] = {
    LeaderAndIsrRequest: "first_leadership_ms",
    ProduceRequest: "first_produce_ms",
    FetchResponse: "first_fetch_ms",
    SessionRequest: "first_failover_ms",
    BrokerHeartbeatResponse: "first_heartbeat_ms",
}
"""Messages whose first handling takes a broker longer."""
SLOW_TO_SEND: tuple[Bounded, ...] = ("first_fetch_ms", "first_failover_ms")
"""Those that it sends: an answer to a follower, a new controller's request for the brokers.

It receives the others.
"""
PUBLISHES: Final = "publish_ms"
ALWAYS_SLOW: dict[type[Message], Bounded] = {
    VoteRequest: "vote_ms",
    MetadataRequest: "metadata_ms",
    QuorumFetchResponse: PUBLISHES,
}
"""Messages that take longer each time."""
APPENDS: Final = "first_append_begun"
APPENDED: Final = "first_append_ms"
"""Marks of a follower's first append: records are on their way, it has appended them."""
WHO_IS_THERE = GetChildren(BROKER_IDS, watch=True)


Entry = tuple[float, int, Callable[..., None], tuple[Any, ...]]
"""(at_ms, seq, function, its arguments): of the heap."""


class Transport:
    """`nodes` by name; `cause`: the input being handled."""

    nodes: dict[str, SimulatedNode]
    now_ms: float
    draws: Draws
    trace: Trace
    cause: Cause
    _wire_events: bool
    _delays_first_append: bool
    _heap: list[Entry]
    _seq: int

    @abstractmethod
    def at(self, at_ms: float, what: Callable[..., None], *arguments: Any) -> None:
        """Do `what` at `at_ms`."""

    @abstractmethod
    def _step(self, node: SimulatedNode, event: Input | ActDone, cause: Cause) -> None:
        """Give a node's machine an input."""

    # --- connections ---

    def _open(self, node: SimulatedNode, order: Open) -> None:
        wire = Wire(f"{node.node.name}.{node.incarnation}#{order.connection}", order.purpose)
        out, back = node.links.connect(self.now_ms, order.to, order.purpose, True)
        end = End(wire, node.node.name, node.incarnation, order.connection, out, back)
        wire.opener = end
        node.ends[order.connection] = end
        end.opening = node.links.opening(out, back)
        self._connection_changed(node, end, order.to, "opening")
        self._syn(node, end, order.to)

    def _syn(self, node: SimulatedNode, end: End, to: str) -> None:
        """Try to reach the peer; again at the gate's next time."""
        if end.closed or end.opening is None:
            return
        opening = end.opening
        stopped = opening.attempt(self.now_ms)
        if stopped is not None:
            self._look_again(opening.next_ms, self._syn_again, node, end, to)
            return
        node.links.forget(opening)
        end.opening = None
        incarnation = node.incarnation
        self.at(self.now_ms + self.draws.frame_ms(end.node, to), self._arrive, node, incarnation, end, to)

    def _syn_again(self, node: SimulatedNode, end: End, to: str) -> None:
        opening = end.opening
        if end.closed or opening is None:
            return
        if opening.given_up(self.now_ms):
            self._lose(node, end, Loss.TIMED_OUT)
        elif opening.next_ms is not None and opening.next_ms > self.now_ms:
            self._look_again(opening.next_ms, self._syn_again, node, end, to)
        else:
            self._syn(node, end, to)

    def _arrive(self, node: SimulatedNode, incarnation: int, end: End, to: str) -> None:
        """Handle a SYN at the peer: accept it if there is a process, else refuse it."""
        if end.closed:
            return
        peer = self.nodes.get(to)
        if peer is None or not peer.alive:
            refused_ms = self.now_ms + self.draws.frame_ms(to, end.node)
            self.at(refused_ms, self._lose, node, end, Loss.REFUSED)
            return
        peer.accepted += 1
        out, back = peer.links.connect(self.now_ms, node.node.name, end.wire.purpose, False)
        other = End(end.wire, to, peer.incarnation, -peer.accepted, out, back)
        end.wire.acceptor = other
        end.peer, other.peer = other, end
        other.opened = True
        peer.ends[other.connection] = other
        self._watch_end(other)
        self._connection_changed(peer, other, node.node.name, "accepted")
        accepted = ConnectionAccepted(other.connection, node.node.name, end.wire.purpose)
        self._step(peer, accepted, f"{end.wire.name}/0")
        back_ms = self.now_ms + self.draws.frame_ms(to, end.node)
        other.last_arrival_ms = max(other.last_arrival_ms, back_ms)
        self.at(back_ms, self._stand, end)

    def _stand(self, end: End) -> None:
        """Open the connection at the opener.

        The peer's answer to the SYN has arrived, or a frame behind it.
        """
        if end.closed or end.opened:
            return
        node = self.nodes[end.node]
        end.opened = True
        self._connection_changed(node, end, end.out.receiver, "opened")
        self._step(node, ConnectionOpened(end.connection), f"{end.wire.name}/0")

    def _lose(self, node: SimulatedNode, end: End, loss: Loss) -> None:
        """Report the loss of the connection to this end's machine."""
        if end.closed:
            return
        self._end(end)
        node.links.forget(end.out)
        node.ends.pop(end.connection, None)
        self._connection_changed(node, end, "", "refused" if loss is Loss.REFUSED else "lost", loss.value)
        if loss in (Loss.TIMED_OUT, Loss.RESET) and end.peer is not None and not end.peer.closed:
            self._travel(end, EOF)  # a cut hides it from the peer, until it is over
        self._step(node, ConnectionLost(end.connection, loss.value, loss), f"{end.wire.name}/lost")

    def _close(self, end: End, reason: str, *, kernel_lives: bool = True) -> None:
        """Close this end by its own process, or with it.

        The end of the stream goes out behind the frames.

        `kernel_lives` false: frames at the gate are lost.
        """
        node = self.nodes[end.node]
        self._end(end)
        self._connection_changed(node, end, end.peer.node if end.peer else "", "closed", reason)
        if end.peer is None or end.peer.closed:
            node.links.forget(end.out)
            return
        if kernel_lives and not end.out.calm:
            end.out.orphan(self.now_ms)
            stopped = end.out.offer(self.now_ms, EOF, ends=True)
            if stopped is not None:
                self._stopped(node, end, stopped, "", 0)
                node.leaving[end] = None
                self._watch_gate(end, end.out)
                return
        self._leave(node, end)

    def _let_go(self, node: SimulatedNode) -> None:
        """Drop the frames of ended processes that need a heal to pass, as in the network world.

        See docs/not-modelled.md. The receiver's gate stops the end of the stream until the heal. Some machines' kernels
        keep the frames of a share of the connections.
        """
        for end in tuple(node.leaving):
            has_ended = end.incarnation != node.incarnation or not node.alive
            if has_ended and not end.out.passes_by_itself and not end.outlives:
                end.outlives = self.draws.outlives(node.node.name)
                if not end.outlives:
                    self._leave(node, end)

    def _leave(self, node: SimulatedNode, end: End) -> None:
        """Send the end of the stream: it is past the gate, or the frames before it are given up."""
        node.leaving.pop(end, None)
        node.links.forget(end.out)
        self._travel(end, EOF)

    def _end(self, end: End) -> None:
        """Mark an end as closed: no input comes of it any more."""
        end.closed = True
        links = self.nodes[end.node].links
        links.forget(end.back)
        if end.opening is not None:
            links.forget(end.opening)
            end.opening = None

    # --- frames ---

    def _send(self, node: SimulatedNode, order: Send) -> None:
        end = node.ends.get(order.connection)
        if end is None or not end.opened:
            assert end is None or order.connection < 0, f"{node.node.name} sends on a connection not yet open: {order}"
            return
        message = order.message
        kind = type(message)
        parcel = Parcel(kind, order.correlation_id, order.version, encode_body(message))
        end.sent += 1
        if self._wire_events:
            assert end.peer is not None
            sent = FrameSent(
                end.wire.name, end.peer.node, end.wire.purpose, end.sent, message.API_NAME,
                DIRECTIONS[message.DIRECTION], order.correlation_id, parcel.frame_bytes,
            )  # fmt: skip
            self.trace.add(node, self.cause, self.now_ms, sent)
        slow = SLOW_AT_FIRST.get(kind)
        if slow is not None:
            self._first_of_its_kind(node, end, message, slow)
        if self._delays_first_append:
            self._first_append(node, end, message)
        slow = ALWAYS_SLOW.get(kind)
        if slow is not None and getattr(self.draws.latencies, slow)[1] and (slow != PUBLISHES or self._publishes(end)):
            late_ms = self.draws.takes_ms(node.node.name, slow)
            end.last_arrival_ms = max(end.last_arrival_ms, self.now_ms + late_ms)
        if not end.out.calm:
            size_bytes = parcel.frame_bytes
            of = retransmission_of(message, size_bytes)
            stopped = end.out.offer(self.now_ms, parcel, message.API_NAME, of, size_bytes)
            if stopped is not None:
                self._stopped(node, end, stopped, message.API_NAME, size_bytes)
                self._watch_gate(end, end.out)
                return
        self._travel(end, parcel)

    def _first_of_its_kind(self, sender: SimulatedNode, end: End, message: Message, kind: Bounded) -> None:
        """Delay the first message of its kind in an incarnation, and the connection behind it.

        `kind`: see SLOW_AT_FIRST.
        """
        if end.peer is None:
            return
        slow = sender if kind in SLOW_TO_SEND else self.nodes[end.peer.node]
        if kind in slow.warm or (isinstance(message, SessionRequest) and message.ops != [WHO_IS_THERE]):
            return
        late_ms = self.draws.takes_ms(slow.node.name, kind)
        if isinstance(message, LeaderAndIsrRequest):
            me = identifier_of(slow.node)
            if any(state.leader == me for state in message.partitions):
                late_ms += self.draws.latencies.first_leader_more_ms
        slow.warm.add(kind)
        end.last_arrival_ms = max(end.last_arrival_ms, self.now_ms + late_ms)

    def _publishes(self, end: End) -> bool:
        """Whether the receiver of metadata is a broker, which publishes them."""
        return end.peer is not None and "broker" in self.nodes[end.peer.node].node.roles

    def _first_append(self, sender: SimulatedNode, end: End, message: Message) -> None:
        """Delay a follower's fetch after its first append in an incarnation."""
        if isinstance(message, FetchResponse) and end.peer is not None:
            if any(one.records for one in message.partitions):
                self.nodes[end.peer.node].warm.add(APPENDS)
        elif isinstance(message, FetchRequest) and APPENDS in sender.warm and APPENDED not in sender.warm:
            sender.warm.add(APPENDED)
            late_ms = self.draws.takes_ms(sender.node.name, "first_append_ms")
            end.last_arrival_ms = max(end.last_arrival_ms, self.now_ms + late_ms)

    def _travel(self, end: End, parcel: Parcel | None) -> None:
        """Send a parcel past the sender's gate on its way, behind those before it."""
        peer = end.peer
        if peer is None:
            return
        at_ms = self.now_ms + self.draws.frame_ms(end.node, peer.node)
        if at_ms < end.last_arrival_ms:
            at_ms = end.last_arrival_ms
        else:
            end.last_arrival_ms = at_ms
        self._seq += 1
        heappush(self._heap, (at_ms, self._seq, self._at_gate, (peer, parcel)))

    def _at_gate(self, end: End, parcel: Parcel | None, passed: bool = False) -> None:
        """Offer a parcel to the receiver's gate. `passed`: it has waited there already.

        A rule for some frames only stops frames in flight here.
        """
        if end.closed:
            return
        if not end.back.calm and not passed:
            api, of, size_bytes = "", DATA, 0
            if parcel is not EOF:
                message, size_bytes = decode_body(parcel.kind, parcel.body), parcel.frame_bytes
                api, of = message.API_NAME, retransmission_of(message, size_bytes)
            stopped = end.back.offer(self.now_ms, parcel, api, of, ends=parcel is EOF)
            if stopped is not None:
                self._stopped(self.nodes[end.node], end, stopped, api, size_bytes)
                self._watch_gate(end, end.back)
                return
            self._note_link_events(self.nodes[end.node])
        node = self.nodes[end.node]
        if not end.opened:
            self._stand(end)
        if parcel is EOF:
            self._lose(node, end, Loss.REFUSED if end.peer is not None and end.peer.refuses else Loss.CLOSED)
            return
        end.received = number = end.received + 1
        kind, cause = parcel.kind, (end.wire.name, number)
        if self._wire_events:
            assert end.peer is not None
            received = FrameReceived(
                end.wire.name, end.peer.node, end.wire.purpose, number, kind.API_NAME,
                DIRECTIONS[kind.DIRECTION], parcel.correlation_id, parcel.frame_bytes,
            )  # fmt: skip
            self.trace.add(node, cause, self.now_ms, received)
        message = decode_body(kind, parcel.body)
        self._step(node, MessageReceived(end.connection, parcel.correlation_id, parcel.version, message), cause)

    def _watch_gate(self, end: End, path: Path) -> None:
        """Look at a shut gate again when it may open."""
        self._look_again(path.next_ms, self._pass_gate, end, path)

    def _watch_end(self, end: End) -> None:
        """Look again when a rule ends the connection."""
        for path in (end.out, end.back):
            self._look_again(path.ends_ms, self._pass_gate, end, path)

    def _look_again(self, at_ms: float | None, what: Callable[..., None], *arguments: Any) -> None:
        if at_ms is not None:
            self.at(max(at_ms, self.now_ms), what, *arguments)

    def _pass_gate(self, end: End, path: Path) -> None:
        node = self.nodes[end.node]
        if end.closed and not (path.outgoing and end in node.leaving):
            return
        loss = path.loss(self.now_ms)
        if loss is not None:
            if end.closed:
                self._leave(node, end)
            else:
                self._lose(node, end, loss)
            return
        passing: list[Any] = path.take(self.now_ms)
        self._note_link_events(node)
        for parcel in passing:
            if path.outgoing and parcel is EOF:
                self._leave(node, end)
            elif path.outgoing:
                self._travel(end, parcel)
            else:
                self._at_gate(end, parcel, passed=True)
        if not path.calm and path.next_ms is not None and path.next_ms > self.now_ms:
            self._watch_gate(end, path)

    def _recheck(self, node: SimulatedNode, end: End) -> None:
        """After a heal every gate may open at another time."""
        if end.opening is not None:
            to = end.out.receiver
            self._look_again(end.opening.next_ms, self._syn_again, node, end, to)
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
            self.trace.add(node, self.cause, self.now_ms, event)

    def _connection_changed(self, node: SimulatedNode, end: End, peer: str, change: str, reason: str = "") -> None:
        if self._wire_events:
            event = ConnectionChanged(end.wire.name, peer, end.wire.purpose, change, reason)
            self.trace.add(node, self.cause, self.now_ms, event)
