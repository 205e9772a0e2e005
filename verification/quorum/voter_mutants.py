"""Wrong quorums whose voters change, or whose snapshots are wrong (KIP-630, KIP-853)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.quorum.leader_notices import LeaderNotices
from controller.quorum.leader_state import Leader
from controller.quorum.quorum_context import QuorumContext
from controller.quorum.quorum_inputs import SnapshotCommitted
from controller.quorum.quorum_log import SnapshotId
from controller.quorum.snapshot_requests import SnapshotRequests
from controller.quorum.voter_requests import VoterRequests
from controller.quorum.voter_sets import VoterHistory, VoterSet
from emulator.machines.node import snapshot_files
from emulator.machines.node.metadata_log import MetadataLog
from emulator.machines.node.snapshot_files import SnapshotFiles
from protocol.errors import ErrorCode
from protocol.ids import Offset
from protocol.records.quorum_control_records import SnapshotHeader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controller.quorum.quorum_inputs import SnapshotRequested
    from protocol.records.quorum_control_records import ControlRecord
    from protocol.records.types import Values
    from verification.mutants.mutant import Patches


# --- voters ---


def changes_voters_twice_at_once() -> Patches:
    def refusal(self: VoterRequests, now_ms: float, leader: Leader) -> ErrorCode:
        if leader.change is not None:
            self._context.end_change(leader, ErrorCode.NONE)
        return ErrorCode.NONE if self._context.history.is_in_log else ErrorCode.UNSUPPORTED_VERSION

    return [(VoterRequests, "_refusal", refusal)]


def counts_a_voter_twice() -> Patches:
    def advance(self: Leader) -> bool:
        ends = sorted([*self.log_ends.values(), self.end], reverse=True)
        reached = ends[len(self.voters) // 2]
        if reached <= max(self.epoch_start, self.high_watermark):
            return False
        self.high_watermark = reached
        return True

    return [(Leader, "_advance", advance)]


def counts_itself_after_its_removal() -> Patches:
    note_own_end = Leader.note_own_end

    def counted(self: Leader, end: Offset, voters: VoterSet) -> bool:
        rose = note_own_end(self, end, voters)
        self.log_ends[self.me] = end
        return self._advance() or rose

    return [(Leader, "note_own_end", counted)]


def counts_the_voters_before() -> Patches:
    last = vars(VoterHistory)["last"].fget

    def without_last(self: VoterHistory) -> VoterSet:
        return self._sets[-2][1] if len(self._sets) > 1 else last(self)

    return [(VoterHistory, "last", property(without_last))]


def keeps_truncated_voters() -> Patches:
    return [(QuorumContext, "log_truncated", lambda self, end: None)]


# --- snapshots ---


def snapshots_uncommitted_records() -> Patches:
    """The snapshot's name is that of the log's end; its state is the committed one."""

    def store(self: SnapshotRequests, event: SnapshotRequested, wall_ms: float) -> bool:
        log = self._context.log
        name = SnapshotId(log.end, log.last_epoch)
        if name in log.snapshots:
            return False
        log.store_snapshot(name, [SnapshotHeader(event.last_timestamp_ms)], event.values, wall_ms)
        return True

    return [(SnapshotRequests, "store", store)]


def loads_a_half_written_snapshot() -> Patches:
    """A snapshot is written in place, and what a load finds counts as whole."""

    def freeze(self: SnapshotFiles, snapshot: SnapshotId) -> None:
        self.whole = sorted({*self.whole, snapshot})

    def path(snapshot: SnapshotId, *, partial: bool = False) -> str:
        return named(snapshot)

    named = snapshot_files.snapshot_path
    return [(SnapshotFiles, "_freeze", freeze), (snapshot_files, "snapshot_path", path)]


def snapshots_without_voters() -> Patches:
    store = MetadataLog.store_snapshot

    def stored(
        self: MetadataLog, snapshot: SnapshotId, control: Sequence[ControlRecord], values: Values, wall_ms: float
    ) -> None:
        store(self, snapshot, control if snapshot.end == 0 else control[:1], values, wall_ms)

    return [(MetadataLog, "store_snapshot", stored)]


def deletes_the_log_before_a_snapshot() -> Patches:
    """The log's start rises to the high watermark, and no snapshot has what is gone."""

    def clean(self: SnapshotRequests, wall_ms: float) -> None:
        log = self._context.log
        assert isinstance(log, MetadataLog)
        if log._log.increment_log_start(log.high_watermark):
            log._log.delete_segments_below_start()

    return [(SnapshotRequests, "clean", clean)]


def loads_an_earlier_snapshot() -> Patches:
    def load(self: LeaderNotices) -> None:
        snapshots = self._log.snapshots
        if snapshots and (self.next_offset == 0 or self.next_offset < self._log.start):
            self._effects.append(SnapshotCommitted(snapshots[0].end, snapshots[0].epoch))
            self.next_offset = snapshots[-1].end

    return [(LeaderNotices, "_load_snapshot", load)]
