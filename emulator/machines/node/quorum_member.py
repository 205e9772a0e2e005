"""A process' node in the quorum: its Raft machine, its metadata log on disk, its connections and its wake-ups.

Controllers vote, brokers observe. The process learns two things: committed batches, in order, and who leads.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from controller.quorum import quorum_inputs as q
from controller.quorum.quorum_features import features_of
from controller.quorum.quorum_node import QuorumNode
from controller.quorum.settings import QuorumSettings
from emulator.machines.node.metadata_log import ElectionFile, MetadataLog
from emulator.machines.node.quorum_connections import PeerConnection
from emulator.storage.files import Files
from emulator.topology import Node, Topology, identifier_named, identifier_of
from protocol.chance import Chance
from protocol.events import QuorumStateChanged
from protocol.ids import FIRST_OFFSET, NO_BROKER, BrokerId, LeaderEpoch, Offset
from protocol.machine import ConnectionAccepted, ConnectionEvent, ConnectionLost, MessageReceived, Now
from protocol.messages.quorum_messages import QuorumRequest, QuorumResponse
from protocol.outbox import Outbox
from protocol.records.metadata_codec import encode_metadata_record
from protocol.records.metadata_records import MetadataBatch, MetadataRecord

WAKE_UP: Final = ("quorum-wake-up",)


class QuorumMember:
    """A node of the quorum in one life of a process.

    `on_batches`: committed batches, each once, from the log's first on. `on_leader`: the notice of a leader (-1 none),
    as `controller.quorum.leader_notices` reports it. `on_failed`: the node cannot go on. They are called from
    `start`, from the member's own timers and connections, and from `deliver`, never from `append` or `resign`.
    """

    def __init__(
        self, node: Node, topology: Topology, settings: Mapping[str, Any], version: str, files: Files
    ) -> None:
        self.me = identifier_of(node)
        self._voters = topology.voters
        self._settings = QuorumSettings.from_settings(settings)
        self._version = version
        self._files = files
        self._node: QuorumNode | None = None
        self._log: MetadataLog | None = None
        self._peers: dict[BrokerId, PeerConnection] = {}
        self._senders: dict[tuple[BrokerId, int], int] = {}
        """{(sender, its correlation): the connection of a request without a response}"""
        self._accepted: dict[int, BrokerId] = {}
        self._notices: list[q.Committed | q.LeaderChanged | q.QuorumFailed] = []
        self._delivering = False
        self._next = FIRST_OFFSET
        self._emitted = ("", LeaderEpoch(-1), NO_BROKER)
        self._then: Callable[[], None] = lambda: None
        self.on_batches: Callable[[Now, Sequence[MetadataBatch]], None] = lambda now, batches: None
        self.on_leader: Callable[[Now, BrokerId, LeaderEpoch], None] = lambda now, leader, epoch: None
        self.on_failed: Callable[[Now, str], None] = lambda now, reason: None
        self.on_state: Callable[[Now], None] = lambda now: None
        """Called after each change of state, epoch or leader."""

    def start(self, now: Now, out: Outbox, chance: Chance) -> None:
        """Load the log and begin. Raises StorageError."""
        self._log = MetadataLog.open(self._files)
        features = features_of(self._version)
        store = ElectionFile(self._files)
        voters = sorted(self._voters)
        self._node = QuorumNode(self.me, voters, self._settings, features, self._log, store, chance.below)
        for voter, name in self._voters.items():
            if voter != self.me:
                self._peers[voter] = PeerConnection(
                    voter, name, self._settings.request_timeout_ms,
                    lambda now, peer, correlation, response: self._answered(now, out, peer, correlation, response),
                )  # fmt: skip
        self._input(now, out, q.QuorumStarted())
        self.deliver(now, out)

    # --- what the process knows and orders ---

    @property
    def started(self) -> bool:
        return self._node is not None

    @property
    def state_name(self) -> str:
        return self._node.state_name if self._node is not None else "none"

    @property
    def epoch(self) -> LeaderEpoch:
        return self._node.state.epoch if self._node is not None else LeaderEpoch(0)

    @property
    def leader(self) -> BrokerId:
        """The leader of this epoch, as far as this node knows; -1 none."""
        return self._node.state.leader if self._node is not None else NO_BROKER

    @property
    def leads(self) -> bool:
        return self._node is not None and self._node.state.name == "leader"

    @property
    def high_watermark(self) -> Offset:
        return self._node.state.high_watermark if self._node is not None else Offset(-1)

    @property
    def log_end(self) -> Offset:
        return self._log.end if self._log is not None else FIRST_OFFSET

    @property
    def end(self) -> Offset:
        """The offset of the next record that is appended, collected ones included."""
        pending = getattr(self._node.state, "pending", ()) if self._node is not None else ()
        return Offset(self.log_end + len(pending))

    def voter_name(self, voter: BrokerId) -> str | None:
        return self._voters.get(voter)

    def append(self, now: Now, out: Outbox, epoch: LeaderEpoch, records: Sequence[MetadataRecord]) -> Offset | None:
        """Append records in an epoch of this node's leadership; None: it does not lead in it."""
        values = [encode_metadata_record(record) for record in records]
        for effect in self._input(now, out, q.AppendRequested(epoch, values)):
            if isinstance(effect, q.Accepted):
                return effect.last_offset
        return None

    def resign(self, now: Now, out: Outbox, epoch: LeaderEpoch) -> None:
        self._input(now, out, q.ResignRequested(epoch))

    def shut_down(self, now: Now, out: Outbox, timeout_ms: int, then: Callable[[], None]) -> None:
        """Stop in order: hand over, then `then`, after `timeout_ms` at the latest."""
        self._then = then
        self._input(now, out, q.ShutdownRequested(timeout_ms))
        self.deliver(now, out)

    def deliver(self, now: Now, out: Outbox) -> None:
        """Call back with what has been committed and who leads. The process calls this at the end of a step."""
        if self._delivering:
            return
        self._delivering = True
        while self._notices:
            notice = self._notices.pop(0)
            if isinstance(notice, q.Committed):
                self._committed(now, notice)
            elif isinstance(notice, q.LeaderChanged):
                self.on_leader(now, notice.leader, notice.epoch)
            else:
                self.on_failed(now, notice.reason)
        self._delivering = False

    # --- connections ---

    def accept(self, event: ConnectionAccepted, out: Outbox) -> None:
        """Serve a peer's connection of purpose QUORUM."""
        self._accepted[event.connection] = identifier_named(event.peer)
        out.own(event.connection, self._on_accepted)

    def _on_accepted(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        connection = event.connection
        if isinstance(event, ConnectionLost):
            self._accepted.pop(connection, None)
        elif isinstance(event, MessageReceived) and isinstance(event.message, QuorumRequest):
            sender = self._accepted[connection]
            self._senders[sender, event.correlation_id] = connection
            self._input(now, out, q.RequestReceived(sender, event.correlation_id, event.message))
            self.deliver(now, out)

    def _answered(
        self, now: Now, out: Outbox, peer: BrokerId, correlation: int, response: QuorumResponse | None
    ) -> None:
        if response is None:
            self._input(now, out, q.RequestFailed(peer, correlation))
        else:
            self._input(now, out, q.ResponseReceived(peer, correlation, response))
        self.deliver(now, out)

    # --- the machine ---

    def _input(self, now: Now, out: Outbox, event: q.QuorumInput) -> list[q.QuorumEffect]:
        node = self._node
        if node is None or node.ended:
            return []
        effects = node.step(now, event)
        for effect in effects:
            if isinstance(effect, q.SendRequest):
                self._peers[effect.receiver].send(now, out, effect.correlation, effect.request)
            elif isinstance(effect, q.Respond):
                connection = self._senders.pop((effect.receiver, effect.correlation), 0)
                if connection in self._accepted:
                    out.send(connection, effect.response, effect.correlation)
            elif isinstance(effect, q.WakeUp):
                out.set_timer(WAKE_UP, max(0.0, effect.at_ms - now.mono_ms), self._woken_up)
            elif isinstance(effect, q.Committed | q.LeaderChanged | q.QuorumFailed):
                self._notices.append(effect)
            elif isinstance(effect, q.ShutdownCompleted):
                self._then()
        self._tell_state(now, out, node)
        return effects

    def _woken_up(self, now: Now, out: Outbox) -> None:
        self._input(now, out, q.WokenUp())
        self.deliver(now, out)

    def _tell_state(self, now: Now, out: Outbox, node: QuorumNode) -> None:
        seen = (node.state_name, node.state.epoch, node.state.leader)
        if seen != self._emitted:
            self._emitted = seen
            out.emit(QuorumStateChanged(*seen, self.log_end))
            self.on_state(now)

    def _committed(self, now: Now, notice: q.Committed) -> None:
        assert self._log is not None and notice.start == self._next, (notice, self._next)
        self._next = notice.end
        batches = self._log.decoded(notice.start, notice.end)
        if batches:
            self.on_batches(now, batches)
