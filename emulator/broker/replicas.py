"""The replicas one broker hosts, by partition, and what is common to all of them: log directory, checkpoints."""

from collections.abc import Iterable

from emulator.broker.context import BrokerContext
from emulator.broker.log import Log, LogSettings
from emulator.broker.metadata_cache import MetadataCache
from emulator.broker.partition import Partition, tell_epochs
from emulator.broker.settings import BrokerSettings, with_topic_overrides
from emulator.storage.checkpoints import format_meta_properties, format_offsets, parse_offsets
from emulator.storage.files import StorageError
from emulator.storage.log_directory import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARKS,
    LOG_STARTS,
    META_PROPERTIES,
    RECOVERY_POINTS,
)
from protocol.errors import ErrorCode
from protocol.events import LogDirFailed, LogLoaded, ids_text
from protocol.ids import TopicPartition, topic_partition_of, topic_partition_text


class Replicas:
    """`partitions`: those the controller told us of. `logs`: found on disk or created."""

    def __init__(self, context: BrokerContext, metadata: MetadataCache) -> None:
        self.context = context
        self.metadata = metadata
        self.partitions: dict[TopicPartition, Partition] = {}
        self.logs: dict[TopicPartition, Log] = {}
        self.topic_configs: dict[str, dict[str, str]] = {}
        self.failed = False

    # --- asked for a partition ---

    def error_of_stranger(self, place: TopicPartition) -> ErrorCode:
        """For a partition this broker does not lead: 6 if it knows of it, 3 if not (semantics 11.12)."""
        if place in self.partitions or place in self.logs or place in self.metadata.partitions:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def first_locked(self, places: Iterable[TopicPartition]) -> Partition | None:
        """The first of these whose lock is held."""
        for place in places:
            partition = self.partitions.get(place)
            if partition is not None and partition.locked:
                return partition
        return None

    def partition(self, place: TopicPartition) -> Partition:
        """The partition, created if this broker hears of it for the first time."""
        partition = self.partitions.get(place)
        if partition is None:
            partition = Partition(self.context, *place, self.settings_of(place[0]))
            self.partitions[place] = partition
        return partition

    def settings_of(self, topic: str) -> BrokerSettings:
        return with_topic_overrides(self.context.settings, self.topic_configs.get(topic, {}))

    # --- logs ---

    def load_all(self) -> bool:
        """Find the logs on disk (semantics 3). Returns whether the last stop was clean."""
        context = self.context
        files = context.files
        clean = files.exists(CLEAN_SHUTDOWN)
        recovery_points = self._offsets(RECOVERY_POINTS)
        high_watermarks = self._offsets(HIGH_WATERMARKS)
        for name in files.list(""):
            place = topic_partition_of(name)
            if place is None or not files.list(name):
                continue
            log = Log.load(
                files,
                name,
                context.gates,
                self._log_settings(place[0]),
                clean=clean,
                recovery_point=recovery_points.get(place, 0),
            )
            self.logs[place] = log
            tell_epochs(context, place, log)
            log.high_watermark = max(log.log_start, min(high_watermarks.get(place, 0), log.log_end))
            recovered = ids_text(log.recovered)
            context.emit(
                LogLoaded(*place, log.log_start, log.log_end, log.high_watermark, clean, recovered, log.corrupted)
            )
        if clean:
            files.delete(CLEAN_SHUTDOWN)
        if not files.exists(META_PROPERTIES):
            files.write_atomically(META_PROPERTIES, format_meta_properties(context.broker))
        return clean

    def _log_settings(self, topic: str) -> LogSettings:
        return LogSettings(segment_bytes=self.settings_of(topic).log_segment_bytes)

    def open_log(self, partition: Partition) -> Log:
        """The partition's log, created if need be; HW = min(checkpoint, log end)."""
        if partition.log is not None:
            return partition.log
        place = (partition.topic, partition.partition)
        log = self.logs.get(place)
        if log is None:
            name = topic_partition_text(*place)
            log = Log.create(self.context.files, name, self.context.gates, self._log_settings(partition.topic))
            self.logs[place] = log
        else:
            checkpointed = self._offsets(HIGH_WATERMARKS).get(place, 0)
            log.high_watermark = max(log.log_start, min(checkpointed, log.log_end))
        partition.log = log
        return log

    def delete(self, place: TopicPartition) -> None:
        """Forget a partition and remove its files."""
        self.partitions.pop(place, None)
        log = self.logs.pop(place, None)
        if log is not None:
            for name in self.context.files.list(log.directory):
                self.context.files.delete(f"{log.directory}/{name}")
            self.context.files.delete(log.directory)

    # --- checkpoints ---

    def _offsets(self, path: str) -> dict[TopicPartition, int]:
        files = self.context.files
        if not files.exists(path):
            return {}
        return dict(parse_offsets(files.read(path, 0, files.size(path)), path))

    def _write_offsets(self, path: str, offsets: dict[TopicPartition, int]) -> None:
        self.context.files.write_atomically(path, format_offsets(offsets))

    def checkpoint_high_watermarks(self) -> None:
        """Only of partitions the controller told us of: a checkpoint forgets the rest (KAFKA-7235)."""
        if self.failed:
            return
        held = {place: p.log.high_watermark for place, p in self.partitions.items() if p.log is not None}
        try:
            self._write_offsets(HIGH_WATERMARKS, held)
        except StorageError as error:
            self.log_dir_failed(str(error))

    def checkpoint_recovery_points(self) -> None:
        if self.failed:
            return
        try:
            self._write_offsets(RECOVERY_POINTS, {place: log.recovery_point for place, log in self.logs.items()})
        except StorageError as error:
            self.log_dir_failed(str(error))

    def close_cleanly(self) -> None:
        """Flush, checkpoint, leave the marker (semantics 3)."""
        if self.failed:
            return
        try:
            self.checkpoint_high_watermarks()
            for log in self.logs.values():
                log.flush()
            self.checkpoint_recovery_points()
            self._write_offsets(LOG_STARTS, {place: log.log_start for place, log in self.logs.items()})
            self.context.files.append(CLEAN_SHUTDOWN, b"")
        except StorageError as error:
            self.log_dir_failed(str(error))

    # --- a disk that fails ---

    def log_dir_failed(self, reason: str) -> None:
        """The log directory is offline. With a single one the broker dies, at once or by itself (gate)."""
        if self.failed:
            return
        self.failed = True
        self.context.emit(LogDirFailed(reason))
        for partition in self.partitions.values():
            partition.offline = True
        # One log directory: all versions halt when the last one fails (KIP-112 keeps a broker only if others are left).
        self.context.out.exit(1, f"log directory failed: {reason}")
