"""Leader election (ZooKeeper's FastLeaderElection, semantics 5.3): votes in, a decision out.

A server first votes for itself. It adopts any better vote that it receives, and sends it again. When a majority
votes alike, it waits 200 ms for a better vote, then decides. Better is: newer peer epoch, then newer zxid, then
higher server number.
A searching server joins a leader that others already follow, if a majority follows it and the leader itself reports
that it leads.
"""

from typing import Final, Literal, NamedTuple

FINALIZE_WAIT_MS = 200.0
"""Time that a majority's choice waits for a better vote."""
LAUNCH_WAIT_MS = 2000.0
"""The same for servers without any history: an ensemble that is launched.

Its processes do not start at one instant, and which of them leads must not depend on that. The wait ends when every
server has voted. (A departure: ZooKeeper always waits 200 ms. The recordings' servers were started together.)
"""
RESEND_FIRST_MS = 200.0
RESEND_MAX_MS = 60_000.0

Role = Literal["looking", "following", "leading"]
LOOKING: Final = "looking"
FOLLOWING: Final = "following"
LEADING: Final = "leading"


class Ballot(NamedTuple):
    """A vote, compared as ZooKeeper does, field by field: the greater is the better vote."""

    peer_epoch: int
    zxid: int
    leader: int


class Election:
    """One server's state of one search for a leader. `choice`: its present vote."""

    def __init__(self, me: int, servers: int, election_round: int, own: Ballot) -> None:
        self._me = me
        self._servers = servers
        self._majority = servers // 2 + 1
        self._own = own
        self.election_round = election_round
        self.choice = own
        self._looking: dict[int, Ballot] = {me: own}
        self._settled: dict[int, tuple[int, Ballot]] = {}
        self._leading: set[int] = set()

    def receive_looking(self, sender: int, election_round: int, ballot: Ballot) -> bool:
        """Count the vote of a searching server; whether this server's vote changed and must be sent."""
        changed = False
        if election_round > self.election_round:
            self.election_round = election_round
            self._looking.clear()
            self.choice = max(ballot, self._own)
            changed = True
        elif election_round < self.election_round:
            return False
        elif ballot > self.choice:
            self.choice = ballot
            changed = True
        self._looking[self._me] = self.choice
        self._looking[sender] = ballot
        return changed

    def receive_settled(self, sender: int, election_round: int, ballot: Ballot, leading: bool) -> Ballot | None:
        """Count the vote of a server that follows or leads.

        Returns the vote of the leader to join at once, if a majority follows one.
        """
        self._settled[sender] = (election_round, ballot)
        # A server that decided earlier in the same round still counts as its voter; one of another round does not.
        if election_round == self.election_round:
            self._looking[sender] = ballot
        else:
            self._looking.pop(sender, None)
        if leading and ballot.leader == sender:
            self._leading.add(sender)
        else:
            self._leading.discard(sender)
        leader = ballot.leader
        if leader == self._me or leader not in self._leading:
            return None
        agreeing = sum(
            1 for _, other in self._settled.values() if other.leader == leader and other.peer_epoch == ballot.peer_epoch
        )
        # In the same round this server's vote, and those of other searching servers, count, too.
        if election_round == self.election_round:
            agreeing = sum(1 for other in self._looking.values() if other.leader == leader)
        if agreeing < self._majority:
            return None
        self.election_round = max(self.election_round, election_round)
        return ballot

    def all_agree(self) -> bool:
        """Whether no better vote can come: every server has voted for this server's choice."""
        leader = self.choice.leader
        return len(self._looking) == self._servers and all(b.leader == leader for b in self._looking.values())

    def majority_agrees(self) -> bool:
        """Whether a majority of this round, this server included, votes for this server's choice."""
        leader = self.choice.leader
        return sum(1 for ballot in self._looking.values() if ballot.leader == leader) >= self._majority
