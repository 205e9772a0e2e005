"""The content of a replica, read from its files alone, whether its node runs or not.

Changes of a stopped node's disk are here too: `keep_batches`, `erase`. `power_loss` has the effect of a power loss.

A broker with several log directories has a folder for each; a partition is searched for in all of them.

A node may write at the same time. An incomplete batch at the end of the last segment is left out. A file that vanishes
between listing and reading counts as missing. Damage elsewhere is an error.
"""

from collections.abc import Iterator
from typing import TypedDict

from emulator.storage.batch_entries import BatchEntry, StateEntry, batch_entries, state_entries
from emulator.storage.checkpoints import parse_leader_epochs, parse_offsets
from emulator.storage.files import LOG_DIRECTORY, FileMissing, Files
from emulator.storage.log_directory import (
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_STARTS,
    META_PROPERTIES,
    METADATA_LOG,
    SEGMENT_SUFFIX,
    segment_name,
)
from emulator.storage.metadata_text import metadata_text
from emulator.storage.subdirectory_files import Within
from protocol.ids import topic_partition_of
from protocol.records import format as records
from protocol.records.errors import CorruptRecord, RecordsError
from protocol.records.transaction_states import TRANSACTIONS_TOPIC
from protocol.records.types import BatchHeader, Record

LogEntry = list[int | str | None]
"""[offset, leader epoch (None before batches had one), value as text (None: tombstone)]."""


class PartitionFiles(TypedDict):
    """A replica, in the shape of a snapshot in observations."""

    log: list[LogEntry]
    leader_epochs: list[list[int]]
    high_watermark_checkpoint: int | None


class LogDamaged(ValueError):
    """A segment file with something other than whole entries, elsewhere than at its end."""

    def __init__(self, path: str, error: RecordsError) -> None:
        super().__init__(f"{path}: {error}")
        self.path = path
        self.error = error


def read_partition(files: Files, partition: str) -> PartitionFiles:
    """Read the replica of `partition` (such as "t-0").

    `leader_epochs` is [[epoch, start offset], ...]; `high_watermark_checkpoint` None if none was written. Raises
    LogDamaged, CheckpointDamaged, StorageError.
    """
    files = directory_with(files, partition)
    log: list[LogEntry] = []
    for header, decoded in _entries(files, partition):
        epoch = header.leader_epoch if header.magic >= records.BATCH_MAGIC else None
        if partition == METADATA_LOG:
            log += ([record.offset, epoch, metadata_text(header, record)] for record in decoded)
        else:
            log += ([record.offset, epoch, _text(record.value)] for record in decoded)
    epochs_path = f"{partition}/{LEADER_EPOCHS}"
    epochs = parse_leader_epochs(_content(files, epochs_path), epochs_path)
    return {
        "log": log,
        "leader_epochs": [[epoch, start_offset] for epoch, start_offset in epochs],
        "high_watermark_checkpoint": _checkpointed(files, HIGH_WATERMARKS, partition),
    }


def log_bounds(files: Files, partition: str) -> tuple[int, int]:
    """(log start, log end) of the replica; the end is exclusive; (0, 0) without a log.

    Raises as `read_partition`.
    """
    files = directory_with(files, partition)
    segments = segments_of(files, partition)
    if not segments:
        return 0, 0
    bases = [int(path[-len(segment_name(0)) : -len(SEGMENT_SUFFIX)]) for path in segments]
    log_end = bases[-1]
    for *_, header in _headers(files, partition):
        log_end = header.last_offset + 1
    return max(bases[0], _checkpointed(files, LOG_STARTS, partition) or 0), log_end


def log_directories(files: Files) -> list[Files]:
    """The folders that a broker uses as log directories, or its whole disk if there are none."""
    folders = [name for name in files.list(LOG_DIRECTORY) if files.exists(f"{name}/{META_PROPERTIES}")]
    return [Within(files, name) for name in folders] or [files]


def directory_with(files: Files, partition: str) -> Files:
    """The log directory that holds the partition; the first if none does."""
    if files.exists(partition):
        return files
    directories = log_directories(files)
    return next((one for one in directories if one.exists(partition)), directories[0])


def partitions_on(files: Files) -> list[str]:
    """Names such as `t-0` of the partitions with a log, in any of the log directories."""
    return sorted(name for directory in log_directories(files) for name in partitions_in(directory))


def partitions_in(directory: Files) -> list[str]:
    """Names of the partitions with a log in one log directory."""
    names = directory.list(LOG_DIRECTORY)
    return [name for name in names if topic_partition_of(name) is not None and directory.list(name)]


def log_sizes(files: Files) -> dict[str, int]:
    """{"t-0": bytes of its segments}.

    The metadata log is left out: an idle controller appends no-op records to it for ever.
    """
    return {
        name: sum(directory.size(path) for path in segments_of(directory, name))
        for directory in log_directories(files)
        for name in partitions_in(directory)
        if name != METADATA_LOG
    }


def batches_of(files: Files, partition: str) -> list[list[int | list[str | None]]]:
    """The log entry by entry: [offset of the last record, values].

    A compressed wrapper is one entry.
    """
    files = directory_with(files, partition)
    return [
        [header.last_offset, [_text(record.value) for record in decoded]]
        for header, decoded in _entries(files, partition)
    ]


def batch_entries_of(files: Files, partition: str) -> list[BatchEntry] | list[StateEntry]:
    """The batches of the log, in the shape of observations.

    Of the transactions topic its states.

    Raises CorruptRecord, UnreadableRecord.
    """
    files = directory_with(files, partition)
    data = b"".join(_content(files, path) for path in segments_of(files, partition))
    topic, _ = topic_partition_of(partition) or ("", 0)
    return state_entries(data) if topic == TRANSACTIONS_TOPIC else batch_entries(data)


class NotSoMany(ValueError):
    """More batches are to be kept than there are."""


def keep_batches(files: Files, partition: str, count: int) -> int:
    """Cut a stopped node's log to its first `count` entries, as power loss does.

    Return those removed.

    Checkpoints stay as they are. Raises NotSoMany.
    """
    files = directory_with(files, partition)
    total = sum(1 for _ in _headers(files, partition))
    if not 0 <= count <= total:
        raise NotSoMany(f"{partition} holds {total} batches, {count} of them cannot be kept")
    kept = 0
    segments = segments_of(files, partition)
    for path in segments:
        headers = records.iter_headers(_content(files, path))
        while kept < count and next(headers, None) is not None:
            kept += 1
        if kept == count and headers.end == 0 and path != segments[0]:
            files.delete(path)
        elif headers.end < files.size(path):
            files.truncate(path, headers.end)
    return total - count


def erase(files: Files, directory: str = LOG_DIRECTORY) -> None:
    """Erase a stopped node's disk, or one of its log directories, as a new disk is empty.

    A power loss restores nothing of it.
    """
    for name in files.list(directory):
        path = f"{directory}/{name}" if directory else name
        erase(files, path)
        files.delete(path)
    if files.exists(directory):
        files.fsync(directory)


def _entries(files: Files, partition: str) -> Iterator[tuple[BatchHeader, list[Record]]]:
    for path, data, position, header in _headers(files, partition):
        try:
            decoded = records.read_records(data, position)
        except CorruptRecord as error:
            raise LogDamaged(path, error) from None
        yield header, decoded


def _headers(files: Files, partition: str) -> Iterator[tuple[str, bytes, int, BatchHeader]]:
    """(path, its content, position, header) of every whole entry of the log."""
    segments = segments_of(files, partition)
    for path in segments:
        data = _content(files, path)
        headers = records.iter_headers(data)
        try:
            for position, header in headers:
                yield path, data, position, header
        except CorruptRecord as error:
            raise LogDamaged(path, error) from None
        if headers.tail is not None and path != segments[-1]:
            raise LogDamaged(path, headers.tail)


def segments_of(files: Files, partition: str) -> list[str]:
    """Paths of the segments, oldest first."""
    return [f"{partition}/{name}" for name in files.list(partition) if name.endswith(SEGMENT_SUFFIX)]


def _checkpointed(files: Files, checkpoint: str, partition: str) -> int | None:
    topic_partition = topic_partition_of(partition)
    assert topic_partition is not None, partition
    return parse_offsets(_content(files, checkpoint), checkpoint).get(topic_partition)


def _content(files: Files, path: str) -> bytes:
    """The whole file; empty if it is missing."""
    try:
        return files.read(path, 0, files.size(path))
    except FileMissing:
        return b""


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="backslashreplace")
