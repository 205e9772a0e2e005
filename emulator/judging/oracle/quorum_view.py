"""Views of the metadata log and its leaders, one of each node of a KRaft quorum."""

from collections.abc import Sequence

from emulator.judging.oracle.truth import MetadataLife
from emulator.machines.node.quorum_member import QuorumMember
from emulator.storage.memory_files import MemoryFiles
from protocol.ids import FIRST_OFFSET
from protocol.records.metadata_records import MetadataBatch


class QuorumViews:
    """Recorder of `MetadataLife`. `lives`: in the order of their beginnings."""

    def __init__(self) -> None:
        self.lives: list[MetadataLife] = []


class QuorumView:
    """One node in one incarnation.

    Its process' memory shows all but the batches, which lie on its disk.
    """

    __slots__ = ("_files", "_last", "_life", "_member", "_next")

    def __init__(
        self, views: QuorumViews, node: str, incarnation: int, member: QuorumMember, files: MemoryFiles
    ) -> None:
        self._member = member
        self._files = files
        self._life = MetadataLife(node, incarnation)
        self._next = FIRST_OFFSET
        self._last: tuple[int, int, int, int] = (-1, -1, -1, -1)
        views.lives.append(self._life)

    def look(self) -> Sequence[MetadataBatch]:
        """Inspect the node after an input.

        Returns the batches that it has read since the last inspection.
        """
        member, life = self._member, self._life
        seen = (member.epoch, member.leader, member.high_watermark, member.log_end)
        if seen != self._last:
            self._last = seen
            epoch, leader, high_watermark, log_end = seen
            if leader >= 0:
                life.leaders.setdefault(epoch, set()).add(leader)
            lowest = log_end if high_watermark < 0 else min(log_end, high_watermark)
            if lowest < life.highest and life.fell is None:
                life.fell = (life.highest, lowest)
            life.highest = max(life.highest, high_watermark)
        if member.next_offset == self._next:
            return ()
        with self._files.unwatched():
            batches = [*member.committed_batches(self._next)]
        self._next = member.next_offset
        for batch in batches:
            if batch.is_snapshot:
                life.loaded = batch.end
            elif not batch.changes_nothing:
                life.committed.append((batch.base_offset, batch.end, batch.epoch, batch.digest))
        return batches
