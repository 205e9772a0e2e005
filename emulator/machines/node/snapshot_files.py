"""Snapshots of the metadata log on disk (KIP-630).

    __cluster_metadata-0/00000000000000000042-0000000003.checkpoint        end offset 42, last epoch 3
    __cluster_metadata-0/00000000000000000042-0000000003.checkpoint.part   incomplete: a load deletes it

A snapshot is a sequence of record batches from offset 0 on: header and voters, data, footer. It becomes whole by the
rename of a synced file, so a process that dies half-way leaves a `.part` alone.

Source: Snapshots, FileRawSnapshotWriter, RecordsSnapshotWriter, KafkaMetadataLog.recoverSnapshots.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from controller.quorum.quorum_log import SnapshotId
from emulator.storage.files import Files
from emulator.storage.log_directory import METADATA_LOG
from protocol.ids import LeaderEpoch, Offset
from protocol.records.batch import encode_batch
from protocol.records.format import has_right_crc, iter_headers, read_records
from protocol.records.quorum_control_records import (
    ControlRecord,
    SnapshotFooter,
    SnapshotHeader,
    decode_control_record,
    encode_control_record,
)
from protocol.records.schema_fields import UnreadableRecord
from protocol.records.types import BatchHeader, Values

SUFFIX: Final = ".checkpoint"
PART_SUFFIX: Final = ".checkpoint.part"
VALUES_PER_BATCH: Final = 1000
"""Bound of the records in one batch; Kafka's is 8 MiB."""
_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint(\.part)?")


def snapshot_path(snapshot: SnapshotId, *, partial: bool = False) -> str:
    """`__cluster_metadata-0/%020d-%010d.checkpoint`."""
    return f"{METADATA_LOG}/{snapshot.end:020d}-{snapshot.epoch:010d}{PART_SUFFIX if partial else SUFFIX}"


def snapshot_named(name: str) -> tuple[SnapshotId, bool] | None:
    """The snapshot of a file's name, and whether it is incomplete; None: another file."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    return SnapshotId(Offset(int(found[1])), LeaderEpoch(int(found[2]))), found[3] is not None


class SnapshotFiles:
    """The snapshots of one directory. Raises StorageError."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.whole: list[SnapshotId] = []
        """All whole snapshots, the earliest first."""
        self._download: SnapshotId | None = None
        self.download_bytes = 0

    def load(self, log_start: Offset) -> None:
        """Find the whole snapshots; delete incomplete ones, and those below the log's start.

        Raises ValueError if the log does not begin at 0 and no snapshot has what is missing.
        """
        superfluous: list[str] = []
        for name in self._files.list(METADATA_LOG):
            found = snapshot_named(name)
            if found is None:
                continue
            snapshot, partial = found
            if partial or snapshot.end < log_start:
                superfluous.append(f"{METADATA_LOG}/{name}")
            else:
                self.whole.append(snapshot)
        self.whole.sort()
        if log_start > 0 and not self.whole:
            raise ValueError(f"metadata log: begins at {log_start}, and no snapshot has the records below")
        for path in superfluous:
            self._files.delete(path)

    def forget_below(self, end: Offset) -> None:
        """Delete the snapshots that end below `end`."""
        for snapshot in [one for one in self.whole if one.end < end]:
            self.whole.remove(snapshot)
            self._files.delete(snapshot_path(snapshot))

    # --- reading ---

    def size_bytes(self, snapshot: SnapshotId) -> int:
        return self._files.size(snapshot_path(snapshot)) if snapshot in self.whole else -1

    def read(self, snapshot: SnapshotId, position: int, size_bytes: int) -> bytes:
        return self._files.read(snapshot_path(snapshot), position, size_bytes)

    def batches(self, snapshot: SnapshotId) -> Iterator[tuple[BatchHeader, list[tuple[bytes | None, bytes | None]]]]:
        """The batches of a whole snapshot, each with the keys and values of its records.

        Raises ValueError for a batch with a wrong checksum, and for a snapshot without a header or a footer.
        """
        data = self.read(snapshot, 0, self.size_bytes(snapshot))
        first: ControlRecord | None = None
        last: ControlRecord | None = None
        for position, header in iter_headers(data):
            if not has_right_crc(data, position, header):
                raise UnreadableRecord(f"{snapshot_path(snapshot)}: wrong checksum of the batch at {position}")
            records = [(record.key, record.value) for record in read_records(data, position, header)]
            if header.is_control and records:
                first = first or decode_control_record(*records[0])
                last = decode_control_record(*records[-1])
            yield header, records
        if not isinstance(first, SnapshotHeader) or not isinstance(last, SnapshotFooter):
            raise UnreadableRecord(f"{snapshot_path(snapshot)}: it has no header or no footer")

    def control_records(self, snapshot: SnapshotId) -> list[ControlRecord]:
        """Control records of a whole snapshot. Raises ValueError if it is damaged."""
        found = [
            decode_control_record(*record)
            for header, records in self.batches(snapshot)
            if header.is_control
            for record in records
        ]
        return [record for record in found if record is not None]

    def values(self, snapshot: SnapshotId) -> list[bytes]:
        """Values of the data records of a whole snapshot. Raises ValueError if it is damaged."""
        found = [records for header, records in self.batches(snapshot) if not header.is_control]
        return [value or b"" for records in found for _, value in records]

    # --- writing ---

    def store(self, snapshot: SnapshotId, control: Sequence[ControlRecord], values: Values, wall_ms: float) -> None:
        """Write a whole snapshot: `control` begins with the header; the footer is added."""
        download, size_bytes = self._download, self.download_bytes
        path = snapshot_path(snapshot, partial=True)
        if self._files.exists(path):
            self._files.delete(path)
        offset = 0
        batches: list[tuple[Values, bool]] = [([encode_control_record(one) for one in control], True)]
        batches += [
            (values[place : place + VALUES_PER_BATCH], False) for place in range(0, len(values), VALUES_PER_BATCH)
        ]
        batches.append(([encode_control_record(SnapshotFooter())], True))
        for part, is_control in batches:
            encoded = encode_batch(
                part, timestamp_ms=int(wall_ms), base_offset=Offset(offset), leader_epoch=snapshot.epoch,
                is_control=is_control,
            )  # fmt: skip
            self._files.append(path, encoded)
            offset += len(part)
        self._freeze(snapshot)
        self._download, self.download_bytes = download, size_bytes

    def _freeze(self, snapshot: SnapshotId) -> None:
        path = snapshot_path(snapshot, partial=True)
        self._files.fsync(path)
        self._files.rename(path, snapshot_path(snapshot))
        self.whole = sorted({*self.whole, snapshot})

    # --- a download ---

    def begin_download(self, snapshot: SnapshotId) -> None:
        self.drop_download()
        path = snapshot_path(snapshot, partial=True)
        if self._files.exists(path):
            self._files.delete(path)
        self._download = snapshot
        self.download_bytes = 0

    def append_download(self, data: bytes) -> None:
        assert self._download is not None
        self._files.append(snapshot_path(self._download, partial=True), data)
        self.download_bytes += len(data)

    def finish_download(self) -> None:
        """Sync the download; it is a snapshot from now on."""
        assert self._download is not None
        self._freeze(self._download)
        self._download = None

    def drop_download(self) -> None:
        snapshot, self._download = self._download, None
        if snapshot is not None and self._files.exists(snapshot_path(snapshot, partial=True)):
            self._files.delete(snapshot_path(snapshot, partial=True))
