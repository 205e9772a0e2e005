"""Broadcast phase of a leader's term: proposals, commits, sessions (semantics 5.2, 5.3).

The leader writes every proposal to its disk before it sends it. It commits proposals in order, when a majority has
acknowledged them. It also admits, moves and expires sessions. A session's end is a proposal like any other, so
without a quorum no session expires.
"""

from emulator.machines.session.quorum import EPOCH_SHIFT, Host, Replica
from emulator.machines.session.session_state import Learner
from emulator.machines.session.sessions import SessionTracker
from protocol.machine import Now
from protocol.messages.ensemble import CaughtUp, Commit, Proposal, Transaction
from protocol.outbox import Outbox

EXPIRY_TIMER = ("session-expiry",)
CATCHING_UP_MAX = 100_000
"""Bound of `sync` calls behind uncommitted proposals; clients' own bounds keep it far below."""


class Broadcast:
    """Broadcast of one term; begins when a majority has the leader's log.

    All of the log is then committed, and every known session gets a full timeout.
    """

    def __init__(
        self,
        now: Now,
        out: Outbox,
        epoch: int,
        majority: int,
        learners: dict[int, Learner],
        replica: Replica,
        host: Host,
        tracker: SessionTracker,
    ) -> None:
        self._epoch = epoch
        self._majority = majority
        self._learners = learners
        self._replica = replica
        self._host = host
        self._last_proposed = epoch << EPOCH_SHIFT
        self._catching_up: list[tuple[int, int, int]] = []
        self.tracker = tracker
        replica.advance(now, out, replica.history.last_zxid)
        for session in sorted(replica.tree.sessions):
            tracker.add(replica.tree.sessions[session], now.mono_ms)
        self._watch_expiry(now, out)

    def propose(self, now: Now, out: Outbox, transaction: Transaction) -> None:
        """Propose a transaction, after checking its session: expired, or moved to another server.

        Only the leader knows. It accepts a session's end from any server.
        """
        if transaction.kind == "operations":
            transaction.error = self.tracker.refuses(transaction.session, transaction.origin)
        elif transaction.kind == "close":
            transaction.error = self.tracker.refuses_to_close(transaction.session)
            if not transaction.error:
                self.tracker.closing(transaction.session)
                transaction.owner = self._replica.tree.sessions[transaction.session].owner
        self._send(now, out, transaction)

    def _expire(self, now: Now, out: Outbox) -> None:
        """Expire the sessions of the earliest bucket, if its time has come."""
        for session in self.tracker.expired(now.mono_ms):
            owner = self._replica.tree.sessions[session].owner
            self._send(now, out, Transaction(0, "close", session, owner=owner, reason="expired"))
        self._watch_expiry(now, out)

    def commit(self, now: Now, out: Outbox) -> None:
        """Commit up to the newest zxid that a majority's disks hold."""
        acked = [self._replica.history.last_zxid]
        acked += [learner.acked for learner in self._learners.values()]
        if len(acked) < self._majority:
            return
        acked.sort(reverse=True)
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
            self._caught_up(now, out, connection, request)

    def reopened(self, now: Now, session: int, server: int) -> bool:
        """Move a reconnecting client's session to `server`; whether the session is alive."""
        alive = self.tracker.touch(session, now.mono_ms)
        if alive:
            self.tracker.moved(session, server)
        return alive

    def catch_up(self, now: Now, out: Outbox, connection: int, request: int) -> None:
        """Respond after the commits of everything proposed so far.

        `connection` 0: the request is of one of the leader's own clients.
        """
        if self._replica.tree.zxid >= self._replica.history.last_zxid:
            self._caught_up(now, out, connection, request)
        else:
            assert len(self._catching_up) < CATCHING_UP_MAX
            self._catching_up.append((self._last_proposed, connection, request))

    def _send(self, now: Now, out: Outbox, transaction: Transaction) -> None:
        self._last_proposed += 1
        assert self._last_proposed >> EPOCH_SHIFT == self._epoch, "the epoch's zxids are used up"
        transaction.zxid = self._last_proposed
        self._replica.history.append([transaction])
        proposal = Proposal(transaction)
        for learner in self._learners.values():
            if learner.synchronised:
                out.send(learner.connection, proposal)
        self.commit(now, out)

    def _keep_sessions(self, now: Now, out: Outbox, transaction: Transaction) -> None:
        if transaction.error:
            return
        if transaction.kind == "open":
            session = self._replica.tree.sessions[transaction.zxid]
            self.tracker.add(session, now.mono_ms, transaction.origin)
            self._watch_expiry(now, out)
        elif transaction.kind == "close":
            self.tracker.remove(transaction.session)

    def _watch_expiry(self, now: Now, out: Outbox) -> None:
        expiry_ms = self.tracker.next_expiry_ms()
        if expiry_ms is not None:
            out.set_timer(EXPIRY_TIMER, max(0.0, expiry_ms - now.mono_ms), self._expire)

    def _caught_up(self, now: Now, out: Outbox, connection: int, request: int) -> None:
        if connection == 0:
            self._host.caught_up(now, out, request)
        elif connection in self._learners:
            out.send(connection, CaughtUp(request))
