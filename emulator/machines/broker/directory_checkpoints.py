"""Checkpoint files of a log directory, with conditions for rewriting. Semantics 1.9, 3.

Every function may raise StorageError. `logs`: the logs of the written directory.
"""

from collections.abc import Sequence

from emulator.machines.broker.replica_log import Log
from emulator.storage.checkpoints import format_offsets, parse_offsets
from emulator.storage.files import Files
from emulator.storage.log_directory import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS
from protocol.gates import Gates
from protocol.ids import Offset, TopicPartition

Held = Sequence[tuple[TopicPartition, Log]]


def read_offsets(files: Files, path: str) -> dict[TopicPartition, Offset]:
    """Read a checkpoint of any kind; empty if there is none."""
    if not files.exists(path):
        return {}
    return parse_offsets(files.read(path, 0, files.size(path)), path)


def write_high_watermarks(files: Files, logs: Held) -> None:
    _write(files, HIGH_WATERMARKS, {topic_partition: log.high_watermark for topic_partition, log in logs})


def write_recovery_points(files: Files, logs: Held, gates: Gates) -> None:
    if logs or gates.checkpoints_directories_without_logs:
        _write(files, RECOVERY_POINTS, {topic_partition: log.recovery_point for topic_partition, log in logs})


def write_log_starts(files: Files, logs: Held, gates: Gates) -> None:
    """Write the starts of logs that begin within their first segment."""
    if gates.delete_records and (logs or gates.checkpoints_directories_without_logs):
        starts = {topic_partition: log.log_start for topic_partition, log in logs if log.starts_within}
        _write(files, LOG_STARTS, starts)


def _write(files: Files, path: str, offsets: dict[TopicPartition, Offset]) -> None:
    files.write_atomically(path, format_offsets(offsets))
