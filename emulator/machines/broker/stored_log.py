"""A log in its files: segments, ends, epochs, producers; reads and syncs.

All offsets named "end" are exclusive. Nothing here makes the log longer or shorter: see `log`.
"""

from collections.abc import Callable

from emulator.machines.broker.broker_state import LogSettings
from emulator.machines.broker.leader_epochs import LeaderEpochCache
from emulator.machines.broker.producer_state import Aborted, ProducerState
from emulator.machines.broker.segment import Segment
from emulator.storage.files import Files
from emulator.storage.log_directory import LEADER_EPOCHS
from protocol.gates import Gates
from protocol.ids import EPOCH_UNKNOWN, FIRST_OFFSET, NO_OFFSET, LeaderEpoch, Offset
from protocol.messages.replication_messages import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from protocol.records.format import read_records
from protocol.records.transaction_markers import decode_marker
from protocol.records.types import CONTROL, BatchHeader, Record


class StoredLog:
    """Base of `Log`. Storage errors pass through."""

    __slots__ = (
        "_clock", "_gates", "_settled", "corrupted", "directory", "epochs", "files", "flushed_ms", "high_watermark",
        "log_end", "log_start", "producers", "recovered", "recovery_point", "segments", "settings",
    )  # fmt: skip

    def __init__(self, files: Files, directory: str, gates: Gates, settings: LogSettings) -> None:
        self.files = files
        self.directory = directory
        self._gates = gates
        self.settings = settings
        self.segments: list[Segment] = []
        self.log_start = FIRST_OFFSET
        self.log_end = FIRST_OFFSET
        self.high_watermark = FIRST_OFFSET
        self.recovery_point = FIRST_OFFSET
        self.flushed_ms = 0.0
        """Time of the last sync; creation and loading count as one."""
        self._clock: Callable[[], float] = lambda: 0.0
        self.recovered: list[Offset] = []
        """Base offsets of the segments that loading validated."""
        self.corrupted = NO_OFFSET
        """Base offset of the segment that loading had to truncate; -1: none."""
        self.producers = ProducerState(gates)
        self._settled = ProducerState(gates)
        """Producers before the first recent batch of the last segment: Kafka's producer snapshot."""
        self.epochs = LeaderEpochCache(files, f"{directory}/{LEADER_EPOCHS}", gates, [])

    def set_clock(self, clock: Callable[[], float]) -> None:
        """Set the clock (ms, monotonic)."""
        self._clock = clock
        self.flushed_ms = clock()

    @property
    def epochs_path(self) -> str:
        return f"{self.directory}/{LEADER_EPOCHS}"

    def _add_segment(self, base_offset: Offset) -> Segment:
        self._settle_last()
        segment = Segment(self.files, self.directory, base_offset, self._settle)
        segment.create()
        self.segments.append(segment)
        return segment

    def flush(self) -> None:
        """Sync all appended records, if the recovery point does not cover them (Log.flush)."""
        if self.log_end <= self.recovery_point:
            return
        for segment in self.segments:
            if segment.next_offset >= self.recovery_point:
                self.files.fsync(segment.path)
        self.recovery_point = self.log_end
        self.flushed_ms = self._clock()

    # --- reading ---

    def read(self, offset: Offset, stop_offset: Offset, max_bytes: int, *, at_least_one: bool = True) -> bytes:
        """Whole batches from the one with `offset` up to the one with `stop_offset`, of one segment.

        So a high watermark within a batch makes the whole batch unreadable (semantics 1.9). `offset` must be within
        [log_start, log_end].
        """
        assert self.log_start <= offset <= self.log_end, (offset, self.log_start, self.log_end)
        for segment in self._segments_from(offset):
            if offset < segment.next_offset:
                return segment.read(offset, stop_offset, max_bytes, at_least_one=at_least_one)
        return b""

    def find_by_time(self, timestamp_ms: int, stop_offset: Offset) -> tuple[Record, LeaderEpoch] | None:
        """First record below `stop_offset` at or after `timestamp_ms`, and its leader epoch.

        Raises StorageError.
        """
        for segment in self.segments:
            for header in segment.batches():
                if header.base_offset >= stop_offset:
                    return None
                if header.max_timestamp_ms < timestamp_ms:
                    continue
                data = segment.read(header.last_offset, header.next_offset, header.size_bytes, at_least_one=True)
                for record in read_records(data):
                    if record.timestamp_ms >= timestamp_ms and self.log_start <= record.offset < stop_offset:
                        return record, header.leader_epoch
        return None

    def beginnings_before(self, timestamp_ms: int, now_ms: float) -> list[Offset]:
        """Offsets where segments begin, and the log's end, the largest first.

        Those that were there at `timestamp_ms`, or by LATEST_TIMESTAMP, EARLIEST_TIMESTAMP. A file's time of change is
        that of its last batch. Raises StorageError. Source: Log.legacyFetchOffsetsBefore."""
        places = [(max(one.base_offset, self.log_start), one.last_timestamp_ms) for one in self.segments]
        if self.segments[-1].size_bytes:
            places.append((self.log_end, int(now_ms)))
        if timestamp_ms == EARLIEST_TIMESTAMP:
            places = places[:1]
        elif timestamp_ms != LATEST_TIMESTAMP:
            while places and places[-1][1] > timestamp_ms:
                places.pop()
        return sorted((offset for offset, _ in places), reverse=True)

    def bytes_between(self, offset: Offset, stop_offset: Offset) -> int:
        """Size of the batches from the one with `offset` up to `stop_offset`, within one segment."""
        for segment in self._segments_from(offset):
            if offset < segment.next_offset:
                size_bytes = segment.position_of(stop_offset) - segment.position_of(offset)
                return size_bytes if size_bytes > 0 else 0
        return 0

    def last_stable_offset(self) -> Offset:
        """The first offset of the oldest transaction that is not surely ended.

        Without one, the high watermark.

        Source: UnifiedLog.fetchLastStableOffsetMetadata.
        """
        high_watermark = self.high_watermark
        unstable = self.producers.first_unstable(high_watermark)
        if unstable is None or unstable >= high_watermark:
            return high_watermark
        return max(unstable, self.log_start)

    def aborted_transactions(self, offset: Offset, records: bytes) -> list[Aborted]:
        """Aborted transactions of a read of `records` at `offset`, up to a bound beyond it.

        Semantics 12.4.

        The bound comes from the index, as Kafka's: the first entry at or behind the records, else the next segment or
        the log's end.

        Source: UnifiedLog.addAbortedTransactions.
        """
        if not self.producers.aborted:
            return []
        bound = self.log_end
        for index, segment in enumerate(self.segments):
            if offset < segment.next_offset:
                known = segment.indexed_offset_from(segment.position_of(offset) + len(records))
                if known is not None:
                    bound = known
                elif index + 1 < len(self.segments):
                    bound = self.segments[index + 1].base_offset
                break
        return self.producers.aborted_between(offset, bound)

    def _segments_from(self, offset: Offset) -> list[Segment]:
        if len(self.segments) == 1:
            return self.segments
        start = 0
        for index, segment in enumerate(self.segments):
            if segment.base_offset <= offset:
                start = index
        return self.segments[start:]

    # --- log start ---

    @property
    def starts_within(self) -> bool:
        """Whether the log begins within its first segment: then the checkpoint of log starts has it."""
        return self.log_start > self.segments[0].base_offset

    @property
    def epoch_at_start(self) -> LeaderEpoch:
        """Epoch of the first entry, if it begins at or before the log start; -1 for older records."""
        entries = self.epochs.entries
        return entries[0][0] if entries and entries[0][1] <= self.log_start else EPOCH_UNKNOWN

    def end_offset_for_epoch(self, epoch: LeaderEpoch) -> tuple[LeaderEpoch, Offset]:
        """See LeaderEpochCache.end_offset_for."""
        return self.epochs.end_offset_for(epoch, self.log_end)

    # --- producers: batches contain the sequence numbers; truncated ones are forgotten (semantics 6) ---

    def _rebuild_producers(self) -> None:
        self.producers = self._settled.copy()
        for header in self.segments[-1].headers:
            if header.producer_id >= 0:
                observe(self.producers, self.segments[-1], header)
        self._forget_deleted_producers()

    def _settle(self, segment: Segment, header: BatchHeader) -> None:
        """Settle a batch that is no longer recent."""
        if header.producer_id >= 0:
            observe(self._settled, segment, header)

    def _settle_last(self) -> None:
        """Settle the last segment: it gets no further append."""
        if self.segments:
            self.segments[-1].forget()

    def _forget_deleted_producers(self) -> None:
        self.producers.forget_aborted_below(self.log_start)
        self._settled.forget_aborted_below(self.log_start)
        if self._gates.deleted_records_forget_producers and self.log_start:
            self.producers.forget_below(self.log_start)
            self._settled.forget_below(self.log_start)


def observe(producers: ProducerState, segment: Segment, header: BatchHeader) -> None:
    """Take a producer's batch, or a marker, which is read from the segment.

    Raises CorruptRecord, UnreadableRecord.
    """
    if not header.attributes & CONTROL:
        producers.appended(header)
        return
    marker = decode_marker(segment.read(header.base_offset, header.next_offset, header.size_bytes, at_least_one=True))
    if marker is not None:
        producers.ended(header, marker)
