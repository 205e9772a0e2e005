"""Contents of collected data folders: segments, checkpoints and the metadata log.

A folder is one log directory of a broker or controller, or a part of it: a copy of single partitions. Segments are read
through a memory map, headers alone; checksums are verified. What is damaged is noted, and what precedes it counts.
"""

import mmap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from controller.kraft.metadata_image import MetadataImage
from emulator.regular_files import open_regular, read_regular
from emulator.runs.importing.append_places import BatchAt
from emulator.storage.checkpoints import CheckpointDamaged, parse_leader_epochs, parse_offsets
from emulator.storage.log_directory import (
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_STARTS,
    META_PROPERTIES,
    METADATA_LOG,
    PARTITION_METADATA,
    SEGMENT_SUFFIX,
)
from protocol.events.event_parsing import NUMBER_MAX
from protocol.ids import Offset, TopicPartition, topic_partition_of, topic_partition_text
from protocol.records import format as records
from protocol.records.errors import CorruptRecord, RecordsError
from protocol.records.metadata_codec import decode_metadata_record
from protocol.records.metadata_records import MetadataRecord
from protocol.records.schema_fields import UnreadableRecord
from protocol.records.types import Record

SMALL_FILE_BYTES_MAX: Final = 16 << 20
BATCHES_MAX: Final = 3_000_000
"""Of all folders together; what is beyond is left out, and timed."""
SNAPSHOT_SUFFIX: Final = ".checkpoint"
_NAME_DIGITS: Final = 20


class ReplicaContents(NamedTuple):
    """A replica as its folder has it. `problems`: sentences that name the file."""

    folder: Path
    place: TopicPartition
    topic_id: str
    log_start: int
    log_end: int
    batches: tuple[BatchAt, ...]
    leader_epochs: tuple[tuple[int, int], ...]
    high_watermark: int | None
    problems: tuple[str, ...]

    @property
    def name(self) -> str:
        return topic_partition_text(*self.place)

    def batch_with(self, offset: int) -> BatchAt | None:
        """The batch that has an offset."""
        return next((one for one in self.batches if one.base_offset <= offset <= one.last_offset), None)

    def records_of(self, batch: BatchAt) -> list[Record]:
        """Its records. Raises CorruptRecord, OSError."""
        with open_regular(self.folder / batch.file) as file, closing(_mapped(file.fileno())) as data:
            view = memoryview(data)
            try:
                return records.read_records(view, batch.position)
            finally:
                view.release()


class DataFolder(NamedTuple):
    """A collected log directory. `properties`: of meta.properties, empty without one."""

    path: Path
    properties: dict[str, str]
    partitions: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return bool(self.properties)


def is_segment(name: str) -> bool:
    """Whether a file's name is a segment's."""
    stem = name.removesuffix(SEGMENT_SUFFIX)
    return stem != name and len(stem) == _NAME_DIGITS and stem.isdigit()


def data_folder(path: Path) -> DataFolder | None:
    """The log directory at a path; None: it holds neither partitions nor meta.properties."""
    properties = properties_of(path / META_PROPERTIES)
    try:
        names = sorted(entry.name for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink())
    except OSError:
        return None
    held = tuple(name for name in names if topic_partition_of(name) is not None and _segments(path / name))
    return DataFolder(path, properties, held) if held or properties else None


def properties_of(path: Path) -> dict[str, str]:
    """Entries of a .properties file; empty if there is none, or it cannot be read."""
    try:
        text = read_regular(path, SMALL_FILE_BYTES_MAX).decode("utf-8", "replace")
    except OSError:
        return {}
    pairs = (line.partition("=") for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return {name.strip(): value.strip() for name, sign, value in pairs if sign}


def contents_of(folder: DataFolder, partition: str, batches_left: int = BATCHES_MAX) -> ReplicaContents:
    """Read a replica; damage becomes `problems`."""
    place = topic_partition_of(partition)
    assert place is not None, partition
    path = folder.path / partition
    problems: list[str] = []
    batches: list[BatchAt] = []
    names = _segments(path)
    log_end = int(names[-1][:_NAME_DIGITS]) if names else 0
    for name in names:
        whole = name != names[-1]
        try:
            log_end = max(log_end, _read_segment(path, name, whole, batches, problems, batches_left))
        except OSError as error:
            problems.append(f"{path / name}: cannot be read: {error.strerror or error}")
    starts = _offsets(folder.path / LOG_STARTS, problems)
    log_start = max(int(names[0][:_NAME_DIGITS]) if names else 0, starts.get(place, 0))
    watermarks = _offsets(folder.path / HIGH_WATERMARKS, problems)
    return ReplicaContents(
        path, place, _topic_id(path), log_start, log_end, tuple(batches), _epochs(path / LEADER_EPOCHS, problems),
        watermarks.get(place), tuple(problems),
    )  # fmt: skip


def _segments(path: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in path.iterdir() if is_segment(entry.name))
    except OSError:
        return []


def _mapped(descriptor: int) -> mmap.mmap:
    return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)


def _read_segment(
    path: Path, name: str, whole: bool, batches: list[BatchAt], problems: list[str], batches_left: int
) -> int:
    """Append a segment's batches. Returns the offset after its last."""
    end = int(name[:_NAME_DIGITS])
    if (path / name).stat().st_size == 0:
        return end
    with open_regular(path / name) as file, closing(_mapped(file.fileno())) as data:
        view = memoryview(data)
        try:
            headers = records.iter_headers(view)
            try:
                for position, header in headers:
                    if len(batches) >= batches_left:
                        problems.append(f"{path / name}: more than {BATCHES_MAX} batches; import fewer partitions")
                        return end
                    if not end <= header.base_offset <= header.last_offset < NUMBER_MAX:
                        problems.append(f"{path / name}: the batch at byte {position} has an impossible offset")
                        return end
                    if not records.has_right_crc(view, position, header):
                        problems.append(f"{path / name}: the batch at byte {position} has a wrong checksum")
                        return end
                    batches.append(
                        BatchAt(
                            header.base_offset, header.last_offset, header.leader_epoch, header.crc,
                            header.max_timestamp_ms, name, position,
                        )
                    )  # fmt: skip
                    end = header.next_offset
            except CorruptRecord as error:
                problems.append(f"{path / name}: {error}")
            if headers.tail is not None and whole:
                problems.append(f"{path / name}: {headers.tail}")
        finally:
            view.release()
    return end


def _offsets(path: Path, problems: list[str]) -> dict[TopicPartition, int]:
    data = _small(path)
    try:
        return {} if data is None else dict(parse_offsets(data, str(path)))
    except CheckpointDamaged as error:
        problems.append(str(error))
        return {}


def _epochs(path: Path, problems: list[str]) -> tuple[tuple[int, int], ...]:
    data = _small(path)
    try:
        return () if data is None else tuple(parse_leader_epochs(data, str(path)))
    except CheckpointDamaged as error:
        problems.append(str(error))
        return ()


def _topic_id(path: Path) -> str:
    data = _small(path / PARTITION_METADATA) or b""
    for line in data.decode("ascii", "replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "topic_id":
            return value.strip()
    return ""


def _small(path: Path) -> bytes | None:
    try:
        return read_regular(path, SMALL_FILE_BYTES_MAX)
    except OSError:
        return None


# --- the metadata log ---


class MetadataEntry(NamedTuple):
    """A record of the metadata log that could be read, at `offset`; `image`: the state after it."""

    offset: int
    epoch: int
    at_ms: int
    record: MetadataRecord
    image: MetadataImage


def metadata_entries(log: ReplicaContents) -> Iterator[MetadataEntry]:
    """The records of a metadata log, from its snapshot or its beginning on.

    Kinds of records that the emulator does not model are left out, and so is a change of a topic or broker that the
    collected part of the log does not have. Raises CorruptRecord, OSError.
    """
    image = MetadataImage()
    if log.log_start > 0:
        _apply_snapshot(log.folder, log.log_start, image)
    for batch in log.batches:
        if batch.base_offset < image.next_offset:
            continue
        for record in log.records_of(batch):
            decoded = _decoded(record.value)
            if decoded is None:
                continue
            try:
                image.apply(decoded, Offset(record.offset))
            except (ValueError, KeyError):
                continue
            yield MetadataEntry(record.offset, batch.epoch, batch.at_ms, decoded, image)


def _decoded(value: bytes | None) -> MetadataRecord | None:
    try:
        return decode_metadata_record(value or b"")
    except (UnreadableRecord, RecordsError):
        return None


def _apply_snapshot(folder: Path, log_start: int, image: MetadataImage) -> None:
    """Apply the newest snapshot at or below the log's start; none: the image stays empty."""
    named = sorted(path for path in folder.glob(f"*{SNAPSHOT_SUFFIX}") if path.name[:_NAME_DIGITS].isdigit())
    for path in reversed(named):
        if int(path.name[:_NAME_DIGITS]) > log_start:
            continue
        data = _small(path)
        if data is None:
            continue
        for position, header in records.iter_headers(data):
            if header.is_control:
                continue
            for record in records.read_records(data, position):
                decoded = _decoded(record.value)
                if decoded is not None:
                    image.apply(decoded, Offset(record.offset))
        image.next_offset = Offset(int(path.name[:_NAME_DIGITS]))
        return


def is_metadata_log(partition: str) -> bool:
    return partition == METADATA_LOG
