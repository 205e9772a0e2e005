"""Metadata log of a quorum's node, on the broker's own log, and the file of its election.

    __cluster_metadata-0/00000000000000000000.log
    __cluster_metadata-0/leader-epoch-checkpoint
    __cluster_metadata-0/quorum-state

The node treats each start as unclean: the log is validated from its beginning. So no recovery point and no marker of a
clean stop are written.

Source: KafkaMetadataLog.apply, FileQuorumStateStore.
"""

from collections.abc import Sequence
from typing import Final

from controller.quorum.election_file import QUORUM_STATE
from controller.quorum.quorum_log import EpochEnd
from emulator.machines.broker.broker_state import LogSettings
from emulator.machines.broker.replica_log import Log
from emulator.storage.files import Files
from emulator.storage.log_directory import METADATA_LOG, SEGMENT_SUFFIX
from protocol.gates import gates_for
from protocol.ids import FIRST_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.records.batch import encode_batch
from protocol.records.format import iter_headers, read_records
from protocol.records.metadata_codec import decode_metadata_record
from protocol.records.metadata_records import MetadataBatch, MetadataRecord
from protocol.records.quorum_records import LeaderChange, encode_leader_change
from protocol.records.types import BatchHeader, Values
from protocol.versions import LADDER

DIRECTORY: Final = METADATA_LOG
FETCH_BYTES: Final = 8 * 1024 * 1024
"""Limit of one fetch: KafkaRaftClient.MAX_FETCH_SIZE_BYTES."""
SETTINGS: Final = LogSettings(max_message_bytes=FETCH_BYTES)


class MetadataLog:
    """`controller.quorum.quorum_log.QuorumLog` over `Log`."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @classmethod
    def open(cls, files: Files) -> "MetadataLog":
        """Load the log, or create it. Raises StorageError."""
        gates = gates_for(LADDER[-1])
        if any(name.endswith(SEGMENT_SUFFIX) for name in files.list(DIRECTORY)):
            return cls(Log.load(files, DIRECTORY, gates, SETTINGS, clean=False, recovery_point=FIRST_OFFSET))
        files.make_directory(DIRECTORY)
        return cls(Log.create(files, DIRECTORY, gates, SETTINGS))

    @property
    def start(self) -> Offset:
        return self._log.log_start

    @property
    def end(self) -> Offset:
        return self._log.log_end

    @property
    def last_epoch(self) -> LeaderEpoch:
        return LeaderEpoch(max(self._log.epochs.latest, 0))

    @property
    def high_watermark(self) -> Offset:
        return self._log.high_watermark

    def end_of_epoch(self, epoch: LeaderEpoch) -> EpochEnd:
        known, end = self._log.end_offset_for_epoch(epoch)
        return EpochEnd(known, end) if end >= 0 else EpochEnd(self.last_epoch, self.end)

    def begin_epoch(self, epoch: LeaderEpoch) -> None:
        self._log.epochs.assign(epoch, self._log.log_end)

    def append_leader_change(
        self,
        epoch: LeaderEpoch,
        leader: BrokerId,
        voters: Sequence[BrokerId],
        granting: Sequence[BrokerId],
        wall_ms: float,
    ) -> None:
        record = encode_leader_change(LeaderChange(leader, tuple(voters), tuple(granting)))
        self._log.append_as_leader(encode_batch([record], timestamp_ms=int(wall_ms), is_control=True), epoch)

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
                batches.append(MetadataBatch(*place, records, header.crc))
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
