"""Leader search: the election over connections and time (semantics 5.3).

Wraps `election` (rules of votes) and `peers` (connections). It sends this server's vote to all, again after 200 ms,
400 ms and so on up to a minute. While the server does not search, it answers those that do. It waits 200 ms for a
better vote before the decision stands.
"""

from collections.abc import Callable

from emulator.machines.session.election import (
    FINALIZE_WAIT_MS,
    LAUNCH_WAIT_MS,
    LEADING,
    LOOKING,
    RESEND_FIRST_MS,
    RESEND_MAX_MS,
    Ballot,
    Election,
    Role,
)
from emulator.machines.session.peers import Peers
from protocol.machine import Now
from protocol.messages.ensemble import Vote
from protocol.outbox import Outbox, Owner

VOTE_TIMER = ("vote",)
FINALIZE_TIMER = ("election",)


class Search:
    """Leader search of one server, for one incarnation.

    `election` is None while it follows or leads. `ballot`: the last decision. `owner` receives the events of
    connections for votes. `decided` is called when no better vote came in time.
    """

    def __init__(
        self, me: int, servers: list[str], owner: Owner, decided: Callable[[Now, Outbox, Ballot], None]
    ) -> None:
        self._me = me
        self._servers = len(servers)
        self._resend_ms = RESEND_FIRST_MS
        self._finalizing: Ballot | None = None
        self._round = 0
        self._launch = False
        self.peers = Peers(me, servers, owner)
        self._decided = decided
        self.election: Election | None = None
        self.ballot = Ballot(0, 0, me)

    def begin(self, now: Now, out: Outbox, current_epoch: int, last_zxid: int) -> Ballot | None:
        """Begin a new round; a single server decides at once."""
        self._round += 1
        own = Ballot(current_epoch, last_zxid, self._me)
        self.election = Election(self._me, self._servers, self._round, own)
        self._launch = current_epoch == 0 and last_zxid == 0
        self._resend_ms = RESEND_FIRST_MS
        self._finalizing = None
        if self._servers == 1:
            return self._decide(out, self.election)
        self.peers.send_to_all(now, out, self._searching(self.election))
        self.peers.watch(out)
        out.set_timer(VOTE_TIMER, self._resend_ms, self._send_again)
        return None

    def opened(self, out: Outbox, connection: int) -> None:
        """Handle an established connection for votes."""
        self.peers.opened(out, connection, self._searching(self.election) if self.election else None)

    def vote_received(
        self, now: Now, out: Outbox, connection: int, sender: int, vote: Vote, role: Role, current_epoch: int
    ) -> Ballot | None:
        """Handle a vote; returns the decision, if there is one at once.

        `role` and epoch of this server are the response to a searching server while this one does not search.
        """
        self.peers.voted(out, connection, sender)
        if not 0 <= vote.leader < self._servers:
            return None
        election = self.election
        if election is None:
            if vote.state == LOOKING:
                epoch, zxid, leader = self.ballot
                out.send(connection, Vote(role, self._round, leader, zxid, max(epoch, current_epoch)))
            return None
        ballot = Ballot(vote.peer_epoch, vote.zxid, vote.leader)
        if vote.state == LOOKING:
            behind = vote.election_round < election.election_round
            if election.receive_looking(sender, vote.election_round, ballot):
                self.peers.send_to_all(now, out, self._searching(election))
            elif behind:
                out.send(connection, self._searching(election))
        else:
            joined = election.receive_settled(sender, vote.election_round, ballot, vote.state == LEADING)
            if joined is not None:
                election.choice = joined
                return self._decide(out, election)
        if not election.majority_agrees():
            if self._finalizing is not None:
                self._finalizing = None
                out.cancel_timer(FINALIZE_TIMER)
        elif self._launch and election.all_agree():
            return self._decide(out, election)
        elif self._finalizing != election.choice:
            self._finalizing = election.choice
            out.set_timer(FINALIZE_TIMER, LAUNCH_WAIT_MS if self._launch else FINALIZE_WAIT_MS, self._finalize)
        return None

    def _finalize(self, now: Now, out: Outbox) -> None:
        assert self.election is not None
        self._decided(now, out, self._decide(out, self.election))

    def _send_again(self, now: Now, out: Outbox) -> None:
        assert self.election is not None
        self.peers.send_to_all(now, out, self._searching(self.election))
        self._resend_ms = min(2 * self._resend_ms, RESEND_MAX_MS)
        out.set_timer(VOTE_TIMER, self._resend_ms, self._send_again)

    def _decide(self, out: Outbox, election: Election) -> Ballot:
        self.ballot = election.choice
        self._round = election.election_round
        self.election = None
        out.cancel_timer(VOTE_TIMER)
        out.cancel_timer(FINALIZE_TIMER)
        self.peers.rest(out)
        return self.ballot

    @staticmethod
    def _searching(election: Election) -> Vote:
        epoch, zxid, leader = election.choice
        return Vote(LOOKING, election.election_round, leader, zxid, epoch)
