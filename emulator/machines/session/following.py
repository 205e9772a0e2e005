"""A leadership term from a follower's side (semantics 5.2, 5.3).

The follower opens one connection to the elected leader and keeps it for the term. Its loss, or silence on it, ends
the term. Order of events: FollowerInfo, LeaderInfo (a new epoch), AckEpoch, History and NewLeader (the log becomes
the leader's), AckNewLeader, UpToDate. From then on the follower serves. It writes every proposal to disk before it
acknowledges it.
"""

from emulator.machines.session.leader_message_validation import out_of_line
from emulator.machines.session.quorum import Host, Limits, Replica, TermEnded
from protocol.machine import ConnectionEvent, ConnectionOpened, MessageReceived, Now
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
from protocol.messages.message_base import Message
from protocol.outbox import Outbox
from protocol.purposes import ENSEMBLE

CONNECT_ATTEMPTS = 5
CONNECT_PAUSE_MS = 1000.0
"""Pause of ZooKeeper's follower between its five attempts to connect to the leader.

An attempt before the leader's port is open costs this second.
"""
LAUNCH_ATTEMPTS = 100
LAUNCH_PAUSE_MS = 50.0
"""Pause while an ensemble is launched that never had a leader (a departure).

A launch should not take that second. Recorded outcomes begin after it.
"""

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
        self._received_ms = 0.0
        self._epoch = 0
        self._serving = False
        self._touched: dict[int, None] = {}
        self._known_zxid = replica.history.last_zxid

    def start(self, now: Now, out: Outbox) -> None:
        self._received_ms = now.mono_ms
        out.set_timer(READ_TIMER, self._limits.init_ms, self._read_due)
        self._connect(out)

    def stop(self, out: Outbox) -> None:
        """End the term: close the connection, cancel the timers."""
        if self._connection:
            out.close(self._connection)
            self._connection = 0
        out.cancel_timer(CONNECT_TIMER)
        out.cancel_timer(READ_TIMER)

    # --- inputs ---------------------------------------------------------------------------------------------

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, MessageReceived):
            self._message(now, out, event.message)
        elif isinstance(event, ConnectionOpened):
            self._opened(now, out)
        else:
            self._lost(out, event.reason)

    def _opened(self, now: Now, out: Outbox) -> None:
        out.cancel_timer(CONNECT_TIMER)
        self._received_ms = now.mono_ms
        out.send(self._connection, FollowerInfo(self._replica.history.accepted_epoch))

    def _lost(self, out: Outbox, reason: str) -> None:
        """Handle a closed leader's port, a rejected or a lost connection."""
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
        """Handle the end of the pause before an attempt, or an attempt's timeout."""
        if self._connection:
            out.close(self._connection)
            self._connection = 0
            if self._attempts >= self._attempts_max:
                raise TermEnded(f"no connection to leader {self._leader}")
        self._connect(out)

    def _read_due(self, now: Now, out: Outbox) -> None:
        limit_ms = self._limits.sync_ms if self._serving else self._limits.init_ms
        left_ms = self._received_ms + limit_ms - now.mono_ms
        if left_ms <= 0:
            raise TermEnded(f"nothing from leader {self._leader} for {limit_ms:.0f} ms")
        out.set_timer(READ_TIMER, left_ms, self._read_due)

    def _message(self, now: Now, out: Outbox, message: Message) -> None:
        """Handle a leader's message; cases in order of frequency."""
        self._received_ms = now.mono_ms
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

    # --- requests of this server's clients (Quorum) -----------------------------------------------------------

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
        self._connection = out.open(self._leader, ENSEMBLE, self._on_connection_event)
        out.set_timer(CONNECT_TIMER, self._limits.sync_ms, self._connect_due)

    def _advance(self, now: Now, out: Outbox, committed: int) -> None:
        """Apply committed transactions; a session that is new here counts as touched.

        As in ZooKeeper's learner: a server that rejoins, and learns of sessions opened meanwhile, gives each a full
        timeout from then. Recorded: expiry 5 to 6 s after a kill, for a negotiated timeout of 3 s.
        """
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
