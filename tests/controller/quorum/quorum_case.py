"""One node of a quorum under test: inputs at chosen times, exact effects out."""

from collections.abc import Sequence

from controller.quorum.election_file import Election, decode_election, encode_election
from controller.quorum.leader_state import Leader
from controller.quorum.quorum_inputs import (
    AppendRequested,
    QuorumEffect,
    QuorumInput,
    QuorumStarted,
    RequestReceived,
    Respond,
    ResponseReceived,
    SendRequest,
    WakeUp,
    WokenUp,
)
from controller.quorum.quorum_log import BOOTSTRAP_SNAPSHOT
from controller.quorum.quorum_node import QuorumNode
from controller.quorum.settings import QuorumSettings
from emulator.machines.node.metadata_log import ElectionFile, MetadataLog
from emulator.storage.memory_files import MemoryFiles
from protocol.errors import ErrorCode
from protocol.gates import gates_for
from protocol.ids import NO_BROKER, NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.machine import Now
from protocol.messages.quorum_messages import (
    QuorumFetchRequest,
    QuorumFetchResponse,
    QuorumRequest,
    QuorumResponse,
    VoteRequest,
    VoteResponse,
)
from protocol.records.compact_fields import uuid_text
from protocol.records.quorum_control_records import KRaftVersion, SnapshotHeader, Voter, Voters

ME = BrokerId(0)
VOTERS = (ME, BrokerId(1), BrokerId(2))
BEFORE_PRE_VOTE, WITH_PRE_VOTE = "3.8", "4.1"


class QuorumCase:
    """Node 0. Every draw is `jitter`, at most the bound less one.

    `in_log`: the voters are in a bootstrap snapshot, with the directories of `directory_of`.
    """

    def __init__(
        self,
        version: str = WITH_PRE_VOTE,
        voters: Sequence[int] = VOTERS,
        election: Election | None = None,
        epochs: Sequence[int] = (),
        jitter: int = 0,
        settings: QuorumSettings | None = None,
        files: MemoryFiles | None = None,
        in_log: bool = False,
    ) -> None:
        self.files = files or MemoryFiles()
        self.log = MetadataLog.open(self.files)
        self.store = ElectionFile(self.files)
        if election is not None:
            self.store.write(encode_election(election, VOTERS))
        for epoch in epochs:
            self.log.append(LeaderEpoch(epoch), [b"old"], 0.0)
        self.log.flush()
        self.jitter = jitter
        self.now_ms = 0.0
        self.wakes_at_ms = -1.0
        self.effects: list[QuorumEffect] = []
        gates, everyone = gates_for(version, metadata="kraft"), [BrokerId(one) for one in voters]
        directory = ""
        if in_log:
            directory, known = directory_of(ME), Voters(tuple(voter_of(one) for one in everyone))
            self.log.store_snapshot(BOOTSTRAP_SNAPSHOT, [SnapshotHeader(0), KRaftVersion(1), known], (), 0.0)
        self.node = QuorumNode(
            ME, () if in_log else everyone, settings or QuorumSettings(), gates, self.log, self.store, self.draw,
            directory=directory, host=host_of(ME) if in_log else "", servers=everyone, may_vote=in_log,
        )  # fmt: skip

    def draw(self, bound: int) -> int:
        return min(self.jitter, bound - 1)

    # --- inputs ---

    def step(self, event: QuorumInput) -> list[QuorumEffect]:
        """All effects but WakeUp, whose time is `wakes_at_ms`."""
        effects = self.node.step(Now(self.now_ms, 1000.0), event)
        wakes = [effect.at_ms for effect in effects if isinstance(effect, WakeUp)]
        self.wakes_at_ms = wakes[-1] if wakes else self.wakes_at_ms
        return [effect for effect in effects if not isinstance(effect, WakeUp)]

    def start(self) -> list[QuorumEffect]:
        return self.step(QuorumStarted())

    def at(self, now_ms: float) -> "QuorumCase":
        self.now_ms = now_ms
        return self

    def wake(self) -> list[QuorumEffect]:
        """Let the time come to which the node wakes up."""
        self.now_ms = self.wakes_at_ms
        return self.step(WokenUp())

    def step_due(self) -> list[QuorumEffect]:
        """Let all that is due happen, at the present time."""
        return self.step(WokenUp())

    def request(self, request: QuorumRequest, sender: int = 1) -> list[QuorumEffect]:
        return self.step(RequestReceived(BrokerId(sender), 7, request))

    def answer(self, sent: QuorumEffect, response: QuorumResponse) -> list[QuorumEffect]:
        assert isinstance(sent, SendRequest)
        return self.step(ResponseReceived(sent.receiver, sent.correlation, response))

    # --- shorter paths ---

    def lead(self) -> list[QuorumEffect]:
        """Start and win an election; the effects of the winning step."""
        self.start()
        effects = self.wake()
        while not isinstance(self.node.state, Leader):
            requests = [one for one in effects if isinstance(one, SendRequest) and isinstance(one.request, VoteRequest)]
            majority = len(self.node.voters) // 2 + 1
            for request in requests[: majority - 1]:
                effects = self.answer(request, granted(self.epoch, self.node.state.leader))
        return effects

    def append(self, *values: bytes) -> list[QuorumEffect]:
        effects = self.step(AppendRequested(self.epoch, list(values)))
        self.at(self.now_ms + 25)
        return effects + self.step(WokenUp())

    # --- views ---

    @property
    def epoch(self) -> LeaderEpoch:
        return self.node.state.epoch

    @property
    def election(self) -> tuple[int, int, int]:
        """Epoch, leader and vote on the disk."""
        data = self.store.read()
        assert data is not None
        election = decode_election(data)
        return election.epoch, election.leader, election.voted

    @property
    def state(self) -> tuple[str, int, int]:
        """Name, epoch, leader."""
        return self.node.state_name, self.node.state.epoch, self.node.state.leader


def directory_of(node: int) -> str:
    return uuid_text(bytes([node + 1]) * 16)


def host_of(node: int) -> str:
    return f"node-{node}"


def voter_of(node: int) -> Voter:
    return Voter(BrokerId(node), directory_of(node), host_of(node))


def sent(effects: Sequence[QuorumEffect], receiver: int | None = None) -> list[QuorumRequest]:
    """The requests among the effects."""
    requests = [one for one in effects if isinstance(one, SendRequest)]
    return [one.request for one in requests if receiver is None or one.receiver == receiver]


def receivers(effects: Sequence[QuorumEffect]) -> list[int]:
    return [one.receiver for one in effects if isinstance(one, SendRequest)]


def answered(effects: Sequence[QuorumEffect]) -> list[QuorumResponse]:
    return [one.response for one in effects if isinstance(one, Respond)]


def vote(
    epoch: int, candidate: int = 1, *, last_epoch: int = 0, last_offset: int = 0, pre_vote: bool = False
) -> VoteRequest:
    return VoteRequest(LeaderEpoch(epoch), BrokerId(candidate), LeaderEpoch(last_epoch), Offset(last_offset), pre_vote)


def granted(epoch: int, leader: int = NO_BROKER) -> VoteResponse:
    return VoteResponse(ErrorCode.NONE, LeaderEpoch(epoch), BrokerId(leader), True)


def rejected(epoch: int, leader: int = NO_BROKER, error: ErrorCode = ErrorCode.NONE) -> VoteResponse:
    return VoteResponse(error, LeaderEpoch(epoch), BrokerId(leader), False)


def fetch(
    epoch: int, replica: int, offset: int, last_epoch: int, *, known: int = NO_OFFSET, wait_ms: int = 500
) -> QuorumFetchRequest:
    return QuorumFetchRequest(
        LeaderEpoch(epoch), BrokerId(replica), Offset(offset), LeaderEpoch(last_epoch), wait_ms, Offset(known)
    )


def fetched(
    epoch: int,
    leader: int,
    *,
    error: ErrorCode = ErrorCode.NONE,
    high_watermark: int = NO_OFFSET,
    records: bytes = b"",
    diverging: tuple[int, int] = (-1, -1),
) -> QuorumFetchResponse:
    return QuorumFetchResponse(
        error,
        LeaderEpoch(epoch),
        BrokerId(leader),
        Offset(high_watermark),
        LeaderEpoch(diverging[0]),
        Offset(diverging[1]),
        records,
    )
