"""Node of the quorum, voter or observer: a pure machine, an input in, effects out.

Storage is injected and synchronous: what must be durable is written before the effects that rely on it are returned. A
StorageError passes through; the step's effects are lost with it, and the process ends.

Source: KafkaRaftClient.poll, KafkaRaftClientDriver.
"""

from collections.abc import Callable, Sequence

from controller.quorum.election_file import ElectionStore
from controller.quorum.epoch_states import Candidate, EpochState
from controller.quorum.leader_state import Leader
from controller.quorum.quorum_context import QuorumContext
from controller.quorum.quorum_inputs import (
    Accepted,
    AppendRequested,
    NotLeader,
    QuorumEffect,
    QuorumFailed,
    QuorumInput,
    QuorumStarted,
    RequestFailed,
    RequestReceived,
    ResignRequested,
    ResponseReceived,
    ShutdownCompleted,
    ShutdownRequested,
    SnapshotRequested,
    SnapshotStored,
    WakeUp,
)
from controller.quorum.quorum_log import QuorumLog
from controller.quorum.request_handling import RequestHandling
from controller.quorum.response_handling import ResponseHandling
from controller.quorum.settings import QuorumSettings
from controller.quorum.snapshot_requests import SnapshotRequests
from controller.quorum.state_polls import StatePolls
from controller.quorum.state_transitions import QuorumFault
from controller.quorum.voter_requests import VoterRequests
from controller.quorum.voter_sets import ReplicaKey, VoterHistory, static_set
from protocol.gates import Gates
from protocol.ids import NO_BROKER, BrokerId
from protocol.machine import Now

CLEANING_PERIOD_MS = 60_000.0
"""Time between two deletions of old snapshots."""
MIN_SNAPSHOTS_TO_CLEAN = 2
"""The latest snapshot stays."""
POLLS_MAX = 100
"""Bound of the polls of one step: more would be an endless loop."""


class QuorumNode:
    """A node of the metadata log's quorum. A node outside the voters observes.

    `voters`: the static ones; from kraft.version 1 on those of the log and its snapshots count. `servers`: the nodes to
    search for a leader, by default the static voters. `directory`, `host`: of this node, for a record of the voters.
    `may_vote`: the process is a controller. `draw(n)`: a uniform number in [0, n), from the node's seed. `log` and
    `store` are loaded, `step` begins with QuorumStarted. After ShutdownCompleted and QuorumFailed there is no further
    input.
    """

    def __init__(
        self,
        me: BrokerId,
        voters: Sequence[BrokerId],
        settings: QuorumSettings,
        gates: Gates,
        log: QuorumLog,
        store: ElectionStore,
        draw: Callable[[int], int],
        *,
        directory: str = "",
        host: str = "",
        servers: Sequence[BrokerId] = (),
        may_vote: bool = False,
        cleaning_period_ms: float = CLEANING_PERIOD_MS,
    ) -> None:
        assert len(set(voters)) == len(voters), voters
        self._context = context = QuorumContext(
            ReplicaKey(me, directory), host, static_set(voters), servers or voters, settings, gates, log, store, draw,
            may_vote=may_vote,
        )  # fmt: skip
        voter_requests, self._snapshots = VoterRequests(context), SnapshotRequests(context)
        self._requests = RequestHandling(context, voter_requests, self._snapshots)
        self._responses = ResponseHandling(context, voter_requests, self._snapshots)
        self._polls = StatePolls(context, self._requests, self._responses, voter_requests, self._snapshots)
        self._wakes_at_ms = -1.0
        self._cleaning_period_ms = cleaning_period_ms
        self._cleans_at_ms = -1.0
        self.ended = False

    @property
    def me(self) -> BrokerId:
        return self._context.me

    @property
    def voters(self) -> list[BrokerId]:
        """Ids of the voters that count now."""
        return list(self._context.quorum.voters)

    @property
    def voter_history(self) -> VoterHistory:
        return self._context.history

    @property
    def is_voter(self) -> bool:
        return self._context.quorum.is_voter

    @property
    def state(self) -> EpochState:
        return self._context.state

    @property
    def state_name(self) -> str:
        """The state's name in this release: `voted` is one until 3.8."""
        return self._context.quorum.name

    @property
    def log(self) -> QuorumLog:
        return self._context.log

    def step(self, now: Now, event: QuorumInput) -> list[QuorumEffect]:
        """Handle one input, then all work that is due.

        A timer that ended before, as in a paused process, comes first: Kafka's loop waits no longer than its timers.
        """
        assert not self.ended, event
        context = self._context
        try:
            if 0 <= self._wakes_at_ms <= now.mono_ms:
                self._poll(now)
            if not self.ended:
                self._handle(now, event)
                self._poll(now)
        except QuorumFault as fault:
            self.ended = True
            context.effects.append(QuorumFailed(f"node {context.me}: {fault}"))
        effects = list(context.effects)
        context.effects.clear()
        return effects

    def _handle(self, now: Now, event: QuorumInput) -> None:
        context, now_ms = self._context, now.mono_ms
        if isinstance(event, RequestReceived):
            self._requests.handle(now_ms, event)
        elif isinstance(event, ResponseReceived):
            self._responses.handle(now_ms, event)
        elif isinstance(event, RequestFailed):
            self._responses.failed(now_ms, event)
        elif isinstance(event, AppendRequested):
            self._append(now_ms, event)
        elif isinstance(event, SnapshotRequested):
            if self._snapshots.store(event, now.wall_ms):
                context.effects.append(SnapshotStored(event.end, event.epoch, downloaded=False))
        elif isinstance(event, ResignRequested):
            self._resign(event)
        elif isinstance(event, ShutdownRequested):
            context.shutdown_ends_ms = now_ms + event.timeout_ms
        elif isinstance(event, QuorumStarted):
            self._cleans_at_ms = now_ms + self._cleaning_period_ms
            context.log_changed()
            context.quorum.start(now_ms, context.log.last_epoch)
            self._start_election(now_ms)
        else:
            self._wakes_at_ms = -1.0

    def _start_election(self, now_ms: float) -> None:
        """Elect a sole voter at once. Source: KafkaRaftClient.initialize."""
        context = self._context
        state = context.state
        if isinstance(state, Candidate):
            context.advance_election(now_ms, state)
        elif context.quorum.is_only_voter and context.gates.pre_vote:
            context.become_prospective(now_ms)
        elif context.quorum.is_only_voter:
            context.become_candidate(now_ms)

    def _append(self, now_ms: float, event: AppendRequested) -> None:
        context = self._context
        state = context.state
        if not isinstance(state, Leader) or event.epoch != state.epoch:
            context.effects.append(NotLeader(state.epoch))
            return
        linger_ms = context.settings.append_linger_ms
        context.effects.append(Accepted(state.collect(event.values, now_ms, linger_ms)))

    def _resign(self, event: ResignRequested) -> None:
        """Resign at the next poll; an older epoch's leadership is over already."""
        state = self._context.state
        if isinstance(state, Leader) and event.epoch == state.epoch:
            state.resigns = True

    def _poll(self, now: Now) -> None:
        """Poll until nothing is due."""
        context, now_ms = self._context, now.mono_ms
        for _ in range(POLLS_MAX):
            self._requests.expire(now_ms)
            if self._completes_shutdown(now_ms):
                return
            at_ms = self._polls.poll(now_ms, now.wall_ms)
            context.notices.poll(context.state)
            if at_ms > now_ms:
                self._wake_up(min(at_ms, context.parked.next_end_ms, self._clean(now)))
                return
        raise AssertionError(f"{context.state.name} of node {context.me} polls without end at {now_ms}")

    def _clean(self, now: Now) -> float:
        """Delete old snapshots periodically; the time of the next run, infinite: nothing to do.

        Source: KafkaRaftClient.poll, RaftMetadataLogCleanerManager.
        """
        if len(self._context.log.snapshots) < MIN_SNAPSHOTS_TO_CLEAN:
            return float("inf")
        if now.mono_ms >= self._cleans_at_ms:
            self._snapshots.clean(now.wall_ms)
            self._cleans_at_ms = now.mono_ms + self._cleaning_period_ms
        return self._cleans_at_ms

    def _wake_up(self, at_ms: float) -> None:
        if at_ms != self._wakes_at_ms:
            self._wakes_at_ms = at_ms
            self._context.effects.append(WakeUp(at_ms))

    def _completes_shutdown(self, now_ms: float) -> bool:
        """Source: maybeCompleteShutdown."""
        context = self._context
        if not context.is_shutting_down:
            return False
        quorum = context.quorum
        timed_out = now_ms >= context.shutdown_ends_ms
        other_leads = context.state.leader not in (NO_BROKER, context.me)
        if timed_out or other_leads or not quorum.is_voter or quorum.is_only_voter:
            context.effects.append(ShutdownCompleted(timed_out))
            self.ended = True
        return self.ended
