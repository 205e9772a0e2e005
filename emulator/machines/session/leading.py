"""A leadership term from the leader's side (semantics 5.2, 5.3).

Three stages:

- *Discovery*: a majority reports the epochs it has accepted; the new one is above them all.
- *Synchronisation*: the leader makes each follower's log equal to its own. When a majority has it on disk, the
  whole log is committed.
- *Broadcast* (a module of its own): proposals, commits, sessions.

Followers may join at any stage. A leader that has lost its majority ends its term at the next tick. The rule: no
server applies a transaction before a majority has it on disk.
"""

from emulator.machines.session.broadcast import EXPIRY_TIMER, Broadcast
from emulator.machines.session.quorum import Host, Limits, Replica, TermEnded
from emulator.machines.session.session_state import Learner
from emulator.machines.session.sessions import SessionTracker
from emulator.machines.session.transaction_history import History as OwnHistory
from protocol.machine import ConnectionEvent, MessageReceived, Now
from protocol.messages.ensemble import (
    EPOCH_MAX,
    AckEpoch,
    AckNewLeader,
    CatchUp,
    FollowerInfo,
    Forward,
    History,
    LeaderInfo,
    LeaderPing,
    LearnerPong,
    NewLeader,
    ProposalAck,
    Revalidate,
    Revalidated,
    Transaction,
    UpToDate,
)
from protocol.messages.message_base import Message
from protocol.messages.session_messages import SessionError
from protocol.outbox import Outbox

PORT_OPENS_MAX_MS = 2.0
"""Longest time from election to an open port at a new leader, in ms.

Its follower connects as soon: mostly too early, and then again a second later. Of the 26 recorded sessions that
expired beside a lost leader 6 did so without that second. With a tick of 500 ms they expired 2.3 to 2.8 s later
than with a leader that stays; the others 3.3 to 3.8 s. Of these delays 2 s are syncLimit.
"""

SNAPSHOT_MS = 200.0
"""Time in which ZooKeeper's new leader and its followers write snapshot and epochs, in ms.

They serve only afterwards.
"""

OPEN_TIMER = ("lead-open",)
SNAPSHOT_TIMER = ("lead-snapshot",)
TICK_TIMER = ("lead-tick",)
LEADING_TIMERS = (OPEN_TIMER, SNAPSHOT_TIMER, TICK_TIMER, EXPIRY_TIMER)


class Leading:
    """Created when an election is won. `servers`: size of the ensemble.

    `port_opens_ms`: time until the leader's port opens for followers. 0: an ensemble that is launched, without that
    wait.
    """

    def __init__(
        self,
        me: int,
        servers: int,
        limits: Limits,
        replica: Replica,
        host: Host,
        port_opens_ms: float,
        tracker: SessionTracker,
    ) -> None:
        self._me = me
        self._servers = servers
        self._majority = servers // 2 + 1
        self._limits = limits
        self._replica = replica
        self._host = host
        self._port_opens_ms = port_opens_ms
        self._open = self._prepared = port_opens_ms == 0.0
        self._preparing = False
        self._tracker = tracker
        self._started_ms = 0.0
        self._half_ticks = 0
        self._learners: dict[int, Learner] = {}
        self.epoch = 0
        self._own_place = (0, 0)
        self._epoch_acks: set[int] = {me}
        self._epoch_settled = False
        self.broadcast: Broadcast | None = None

    def start(self, now: Now, out: Outbox) -> None:
        self._started_ms = now.mono_ms
        if self._servers == 1:
            self._discover(now, out)
            return
        if not self._open:
            out.set_timer(OPEN_TIMER, self._port_opens_ms, self._port_opened)
        out.set_timer(TICK_TIMER, self._limits.tick_ms / 2, self._half_tick)

    def stop(self, out: Outbox) -> None:
        """End the term: close the connections, cancel the timers."""
        for connection in self._learners:
            out.close(connection)
        self._learners.clear()
        for timer in LEADING_TIMERS:
            out.cancel_timer(timer)

    # --- inputs ---------------------------------------------------------------------------------------------

    def follower_came(self, now: Now, out: Outbox, connection: int, server: int, message: FollowerInfo) -> None:
        """Handle a follower's first message; before the port is open, close its connection."""
        if not self._open:
            out.close(connection)
            return
        if self.epoch and message.accepted_epoch > self.epoch:
            # ZooKeeper lets such a server try until another server calls an election; here the election begins at once.
            out.close(connection)
            raise TermEnded(f"server {server} accepted epoch {message.accepted_epoch}, ours is {self.epoch}")
        for other in [c for c, learner in self._learners.items() if learner.server == server]:
            self._drop(out, other)
        learner = Learner(connection, server, message.accepted_epoch, now.mono_ms)
        self._learners[connection] = learner
        out.own(connection, self._on_connection_event)
        if self.epoch:
            out.send(connection, LeaderInfo(self.epoch))
        else:
            self._discover(now, out)

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, MessageReceived):
            self._message(now, out, event.connection, event.message)
        else:
            # The next tick checks whether enough followers are left (as ZooKeeper).
            del self._learners[event.connection]

    def _port_opened(self, now: Now, out: Outbox) -> None:
        self._open = True

    def _snapshot_written(self, now: Now, out: Outbox) -> None:
        self._prepared = True
        self._establish(now, out)

    def _message(self, now: Now, out: Outbox, connection: int, message: Message) -> None:
        """Handle a follower's message; cases in order of frequency."""
        learner = self._learners[connection]
        learner.received_ms = now.mono_ms
        broadcast = self.broadcast
        match message:
            case LearnerPong(touched):
                for session in touched:
                    self._tracker.touch(session, now.mono_ms)
            case ProposalAck(zxid):
                learner.acked = max(learner.acked, zxid)
                if broadcast is not None:
                    broadcast.commit(now, out)
            case Forward(transaction) if broadcast is not None:
                broadcast.propose(now, out, transaction)
            case AckEpoch():
                self._epoch_acked(now, out, learner, message)
            case AckNewLeader(_, last_zxid):
                learner.acked = last_zxid
                self._history_acked(now, out, learner)
            case Revalidate(request, session) if broadcast is not None:
                out.send(connection, Revalidated(request, broadcast.reopened(now, session, learner.server)))
            case CatchUp(request) if broadcast is not None:
                broadcast.catch_up(now, out, connection, request)
            case _:
                # No follower sends this, or not before its UpToDate.
                self._drop(out, connection)

    # --- requests of this server's clients (Quorum) -----------------------------------------------------------

    def propose(self, now: Now, out: Outbox, transaction: Transaction) -> None:
        assert self.broadcast is not None, "clients are served by an established leader"
        self.broadcast.propose(now, out, transaction)

    def revalidate(self, now: Now, out: Outbox, request: int, session: int) -> None:
        assert self.broadcast is not None, "clients are served by an established leader"
        self._host.revalidated(now, out, request, self.broadcast.reopened(now, session, self._me))

    def catch_up(self, now: Now, out: Outbox, request: int) -> None:
        assert self.broadcast is not None, "clients are served by an established leader"
        self.broadcast.catch_up(now, out, 0, request)

    def touch(self, now: Now, session: int) -> bool:
        self._tracker.touch(session, now.mono_ms)
        return self._tracker.refuses(session, self._me) != SessionError.SESSION_MOVED

    # --- discovery ------------------------------------------------------------------------------------------

    def _discover(self, now: Now, out: Outbox) -> None:
        """Choose an epoch above all that a majority had accepted."""
        if len(self._learners) + 1 < self._majority:
            return
        history = self._replica.history
        accepted = [learner.accepted_epoch for learner in self._learners.values()]
        self.epoch = max([history.accepted_epoch, *accepted]) + 1
        if self.epoch > EPOCH_MAX:
            raise TermEnded(f"no epoch above {EPOCH_MAX}, which a follower reports as accepted")
        self._own_place = (history.current_epoch, history.last_zxid)
        history.accept_epoch(self.epoch)
        for connection in self._learners:
            out.send(connection, LeaderInfo(self.epoch))
        self._settle_epoch(now, out)

    def _epoch_acked(self, now: Now, out: Outbox, learner: Learner, message: AckEpoch) -> None:
        learner.last_zxid = message.last_zxid
        if self._epoch_settled:
            self._synchronise(out, learner)
            return
        if (message.current_epoch, message.last_zxid) > self._own_place:
            raise TermEnded(f"server {learner.server} knows more: {message.last_zxid:#x}")
        if message.counts:
            self._epoch_acks.add(learner.server)
        self._settle_epoch(now, out)

    def _settle_epoch(self, now: Now, out: Outbox) -> None:
        if len(self._epoch_acks) < self._majority:
            return
        self._epoch_settled = True
        self._replica.history.enter_epoch(self.epoch)
        for learner in self._learners.values():
            if learner.last_zxid >= 0:
                self._synchronise(out, learner)
        self._establish(now, out)

    # --- synchronisation ------------------------------------------------------------------------------------

    def _synchronise(self, out: Outbox, learner: Learner) -> None:
        """Send the missing history; from here on this follower gets every proposal."""
        out.send(learner.connection, history_for(self._replica.history, learner.last_zxid))
        out.send(learner.connection, NewLeader(self.epoch))
        learner.synchronised = True

    def _history_acked(self, now: Now, out: Outbox, learner: Learner) -> None:
        if self.broadcast is None:
            self._establish(now, out)
        else:
            self._welcome(out, learner)
            self.broadcast.commit(now, out)

    def _establish(self, now: Now, out: Outbox) -> None:
        """Begin the broadcast when a majority has the log.

        All of the log is then committed, and the leader serves.
        """
        acked = [learner for learner in self._learners.values() if learner.acked >= 0]
        if len(acked) + 1 < self._majority:
            return
        if not self._prepared:
            if not self._preparing:
                self._preparing = True
                out.set_timer(SNAPSHOT_TIMER, SNAPSHOT_MS, self._snapshot_written)
            return
        self.broadcast = Broadcast(
            now, out, self.epoch, self._majority, self._learners, self._replica, self._host, self._tracker
        )
        for learner in acked:
            self._welcome(out, learner)
        self._host.serving_changed(now, out, True)

    def _welcome(self, out: Outbox, learner: Learner) -> None:
        learner.up_to_date = True
        out.send(learner.connection, UpToDate(self._replica.tree.zxid))

    # --- time -----------------------------------------------------------------------------------------------

    def _half_tick(self, now: Now, out: Outbox) -> None:
        out.set_timer(TICK_TIMER, self._limits.tick_ms / 2, self._half_tick)
        self._half_ticks += 1
        ping = LeaderPing()
        for connection, learner in list(self._learners.items()):
            silent_ms = now.mono_ms - learner.received_ms
            if silent_ms > (self._limits.sync_ms if learner.up_to_date else self._limits.init_ms):
                self._drop(out, connection)
            elif learner.synchronised:
                out.send(connection, ping)
        if self._half_ticks % 2:
            return
        if self.broadcast is not None:
            alive = sum(1 for learner in self._learners.values() if learner.up_to_date)
            if alive + 1 < self._majority:
                raise TermEnded(f"only {alive} of {self._servers - 1} followers left")
        elif now.mono_ms - self._started_ms >= self._limits.init_ms:
            raise TermEnded(f"no majority of followers within {self._limits.init_ms:.0f} ms")

    def _drop(self, out: Outbox, connection: int) -> None:
        del self._learners[connection]
        out.close(connection)


def history_for(own: OwnHistory, theirs: int) -> History:
    """History for a follower whose newest zxid is `theirs`: DIFF, TRUNC or SNAP.

    The newest zxid of the leader's that is not above theirs is in their log, too. Within an epoch both logs are
    beginnings of one sequence. An epoch of theirs that the leader lacks never had a majority, so it has no
    transactions.
    """
    common = own.newest_up_to(theirs)
    if common is None:
        return History("snap", 0, own.snapshot, own.after(own.snapshot_zxid))
    if common == theirs:
        return History("diff", 0, b"", own.after(theirs))
    return History("trunc", common, b"", own.after(common))
