"""Following: a leadership term from a follower's side.

It opens one connection to the elected leader and keeps it for the term; its loss, or silence on it, ends the
term. Order of events: FollowerInfo, LeaderInfo (a new epoch), AckEpoch, History and NewLeader (our log becomes
the leader's), AckNewLeader, UpToDate: from then on we serve. Every proposal is on disk before it is
acknowledged. Semantics 5.2, 5.3.
"""

from emulator.machines.session.leaders_word import out_of_line
from emulator.machines.session.quorum import Host, Limits, Replica, TermEnded
from protocol.machine import ConnectionEvent, ConnectionOpened, MessageReceived, Now
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
from protocol.outbox import Outbox
from protocol.purposes import ENSEMBLE

CONNECT_ATTEMPTS = 5
CONNECT_PAUSE_MS = 1000.0
"""ZooKeeper's follower tries its leader five times, a second apart: a leader whose port is not open yet costs
that second."""
LAUNCH_ATTEMPTS = 100
LAUNCH_PAUSE_MS = 50.0
"""A departure: an ensemble that never had a leader is being launched, and a launch should not take that second.
Recorded outcomes begin after it."""

CONNECT_TIMER = ("follow-connect",)
READ_TIMER = ("follow-read",)


class Following:
    """Created when an election is lost. `leader`: name of its node."""

    def __init__(self, leader: str, limits: Limits, replica: Replica, host: Host) -> None:
        self._leader = leader
        self._replica = replica
        self._host = host
        self._limits = limits
        self._connection = 0
        self._attempts = 0
        self._heard_ms = 0.0
        self._epoch = 0
        self._serving = False
        self._touched: dict[int, None] = {}
        self._known_zxid = replica.history.last_zxid

    def start(self, now: Now, out: Outbox) -> None:
        self._heard_ms = now.mono_ms
        out.set_timer(READ_TIMER, self._limits.init_ms, self._read_due)
        self._connect(out)

    def stop(self, out: Outbox) -> None:
        """The term has ended: nothing of it stays."""
        if self._connection:
            out.close(self._connection)
            self._connection = 0
        out.cancel_timer(CONNECT_TIMER)
        out.cancel_timer(READ_TIMER)

    # --- inputs ---------------------------------------------------------------------------------------------

    def _heard(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, MessageReceived):
            self._message(now, out, event.message)
        elif isinstance(event, ConnectionOpened):
            self._opened(now, out)
        else:
            self._lost(out, event.reason)

    def _opened(self, now: Now, out: Outbox) -> None:
        out.cancel_timer(CONNECT_TIMER)
        self._heard_ms = now.mono_ms
        out.send(self._connection, FollowerInfo(self._replica.history.accepted_epoch))

    def _lost(self, out: Outbox, reason: str) -> None:
        """The leader's port is closed, or it refused us, or it is gone."""
        self._connection = 0
        if self._epoch or self._attempts >= self._attempts_max:
            raise TermEnded(f"connection to leader {self._leader}: {reason}")
        out.set_timer(CONNECT_TIMER, LAUNCH_PAUSE_MS if self._launching else CONNECT_PAUSE_MS, self._connect_due)

    @property
    def _launching(self) -> bool:
        return self._replica.history.accepted_epoch == 0

    @property
    def _attempts_max(self) -> int:
        return LAUNCH_ATTEMPTS if self._launching else CONNECT_ATTEMPTS

    def _connect_due(self, now: Now, out: Outbox) -> None:
        """The pause before an attempt is over, or the attempt took too long."""
        if self._connection:
            out.close(self._connection)
            self._connection = 0
            if self._attempts >= self._attempts_max:
                raise TermEnded(f"no connection to leader {self._leader}")
        self._connect(out)

    def _read_due(self, now: Now, out: Outbox) -> None:
        limit_ms = self._limits.sync_ms if self._serving else self._limits.init_ms
        left_ms = self._heard_ms + limit_ms - now.mono_ms
        if left_ms <= 0:
            raise TermEnded(f"nothing from leader {self._leader} for {limit_ms:.0f} ms")
        out.set_timer(READ_TIMER, left_ms, self._read_due)

    def _message(self, now: Now, out: Outbox, message: Message) -> None:
        """From the leader, in order of how often they come."""
        self._heard_ms = now.mono_ms
        replica = self._replica
        objection = out_of_line(message, replica, self._epoch)
        if objection:
            raise TermEnded(f"leader {self._leader} sent {message.API_NAME}: {objection}")
        match message:
            case LeaderPing():
                touched = list(self._touched)
                self._touched.clear()
                out.send(self._connection, LearnerPong(touched))
            case Proposal(transaction):
                replica.history.append([transaction])
                out.send(self._connection, ProposalAck(transaction.zxid))
            case Commit(zxid):
                self._advance(now, out, zxid)
            case Revalidated(request, valid):
                self._host.revalidated(now, out, request, valid)
            case CaughtUp(request):
                self._host.caught_up(now, out, request)
            case LeaderInfo(epoch):
                self._accept(out, epoch)
            case History():
                self._synchronise(now, out, message)
            case NewLeader(epoch):
                replica.history.enter_epoch(epoch)
                out.send(self._connection, AckNewLeader(epoch, replica.history.last_zxid))
            case UpToDate(committed):
                self._advance(now, out, committed)
                self._serving = True
                out.set_timer(READ_TIMER, self._limits.sync_ms, self._read_due)
                self._host.serving_changed(now, out, True)
            case _:
                raise TermEnded(f"leader {self._leader} sent {message.API_NAME}, which leaders do not send")

    # --- requests of our clients (Quorum) -------------------------------------------------------------------

    def propose(self, now: Now, out: Outbox, transaction: Transaction) -> None:
        out.send(self._connection, Forward(transaction))

    def revalidate(self, now: Now, out: Outbox, request: int, session: int) -> None:
        out.send(self._connection, Revalidate(request, session))

    def catch_up(self, now: Now, out: Outbox, request: int) -> None:
        out.send(self._connection, CatchUp(request))

    def touch(self, now: Now, session: int) -> bool:
        self._touched[session] = None
        return True

    # --- private --------------------------------------------------------------------------------------------

    def _connect(self, out: Outbox) -> None:
        self._attempts += 1
        self._connection = out.open(self._leader, ENSEMBLE, self._heard)
        out.set_timer(CONNECT_TIMER, self._limits.sync_ms, self._connect_due)

    def _advance(self, now: Now, out: Outbox, committed: int) -> None:
        """A session that is new to us counts as touched, as in ZooKeeper's learner: so a server that rejoins, and hears
        only now of sessions opened meanwhile, gives each a full time-out from then (recorded: expiry 5 to 6 s after
        a kill, where 3 s was agreed)."""
        for transaction in self._replica.advance(now, out, committed):
            if transaction.kind == "open" and transaction.zxid > self._known_zxid:
                self._touched[transaction.zxid] = None
            elif transaction.kind == "close":
                self._touched.pop(transaction.session, None)

    def _accept(self, out: Outbox, epoch: int) -> None:
        history = self._replica.history
        if epoch < history.accepted_epoch:
            raise TermEnded(f"leader {self._leader} offers epoch {epoch}, {history.accepted_epoch} is accepted")
        counts = epoch > history.accepted_epoch
        history.accept_epoch(epoch)
        self._epoch = epoch
        out.send(self._connection, AckEpoch(history.current_epoch, history.last_zxid, counts))

    def _synchronise(self, now: Now, out: Outbox, message: History) -> None:
        replica = self._replica
        if message.kind == "snap":
            replica.replace(now, out, message.snapshot)
        elif message.kind == "trunc":
            replica.cut_after(message.truncate_to)
        replica.history.append(message.transactions)
