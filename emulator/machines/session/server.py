"""ZooKeeper server: one machine of the ensemble.

It searches for a leader, then follows or leads until that leadership term ends, then searches again. It serves
clients only within a term that has a quorum; otherwise it closes their connections at once. All state that must
survive is in `files`.
"""

from emulator.machines.session.clients import Clients
from emulator.machines.session.election import FOLLOWING, LEADING, LOOKING, Ballot, Role
from emulator.machines.session.following import Following
from emulator.machines.session.leading import PORT_OPENS_MAX_MS, Leading
from emulator.machines.session.observers import Observers
from emulator.machines.session.quorum import Limits, Replica, TermEnded
from emulator.machines.session.search import Search
from emulator.machines.session.sessions import SessionLimits, SessionTracker
from emulator.machines.session.transaction_history import History, HistoryDamaged
from emulator.machines.session.tree import Tree
from emulator.machines.session.znode import Change
from emulator.storage.files import Files, StorageError
from protocol.chance import Chance
from protocol.conversations import ACCEPTED_BY_SESSION_SERVER
from protocol.events import EnsembleChanged, SessionEnded, ZnodeChanged
from protocol.kinds import ExitKind
from protocol.machine import (
    ConnectionAccepted,
    ConnectionEvent,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Input,
    MessageReceived,
    Now,
    Started,
    StopRequested,
    TimerFired,
)
from protocol.messages.ensemble import FollowerInfo, Transaction, Vote
from protocol.messages.message_base import Message
from protocol.messages.session_messages import ObserveRequest, SessionResponse
from protocol.messages.status_messages import EnsembleStatus, NodeStatus
from protocol.outbox import Outbox
from protocol.purposes import ENSEMBLE, OBSERVE, SESSION

UNDECIDED_MAX = 1000
"""Bound of observers' connections without a request yet; the server then closes the oldest."""


class SessionServer:
    """One server of the ensemble.

    `servers`: names of the ensemble, this one included. The index in the list is the server number (a higher one
    wins ties).
    """

    ACCEPTED_MESSAGES = ACCEPTED_BY_SESSION_SERVER

    def __init__(
        self, name: str, servers: list[str], tick_time_ms: int, init_limit: int, sync_limit: int, files: Files,
        *, min_session_timeout_ms: int = -1, max_session_timeout_ms: int = -1,
    ) -> None:  # fmt: skip
        assert name in servers and len(set(servers)) == len(servers), (name, servers)
        assert tick_time_ms > 0 and init_limit > 0 and sync_limit > 0
        self.name = name
        self.role: Role = LOOKING
        self.serving = False
        self._servers = list(servers)
        self._me = servers.index(name)
        self._limits = Limits(tick_time_ms, float(init_limit * tick_time_ms), float(sync_limit * tick_time_ms))
        self._session_limits = SessionLimits(tick_time_ms, min_session_timeout_ms, max_session_timeout_ms)
        self._files = files
        self._out = Outbox()
        self._search = Search(self._me, self._servers, self._on_peer_event, self._decided)
        self._observers = Observers()
        self._undecided: dict[int, None] = {}
        self._following: Following | None = None
        self._leading: Leading | None = None
        self._terms = 0
        self._early: dict[int, tuple[int, FollowerInfo]] = {}
        self._started = False
        self.committed_zxid = 0
        """zxid of the newest transaction in `tree`; 0 before there is one."""

    def step(self, now: Now, event: Input) -> list[Effect]:
        """Handle one input; a full or failing disk ends the process, as ZooKeeper's does."""
        out = self._out
        try:
            try:
                if not out.route(now, event):
                    self._unowned(now, out, event)
            except TermEnded:
                self._look(now, out)
        except (StorageError, HistoryDamaged) as error:
            out.exit(1, f"session server {self.name}: {error}", ExitKind.STORAGE_FAILED)
        return out.take()

    def _unowned(self, now: Now, out: Outbox, event: Input) -> None:
        """Handle an input that belongs to no connection or timer of this machine's parts."""
        match event:
            case ConnectionAccepted():
                self._accepted(out, event)
            case Started(seed, incarnation):
                self._start(now, out, seed, incarnation)
            case StopRequested():
                self._clients.close_all(out)
                out.exit(0, "asked to stop")
            case TimerFired(key):
                raise AssertionError(f"timer {key} without an owner while {self.role}")
            case _:
                pass  # of a connection that was closed meanwhile

    def status(self, now: Now) -> NodeStatus:
        """Status as this server knows it. Reading changes nothing."""
        if not self._started:
            return NodeStatus(ensemble=EnsembleStatus(self.role, self.serving))
        return NodeStatus(
            ensemble=EnsembleStatus(
                self.role, self.serving, self._epoch, self._history.last_zxid, len(self._replica.tree.sessions)
            )
        )

    @property
    def tree(self) -> Tree:
        """The committed tree, as far as this server knows."""
        return self._replica.tree

    def committed_after(self, zxid: int) -> list[Transaction] | None:
        """Transactions of `tree` after `zxid`, in order; None if the log does not contain it."""
        if not self._history.holds(zxid):
            return None
        return [one for one in self._history.after(zxid) if one.zxid <= self.committed_zxid]

    # --- life -----------------------------------------------------------------------------------------------

    def _start(self, now: Now, out: Outbox, seed: int, incarnation: int) -> None:
        self._chance = Chance(seed)
        self._phase_ms = self._chance.between(0.0, self._limits.tick_ms)
        self._history = History(self._files)
        self._replayed_zxid = self._history.last_zxid
        self._replica = Replica(self._history, self)
        self.committed_zxid = self._replica.tree.zxid
        self._clients = Clients(self._me, self._replica, self._session_limits)
        self._clients.start(self._chance, incarnation)
        self._started = True
        self._look(now, out)

    def _look(self, now: Now, out: Outbox) -> None:
        """LOOKING: end the term, if there was one, and search for a leader."""
        if self._following is not None:
            self._following.stop(out)
        if self._leading is not None:
            self._leading.stop(out)
        self._following = self._leading = None
        self._clients.close_all(out)
        self._become(out, LOOKING, -1, False)
        ballot = self._search.begin(now, out, self._history.current_epoch, self._history.last_zxid)
        if ballot is not None:
            self._decided(now, out, ballot)

    def _decided(self, now: Now, out: Outbox, ballot: Ballot) -> None:
        """Begin a term: the election is over."""
        if ballot.leader == self._me:
            # The race for the leader's port does not slow down an ensemble that is launched.
            port_opens_ms = self._chance.between(0.0, PORT_OPENS_MAX_MS) if self._terms else 0.0
            tracker = SessionTracker(self._limits.tick_ms, self._phase_ms)
            self._leading = Leading(
                self._me, len(self._servers), self._limits, self._replica, self, port_opens_ms, tracker
            )
            self._become(out, LEADING, ballot.leader, False)
            self._terms += 1
            self._leading.start(now, out)
            early, self._early = self._early, {}
            for connection, (server, message) in early.items():
                self._leading.follower_came(now, out, connection, server, message)
        else:
            self._following = Following(self._servers[ballot.leader], self._limits, self._replica, self)
            self._become(out, FOLLOWING, ballot.leader, False)
            self._terms += 1
            for connection in self._early:
                out.close(connection)
            self._early.clear()
            self._following.start(now, out)

    def _become(self, out: Outbox, role: Role, leader: int, serving: bool) -> None:
        was_serving = self.serving
        self.role, self.serving = role, serving
        out.emit(EnsembleChanged(role, self._epoch, leader, serving))
        if serving != was_serving:
            self._observers.serving_changed(out, serving, self._replica.tree.zxid)

    @property
    def _epoch(self) -> int:
        return self._leading.epoch if self._leading else self._history.current_epoch

    # --- inputs ---------------------------------------------------------------------------------------------

    def _accepted(self, out: Outbox, event: ConnectionAccepted) -> None:
        number = self._search.peers.number_of(event.peer)
        if event.purpose == SESSION and self.serving:
            self._clients.accepted(out, event.connection, event.peer, self._on_client_event)
        elif event.purpose == ENSEMBLE and number is not None:
            self._search.peers.accepted(out, event.connection, number)
        elif event.purpose == OBSERVE:
            if len(self._undecided) >= UNDECIDED_MAX:
                oldest = next(iter(self._undecided))
                del self._undecided[oldest]
                out.close(oldest)
            self._undecided[event.connection] = None
            out.own(event.connection, self._on_undecided_event)
        else:
            out.close(event.connection)

    def _on_client_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, MessageReceived):
            quorum = self._leading or self._following
            assert quorum is not None and self.serving, "only a serving server has clients"
            self._clients.message(now, out, quorum, event.connection, event.correlation_id, event.message)
        else:
            self._clients.lost(event.connection)

    def _on_undecided_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        """Handle an observer's request, its first message."""
        del self._undecided[event.connection]
        if isinstance(event, MessageReceived):
            if isinstance(event.message, ObserveRequest):
                self._observers.add(out, event.connection, event.message, self._replica.tree, self.serving)
            else:
                out.close(event.connection)

    def _on_peer_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        """Handle a vote connection; an accepted one may turn out to be a follower's."""
        connection = event.connection
        if isinstance(event, ConnectionOpened):
            self._search.opened(out, connection)
        elif isinstance(event, ConnectionLost):
            self._search.peers.lost(connection)
        else:
            self._peer_message(now, out, connection, event.message)

    def _peer_message(self, now: Now, out: Outbox, connection: int, message: Message) -> None:
        sender = self._search.peers.sender(connection)
        if isinstance(message, Vote):
            epoch = self._history.current_epoch
            ballot = self._search.vote_received(now, out, connection, sender, message, self.role, epoch)
            if ballot is not None:
                self._decided(now, out, ballot)
        elif isinstance(message, FollowerInfo):
            self._search.peers.released(connection)
            if self._leading is not None:
                self._leading.follower_came(now, out, connection, sender, message)
            elif self._terms == 0:
                # At launch: it has counted the votes earlier.
                self._early[connection] = (sender, message)
                out.own(connection, self._on_early_event)
            else:
                out.close(connection)
        else:
            self._search.peers.lost(connection)
            out.close(connection)

    def _on_early_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        """Forget a waiting follower that disconnected."""
        if isinstance(event, ConnectionLost):
            del self._early[event.connection]

    # --- callbacks of a term (quorum.Host) -----------------------------------------------------------------

    def applied(
        self, now: Now, out: Outbox, transaction: Transaction, response: SessionResponse, changes: list[Change]
    ) -> None:
        zxid = self.committed_zxid = transaction.zxid
        for change in changes:
            out.emit(_znode_changed(change, zxid))
        # Not for the entries of a restarted server's own log: it reported them before it died.
        if transaction.kind == "close" and not response.error and self.role == LEADING and zxid > self._replayed_zxid:
            out.emit(SessionEnded(transaction.session, transaction.reason, zxid, transaction.owner))
        self._clients.applied(out, transaction, response, changes)
        if changes:
            self._observers.changed(out, self.serving, zxid, [(zxid, change) for change in changes])

    def restored(self, now: Now, out: Outbox, before: Tree) -> None:
        tree = self._replica.tree
        self.committed_zxid = tree.zxid
        changes = before.changes_to(tree)
        for zxid, change in changes:
            out.emit(_znode_changed(change, zxid))
        self._observers.changed(out, self.serving, tree.zxid, changes)

    def serving_changed(self, now: Now, out: Outbox, serving: bool) -> None:
        self._become(out, self.role, self._search.ballot.leader, serving)

    def revalidated(self, now: Now, out: Outbox, request: int, valid: bool) -> None:
        self._clients.revalidated(out, request, valid)

    def caught_up(self, now: Now, out: Outbox, request: int) -> None:
        self._clients.caught_up(out, request)


def _znode_changed(change: Change, zxid: int) -> ZnodeChanged:
    return ZnodeChanged(change.path, change.kind, change.version, zxid, change.data.decode("utf-8", "replace"))
