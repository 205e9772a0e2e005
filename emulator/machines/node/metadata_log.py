"""Metadata log of a quorum's node: log, snapshots, and the file of its election.

The log is the broker's own.

    __cluster_metadata-0/00000000000000000000.log
    __cluster_metadata-0/leader-epoch-checkpoint
    __cluster_metadata-0/quorum-state

The node treats each start as unclean: the log is validated from its beginning. So no recovery point and no marker of a
clean stop are written.

Source: KafkaMetadataLog.apply, FileQuorumStateStore.
"""

from collections.abc import Sequence
from typing import Final
from zlib import crc32

from controller.quorum.election_file import QUORUM_STATE
from controller.quorum.quorum_log import EpochEnd, SnapshotId
from emulator.machines.broker.broker_state import LogSettings
from emulator.machines.broker.replica_log import Log
from emulator.machines.node.snapshot_files import SnapshotFiles
from emulator.storage.files import Files
from emulator.storage.log_directory import METADATA_LOG, SEGMENT_SUFFIX
from protocol.gates import gates_for
from protocol.ids import FIRST_OFFSET, LeaderEpoch, Offset
from protocol.records.batch import encode_batch
from protocol.records.format import iter_headers, read_records
from protocol.records.metadata_codec import decode_metadata_record
from protocol.records.metadata_records import MetadataBatch, MetadataRecord
from protocol.records.quorum_control_records import (
    ControlRecord,
    SnapshotHeader,
    decode_control_record,
    encode_control_record,
)
from protocol.records.types import BatchHeader, Values
from protocol.versions import LADDER

DIRECTORY: Final = METADATA_LOG
FETCH_BYTES: Final = 8 * 1024 * 1024
"""Limit of one fetch: KafkaRaftClient.MAX_FETCH_SIZE_BYTES."""
SETTINGS: Final = LogSettings(max_message_bytes=FETCH_BYTES)


class MetadataLog:
    """`controller.quorum.quorum_log.QuorumLog` over `Log`."""

    def __init__(self, log: Log, snapshots: SnapshotFiles) -> None:
        self._log = log
        self._files = snapshots

    @classmethod
    def open(cls, files: Files, segment_bytes: int = SETTINGS.segment_bytes) -> "MetadataLog":
        """Load the log and its snapshots, or create it.

        A log that ends before its latest snapshot begins anew at that one: its process died after a download. Raises
        StorageError, ValueError.
        """
        gates = gates_for(LADDER[-1])
        settings = LogSettings(max_message_bytes=FETCH_BYTES, segment_bytes=segment_bytes)
        if any(name.endswith(SEGMENT_SUFFIX) for name in files.list(DIRECTORY)):
            log = Log.load(files, DIRECTORY, gates, settings, clean=False, recovery_point=FIRST_OFFSET)
        else:
            files.make_directory(DIRECTORY)
            log = Log.create(files, DIRECTORY, gates, settings)
        loaded = cls(log, SnapshotFiles(files))
        loaded._files.load(log.log_start)
        if not loaded.truncate_to_latest_snapshot():
            loaded._restore_start()
        return loaded

    def _restore_start(self) -> None:
        """Begin at the snapshot at which the epochs begin, as before the restart.

        The epochs of earlier records are gone, so their ends would be wrong. Kafka begins at the first segment again,
        and relies on the epoch of its earliest snapshot, which a power loss may bring back.
        """
        entries = self._log.epochs.entries
        begins = Offset(entries[0][1]) if entries else FIRST_OFFSET
        if begins > self.start and any(snapshot.end == begins for snapshot in self._files.whole):
            self._log.high_watermark = begins
            self._log.increment_log_start(begins)
            self._files.forget_below(begins)

    @property
    def start(self) -> Offset:
        return self._log.log_start

    @property
    def end(self) -> Offset:
        return self._log.log_end

    @property
    def last_epoch(self) -> LeaderEpoch:
        latest = self._log.epochs.latest
        if latest >= 0:
            return LeaderEpoch(latest)
        snapshots = self._files.whole
        return snapshots[-1].epoch if snapshots and snapshots[-1].end == self.end == self.start else LeaderEpoch(0)

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._log.segments)

    @property
    def high_watermark(self) -> Offset:
        return self._log.high_watermark

    def end_of_epoch(self, epoch: LeaderEpoch) -> EpochEnd:
        known, end = self._log.end_offset_for_epoch(epoch)
        if end < 0:
            return EpochEnd(self.last_epoch, self.end)
        earliest = self._files.whole[0] if self._files.whole else None
        if earliest is not None and earliest.end == end and known == epoch:
            return EpochEnd(earliest.epoch, earliest.end)
        return EpochEnd(known, end)

    def begin_epoch(self, epoch: LeaderEpoch) -> None:
        self._log.epochs.assign(epoch, self._log.log_end)

    def append_control(self, epoch: LeaderEpoch, records: Sequence[ControlRecord], wall_ms: float) -> None:
        encoded = [encode_control_record(record) for record in records]
        self._log.append_as_leader(encode_batch(encoded, timestamp_ms=int(wall_ms), is_control=True), epoch)

    def control_records(self, offset: Offset, end: Offset) -> list[tuple[Offset, ControlRecord]]:
        found: list[tuple[Offset, ControlRecord]] = []
        for header in self.batches(offset, end):
            if not header.is_control:
                continue
            data = self._log.read(header.base_offset, header.next_offset, header.size_bytes)
            for record in read_records(data, 0, header):
                decoded = decode_control_record(record.key, record.value)
                if decoded is not None:
                    found.append((record.offset, decoded))
        return found

    def append(self, epoch: LeaderEpoch, values: Values, wall_ms: float) -> None:
        self._log.append_as_leader(encode_batch(values, timestamp_ms=int(wall_ms)), epoch)

    def append_from_leader(self, records: bytes) -> None:
        self._log.append_as_follower(records)

    def read(self, offset: Offset) -> bytes:
        return self._log.read(offset, self._log.log_end, FETCH_BYTES)

    def truncate(self, offset: Offset) -> None:
        self._log.truncate_to(offset)

    def flush(self) -> None:
        self._log.flush()

    def note_high_watermark(self, offset: Offset) -> None:
        self._log.high_watermark = offset

    # --- snapshots ---

    @property
    def snapshots(self) -> Sequence[SnapshotId]:
        return self._files.whole

    def snapshot_size_bytes(self, snapshot: SnapshotId) -> int:
        return self._files.size_bytes(snapshot)

    def snapshot_timestamp_ms(self, snapshot: SnapshotId) -> int:
        if snapshot not in self._files.whole:
            return -1
        header = self._files.control_records(snapshot)[0]
        assert isinstance(header, SnapshotHeader)
        return header.last_timestamp_ms

    def read_snapshot(self, snapshot: SnapshotId, position: int, size_bytes: int) -> bytes:
        return self._files.read(snapshot, position, size_bytes)

    def snapshot_control_records(self, snapshot: SnapshotId) -> Sequence[ControlRecord]:
        return self._files.control_records(snapshot)

    def store_snapshot(
        self, snapshot: SnapshotId, control: Sequence[ControlRecord], values: Values, wall_ms: float
    ) -> None:
        self._files.store(snapshot, control, values, wall_ms)

    def snapshot_values(self, snapshot: SnapshotId) -> list[bytes]:
        """Values of a whole snapshot's data records. Raises ValueError if it is damaged."""
        return self._files.values(snapshot)

    def decoded_snapshot(self, snapshot: SnapshotId) -> MetadataBatch:
        """A whole snapshot, as one batch that stands for the log below.

        Raises ValueError if it is damaged.
        """
        values = self._files.values(snapshot)
        records = tuple(decode_metadata_record(value) for value in values)
        return MetadataBatch(0, snapshot.end, snapshot.epoch, records, crc32(b"".join(values)), is_snapshot=True)

    def begin_download(self, snapshot: SnapshotId) -> None:
        self._files.begin_download(snapshot)

    @property
    def download_bytes(self) -> int:
        return self._files.download_bytes

    def append_download(self, data: bytes) -> None:
        self._files.append_download(data)

    def finish_download(self) -> None:
        self._files.finish_download()

    def drop_download(self) -> None:
        self._files.drop_download()

    def truncate_to_latest_snapshot(self) -> bool:
        """Begin the log anew at a latest snapshot beyond it. Whether there was one.

        Source: KafkaMetadataLog.truncateToLatestSnapshot.
        """
        latest = self._files.whole[-1] if self._files.whole else None
        last = (max(self._log.epochs.latest, 0), self.end)
        if latest is None or (latest.epoch, latest.end) <= last:
            return False
        self._log.truncate_fully(latest.end)
        self._files.forget_below(latest.end)
        return True

    def delete_before(self, snapshot: SnapshotId) -> bool:
        """Raise the log's start to a snapshot's end; delete what is below. Whether it rose.

        Source: KafkaMetadataLog.deleteBeforeSnapshot.
        """
        whole = snapshot in self._files.whole and snapshot.end <= self._log.high_watermark
        if not whole or not self._log.increment_log_start(snapshot.end):
            return False
        self._log.delete_segments_below_start()
        self._files.forget_below(snapshot.end)
        return True

    def batches(self, offset: Offset, end: Offset) -> list[BatchHeader]:
        """The headers of the batches in [offset, end)."""
        return [
            header
            for segment in self._log.segments
            if segment.next_offset > offset
            for header in segment.batches()
            if offset <= header.base_offset < end
        ]

    def decoded(self, offset: Offset, end: Offset) -> list[MetadataBatch]:
        """The batches in [offset, end), with their records. Raises UnreadableRecord."""
        batches: list[MetadataBatch] = []
        while offset < end:
            data = self._log.read(offset, end, FETCH_BYTES)
            assert data, (offset, end)
            for position, header in iter_headers(data):
                if not offset <= header.base_offset < end:
                    continue
                records: tuple[MetadataRecord, ...] = ()
                if not header.is_control:
                    values = (record.value for record in read_records(data, position, header))
                    records = tuple(decode_metadata_record(value or b"") for value in values)
                place = (header.base_offset, header.next_offset, header.leader_epoch)
                batches.append(
                    MetadataBatch(
                        *place, records, header.crc, size_bytes=header.size_bytes, timestamp_ms=header.max_timestamp_ms
                    )
                )
            offset = Offset(batches[-1].end)
        return batches


class ElectionFile:
    """`controller.quorum.election_file.ElectionStore` beside the log."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._path = f"{DIRECTORY}/{QUORUM_STATE}"

    def read(self) -> bytes | None:
        if not self._files.exists(self._path):
            return None
        return self._files.read(self._path, 0, self._files.size(self._path))

    def write(self, data: bytes) -> None:
        self._files.write_atomically(self._path, data)
