"""Leader election: which server the ensemble follows next (ZooKeeper's FastLeaderElection, semantics 5.3).

Votes in, a decision out. Everyone first votes for itself, adopts any better vote it sees and says so again;
when a majority says the same, it waits 200 ms for a better one, then it is decided. Better is: newer peer
epoch, then newer zxid, then higher server number.

A server that finds others already following a leader joins them, if a majority follows and the leader itself
says that it leads.
"""

from typing import Final, Literal, NamedTuple

FINALIZE_WAIT_MS = 200.0
"""How long a majority's choice waits for a better vote."""
LAUNCH_WAIT_MS = 2000.0
"""The same for servers that know nothing at all: an ensemble that is launched. Its processes are not up at one instant,
and which of them leads must not depend on that; once every one is heard there is nothing to wait for. (A departure:
ZooKeeper always waits 200 ms. The recordings' servers were started together.)"""
RESEND_FIRST_MS = 200.0
RESEND_MAX_MS = 60_000.0

Role = Literal["looking", "following", "leading"]
LOOKING: Final = "looking"
FOLLOWING: Final = "following"
LEADING: Final = "leading"


class Ballot(NamedTuple):
    """Compared as ZooKeeper does, field by field: the greater is the better vote."""

    peer_epoch: int
    zxid: int
    leader: int


class Election:
    """One server's view of one search for a leader. `choice`: what it votes for at present."""

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

    def hear_looking(self, sender: int, election_round: int, ballot: Ballot) -> bool:
        """A vote of a server that searches too; whether ours changed and must be told to all."""
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

    def hear_settled(self, sender: int, election_round: int, ballot: Ballot, leading: bool) -> Ballot | None:
        """The vote of a server that follows or leads; the leader to join at once, if a majority has one."""
        self._settled[sender] = (election_round, ballot)
        # Who decided before us in the same round still counts as a voter of it; of another round it is none.
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
        # In the same round our own vote, and those of others who still search, count too.
        if election_round == self.election_round:
            agreeing = sum(1 for other in self._looking.values() if other.leader == leader)
        if agreeing < self._majority:
            return None
        self.election_round = max(self.election_round, election_round)
        return ballot

    def all_agree(self) -> bool:
        """No better vote can come: every server was heard, and votes for our choice."""
        leader = self.choice.leader
        return len(self._looking) == self._servers and all(b.leader == leader for b in self._looking.values())

    def majority_agrees(self) -> bool:
        """A majority of this round, ourselves included, votes for our choice."""
        leader = self.choice.leader
        return sum(1 for ballot in self._looking.values() if ballot.leader == leader) >= self._majority
