"""Snapshots at a node: fetches at leader and follower, own ones, retention (KIP-630).

    follower: Fetch ----------> leader: the offset is below the log's start
              <---------------- snapshot id
              FetchSnapshot --> position 0, 8 MiB, ...
              <---------------- the last bytes: the snapshot is whole, the log begins anew at its end

Source: KafkaRaftClient.handleFetchSnapshotRequest, handleFetchSnapshotResponse, createSnapshot;
KafkaMetadataLog.createNewSnapshot, maybeClean.
"""

from itertools import pairwise

from controller.quorum.epoch_states import Follower
from controller.quorum.leader_state import Leader
from controller.quorum.quorum_context import QuorumContext
from controller.quorum.quorum_inputs import SnapshotRequested
from controller.quorum.quorum_log import BOOTSTRAP_SNAPSHOT, QuorumLog, SnapshotId, divergence
from controller.quorum.state_transitions import QuorumFault
from controller.quorum.voter_sets import VOTERS_IN_LOG, ReplicaKey
from protocol.errors import ErrorCode
from protocol.ids import Offset
from protocol.messages.quorum_messages import FetchSnapshotRequest, FetchSnapshotResponse
from protocol.records.quorum_control_records import ControlRecord, KRaftVersion, SnapshotHeader, Voters

SNAPSHOT_FETCH_BYTES = 8 * 1024 * 1024
"""Limit of one response: KafkaRaftClient.MAX_FETCH_SIZE_BYTES."""


class SnapshotRequests:
    """Handles one node's snapshots."""

    def __init__(self, context: QuorumContext) -> None:
        self._context = context

    # --- at the leader ---

    def fetch(self, now_ms: float, request: FetchSnapshotRequest, error: ErrorCode) -> FetchSnapshotResponse:
        """Bytes of a snapshot. `error`: of a request that only a leader serves."""
        context = self._context
        state, log = context.state, context.log
        snapshot = SnapshotId(request.snapshot_end, request.snapshot_epoch)
        size_bytes = log.snapshot_size_bytes(snapshot) if error == ErrorCode.NONE else -1
        if error == ErrorCode.NONE and (size_bytes < 0 or snapshot == BOOTSTRAP_SNAPSHOT):
            error = ErrorCode.SNAPSHOT_NOT_FOUND
        elif error == ErrorCode.NONE and not 0 <= request.position < size_bytes:
            error = ErrorCode.POSITION_OUT_OF_RANGE
        if error != ErrorCode.NONE:
            return FetchSnapshotResponse(error, state.epoch, state.leader)
        assert isinstance(state, Leader), state.name
        most_bytes = min(request.max_bytes, SNAPSHOT_FETCH_BYTES, size_bytes - request.position)
        data = log.read_snapshot(snapshot, request.position, most_bytes)
        state.note_contact(ReplicaKey(request.replica, request.directory), now_ms)
        return FetchSnapshotResponse(
            ErrorCode.NONE, state.epoch, state.leader, snapshot.end, snapshot.epoch, size_bytes, request.position, data
        )

    # --- at a follower ---

    def begin(self, state: Follower, snapshot: SnapshotId) -> None:
        """Fetch a snapshot, unless it is there already."""
        if snapshot not in self._context.log.snapshots:
            self._context.log.begin_download(snapshot)
            state.download = snapshot

    def request(self, state: Follower) -> FetchSnapshotRequest:
        """The next request of a download."""
        context, snapshot = self._context, state.download
        assert snapshot is not None
        return FetchSnapshotRequest(
            state.epoch, context.me, snapshot.end, snapshot.epoch, context.log.download_bytes, SNAPSHOT_FETCH_BYTES,
            context.key.directory,
        )  # fmt: skip

    def fetched(self, now_ms: float, response: FetchSnapshotResponse) -> None:
        """Append the bytes; after the last ones, begin the log anew. Raises QuorumFault."""
        context = self._context
        state, log = context.state, context.log
        if not isinstance(state, Follower):
            raise QuorumFault(f"bytes of a snapshot while {state.name}")
        state.ends_ms = now_ms + context.settings.fetch_timeout_ms
        snapshot = SnapshotId(response.snapshot_end, response.snapshot_epoch)
        if response.error == ErrorCode.SNAPSHOT_NOT_FOUND or min(snapshot) < 0:
            if state.download is not None:
                log.drop_download()
            state.download = None
            return
        if snapshot != state.download or response.position != log.download_bytes:
            raise QuorumFault(f"bytes at {response.position} of snapshot {snapshot}, expected {state.download}")
        log.append_download(response.data)
        if log.download_bytes < response.size_bytes:
            return
        log.finish_download()
        state.download = None
        if not log.truncate_to_latest_snapshot():
            raise QuorumFault(f"snapshot {snapshot} is not beyond the log, which ends at {log.end}")
        context.log_changed()
        if snapshot.end < state.high_watermark:
            raise QuorumFault(f"snapshot {snapshot} below the high watermark {state.high_watermark}")
        state.high_watermark = snapshot.end
        log.note_high_watermark(snapshot.end)

    # --- own snapshots ---

    def store(self, event: SnapshotRequested, wall_ms: float) -> bool:
        """Write a snapshot of the state machine, with the voters of its offset. Whether it is new."""
        log, snapshot = self._context.log, SnapshotId(event.end, event.epoch)
        if snapshot.end < log.start or snapshot in log.snapshots:
            return False
        known = self._context.state.high_watermark
        assert snapshot.end <= known, (snapshot, known)
        assert divergence(log, snapshot.end, snapshot.epoch) is None, snapshot
        level, voters = self._context.history.at(Offset(snapshot.end - 1))
        control: list[ControlRecord] = [SnapshotHeader(event.last_timestamp_ms)]
        if level >= VOTERS_IN_LOG:
            control.append(KRaftVersion(level))
            if voters is not None:
                control.append(Voters(voters.voters))
        log.store_snapshot(snapshot, control, event.values, wall_ms)
        return True

    def clean(self, wall_ms: float) -> None:
        """Delete what the retention allows: snapshots but the last, and the log below."""
        settings, log = self._context.settings, self._context.log
        clean_by_size(log, settings.metadata_max_retention_bytes)
        clean_by_time(log, settings.metadata_max_retention_ms, wall_ms)
        self._context.history.forget_below(log.start)


def clean_by_size(log: QuorumLog, limit_bytes: int) -> None:
    """Source: KafkaMetadataLog.cleanSnapshotsRetentionSize."""
    if limit_bytes < 0:
        return
    snapshots = list(log.snapshots)
    sizes = {snapshot: log.snapshot_size_bytes(snapshot) for snapshot in snapshots}
    total_bytes = sum(sizes.values())
    for snapshot, following in pairwise(snapshots):
        if log.size_bytes + total_bytes <= limit_bytes:
            return
        total_bytes -= sizes[snapshot]
        if not log.delete_before(following):
            return


def clean_by_time(log: QuorumLog, limit_ms: int, wall_ms: float) -> None:
    """Source: KafkaMetadataLog.cleanSnapshotsRetentionMs."""
    if limit_ms < 0:
        return
    snapshots = list(log.snapshots)
    for snapshot, following in pairwise(snapshots):
        if wall_ms - log.snapshot_timestamp_ms(snapshot) <= limit_ms or not log.delete_before(following):
            return
