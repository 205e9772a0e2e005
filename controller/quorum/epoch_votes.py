"""Votes of one election, or of one pre-vote. Source: EpochElection, CandidateState."""

from collections.abc import Sequence

from protocol.ids import BrokerId


class EpochVotes:
    """The votes of `voters`, among them this node's own grant."""

    __slots__ = ("_granted", "_rejected", "_voters")

    def __init__(self, me: BrokerId, voters: Sequence[BrokerId]) -> None:
        assert me in voters, (me, voters)
        self._voters = list(voters)
        self._granted = {me}
        self._rejected: set[BrokerId] = set()

    def grant(self, voter: BrokerId) -> None:
        """Record a grant; a voter's first vote stands."""
        if voter in self._voters and voter not in self._rejected:
            self._granted.add(voter)

    def reject(self, voter: BrokerId) -> None:
        """Record a rejection; a voter's first vote stands."""
        if voter in self._voters and voter not in self._granted:
            self._rejected.add(voter)

    @property
    def granting(self) -> list[BrokerId]:
        """The voters that granted, in the voters' order."""
        return [voter for voter in self._voters if voter in self._granted]

    @property
    def unrecorded(self) -> list[BrokerId]:
        """The voters without a vote so far."""
        return [voter for voter in self._voters if voter not in self._granted and voter not in self._rejected]

    @property
    def majority(self) -> int:
        return len(self._voters) // 2 + 1

    @property
    def is_won(self) -> bool:
        return len(self._granted) >= self.majority

    @property
    def is_lost(self) -> bool:
        """Whether the missing votes cannot make a majority any more."""
        return len(self._granted) + len(self.unrecorded) < self.majority
