"""The session server: one machine of the ensemble.

It searches for a leader, then follows or leads until that reign ends, then searches again. Clients are served
only within a reign that has a quorum; otherwise their connections are closed at once. Everything that must
survive is in `files`.
"""

from emulator.session.clients import Clients
from emulator.session.election import (
    FINALIZE_WAIT_MS,
    FOLLOWING,
    LEADING,
    LOOKING,
    RESEND_FIRST_MS,
    RESEND_MAX_MS,
    Ballot,
    Election,
)
from emulator.session.following import FOLLOWING_TIMERS, Following
from emulator.session.history import History, HistoryDamaged
from emulator.session.leading import LEADING_TIMERS, PORT_OPENS_MAX_MS, Leading
from emulator.session.observers import Observers
from emulator.session.peers import RETRY_TIMER, Peers
from emulator.session.quorum import ReignEnded, Replica
from emulator.session.tree import Change, Tree
from emulator.storage.files import Files, StorageError
from protocol.chance import Chance
from protocol.events import EnsembleChanged, SessionEnded, ZnodeChanged
from protocol.machine import (
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Input,
    MessageReceived,
    Now,
    Outbox,
    Started,
    StopRequested,
    TimerFired,
    TimerKey,
)
from protocol.messages.ensemble import FollowerInfo, Transaction, Vote
from protocol.messages.session import ObserveRequest, SessionResponse
from protocol.purposes import ENSEMBLE, OBSERVE, SESSION

VOTE_TIMER = ("vote",)
FINALIZE_TIMER = ("election",)


class SessionServer:
    """`servers`: names of the ensemble, ourselves included; the place in the list is the server number (a
    higher one wins ties)."""

    def __init__(
        self, name: str, servers: list[str], tick_time_ms: int, init_limit: int, sync_limit: int, files: Files
    ) -> None:
        assert name in servers and len(set(servers)) == len(servers), (name, servers)
        assert tick_time_ms > 0 and init_limit > 0 and sync_limit > 0
        self.name = name
        self.role = LOOKING
        self.serving = False
        self._servers = list(servers)
        self._me = servers.index(name)
        self._tick_ms = tick_time_ms
        self._init_ms = float(init_limit * tick_time_ms)
        self._sync_ms = float(sync_limit * tick_time_ms)
        self._files = files
        self._out = Outbox()
        self._peers = Peers(self._me, servers)
        self._observers = Observers()
        self._undecided: set[int] = set()

    def step(self, now: Now, event: Input) -> list[Effect]:
        """One input; a full or failing disk ends the process, as ZooKeeper's does."""
        out = self._out
        try:
            try:
                self._step(now, out, event)
            except ReignEnded as ended:
                self._search(now, out, str(ended))
        except (StorageError, HistoryDamaged) as error:
            out.exit(1, f"session server {self.name}: {error}")
        return out.take()

    def _step(self, now: Now, out: Outbox, event: Input) -> None:
        match event:
            case MessageReceived():
                self._message(now, out, event)
            case TimerFired(key):
                self._timer(now, out, key)
            case ConnectionAccepted():
                self._accepted(out, event)
            case ConnectionOpened(connection):
                if self._following is not None and self._following.owns(connection):
                    self._following.opened(now, out)
                else:
                    self._peers.opened(out, connection, self._vote() if self._election else None)
            case ConnectionLost(connection, reason):
                self._lost(out, connection, reason)
            case Started(seed, incarnation):
                self._start(now, out, seed, incarnation)
            case StopRequested():
                self._clients.close_all(out)
                out.exit(0, "asked to stop")

    # --- life -----------------------------------------------------------------------------------------------

    def _start(self, now: Now, out: Outbox, seed: int, incarnation: int) -> None:
        self._history = History(self._files)
        self._replica = Replica(self._history, self)
        self._clients = Clients(self._me, self._replica, self._tick_ms)
        self._chance = Chance(seed)
        self._phase_ms = self._chance.between(0.0, self._tick_ms)
        self._clients.start(self._chance, incarnation)
        self._following: Following | None = None
        self._leading: Leading | None = None
        self._election: Election | None = None
        self._ballot = Ballot(0, 0, self._me)
        self._election_round = 0
        self._reigns = -1
        self._resend_ms = RESEND_FIRST_MS
        self._finalizing: Ballot | None = None
        self._search(now, out, "started")

    def _search(self, now: Now, out: Outbox, reason: str) -> None:
        """LOOKING: the reign, if there was one, leaves nothing behind."""
        if self._following is not None:
            self._following.stop(out)
        if self._leading is not None:
            self._leading.stop(out)
        self._following = self._leading = None
        self._clients.close_all(out)
        history = self._history
        self._election_round += 1
        own = Ballot(history.current_epoch, history.last_zxid, self._me)
        self._election = Election(self._me, len(self._servers), self._election_round, own)
        self._resend_ms = RESEND_FIRST_MS
        self._finalizing = None
        self._become(out, LOOKING, -1, False)
        if len(self._servers) == 1:
            self._decide(now, out)
            return
        self._peers.tell_all(now, out, self._vote())
        self._peers.watch(out)
        out.set_timer(VOTE_TIMER, self._resend_ms)

    def _become(self, out: Outbox, role: str, leader: int, serving: bool) -> None:
        was_serving = self.serving
        self.role, self.serving = role, serving
        epoch = self._leading.epoch if self._leading else self._history.current_epoch
        out.emit(EnsembleChanged(role, epoch, leader, serving))
        if serving != was_serving:
            self._observers.serving_changed(out, serving, self._replica.tree.zxid)

    # --- election -------------------------------------------------------------------------------------------

    def _vote(self) -> Vote:
        if self._election is not None:
            epoch, zxid, leader = self._election.choice
            return Vote(LOOKING, self._election.election_round, leader, zxid, epoch)
        epoch, zxid, leader = self._ballot
        return Vote(self.role, self._election_round, leader, zxid, max(epoch, self._history.current_epoch))

    def _vote_came(self, now: Now, out: Outbox, connection: int, sender: int, vote: Vote) -> None:
        self._peers.heard(out, now, connection, sender)
        election = self._election
        ballot = Ballot(vote.peer_epoch, vote.zxid, vote.leader)
        if election is None:
            if vote.state == LOOKING:
                out.send(connection, self._vote())
            return
        if vote.state == LOOKING:
            behind = vote.election_round < election.election_round
            if election.hear_looking(sender, vote.election_round, ballot):
                self._peers.tell_all(now, out, self._vote())
            elif behind:
                out.send(connection, self._vote())
        else:
            joined = election.hear_settled(sender, vote.election_round, ballot, vote.state == LEADING)
            if joined is not None:
                election.choice = joined
                self._decide(now, out)
                return
        if not election.majority_agrees():
            self._finalizing = None
            out.cancel_timer(FINALIZE_TIMER)
        elif self._finalizing != election.choice:
            self._finalizing = election.choice
            out.set_timer(FINALIZE_TIMER, FINALIZE_WAIT_MS)

    def _decide(self, now: Now, out: Outbox) -> None:
        election = self._election
        assert election is not None
        self._ballot = election.choice
        self._election_round = election.election_round
        self._election = None
        self._reigns += 1
        out.cancel_timer(VOTE_TIMER)
        out.cancel_timer(FINALIZE_TIMER)
        self._peers.rest(out)
        leader = self._ballot.leader
        if leader == self._me:
            self._leading = Leading(
                self._me,
                len(self._servers),
                self._replica,
                self,
                self._tick_ms,
                self._init_ms,
                self._sync_ms,
                # An ensemble that is launched is not slowed down by the race for the port.
                port_opens_ms=self._chance.between(0.0, PORT_OPENS_MAX_MS) if self._reigns else 0.0,
                phase_ms=self._phase_ms,
            )
            self._become(out, LEADING, leader, False)
            self._leading.start(now, out)
        else:
            self._following = Following(self._servers[leader], self._replica, self, self._init_ms, self._sync_ms)
            self._become(out, FOLLOWING, leader, False)
            self._following.start(now, out)

    # --- inputs ---------------------------------------------------------------------------------------------

    def _message(self, now: Now, out: Outbox, event: MessageReceived) -> None:
        connection, message = event.connection, event.message
        if self._clients.owns(connection):
            quorum = self._leading or self._following
            assert quorum is not None and self.serving, "only a serving server has clients"
            self._clients.message(now, out, quorum, connection, event.correlation_id, message)
        elif self._following is not None and self._following.owns(connection):
            self._following.message(now, out, message)
        elif self._leading is not None and self._leading.owns(connection):
            self._leading.message(now, out, connection, message)
        elif isinstance(message, ObserveRequest) and connection in self._undecided:
            self._undecided.discard(connection)
            self._observers.add(out, connection, message, self._replica.tree, self.serving)
        else:
            self._peer_message(now, out, event)

    def _peer_message(self, now: Now, out: Outbox, event: MessageReceived) -> None:
        connection, message = event.connection, event.message
        sender = self._peers.sender(connection)
        if sender is not None and isinstance(message, Vote) and 0 <= message.leader < len(self._servers):
            self._vote_came(now, out, connection, sender, message)
        elif sender is not None and isinstance(message, FollowerInfo):
            self._peers.released(connection)
            if self._leading is not None:
                self._leading.follower_came(now, out, connection, sender, message)
            else:
                out.close(connection)
        elif sender is not None:
            self._peers.lost(connection)
            out.close(connection)
        elif connection in self._undecided:
            self._undecided.discard(connection)
            out.close(connection)

    def _accepted(self, out: Outbox, event: ConnectionAccepted) -> None:
        number = self._peers.number_of(event.peer)
        if event.purpose == SESSION and self.serving:
            self._clients.accepted(event.connection, event.peer)
        elif event.purpose == ENSEMBLE and number is not None:
            self._peers.accepted(event.connection, number)
        elif event.purpose == OBSERVE:
            self._undecided.add(event.connection)
        else:
            out.close(event.connection)

    def _lost(self, out: Outbox, connection: int, reason: str) -> None:
        if self._clients.owns(connection):
            self._clients.lost(connection)
        elif self._following is not None and self._following.owns(connection):
            self._following.lost(out, reason)
        elif self._leading is not None and self._leading.owns(connection):
            self._leading.lost(connection)
        elif self._peers.sender(connection) is not None:
            self._peers.lost(connection)
        elif self._observers.owns(connection):
            self._observers.remove(connection)
        else:
            self._undecided.discard(connection)

    def _timer(self, now: Now, out: Outbox, key: TimerKey) -> None:
        if self._leading is not None and key in LEADING_TIMERS:
            self._leading.timer(now, out, key)
        elif self._following is not None and key in FOLLOWING_TIMERS:
            self._following.timer(now, out, key)
        elif self._election is not None and key == VOTE_TIMER:
            self._peers.tell_all(now, out, self._vote())
            self._resend_ms = min(2 * self._resend_ms, RESEND_MAX_MS)
            out.set_timer(VOTE_TIMER, self._resend_ms)
        elif self._election is not None and key == FINALIZE_TIMER:
            self._decide(now, out)
        elif self._election is not None and key == RETRY_TIMER:
            self._peers.retry(now, out)
        else:
            raise AssertionError(f"timer {key} while {self.role}")

    # --- what a reign tells (quorum.Host) -------------------------------------------------------------------

    def applied(
        self, now: Now, out: Outbox, transaction: Transaction, response: SessionResponse, changes: list[Change]
    ) -> None:
        zxid = transaction.zxid
        for change in changes:
            out.emit(_znode_changed(change, zxid))
        if transaction.kind == "close" and not response.error and self.role == LEADING:
            out.emit(SessionEnded(transaction.session, transaction.reason, zxid, transaction.owner))
        self._clients.applied(out, transaction, response, changes)
        if changes:
            self._observers.changed(out, self.serving, zxid, [(zxid, change) for change in changes])

    def restored(self, now: Now, out: Outbox, before: Tree) -> None:
        tree = self._replica.tree
        changes = before.changes_to(tree)
        for zxid, change in changes:
            out.emit(_znode_changed(change, zxid))
        self._observers.changed(out, self.serving, tree.zxid, changes)

    def serving_changed(self, now: Now, out: Outbox, serving: bool) -> None:
        self._become(out, self.role, self._ballot.leader, serving)

    def revalidated(self, now: Now, out: Outbox, request: int, valid: bool) -> None:
        self._clients.revalidated(out, request, valid)

    def caught_up(self, now: Now, out: Outbox, request: int) -> None:
        self._clients.caught_up(out, request)


def _znode_changed(change: Change, zxid: int) -> ZnodeChanged:
    return ZnodeChanged(change.path, change.kind, change.version, zxid, change.data.decode("utf-8", "replace"))
