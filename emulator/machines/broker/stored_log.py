"""A log as it lies in its files: segments, ends, epochs, producers; what is read from it, and what is synced.

All offsets named "end" are exclusive. Nothing here makes the log longer or shorter: see `log`.
"""

from collections.abc import Callable

from emulator.machines.broker.leader_epochs import LeaderEpochCache
from emulator.machines.broker.log_settings import LogSettings
from emulator.machines.broker.producer_state import ProducerState
from emulator.machines.broker.segment import Segment
from emulator.storage.files import Files
from emulator.storage.log_directory import LEADER_EPOCHS
from protocol.ids import EPOCH_UNKNOWN, FIRST_OFFSET, NO_OFFSET, LeaderEpoch, Offset
from protocol.messages.replication import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from protocol.records.format import read_records
from protocol.records.types import BatchHeader, Record
from protocol.versions import Gates


class StoredLog:
    """What `Log` rests on. Storage errors pass through."""

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
        """When it was last synced; its creation and its loading count as that."""
        self._clock: Callable[[], float] = lambda: 0.0
        self.recovered: list[Offset] = []
        """Base offsets of the segments that were validated when the log was loaded."""
        self.corrupted = NO_OFFSET
        """Base offset of the segment that had to be cut then; -1: none."""
        self.producers = ProducerState(gates)
        self._settled = ProducerState(gates)
        """As it was before the first recent batch of the last segment: Kafka's producer snapshot."""
        self.epochs = LeaderEpochCache(files, f"{directory}/{LEADER_EPOCHS}", gates, [])

    def tell_time(self, clock: Callable[[], float]) -> None:
        """`clock` says what time it is (ms, monotonic), from now on."""
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
        """Everything appended so far survives a power loss, if the recovery point does not say that it does
        (Log.flush)."""
        if self.log_end <= self.recovery_point:
            return
        for segment in self.segments:
            if segment.next_offset >= self.recovery_point:
                self.files.fsync(segment.path)
        self.recovery_point = self.log_end
        self.flushed_ms = self._clock()

    # --- reading ---

    def read(self, offset: Offset, stop_offset: Offset, max_bytes: int, *, at_least_one: bool = True) -> bytes:
        """Whole batches from the one that holds `offset`, up to where the one that holds `stop_offset` begins, from one
        segment. So a high watermark within a batch lets nobody read it (semantics 1.9).

        `offset` must be within [log_start, log_end]."""
        assert self.log_start <= offset <= self.log_end, (offset, self.log_start, self.log_end)
        for segment in self._segments_from(offset):
            if offset < segment.next_offset:
                return segment.read(offset, stop_offset, max_bytes, at_least_one=at_least_one)
        return b""

    def find_by_time(self, timestamp_ms: int, stop_offset: Offset) -> tuple[Record, LeaderEpoch] | None:
        """The first record below `stop_offset` whose timestamp is `timestamp_ms` or later, and its leader epoch. Raises
        StorageError."""
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
        """Size of the batches from the one that holds `offset` up to `stop_offset`, within one segment."""
        for segment in self._segments_from(offset):
            if offset < segment.next_offset:
                return max(0, segment.position_of(stop_offset) - segment.position_of(offset))
        return 0

    def _segments_from(self, offset: Offset) -> list[Segment]:
        if len(self.segments) == 1:
            return self.segments
        start = 0
        for index, segment in enumerate(self.segments):
            if segment.base_offset <= offset:
                start = index
        return self.segments[start:]

    # --- where it begins ---

    @property
    def starts_within(self) -> bool:
        """Not where its first segment does: what a checkpoint of log starts is about."""
        return self.log_start > self.segments[0].base_offset

    @property
    def epoch_at_start(self) -> LeaderEpoch:
        """That of the first entry, if it is there already where the log begins; -1 where older records name none."""
        entries = self.epochs.entries
        return entries[0][0] if entries and entries[0][1] <= self.log_start else EPOCH_UNKNOWN

    def end_offset_for_epoch(self, epoch: LeaderEpoch) -> tuple[LeaderEpoch, Offset]:
        """See LeaderEpochCache.end_offset_for."""
        return self.epochs.end_offset_for(epoch, self.log_end)

    # --- producers: sequence numbers live in the batches; what was cut is forgotten (semantics 6) ---

    def _rebuild_producers(self) -> None:
        self.producers = self._settled.copy()
        for header in self.segments[-1].headers:
            if header.producer_id >= 0:
                self.producers.appended(header)
        self._forget_deleted_producers()

    def _settle(self, header: BatchHeader) -> None:
        """A batch is no longer recent."""
        if header.producer_id >= 0:
            self._settled.appended(header)

    def _settle_last(self) -> None:
        """The last segment will not be appended to any more: nothing of it is recent."""
        if self.segments:
            self.segments[-1].forget()

    def _forget_deleted_producers(self) -> None:
        if self._gates.deleted_records_forget_producers and self.log_start:
            self.producers.forget_below(self.log_start)
            self._settled.forget_below(self.log_start)
