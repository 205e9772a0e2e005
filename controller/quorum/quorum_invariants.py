"""The promises of the quorum, checked over its machines and their disks after each step.

Kafka's own simulation asserts single-leader, monotone-epoch, monotone-high-watermark, committed-unchanged and
majority-holds-committed. The others are Raft's: they fail earlier, at the step that is wrong.

The voters are those of the leader's log. A majority is one of the set in force when the high watermark rose.

Source: RaftEventSimulationTest (SingleLeader, MonotonicEpoch, MonotonicHighWatermark, ConsistentCommittedData,
MajorityReachedHighWatermark, SnapshotAtLogStart); the Raft paper, figure 3; KIP-630, KIP-853.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from controller.quorum.election_file import Election
from controller.quorum.epoch_states import EpochState
from controller.quorum.leader_state import CHECK_QUORUM_FACTOR, Leader
from controller.quorum.quorum_inputs import Respond
from controller.quorum.quorum_log import QuorumLog
from controller.quorum.voter_sets import VoterHistory
from protocol.ids import FIRST_OFFSET, NO_BROKER, BrokerId, LeaderEpoch, Offset
from protocol.messages.quorum_messages import FETCH_MAX_WAIT_MS, VoteRequest, VoteResponse
from protocol.records.types import BatchHeader


class InvariantBroken(Exception):
    """A broken promise. `name`: the invariant's."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name


class CheckedLog(QuorumLog, Protocol):
    def batches(self, offset: Offset, end: Offset) -> list[BatchHeader]:
        """The headers of the batches in [offset, end)."""


class NodeView(NamedTuple):
    """One node. `election`: on its disk. `state`: the machine's, None while it is dead.

    `voters`: the machine's, by the offset of their record.
    """

    node: BrokerId
    election: Election
    state: EpochState | None
    log: CheckedLog
    voters: VoterHistory | None = None


class _Batch(NamedTuple):
    last_offset: Offset
    crc: int
    before: tuple[Offset, LeaderEpoch]
    """Offset and epoch of the batch before it: so equal batches have equal logs before them.

    UNKNOWN: every log that has the batch begins with it, at a snapshot.
    """


UNKNOWN = (Offset(-2), LeaderEpoch(-2))


class QuorumInvariants:
    """Memory of one run. `check_quorum_ms` 0: leaders of this run never resign by themselves.

    `disks_are_kept` false: a node lost its disk, and with it votes and committed records.
    """

    def __init__(self, voters: Sequence[BrokerId], fetch_timeout_ms: float, *, check_quorum: bool) -> None:
        self._voters = list(voters)
        # A voter counts from one majority of fetches to the end of the next check, and a parked fetch once more.
        longest_ms = 2 * CHECK_QUORUM_FACTOR * fetch_timeout_ms + FETCH_MAX_WAIT_MS
        self._silence_ms = longest_ms if check_quorum else 0.0
        self.disks_are_kept = True
        self.committed_end = FIRST_OFFSET
        self._committed: dict[Offset, tuple[LeaderEpoch, int]] = {}
        self._committed_last: tuple[Offset, LeaderEpoch] = (FIRST_OFFSET, LeaderEpoch(-1))
        self._commits: dict[LeaderEpoch, tuple[Offset, Offset, LeaderEpoch]] = {}
        """{epoch of a leader: what was committed in it: the end, and the last batch}"""
        self._leaders: dict[LeaderEpoch, BrokerId] = {}
        self._votes: dict[tuple[BrokerId, LeaderEpoch], BrokerId] = {}
        self._epochs: dict[BrokerId, LeaderEpoch] = {}
        self._high_watermarks: dict[BrokerId, Offset] = {}
        self._leader_high_watermark: tuple[LeaderEpoch, Offset] = (LeaderEpoch(-1), FIRST_OFFSET)
        self._batches: dict[tuple[Offset, LeaderEpoch], _Batch] = {}
        self._matched: dict[BrokerId, tuple[Offset, tuple[Offset, LeaderEpoch]]] = {}
        self._states: dict[Offset, int] = {}
        """{committed offset: digest of the state machine's state}"""
        self._starts: dict[BrokerId, Offset] = {}
        self._voters_since: dict[BrokerId, tuple[list[BrokerId], float]] = {}
        self._led_since: dict[BrokerId, tuple[LeaderEpoch, float]] = {}
        self._contacts: dict[tuple[BrokerId, BrokerId], float] = {}

    # --- observations ---

    def restarted(self, node: BrokerId) -> None:
        """The node has a new incarnation: its high watermark is unknown, its log may be shorter."""
        self._high_watermarks.pop(node, None)
        self._matched.pop(node, None)
        self._led_since.pop(node, None)

    def lost_disk(self, node: BrokerId) -> None:
        """The node begins without any file."""
        self.disks_are_kept = False
        self._epochs.pop(node, None)
        for vote in [vote for vote in self._votes if vote[0] == node]:
            del self._votes[vote]

    def fetched(self, leader: BrokerId, replica: BrokerId, now_ms: float) -> None:
        """A leader handled a replica's fetch."""
        self._contacts[leader, replica] = now_ms

    def applied(self, node: BrokerId, end: Offset, state: int, *, snapshot: bool) -> None:
        """A state machine applied all below `end`, or loaded a snapshot with that end."""
        if self._states.setdefault(end, state) != state:
            source = "a snapshot" if snapshot else "the log"
            raise InvariantBroken("snapshot-content", f"node {node}: another state at {end}, from {source}")

    def responded(self, node: NodeView, request: VoteRequest, effect: Respond) -> None:
        """A node sent a vote: it must be on its disk."""
        response = effect.response
        if isinstance(response, VoteResponse) and response.granted and not request.pre_vote:
            vote = (node.election.epoch, node.election.voted)
            if vote != (request.epoch, request.candidate):
                raise InvariantBroken(
                    "vote-on-disk", f"node {node.node} granted {request.candidate} in {request.epoch}, disk {vote}"
                )

    # --- checks ---

    def check(self, now_ms: float, node: NodeView, logs: Mapping[BrokerId, CheckedLog]) -> None:
        """Check one node after its step. `logs`: of all nodes. Raises InvariantBroken."""
        self._check_election(node)
        shrank = self._check_log(node)
        self._check_snapshots(node)
        rose = False
        if node.state is not None:
            self._check_leadership(now_ms, node, node.state)
            rose = self._check_high_watermark(node, node.state)
        if (rose or shrank) and self.disks_are_kept:
            self._check_majority(logs)

    def _check_election(self, node: NodeView) -> None:
        who, (epoch, leader, voted) = node.node, _fields(node.election)
        if epoch < self._epochs.get(who, epoch):
            raise InvariantBroken("monotone-epoch", f"node {who}: {self._epochs[who]} -> {epoch}")
        self._epochs[who] = epoch
        if leader != NO_BROKER and self._leaders.setdefault(epoch, leader) != leader:
            raise InvariantBroken("single-leader", f"epoch {epoch}: {self._leaders[epoch]} and {leader} by node {who}")
        if voted != NO_BROKER and self._votes.setdefault((who, epoch), voted) != voted:
            raise InvariantBroken("one-vote", f"node {who} epoch {epoch}: {self._votes[who, epoch]} and {voted}")
        state = node.state
        if state is not None and state.epoch != epoch:
            raise InvariantBroken("monotone-epoch", f"node {who}: {state.epoch} in memory, {epoch} on disk")
        if isinstance(state, Leader) and self._leaders.setdefault(epoch, who) != who:
            raise InvariantBroken("single-leader", f"epoch {epoch}: {self._leaders[epoch]} and {who}")

    def _check_log(self, node: NodeView) -> bool:
        """Compare the new batches with those of all other logs; whether the log has become shorter."""
        end, before = self._matched.get(node.node, (FIRST_OFFSET, (Offset(-1), LeaderEpoch(-1))))
        shrank = node.log.end < end or node.node not in self._matched
        if shrank:
            end, before = FIRST_OFFSET, (Offset(-1), LeaderEpoch(-1))
        start = node.log.start
        if end < start or (end == start != self._starts.get(node.node, FIRST_OFFSET)):
            end, before = node.log.start, UNKNOWN
        self._starts[node.node] = node.log.start
        for header in node.log.batches(end, node.log.end) if end < node.log.end else ():
            key = (header.base_offset, header.leader_epoch)
            known = self._batches.get(key)
            if before == UNKNOWN and known is not None:
                before = known.before
            batch = _Batch(header.last_offset, header.crc, before)
            if known is None or known.before == UNKNOWN:
                self._batches[key] = batch
            if known is not None and (known if known.before != UNKNOWN else batch) != batch:
                raise InvariantBroken("log-matching", f"node {node.node} at {key}: {self._batches[key]} and {batch}")
            if key[1] < before[1]:
                raise InvariantBroken("log-matching", f"node {node.node} at {key}: after epoch {before[1]}")
            before = key
        self._matched[node.node] = (max(node.log.end, end), before)
        return shrank

    def _check_snapshots(self, node: NodeView) -> None:
        """Snapshots have committed records alone, and one has what the log lacks at its start."""
        snapshots = node.log.snapshots
        if snapshots and snapshots[-1].end > self.committed_end:
            raise InvariantBroken("snapshot-committed", f"node {node.node}: {snapshots[-1]} of {self.committed_end}")
        if node.log.start > 0 and not (snapshots and snapshots[-1].end >= node.log.start):
            raise InvariantBroken("snapshot-at-log-start", f"node {node.node}: {node.log.start}, {list(snapshots)}")

    def _check_high_watermark(self, node: NodeView, state: EpochState) -> bool:
        """Compare what the node takes for committed; whether more is committed now."""
        who, known = node.node, state.high_watermark
        if known > node.log.end:
            raise InvariantBroken("high-watermark-in-log", f"node {who}: {known} beyond the end {node.log.end}")
        if isinstance(state, Leader):
            self._check_leader_high_watermark(who, state)
        elif 0 <= known < self._high_watermarks.get(who, known):
            raise InvariantBroken("monotone-high-watermark", f"node {who}: {self._high_watermarks[who]} -> {known}")
        before = self._high_watermarks.get(who, FIRST_OFFSET)
        if known <= before:
            return False
        self._high_watermarks[who] = known
        self._compare_committed(node, before, known)
        if known <= self.committed_end:
            return False
        self.committed_end = known
        if isinstance(state, Leader):
            self._voters = list(state.voters)
            self._commits[state.epoch] = (known, *self._committed_last)
        return True

    def _compare_committed(self, node: NodeView, start: Offset, end: Offset) -> None:
        for header in node.log.batches(max(start, node.log.start), end):
            content = (header.leader_epoch, header.crc)
            if self._committed.setdefault(header.base_offset, content) != content:
                raise InvariantBroken(
                    "committed-unchanged",
                    f"node {node.node} offset {header.base_offset}: {self._committed[header.base_offset]}, {content}",
                )
            if header.base_offset >= self._committed_last[0]:
                self._committed_last = (header.base_offset, header.leader_epoch)

    def _check_leader_high_watermark(self, who: BrokerId, state: Leader) -> None:
        """The newest leader's never falls below a former leader's."""
        epoch, known = self._leader_high_watermark
        if state.epoch < epoch:
            return
        if 0 <= state.high_watermark < known:
            raise InvariantBroken("monotone-high-watermark", f"leader {who}: {known} -> {state.high_watermark}")
        self._leader_high_watermark = (state.epoch, max(known, state.high_watermark))

    # --- leaders ---

    def _check_leadership(self, now_ms: float, node: NodeView, state: EpochState) -> None:
        who = node.node
        if not isinstance(state, Leader):
            self._led_since.pop(who, None)
            return
        epoch, since_ms = self._led_since.get(who, (LeaderEpoch(-1), now_ms))
        if epoch != state.epoch:
            since_ms = now_ms
            self._led_since[who] = (state.epoch, now_ms)
            if self.disks_are_kept:
                self._check_complete(node, state.epoch)
        if node.voters is not None:
            self._check_changes(who, state, node.voters)
        voters, changed_ms = self._voters_since.get(who, ([], 0.0))
        if voters != state.voters:
            changed_ms = now_ms
            self._voters_since[who] = (list(state.voters), now_ms)
        if self._silence_ms and len(state.voters) > 1:
            self._check_contacts(now_ms, who, state, max(since_ms, changed_ms))

    def _check_changes(self, who: BrokerId, state: Leader, history: VoterHistory) -> None:
        """The sets of a leader's log differ by one voter each; at most one change is not committed."""
        changes = list(history.changes())
        for offset, before, after in changes:
            if len(before ^ after) > 1:
                raise InvariantBroken("one-voter-change", f"leader {who} at {offset}: {before} -> {after}")
        uncommitted = [offset for offset, _, _ in changes if offset >= max(state.high_watermark, state.epoch_start)]
        if state.high_watermark >= 0 and len(uncommitted) > 1:
            raise InvariantBroken("one-voter-change", f"leader {who}: uncommitted changes at {uncommitted}")

    def _check_contacts(self, now_ms: float, who: BrokerId, state: Leader, since_ms: float) -> None:
        """A leader is in contact with a majority: each of it fetched within the last two checks."""
        last_ms = {voter: max(since_ms, self._contacts.get((who, voter), since_ms)) for voter in state.voters}
        recent = [voter for voter, at_ms in last_ms.items() if voter != who and now_ms - at_ms <= self._silence_ms]
        own = 1 if state.voter_set.has(state.key) else 0
        if len(recent) + own < state.voter_set.majority:
            raise InvariantBroken("check-quorum", f"leader {who} of {state.epoch}: recent fetches of {recent}")

    def _check_complete(self, node: NodeView, epoch: LeaderEpoch) -> None:
        """A new leader's log holds all that leaders of earlier epochs committed."""
        earlier = [one for one in self._commits if one < epoch]
        if earlier:
            end, last_offset, last_epoch = self._commits[max(earlier)]
            if not _holds(node.log, end, last_offset, last_epoch):
                raise InvariantBroken("leader-completeness", f"leader {node.node} of {epoch}: not all below {end}")

    def _check_majority(self, logs: Mapping[BrokerId, CheckedLog]) -> None:
        offset, epoch = self._committed_last
        holding = [voter for voter in self._voters if _holds(logs[voter], self.committed_end, offset, epoch)]
        if len(holding) <= len(self._voters) // 2:
            raise InvariantBroken("majority-holds-committed", f"{holding} hold all below {self.committed_end}")


def _holds(log: CheckedLog, committed_end: Offset, last_offset: Offset, last_epoch: LeaderEpoch) -> bool:
    """Whether a log has the last committed batch; then, by log-matching, it has all before it."""
    if log.end < committed_end:
        return False
    if log.start > last_offset:  # its snapshot has the batch
        return True
    found = log.batches(last_offset, committed_end)
    return committed_end == FIRST_OFFSET or (bool(found) and found[0].leader_epoch == last_epoch)


def _fields(election: Election) -> tuple[LeaderEpoch, BrokerId, BrokerId]:
    return election.epoch, election.leader, election.voted
