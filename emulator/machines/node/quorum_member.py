"""Process' node in the quorum: its Raft machine, metadata log on disk and connections.

It also has the machine's wake-ups. Controllers vote, brokers observe. The process learns two things: committed batches,
in order, and who leads.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final

from controller.kraft.image_records import image_records
from controller.kraft.metadata_image import MetadataImage
from controller.quorum import quorum_inputs as q
from controller.quorum.leader_state import Leader
from controller.quorum.quorum_log import SnapshotId
from controller.quorum.quorum_node import QuorumNode
from controller.quorum.settings import QuorumSettings
from emulator.machines.node.controller_format import formatted
from emulator.machines.node.metadata_log import ElectionFile, MetadataLog
from emulator.machines.node.quorum_connections import PeerConnection
from emulator.machines.node.quorum_message_validation import is_valid_request, is_valid_response
from emulator.machines.node.snapshot_schedule import SnapshotSchedule
from emulator.storage.files import Files, StorageError
from emulator.topology import KRAFT, Node, Topology, identifier_of
from protocol.chance import Chance
from protocol.events import MetadataCommitted, MetadataSnapshot, QuorumStateChanged
from protocol.gates import gates_for
from protocol.ids import FIRST_OFFSET, NO_BROKER, BrokerId, LeaderEpoch, Offset
from protocol.machine import ConnectionAccepted, ConnectionEvent, ConnectionLost, MessageReceived, Now
from protocol.messages.message_base import Message
from protocol.messages.quorum_messages import QuorumRequest, QuorumResponse
from protocol.messages.voter_messages import AddRaftVoterRequest, RemoveRaftVoterRequest
from protocol.outbox import Outbox
from protocol.records.errors import RecordsError
from protocol.records.metadata_codec import encode_metadata_record
from protocol.records.metadata_records import MetadataBatch, MetadataRecord
from protocol.records.schema_fields import UnreadableRecord

WAKE_UP: Final = ("quorum-wake-up",)
OVERDUE_MS: Final = 100.0
"""Lateness of a wake-up after which it comes before other inputs: the process was paused."""
UNANSWERED_MAX: Final = 16
"""Bound of one connection's requests without a response.

A peer of Kafka's has one; more cost the connection.
"""


class QuorumMember:
    """A node of the quorum in one life of a process.

    `on_batches`: committed batches, each once, from the log's first on. `on_leader`: the notice of a leader (-1 none),
    as `controller.quorum.leader_notices` reports it. `on_failed`: the node cannot go on, because of its disk or of a
    fault of the quorum; its process ends. They are called from `start`, from the member's own timers and connections,
    and from `deliver`, never from `append` or `resign`. Its process ended, or failed, a member ignores all inputs.
    """

    def __init__(
        self, node: Node, topology: Topology, settings: Mapping[str, Any], version: str, files: Files
    ) -> None:
        self.me = identifier_of(node)
        self._controllers = topology.voters
        """{id: name} of all controllers; the voters are among them."""
        self._first_voters = {voter: self._controllers[voter] for voter in topology.first_voters}
        """Those of a quorum whose voters are in the log; none: the voters are static."""
        self._settings = QuorumSettings.from_settings(settings)
        self._schedule = SnapshotSchedule(self._settings, gates_for(version, metadata=KRAFT))
        self._peer_ids = {
            node.name: identifier_of(node) for node in topology.nodes if {"broker", "controller"} & set(node.roles)
        }
        self._version = version
        self._files = files
        self._node: QuorumNode | None = None
        self._log: MetadataLog | None = None
        self._peers: dict[BrokerId, PeerConnection] = {}
        self._accepted: dict[int, BrokerId] = {}
        """{peer's connection: its id}"""
        self._requests: dict[int, tuple[int, int]] = {}
        """{number of a request without a response: (connection, the sender's correlation)}.

        The node knows requests by this number, because each incarnation of a sender counts its own anew.
        """
        self._administrators: dict[int, Callable[[Message], None]] = {}
        """{number of a request of an administrator without a response: its reply}"""
        self._received = 0
        self._wake_at_ms = inf
        self._failed = False
        self._notices: deque[q.Committed | q.SnapshotCommitted | q.LeaderChanged | q.QuorumFailed] = deque()
        self._delivering = False
        self._next = FIRST_OFFSET
        self._emitted = ("", LeaderEpoch(-1), NO_BROKER, False)
        self._highest_watermark = Offset(-1)
        self._then: Callable[[], None] = lambda: None
        self.on_batches: Callable[[Now, Sequence[MetadataBatch]], None] = lambda now, batches: None
        self.on_leader: Callable[[Now, BrokerId, LeaderEpoch], None] = lambda now, leader, epoch: None
        self.on_failed: Callable[[Now, str], None] = lambda now, reason: None
        self.image: Callable[[], MetadataImage] = MetadataImage
        """The state after the batches that `on_batches` has reported, for a snapshot."""
        self.on_state: Callable[[Now], None] = lambda now: None
        """Called after each change of state, epoch or leader."""

    def start(self, now: Now, out: Outbox, chance: Chance) -> None:
        """Load the log and begin."""
        try:
            self._log = MetadataLog.open(self._files, self._settings.metadata_log_segment_bytes)
            directory = self._formatted(self._log, now, chance)
        except (StorageError, ValueError) as error:
            self._fail(out, str(error))
            self.deliver(now, out)
            return
        gates = gates_for(self._version, metadata=KRAFT)
        store = ElectionFile(self._files)
        voters = () if self._first_voters else sorted(self._controllers)
        self._node = QuorumNode(
            self.me, voters, self._settings, gates, self._log, store, chance.below, directory=directory,
            host=self._controllers.get(self.me, ""), servers=sorted(self._first_voters or self._controllers),
            may_vote=self.may_vote and bool(self._first_voters),
        )  # fmt: skip
        self._schedule.begin(now.mono_ms)
        for voter, name in self._controllers.items():
            if voter != self.me:
                self._peers[voter] = PeerConnection(
                    voter, name, self._settings.request_timeout_ms, chance,
                    lambda now, peer, correlation, response: self._answered(now, out, peer, correlation, response),
                )  # fmt: skip
        self._input(now, out, q.QuorumStarted())
        self.deliver(now, out)

    def _formatted(self, log: MetadataLog, now: Now, chance: Chance) -> str:
        """Directory id of this node; "" while the voters are static, and of a broker."""
        if not self._first_voters or not self.may_vote:
            return ""
        return formatted(self._files, log, self.me, self._first_voters, chance.below, now.wall_ms)

    # --- what the process knows and orders ---

    @property
    def started(self) -> bool:
        return self._node is not None

    @property
    def ended(self) -> bool:
        """Whether it has stopped or failed."""
        return self._failed or (self._node is not None and self._node.ended)

    @property
    def may_vote(self) -> bool:
        """Whether this process is a controller: a voter, or an observer that may become one."""
        return self.me in self._controllers

    @property
    def is_voter(self) -> bool:
        return self._node.is_voter if self._node is not None else self.may_vote

    @property
    def state_name(self) -> str:
        """State of the election; of a broker that does not vote `observer`."""
        if self._node is None:
            return "none"
        return self._node.state_name if self.is_voter else "observer"

    @property
    def epoch(self) -> LeaderEpoch:
        return self._node.state.epoch if self._node is not None else LeaderEpoch(0)

    @property
    def leader(self) -> BrokerId:
        """The leader of this epoch, as far as this node knows; -1 none."""
        return self._node.state.leader if self._node is not None else NO_BROKER

    @property
    def leadership(self) -> Leader | None:
        """The state of a leader's voters and observers; None: this node does not lead."""
        state = self._node.state if self._node is not None and not self.ended else None
        return state if isinstance(state, Leader) else None

    @property
    def leads(self) -> bool:
        return self.leadership is not None

    @property
    def voters(self) -> list[BrokerId]:
        """The voters that count now, by this node's log."""
        return self._node.voters if self._node is not None else sorted(self._first_voters or self._controllers)

    @property
    def high_watermark(self) -> Offset:
        return self._node.state.high_watermark if self._node is not None else Offset(-1)

    @property
    def log_end(self) -> Offset:
        return self._log.end if self._log is not None else FIRST_OFFSET

    @property
    def end(self) -> Offset:
        """The offset of the next record that is appended, collected ones included."""
        leader = self.leadership
        return Offset(self.log_end + (len(leader.pending) if leader is not None else 0))

    def voter_name(self, voter: BrokerId) -> str | None:
        return self._controllers.get(voter)

    def append(self, now: Now, out: Outbox, epoch: LeaderEpoch, records: Sequence[MetadataRecord]) -> Offset | None:
        """Append records in an epoch of this node's leadership; None: it does not lead in it."""
        values = [encode_metadata_record(record) for record in records]
        for effect in self._input(now, out, q.AppendRequested(epoch, values)):
            if isinstance(effect, q.Accepted):
                return effect.last_offset
        return None

    def change_voters(
        self,
        now: Now,
        out: Outbox,
        request: AddRaftVoterRequest | RemoveRaftVoterRequest,
        reply: Callable[[Message], None],
    ) -> None:
        """Handle an administrator's request; `reply` is called once, or never if this process ends."""
        self._received += 1
        self._administrators[self._received] = reply
        self._input(now, out, q.RequestReceived(NO_BROKER, self._received, request))
        self.deliver(now, out)

    def resign(self, now: Now, out: Outbox, epoch: LeaderEpoch) -> None:
        self._input(now, out, q.ResignRequested(epoch))

    def shut_down(self, now: Now, out: Outbox, timeout_ms: int, then: Callable[[], None]) -> None:
        """Stop in order: hand over, then `then`, after `timeout_ms` at the latest."""
        if self.ended or not self.started:
            then()
            return
        self._then = then
        self._input(now, out, q.ShutdownRequested(timeout_ms))
        self.deliver(now, out)

    def deliver(self, now: Now, out: Outbox) -> None:
        """Call back with what has been committed and who leads.

        The process calls this at the end of a step.
        """
        if self._delivering:
            return
        self._delivering = True
        while self._notices:
            notice = self._notices.popleft()
            if isinstance(notice, q.Committed):
                self._committed(now, out, notice)
            elif isinstance(notice, q.SnapshotCommitted):
                self._snapshot_committed(now, out, notice)
            elif isinstance(notice, q.LeaderChanged):
                self.on_leader(now, notice.leader, notice.epoch)
            else:
                self.on_failed(now, notice.reason)
        self._delivering = False

    # --- connections ---

    def accept(self, event: ConnectionAccepted, out: Outbox) -> None:
        """Serve a peer's connection of purpose QUORUM; only brokers and controllers are peers."""
        if self.ended or event.peer not in self._peer_ids:
            out.close(event.connection)
            return
        self._accepted[event.connection] = self._peer_ids[event.peer]
        out.own(event.connection, self._on_accepted)

    def _on_accepted(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        connection = event.connection
        if type(event) is ConnectionLost:
            self._forget(connection)
        elif type(event) is MessageReceived and isinstance(event.message, QuorumRequest):
            unanswered = sum(of == connection for of, _ in self._requests.values())
            is_valid = is_valid_request(event.message, self._accepted[connection], self._controllers)
            if unanswered >= UNANSWERED_MAX or not is_valid:
                self._forget(connection)
                out.close(connection)
                return
            self._received += 1
            self._requests[self._received] = (connection, event.correlation_id)
            sender = self._accepted[connection]
            self._input(now, out, q.RequestReceived(sender, self._received, event.message))
            self.deliver(now, out)

    def _forget(self, connection: int) -> None:
        """Forget a connection; the node's late responses to it are dropped."""
        self._accepted.pop(connection, None)
        for number in [number for number, (of, _) in self._requests.items() if of == connection]:
            del self._requests[number]

    def _answered(
        self, now: Now, out: Outbox, peer: BrokerId, correlation: int, response: QuorumResponse | None
    ) -> None:
        if response is None or not is_valid_response(response, self._controllers, self.log_end):
            self._input(now, out, q.RequestFailed(peer, correlation))
        else:
            self._input(now, out, q.ResponseReceived(peer, correlation, response))
        self.deliver(now, out)

    # --- the machine ---

    def _input(self, now: Now, out: Outbox, event: q.QuorumInput) -> list[q.QuorumEffect]:
        """Handle one input, and before it a wake-up that is overdue.

        After a pause the timeouts come before what has arrived meanwhile. Source: KafkaRaftClient.poll.
        """
        if self._wake_at_ms + OVERDUE_MS <= now.mono_ms:
            self._step(now, out, q.WokenUp())
        return self._step(now, out, event)

    def _step(self, now: Now, out: Outbox, event: q.QuorumInput) -> list[q.QuorumEffect]:
        node = self._node
        if node is None or self.ended:
            return []
        if isinstance(event, q.WokenUp):
            self._wake_at_ms = inf
        try:
            effects = node.step(now, event)
        except StorageError as error:
            self._fail(out, str(error))
            return []
        for effect in effects:  # by type: isinstance is slow to reject a struct
            if type(effect) is q.SendRequest:
                self._peers[effect.receiver].send(now, out, effect.correlation, effect.request)
            elif type(effect) is q.Respond:
                request = self._requests.pop(effect.correlation, None)
                administrator = self._administrators.pop(effect.correlation, None)
                if administrator is not None:
                    administrator(effect.response)
                if request is not None:
                    out.send(request[0], effect.response, request[1])
            elif type(effect) is q.WakeUp:
                self._wake_at_ms = effect.at_ms
                out.set_timer(WAKE_UP, max(0.0, effect.at_ms - now.mono_ms), self._woken_up)
            elif isinstance(effect, q.Committed | q.SnapshotCommitted | q.LeaderChanged | q.QuorumFailed):
                self._notices.append(effect)
            elif isinstance(effect, q.SnapshotStored):
                action = "downloaded" if effect.downloaded else "written"
                out.emit(MetadataSnapshot(action, effect.epoch, effect.end))
            elif isinstance(effect, q.ShutdownCompleted):
                self._then()
        self._emit_state(now, out, node)
        if node.ended:
            self._close(out)
        return effects

    def _fail(self, out: Outbox, reason: str) -> None:
        """Stop for good; the process learns of it with the next delivery."""
        self._failed = True
        self._notices.append(q.QuorumFailed(reason))
        self._close(out)

    def _close(self, out: Outbox) -> None:
        """Close all connections, and take no further input."""
        out.cancel_timer(WAKE_UP)
        for peer in self._peers.values():
            peer.close(out)
        for connection in self._accepted:
            out.close(connection)
        self._accepted.clear()
        self._requests.clear()

    def _woken_up(self, now: Now, out: Outbox) -> None:
        self._input(now, out, q.WokenUp())
        self.deliver(now, out)

    def _emit_state(self, now: Now, out: Outbox, node: QuorumNode) -> None:
        state, log_end = node.state, self.log_end
        known, highest = state.high_watermark, self._highest_watermark
        fell = 0 <= known < highest or log_end < highest
        if known > highest:
            self._highest_watermark = known
        seen = (self.state_name, state.epoch, state.leader, fell)
        if seen != self._emitted:
            self._emitted = seen
            out.emit(QuorumStateChanged(*seen[:3], log_end, known, max(known, highest)))
            self.on_state(now)

    @property
    def next_offset(self) -> Offset:
        """End of the batches that `on_batches` has reported."""
        return self._next

    def committed_batches(self, start: Offset = FIRST_OFFSET) -> Iterator[MetadataBatch]:
        """The batches that `on_batches` has reported, from `start` on.

        A snapshot comes first in place of what the log lacks.

        Raises StorageError, RecordsError, UnreadableRecord.
        """
        log = self._log
        if log is None:
            return
        if start < log.start:
            snapshot = log.snapshots[0]
            yield log.decoded_snapshot(snapshot)
            start = snapshot.end
        yield from log.decoded(start, self._next)

    def _committed(self, now: Now, out: Outbox, notice: q.Committed) -> None:
        """Report committed batches. An unreadable record is fatal, as in Kafka."""
        assert self._log is not None and notice.start == self._next, (notice, self._next)
        try:
            batches = self._log.decoded(notice.start, notice.end)
        except (StorageError, RecordsError, UnreadableRecord) as error:
            self._fail(out, str(error))
            return
        self._next = notice.end
        for batch in batches:
            if not batch.changes_nothing:
                out.emit(MetadataCommitted(batch.epoch, batch.base_offset, batch.end, batch.digest))
        if batches:
            self.on_batches(now, batches)
            self._write_snapshot(now, out, batches)

    def _snapshot_committed(self, now: Now, out: Outbox, notice: q.SnapshotCommitted) -> None:
        """Report a snapshot in place of all earlier batches. A damaged one is fatal."""
        assert self._log is not None
        try:
            batch = self._log.decoded_snapshot(SnapshotId(notice.end, notice.epoch))
        except (StorageError, RecordsError, UnreadableRecord) as error:
            self._fail(out, str(error))
            return
        self._next = notice.end
        self._schedule.begin(now.mono_ms)
        if batch.end > 0:
            out.emit(MetadataSnapshot("loaded", batch.epoch, batch.end, batch.digest))
            self.on_batches(now, [batch])

    def _write_snapshot(self, now: Now, out: Outbox, batches: Sequence[MetadataBatch]) -> None:
        """Write a snapshot of the process' image, if one is due. Source: SnapshotGenerator."""
        size_bytes, last = sum(batch.size_bytes for batch in batches), batches[-1]
        if self.ended or not self._schedule.is_due(now.mono_ms, size_bytes):
            return
        values = [encode_metadata_record(record) for record in image_records(self.image())]
        self._input(now, out, q.SnapshotRequested(self._next, last.epoch, last.timestamp_ms, values))
