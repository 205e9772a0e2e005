"""The log of one replica: batches in segments, its ends, its epochs.

    log start        recovery point        high watermark        log end
        |------------------|----------------------|-----------------|
                 on disk for sure          readable by consumers    next record's offset

All offsets named "end" are exclusive. The high watermark is always clamped into [log start, log end] (semantics
1.1). An append does not fsync, unless settings require it; a roll to a new segment flushes the old one (semantics
3).
"""

from emulator.machines.broker.batches import LargerThanSegment, Placed, continuing, placed_at
from emulator.machines.broker.broker_state import LogSettings
from emulator.machines.broker.leader_epochs import LeaderEpochCache
from emulator.machines.broker.producer_state import ProducerState
from emulator.machines.broker.segment import Segment, segment_path
from emulator.machines.broker.settings import LONG_MAX
from emulator.machines.broker.stored_log import StoredLog, observe
from emulator.storage.checkpoints import LeaderEpochs, format_leader_epochs, parse_leader_epochs
from emulator.storage.files import Files
from emulator.storage.log_directory import LEADER_EPOCHS, SEGMENT_SUFFIX
from protocol.gates import Gates
from protocol.ids import FIRST_OFFSET, LeaderEpoch, Offset
from protocol.records.types import BatchHeader

ENTRY_HEAD_BYTES = 12
"""Size of offset and size, which recovery does not count."""


class Log(StoredLog):
    """One replica's log. Storage errors pass through.

    The broker takes the log directory offline after one.
    """

    __slots__ = ()

    # --- creation and loading ---

    @classmethod
    def create(cls, files: Files, directory: str, gates: Gates, settings: LogSettings) -> "Log":
        """Create an empty log; its folder exists."""
        log = cls(files, directory, gates, settings)
        log._add_segment(FIRST_OFFSET)
        if gates.has_epoch_cache:
            files.write_atomically(f"{directory}/{LEADER_EPOCHS}", format_leader_epochs([]))
        return log

    @classmethod
    def load(
        cls, files: Files, directory: str, gates: Gates, settings: LogSettings, *, clean: bool, recovery_point: Offset,
        log_start: Offset = FIRST_OFFSET,
    ) -> "Log":  # fmt: skip
        """Load the log from disk.

        `log_start`: the checkpoint's; the log may begin within a segment (semantics 3). After an unclean stop the
        segments from the recovery point on are validated, and truncated at the first bad batch. Missing epochs are
        added from the batches (semantics 3).
        """
        log = cls(files, directory, gates, settings)
        segments = [name for name in files.list(directory) if name.endswith(SEGMENT_SUFFIX)]
        bases = sorted(Offset(int(name.removesuffix(SEGMENT_SUFFIX))) for name in segments)
        beginnings: LeaderEpochs = []
        largest = settings.max_message_bytes + ENTRY_HEAD_BYTES if gates.recovery_cuts_large_messages else LONG_MAX

        def seen(header: BatchHeader) -> None:
            if not beginnings or beginnings[-1][0] != header.leader_epoch:
                beginnings.append((header.leader_epoch, header.base_offset))

        for position, base in enumerate(bases):
            log._settle_last()
            segment = Segment(files, directory, base, log._settle)
            following = bases[position + 1] if position + 1 < len(bases) else None
            unchecked = not clean and (following is None or following > recovery_point)
            whole = segment.load(validate=unchecked, seen=seen, largest_bytes=largest)
            log.segments.append(segment)
            if unchecked:
                log.recovered.append(base)
            if not whole:
                log.corrupted = base
                for later in bases[position + 1 :]:
                    files.delete(segment_path(directory, later))
                break
        if not log.segments:
            log._add_segment(FIRST_OFFSET)
        log.log_end = log.segments[-1].next_offset
        began_anew = log.log_end < log_start
        if began_anew:
            for segment in log.segments:
                files.delete(segment.path)
            log.segments = []
            log._add_segment(log_start)
            log.log_end = log_start
        log.log_start = max(log_start, log.segments[0].base_offset)
        whole_counts = clean or gates.recovery_counts_as_flushed
        log.recovery_point = log.log_end if whole_counts else min(recovery_point, log.log_end)
        log._start_counts_as_flushed()
        log._load_epochs([] if clean else beginnings)
        if began_anew and gates.beginning_anew_forgets_epochs:
            log.epochs.clear()
        log._rebuild_producers()
        return log

    def _load_epochs(self, beginnings: LeaderEpochs) -> None:
        """Load the epochs; add unknown `beginnings`: (epoch, offset) of the first batches of epochs."""
        path = self.epochs_path
        if not self._gates.has_epoch_cache:
            return
        entries = (
            parse_leader_epochs(self.files.read(path, 0, self.files.size(path)), path)
            if self.files.exists(path)
            else []
        )
        self.epochs = LeaderEpochCache(self.files, path, self._gates, [(epoch, start) for epoch, start in entries])
        self.epochs.truncate_from_end(self.log_end)
        self.epochs.truncate_from_start(self.log_start)
        least = 0 if self._gates.recovery_skips_epoch_zero else -1
        for epoch, offset in beginnings:
            if epoch > max(least, self.epochs.latest):
                self.epochs.assign(epoch, offset)

    # --- appending ---

    def place(self, records: bytes, leader_epoch: LeaderEpoch) -> Placed:
        """Place a producer's records at the log's end; writes nothing.

        Raises CorruptBatch, LargerThanAllowed.
        """
        return placed_at(self.log_end, records, leader_epoch, self.settings.max_message_bytes)

    def make_room(self, placed: Placed) -> None:
        """Note epochs, and from 2.4 roll a full segment, before the producer's check.

        So also for batches that the leader then refuses (Log.append). Raises LargerThanSegment, StorageError.
        """
        self._note(placed)
        if self._gates.rolls_before_producers_are_checked:
            self._roll_if_full(len(placed.data))

    def append(self, placed: Placed) -> None:
        """Write placed batches. Raises StorageError."""
        segment = self._roll_if_full(len(placed.data))
        segment.append_many(placed.data, placed.headers)
        self.log_end = placed.headers[-1].last_offset + 1
        for header in placed.headers:
            if header.producer_id >= 0:
                observe(self.producers, segment, header)
        if self.log_end - self.recovery_point >= self.settings.flush_messages:
            self.flush()

    def append_as_leader(self, records: bytes, leader_epoch: LeaderEpoch) -> BatchHeader:
        """Place, make room and append, for any producer; the last batch's header."""
        placed = self.place(records, leader_epoch)
        self.make_room(placed)
        self.append(placed)
        return placed.headers[-1]

    def append_as_follower(self, data: bytes) -> list[BatchHeader]:
        """Append batches from the leader, as they are.

        Raises OffsetsOutOfOrder, LargerThanAllowed, LargerThanSegment, CorruptBatch, StorageError.
        """
        largest = self.settings.max_message_bytes if self._gates.followers_refuse_large_batches else LONG_MAX
        placed = continuing(self.log_end, data, largest)
        if placed.headers:
            self._note(placed)
            self.append(placed)
        return placed.headers

    def _note(self, placed: Placed) -> None:
        """Note epochs, also of an append that is too large. Raises LargerThanSegment, StorageError."""
        for header in placed.headers:
            if header.magic >= 2 and header.leader_epoch != self.epochs.latest:
                self.epochs.assign(header.leader_epoch, header.base_offset)
        if len(placed.data) > self.settings.segment_bytes:
            raise LargerThanSegment(f"{len(placed.data)} bytes for segments of {self.settings.segment_bytes} bytes")

    def _roll_if_full(self, grows_bytes: int) -> Segment:
        active = self.segments[-1]
        if active.size_bytes and active.size_bytes + grows_bytes > self.settings.segment_bytes:
            self.flush()
            return self._add_segment(self.log_end)
        return active

    # --- truncation ---

    def truncate_to(self, offset: Offset) -> bool:
        """Truncate to `offset` (the new log end). Whether any record was removed."""
        assert offset >= 0, offset
        if offset >= self.log_end:
            if self._gates.truncates_epochs_beyond_log_end:
                self.epochs.truncate_from_end(self.log_end)
            return False
        if offset < self.segments[0].base_offset:
            self.truncate_fully(offset)
            return True
        self.log_start = min(self.log_start, offset)
        deep = False
        while len(self.segments) > 1 and self.segments[-1].base_offset > offset:
            deep = deep or self.segments[-1].has_old
            self.files.delete(self.segments.pop().path)
        deep = self.segments[-1].truncate_to(offset) or deep
        self._ended_at(offset, deep)
        return True

    def truncate_fully(self, offset: Offset) -> None:
        """Remove all records and begin at `offset`."""
        for segment in self.segments:
            self.files.delete(segment.path)
        self.segments = []
        self._add_segment(offset)
        self.log_start = offset
        self.epochs.clear()
        self._ended_at(offset, deep=True)
        self.high_watermark = offset

    def _ended_at(self, offset: Offset, deep: bool) -> None:
        """Set the ends after a truncation. `deep`: it removed batches no longer in memory."""
        self.log_end = offset
        self.recovery_point = min(self.recovery_point, offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.epochs.truncate_from_end(offset)
        if deep:
            self._settled = ProducerState(self._gates)
            for segment in self.segments:
                for header in segment.old_batches():
                    self._settle(segment, header)
        self._rebuild_producers()

    # --- log start ---

    def increment_log_start(self, offset: Offset) -> bool:
        """Delete the records below `offset`, which is at most the high watermark. Whether any.

        Their files stay until a segment holds no other record. Raises StorageError.
        """
        assert offset <= self.high_watermark, (offset, self.high_watermark)
        if offset <= self.log_start:
            return False
        self.log_start = offset
        self._start_counts_as_flushed()
        self.epochs.truncate_from_start(offset)
        self._forget_deleted_producers()
        return True

    def delete_segments_below_start(self) -> None:
        """Delete whole segments below the start, but never the last one. Raises StorageError."""
        while len(self.segments) > 1 and self.segments[1].base_offset <= self.log_start:
            self.files.delete(self.segments[0].path)
            del self.segments[0]

    def _start_counts_as_flushed(self) -> None:
        if self._gates.raised_log_start_counts_as_flushed:
            self.recovery_point = max(self.recovery_point, self.log_start)
