"""A change of the voters that is under way at the leader; at most one (KIP-853).

Source: AddVoterHandlerState, RemoveVoterHandlerState.
"""

from controller.quorum.voter_sets import VoterSet
from protocol.ids import BrokerId, Offset
from protocol.messages.voter_messages import AddRaftVoterRequest, RemoveRaftVoterRequest


class VoterChange:
    """A request that waits for its response.

    `inquiry`: correlation of the question to a new voter for its features; -1: answered. `voters`: the set to append.
    `offset`: of its record; None: it is not in the log.
    """

    __slots__ = ("correlation", "ends_ms", "inquiry", "offset", "request", "sender", "voters")

    def __init__(
        self,
        sender: BrokerId,
        correlation: int,
        request: AddRaftVoterRequest | RemoveRaftVoterRequest,
        ends_ms: float,
        voters: VoterSet | None = None,
    ) -> None:
        self.sender = sender
        self.correlation = correlation
        self.request = request
        self.ends_ms = ends_ms
        self.inquiry = -1
        self.voters = voters
        self.offset: Offset | None = None
