"""Leading: a reign from the leader's side (semantics 5.2, 5.3).

Three stages. *Discovery*: a majority reports the epochs it has accepted, the new one is above them all.
*Synchronisation*: each follower's log is made equal to ours; when a majority has it on disk, our whole log is
committed. *Broadcast*: proposals in order, each on our disk before it is sent, committed when a majority has
acknowledged; here sessions are kept and expired.

The rule: nothing is applied anywhere before a majority has it on disk.
"""

import msgspec

from emulator.session.quorum import EPOCH_SHIFT, Host, ReignEnded, Replica
from emulator.session.sessions import SessionTracker
from protocol.machine import Now, Outbox
from protocol.messages.base import Message
from protocol.messages.ensemble import (
    AckEpoch,
    AckNewLeader,
    CatchUp,
    CaughtUp,
    Commit,
    FollowerInfo,
    Forward,
    History,
    LeaderInfo,
    LeaderPing,
    LearnerPong,
    NewLeader,
    Proposal,
    ProposalAck,
    Revalidate,
    Revalidated,
    Transaction,
    UpToDate,
)

PORT_OPENS_MAX_MS = 12.0
"""A new leader's port opens a few ms after its election, its follower knocks about as soon: mostly too soon, and then
again a second later (recordings: a lost leader delays expiry by 5.3 to 6.3 s, of which 4 are syncLimit; seldom 4.3)."""

SNAPSHOT_MS = 200.0
"""Before they serve, ZooKeeper's new leader and its followers each write a snapshot and their epochs."""

OPEN_TIMER = ("lead-open",)
SNAPSHOT_TIMER = ("lead-snapshot",)
TICK_TIMER = ("lead-tick",)
EXPIRY_TIMER = ("session-expiry",)
LEADING_TIMERS = (OPEN_TIMER, SNAPSHOT_TIMER, TICK_TIMER, EXPIRY_TIMER)


class Learner(msgspec.Struct):
    """One follower's connection. `synchronised`: it has our log's beginning and gets proposals; `acked`: newest
    zxid on its disk."""

    connection: int
    server: int
    accepted_epoch: int
    heard_ms: float
    last_zxid: int = -1
    synchronised: bool = False
    up_to_date: bool = False
    acked: int = -1


class Leading:
    """Created when an election is won. `servers`: size of the ensemble. `port_opens_ms`: how long followers find its
    port closed; 0: an ensemble that is launched, nothing to wait for. `phase_ms`: of the session tracker's buckets."""

    def __init__(
        self,
        me: int,
        servers: int,
        replica: Replica,
        host: Host,
        tick_time_ms: int,
        init_ms: float,
        sync_ms: float,
        *,
        port_opens_ms: float,
        phase_ms: float,
    ) -> None:
        self._me = me
        self._servers = servers
        self._majority = servers // 2 + 1
        self._replica = replica
        self._host = host
        self._tick_ms = tick_time_ms
        self._init_ms = init_ms
        self._sync_ms = sync_ms
        self._started_ms = 0.0
        self._port_opens_ms = port_opens_ms
        self._open = self._prepared = port_opens_ms == 0.0
        self._preparing = False
        self._half_ticks = 0
        self._learners: dict[int, Learner] = {}
        self.epoch = 0
        self._own_place = (0, 0)
        self._epoch_acks: set[int] = {me}
        self._epoch_settled = False
        self.established = False
        self._last_proposed = 0
        self._catching_up: list[tuple[int, int, int]] = []
        self.tracker = SessionTracker(tick_time_ms, phase_ms)

    def start(self, now: Now, out: Outbox) -> None:
        self._started_ms = now.mono_ms
        if self._servers == 1:
            self._discover(now, out)
            return
        if not self._open:
            out.set_timer(OPEN_TIMER, self._port_opens_ms)
        out.set_timer(TICK_TIMER, self._tick_ms / 2)

    def stop(self, out: Outbox) -> None:
        """The reign has ended: nothing of it stays."""
        for connection in self._learners:
            out.close(connection)
        self._learners.clear()
        for timer in LEADING_TIMERS:
            out.cancel_timer(timer)

    # --- inputs ---------------------------------------------------------------------------------------------

    def owns(self, connection: int) -> bool:
        return connection in self._learners

    def follower_came(self, now: Now, out: Outbox, connection: int, server: int, message: FollowerInfo) -> None:
        """First message of a follower. Before our port is open it finds it closed."""
        if not self._open:
            out.close(connection)
            return
        if self.epoch and message.accepted_epoch > self.epoch:
            # ZooKeeper lets such a server try in vain until somebody else calls an election; we call it at once.
            out.close(connection)
            raise ReignEnded(f"server {server} accepted epoch {message.accepted_epoch}, ours is {self.epoch}")
        for other in [c for c, learner in self._learners.items() if learner.server == server]:
            self._drop(out, other)
        learner = Learner(connection, server, message.accepted_epoch, now.mono_ms)
        self._learners[connection] = learner
        if self.epoch:
            out.send(connection, LeaderInfo(self.epoch))
        else:
            self._discover(now, out)

    def lost(self, connection: int) -> None:
        """A follower is gone; whether enough are left is seen at the next tick (as ZooKeeper)."""
        del self._learners[connection]

    def timer(self, now: Now, out: Outbox, key: tuple[str | int, ...]) -> None:
        if key == OPEN_TIMER:
            self._open = True
        elif key == SNAPSHOT_TIMER:
            self._prepared = True
            self._establish(now, out)
        elif key == TICK_TIMER:
            out.set_timer(TICK_TIMER, self._tick_ms / 2)
            self._half_tick(now, out)
        else:
            assert key == EXPIRY_TIMER, key
            for session in self.tracker.expired(now.mono_ms):
                owner = self._replica.tree.sessions[session].owner
                self._broadcast(now, out, Transaction(0, "close", session, owner=owner, reason="expired"))
            self._watch_expiry(now, out)

    def message(self, now: Now, out: Outbox, connection: int, message: Message) -> None:
        """From a follower, in order of how often they come."""
        learner = self._learners[connection]
        learner.heard_ms = now.mono_ms
        match message:
            case LearnerPong(touched):
                for session in touched:
                    self.tracker.touch(session, now.mono_ms)
            case ProposalAck(zxid):
                learner.acked = max(learner.acked, zxid)
                self._commit(now, out)
            case Forward(transaction):
                if self.established:
                    self._admit(now, out, transaction)
            case Revalidate(request, session):
                out.send(connection, Revalidated(request, self._moved(now, session, learner.server)))
            case CatchUp(request):
                self._answer_when_committed(now, out, connection, request)
            case AckEpoch():
                self._epoch_acked(now, out, learner, message)
            case AckNewLeader(_, last_zxid):
                learner.acked = last_zxid
                self._history_acked(now, out, learner)
            case _:
                self._drop(out, connection)

    # --- requests of our clients (Quorum) -------------------------------------------------------------------

    def propose(self, now: Now, out: Outbox, transaction: Transaction) -> None:
        self._admit(now, out, transaction)

    def revalidate(self, now: Now, out: Outbox, request: int, session: int) -> None:
        self._host.revalidated(now, out, request, self._moved(now, session, self._me))

    def catch_up(self, now: Now, out: Outbox, request: int) -> None:
        self._answer_when_committed(now, out, 0, request)

    def touch(self, now: Now, session: int) -> None:
        self.tracker.touch(session, now.mono_ms)

    # --- discovery ------------------------------------------------------------------------------------------

    def _discover(self, now: Now, out: Outbox) -> None:
        """An epoch above all that a majority had accepted."""
        if len(self._learners) + 1 < self._majority:
            return
        history = self._replica.history
        accepted = [learner.accepted_epoch for learner in self._learners.values()]
        self.epoch = max([history.accepted_epoch, *accepted]) + 1
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
            raise ReignEnded(f"server {learner.server} knows more: {message.last_zxid:#x}")
        if message.counts:
            self._epoch_acks.add(learner.server)
        self._settle_epoch(now, out)

    def _settle_epoch(self, now: Now, out: Outbox) -> None:
        if len(self._epoch_acks) < self._majority:
            return
        self._epoch_settled = True
        self._replica.history.enter_epoch(self.epoch)
        self._last_proposed = self.epoch << EPOCH_SHIFT
        for learner in self._learners.values():
            if learner.last_zxid >= 0:
                self._synchronise(out, learner)
        self._establish(now, out)

    # --- synchronisation ------------------------------------------------------------------------------------

    def _synchronise(self, out: Outbox, learner: Learner) -> None:
        """DIFF, TRUNC or SNAP, then the end mark. From here on this follower gets every proposal."""
        history = self._replica.history
        theirs = learner.last_zxid
        common = history.newest_up_to(theirs)
        if common is None:
            sent = History("snap", 0, history.snapshot, history.after(history.snapshot_zxid))
        elif common == theirs:
            sent = History("diff", 0, b"", history.after(theirs))
        else:
            sent = History("trunc", common, b"", history.after(common))
        out.send(learner.connection, sent)
        out.send(learner.connection, NewLeader(self.epoch))
        learner.synchronised = True

    def _history_acked(self, now: Now, out: Outbox, learner: Learner) -> None:
        if self.established:
            self._welcome(out, learner)
            self._commit(now, out)
        else:
            self._establish(now, out)

    def _establish(self, now: Now, out: Outbox) -> None:
        """A majority has our log: all of it is committed, and we serve."""
        acked = [learner for learner in self._learners.values() if learner.acked >= 0]
        if len(acked) + 1 < self._majority:
            return
        if not self._prepared:
            if not self._preparing:
                self._preparing = True
                out.set_timer(SNAPSHOT_TIMER, SNAPSHOT_MS)
            return
        self.established = True
        replica = self._replica
        replica.advance(now, out, replica.history.last_zxid)
        for session in sorted(replica.tree.sessions):
            self.tracker.add(replica.tree.sessions[session], now.mono_ms)
        for learner in acked:
            self._welcome(out, learner)
        self._watch_expiry(now, out)
        self._host.serving_changed(now, out, True)

    def _welcome(self, out: Outbox, learner: Learner) -> None:
        learner.up_to_date = True
        out.send(learner.connection, UpToDate(self._replica.tree.zxid))

    # --- broadcast ------------------------------------------------------------------------------------------

    def _admit(self, now: Now, out: Outbox, transaction: Transaction) -> None:
        """Sessions are checked here, by the only one who knows: expired, or moved to another server."""
        if transaction.kind != "open":
            transaction.error = self.tracker.refuses(transaction.session, transaction.origin)
            if transaction.kind == "close" and not transaction.error:
                self.tracker.closing(transaction.session)
                transaction.owner = self._replica.tree.sessions[transaction.session].owner
        self._broadcast(now, out, transaction)

    def _broadcast(self, now: Now, out: Outbox, transaction: Transaction) -> None:
        self._last_proposed += 1
        assert self._last_proposed >> EPOCH_SHIFT == self.epoch, "the epoch's zxids are used up"
        transaction.zxid = self._last_proposed
        self._replica.history.append([transaction])
        proposal = Proposal(transaction)
        for learner in self._learners.values():
            if learner.synchronised:
                out.send(learner.connection, proposal)
        self._commit(now, out)

    def _commit(self, now: Now, out: Outbox) -> None:
        """Up to the newest zxid that a majority's disks hold."""
        if not self.established:
            return
        acked = sorted([self._replica.history.last_zxid, *(le.acked for le in self._learners.values())], reverse=True)
        if len(acked) < self._majority:
            return
        committed = acked[self._majority - 1]
        if committed <= self._replica.tree.zxid:
            return
        commit = Commit(committed)
        for learner in self._learners.values():
            if learner.synchronised:
                out.send(learner.connection, commit)
        for transaction in self._replica.advance(now, out, committed):
            self._keep_sessions(now, out, transaction)
        while self._catching_up and self._catching_up[0][0] <= committed:
            _, connection, request = self._catching_up.pop(0)
            self._answer_caught_up(now, out, connection, request)

    def _keep_sessions(self, now: Now, out: Outbox, transaction: Transaction) -> None:
        if transaction.error:
            return
        if transaction.kind == "open":
            self.tracker.add(self._replica.tree.sessions[transaction.zxid], now.mono_ms, transaction.origin)
            self._watch_expiry(now, out)
        elif transaction.kind == "close":
            self.tracker.remove(transaction.session)

    def _watch_expiry(self, now: Now, out: Outbox) -> None:
        expiry_ms = self.tracker.next_expiry_ms()
        if expiry_ms is not None:
            out.set_timer(EXPIRY_TIMER, max(0.0, expiry_ms - now.mono_ms))

    def _moved(self, now: Now, session: int, server: int) -> bool:
        valid = self.established and self.tracker.touch(session, now.mono_ms)
        if valid:
            self.tracker.moved(session, server)
        return valid

    def _answer_when_committed(self, now: Now, out: Outbox, connection: int, request: int) -> None:
        if self._replica.tree.zxid >= self._replica.history.last_zxid:
            self._answer_caught_up(now, out, connection, request)
        else:
            self._catching_up.append((self._last_proposed, connection, request))

    def _answer_caught_up(self, now: Now, out: Outbox, connection: int, request: int) -> None:
        if connection == 0:
            self._host.caught_up(now, out, request)
        elif connection in self._learners:
            out.send(connection, CaughtUp(request))

    # --- time -----------------------------------------------------------------------------------------------

    def _half_tick(self, now: Now, out: Outbox) -> None:
        self._half_ticks += 1
        ping = LeaderPing()
        for connection, learner in list(self._learners.items()):
            silent_ms = now.mono_ms - learner.heard_ms
            if silent_ms > (self._sync_ms if learner.up_to_date else self._init_ms):
                self._drop(out, connection)
            elif learner.synchronised:
                out.send(connection, ping)
        if self._half_ticks % 2:
            return
        if self.established:
            alive = sum(1 for learner in self._learners.values() if learner.up_to_date)
            if alive + 1 < self._majority:
                raise ReignEnded(f"only {alive} of {self._servers - 1} followers left")
        elif now.mono_ms - self._started_ms >= self._init_ms:
            raise ReignEnded(f"no majority of followers within {self._init_ms:.0f} ms")

    def _drop(self, out: Outbox, connection: int) -> None:
        del self._learners[connection]
        out.close(connection)
