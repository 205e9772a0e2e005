"""Replicas of one broker, by partition, with their log directories and checkpoints."""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.broker_state import LogSettings
from emulator.machines.broker.directory_checkpoints import (
    read_offsets,
    write_high_watermarks,
    write_log_starts,
    write_recovery_points,
)
from emulator.machines.broker.log_directories import LogDirectories
from emulator.machines.broker.partition import Partition, tell_epochs
from emulator.machines.broker.purgatory import Purgatory
from emulator.machines.broker.replica_log import Log
from emulator.machines.broker.settings import BrokerSettings, with_topic_overrides
from emulator.storage.checkpoints import format_meta_properties
from emulator.storage.files import LOG_DIRECTORY, DiskFailed, Files, StorageError
from emulator.storage.log_directory import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARKS,
    LOG_STARTS,
    META_PROPERTIES,
    METADATA_LOG,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    deleted_log_directory,
    is_deleted_log,
    is_too_long_to_delete,
    marker,
    marker_epoch,
    partition_metadata,
)
from protocol.errors import ErrorCode
from protocol.events import FrameRefused, LogCreated, LogDeleted, LogDirFailed, LogLoaded, ids_text
from protocol.ids import (
    FIRST_OFFSET,
    NO_OFFSET,
    Offset,
    TopicPartition,
    can_be_topic,
    partitions_text,
    topic_partition_of,
    topic_partition_text,
)
from protocol.kinds import CutReason, ExitKind
from protocol.messages.session_messages import GetData, OpResult, SessionError, SessionRequest
from protocol.work import Work
from protocol.znodes import UnreadableZnode, decode_config, topic_config_path

CLEANUP_POLICY = "cleanup.policy"
DELETES, COMPACTS = "delete", "compact"


class ReplicaOffline(Exception):
    """A partition without a log that may be in a failed log directory (KIP-112): none is made."""


class NotDeleted(Exception):
    """A log that cannot be deleted, where that fails the whole request (KAFKA-4893, up to 0.11)."""


class Replicas:
    """Replicas of one broker.

    `partitions`: those in the controller's requests. `logs`: found on disk or created. `offline`: partitions whose
    log directory failed. `going_offline` is called with them before they are dropped, `tell_controller` if the
    broker lives on. `failed`: it does not.
    """

    def __init__(self, context: BrokerContext, metadata: MetadataCache) -> None:
        self.context = context
        self.metadata = metadata
        self.fetches = Purgatory("fetch-wait", context)
        self.produces = Purgatory("produce-wait", context)
        self.deletions = Purgatory("delete-records-wait", context)
        self.directories = LogDirectories(context.files, context.settings.log_dirs)
        self.partitions: dict[TopicPartition, Partition] = {}
        self.logs: dict[TopicPartition, Log] = {}
        self.offline: set[TopicPartition] = set()
        self.going_offline: Callable[[list[TopicPartition]], None] = lambda topic_partitions: None
        self.tell_controller: Callable[[], None] = lambda: None
        self.log_start_moved: Callable[[], None] = lambda: None
        """Called when a log has another start than its first segment."""
        self.topic_configs: dict[str, dict[str, str]] = {}
        self.defaults = context.settings
        """Settings of topics without settings of their own."""
        self.failed = False
        self.incarnation = 0
        self._deleted_logs = 0

    def _mono_ms(self) -> float:
        return self.context.now.mono_ms

    # --- look-up of a partition ---

    def error_if_not_leader(self, topic_partition: TopicPartition, *, for_epochs: bool = False) -> ErrorCode:
        """Error for a partition that this broker does not lead.

        6 if it should have a replica, 3 if not; 56 if its log directory failed. The version decides whether
        metadata alone count (semantics 11.12). A log on disk without a partition does not count.
        """
        gates = self.context.gates
        if topic_partition in self.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        by_metadata = (
            gates.unknown_replica_answers_epochs_not_leader
            if for_epochs
            else gates.unknown_replica_answers_not_leader
        )
        if topic_partition in self.partitions or (by_metadata and topic_partition in self.metadata.partitions):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def partition(self, topic_partition: TopicPartition) -> Partition:
        """The partition, created at its first request."""
        partition = self.partitions.get(topic_partition)
        if partition is None:
            settings = self.settings_of(topic_partition[0])
            partition = Partition(self.context, *topic_partition, settings, self.fetches, self.produces, self.deletions)
            self.partitions[topic_partition] = partition
        return partition

    def settings_of(self, topic: str) -> BrokerSettings:
        return with_topic_overrides(self.defaults, self.topic_configs.get(topic, {}))

    def cleans_by(self, topic: str) -> list[str]:
        """`cleanup.policy` of the topic itself: DELETES, COMPACTS or both."""
        policy = self.topic_configs.get(topic, {}).get(CLEANUP_POLICY, DELETES)
        return [word.strip() for word in policy.split(",")]

    def configure(self, topic: str, config: dict[str, str]) -> None:
        """Set a topic's own settings, for its partitions and their logs."""
        self.topic_configs[topic] = config
        settings = self.settings_of(topic)
        for topic_partition in self.topic_partitions():
            if topic_partition[0] == topic:
                self.configure_replica(topic_partition, settings)

    def topic_partitions(self) -> list[TopicPartition]:
        """All partitions, and logs without a partition yet."""
        return [*dict.fromkeys((*self.partitions, *self.logs))]

    def configure_replica(self, topic_partition: TopicPartition, settings: BrokerSettings) -> None:
        """Set the effective settings of one partition and its log."""
        if topic_partition in self.partitions:
            self.partitions[topic_partition].configured(settings)
        if topic_partition in self.logs:
            self.logs[topic_partition].settings = _log_settings(settings)

    # --- logs ---

    def load_all(self, configurations: dict[str, dict[str, str]]) -> None:
        """Load the logs on disk (semantics 3). `configurations`: topics' own settings."""
        self.topic_configs = configurations
        if self.context.gates.failing_directory_ends_start:
            self._check_directories()
        if self.failed:
            return
        for name, files in list(self.directories.live.items()):
            try:
                if name:
                    files.make_directory(LOG_DIRECTORY)
                self._load(files)
            except StorageError as error:
                self.storage_failed(error)

    def marked_epoch(self) -> int:
        """Broker epoch of the last life by its markers; -1: it did not stop cleanly.

        Read it before the logs are loaded.

        Source: LogManager.readBrokerEpochFromCleanShutdownFiles.
        """
        epochs = {
            marker_epoch(files.read(CLEAN_SHUTDOWN, 0, files.size(CLEAN_SHUTDOWN)))
            if files.exists(CLEAN_SHUTDOWN)
            else -1
            for files in self.directories.live.values()
        }
        return epochs.pop() if len(epochs) == 1 else -1

    def _check_directories(self) -> None:
        """End the broker if a log directory cannot be listed (KAFKA-6697)."""
        try:
            for files in self.directories.live.values():
                files.list(LOG_DIRECTORY)
        except StorageError as error:
            self.storage_failed(error, ends=True)

    def _load(self, files: Files) -> None:
        """Load one log directory. Raises StorageError."""
        context = self.context
        clean = files.exists(CLEAN_SHUTDOWN)
        if clean and context.gates.marker_deleted_before_loading:
            files.delete(CLEAN_SHUTDOWN)
        recovery_points = read_offsets(files, RECOVERY_POINTS)
        high_watermarks = read_offsets(files, HIGH_WATERMARKS)
        log_starts = read_offsets(files, LOG_STARTS) if context.gates.delete_records else {}
        for name in files.list(LOG_DIRECTORY):
            if is_deleted_log(name):
                _remove(files, name)
                continue
            topic_partition = topic_partition_of(name)
            if topic_partition is None or name == METADATA_LOG or not files.list(name):
                continue
            self._load_log(
                files,
                name,
                topic_partition,
                clean=clean,
                recovery_point=recovery_points.get(topic_partition, FIRST_OFFSET),
                log_start=log_starts.get(topic_partition, FIRST_OFFSET),
                checkpointed=high_watermarks.get(topic_partition, NO_OFFSET),
            )
        if clean and not context.gates.marker_deleted_before_loading:
            files.delete(CLEAN_SHUTDOWN)
        if not files.exists(META_PROPERTIES):
            files.write_atomically(META_PROPERTIES, format_meta_properties(context.broker))

    def _load_log(
        self,
        files: Files,
        name: str,
        topic_partition: TopicPartition,
        *,
        clean: bool,
        recovery_point: Offset = FIRST_OFFSET,
        log_start: Offset = FIRST_OFFSET,
        checkpointed: Offset = NO_OFFSET,
    ) -> Log:
        """Load the log of a folder, with its checkpointed offsets. Raises StorageError."""
        settings = _log_settings(self.settings_of(topic_partition[0]))
        log = Log.load(
            files, name, self.context.gates, settings, clean=clean, recovery_point=recovery_point, log_start=log_start
        )
        log.set_clock(self._mono_ms)
        self.logs[topic_partition] = log
        tell_epochs(self.context, topic_partition, log)
        log.high_watermark = max(log.log_start, min(checkpointed, log.log_end))
        ends = (log.log_start, log.log_end, log.high_watermark)
        directory = self.directories.name_of(files)
        found = (*topic_partition, *ends, clean, ids_text(log.recovered), log.corrupted, directory)
        self.context.emit(LogLoaded(*found, checkpointed, log.epochs.text))
        return log

    def open_log(self, partition: Partition, *, is_new: bool) -> Work[Log]:
        """The partition's log, created if need be; HW = min(checkpoint, log end).

        Raises StorageError, SessionExpired, ReplicaOffline. Only a partition that `is_new` surely has no log in an
        offline directory; one with an invalid topic name never has one.
        """
        if partition.log is not None:
            return partition.log
        topic_partition = (partition.topic, partition.partition)
        if topic_partition not in self.logs or self.context.gates.fetches_configuration_of_held_logs:
            yield from self._configured(partition)
        log = self.logs.get(topic_partition)
        if log is None:
            if (self.directories.offline and not is_new) or not can_be_topic(partition.topic):
                raise ReplicaOffline(topic_partition_text(*topic_partition))
            name = topic_partition_text(*topic_partition)
            files = self._directory_for(topic_partition)
            if files.list(name):  # left by a failed request (KAFKA-4893)
                log = self._load_log(files, name, topic_partition, clean=False)
            else:
                log = Log.create(files, name, self.context.gates, _log_settings(self.settings_of(partition.topic)))
                if self.context.gates.metadata_from_image:
                    files.write_atomically(f"{name}/{PARTITION_METADATA}", partition_metadata(partition.topic_id))
                log.set_clock(self._mono_ms)
                self.logs[topic_partition] = log
                self.context.emit(LogCreated(*topic_partition, self.directories.name_of(files)))
        else:
            checkpointed = read_offsets(log.files, HIGH_WATERMARKS).get(topic_partition, FIRST_OFFSET)
            log.high_watermark = max(log.log_start, min(checkpointed, log.log_end))
        partition.has_log(log)
        return log

    def _directory_for(self, topic_partition: TopicPartition) -> Files:
        """Make the folder of a new log (LogManager.createLogDirectory); its log directory.

        Up to 2.3 only the first candidate is tried (KAFKA-8526). Raises StorageError, ReplicaOffline.
        """
        name = topic_partition_text(*topic_partition)
        for files in self.directories.for_new_log(topic_partition, (one.files for one in self.logs.values())):
            try:
                files.make_directory(name)
            except StorageError as error:
                if not self.context.gates.new_log_tries_next_directory:
                    raise
                self.storage_failed(error)
                if self.failed:
                    raise
            else:
                return files
        raise ReplicaOffline(name)

    def _configured(self, partition: Partition) -> Work[None]:
        """Read the topic's configuration from ZooKeeper, holding the partition's lock.

        In KRaft the broker has published it before the partition.
        """
        if self.context.gates.metadata_from_image:
            return
        partition.lock.hold()
        try:
            found = yield from self.configuration_at(topic_config_path(partition.topic))
        finally:
            partition.lock.release()
        if (partition.topic, partition.partition) not in self.logs:
            self.topic_configs[partition.topic] = found

    def configuration_at(self, path: str) -> Work[dict[str, str]]:
        """Settings of a topic or broker in ZooKeeper. Raises SessionExpired."""
        response = yield from self.context.await_session(SessionRequest([GetData(path)]))
        result = response.results[0] if response.results else OpResult(response.error)
        if result.error != SessionError.OK:
            return {}
        try:
            return decode_config(path, result.data)
        except UnreadableZnode as error:  # other clients can write anything there: it counts as no setting
            self.context.emit(FrameRefused(connection="", peer="session", reason=str(error)))
            return {}

    def delete(self, topic_partition: TopicPartition) -> None:
        """Remove a partition with its files and its checkpoint entries.

        A new log of that name would otherwise begin where this one did. A renamed log is gone, even after a crash.
        Kafka leaves it on disk for a while (file.delete.delay.ms); here it is removed at once. An unknown replica
        without a log counts as deleted, even where a failed log directory may hold it. Raises StorageError,
        ReplicaOffline, NotDeleted.
        """
        if topic_partition in self.offline:
            if self.context.gates.refused_deletion_forgets_offline:
                self.offline.discard(topic_partition)
            raise ReplicaOffline(topic_partition_text(*topic_partition))
        self.partitions.pop(topic_partition, None)
        log = self.logs.pop(topic_partition, None)
        if log is not None:
            directory = log.directory
            if self.context.gates.renames_deleted_logs:
                self._check_deleted_name(log)
                self._deleted_logs += 1
                directory = deleted_log_directory(log.directory, self.incarnation, self._deleted_logs)
                log.files.rename(log.directory, directory)
            if self.context.gates.deletions_checkpoint_recovery_points:
                self._checkpoint_recovery_points(log.files)
            self._checkpoint_log_starts(log.files)
            _remove(log.files, directory)
            reason = "replica-moved" if topic_partition in self.metadata.partitions else "topic-deleted"
            self.context.emit(LogDeleted(*topic_partition, log.log_end, reason, self.directories.name_of(log.files)))
        self.context.topic_ids.pop(topic_partition, None)

    def delete_strays(self, topic_ids: Mapping[TopicPartition, str]) -> None:
        """Delete loaded logs of other partitions than these, or of topics with another id (KRaft).

        `topic_ids`: of the partitions that have a replica here. Kraft-semantics 8.8.

        Source: LogManager.isStrayKraftReplica; KAFKA-14616.
        """
        for topic_partition, log in list(self.logs.items()):
            topic_id = topic_ids.get(topic_partition)
            if topic_id is not None and self._has_id(log, topic_id):
                continue
            try:
                self.delete(topic_partition)
            except StorageError as error:
                self.storage_failed(error)

    def _has_id(self, log: Log, topic_id: str) -> bool:
        """Whether a log is of this topic; one without an id may be."""
        path = f"{log.directory}/{PARTITION_METADATA}"
        if not log.files.exists(path):
            return True
        return log.files.read(path, 0, log.files.size(path)) == partition_metadata(topic_id)

    def _check_deleted_name(self, log: Log) -> None:
        """Raises StorageError, NotDeleted if the folder's new name is too long; it stays as it is."""
        gates = self.context.gates
        if gates.long_names_fail_deletion and is_too_long_to_delete(log.directory):
            if not gates.failed_deletion_fails_directory:
                raise NotDeleted(log.directory)
            name = self.directories.name_of(log.files)
            raise DiskFailed(f"{name}/{log.directory}" if name else log.directory, "file name too long")

    # --- checkpoints: a file of each kind in each log directory ---

    def checkpoint_high_watermarks(self) -> None:
        """Write high watermarks, only of partitions in the controller's requests.

        The checkpoint forgets the rest (KAFKA-7235), but a directory without such a partition keeps its file.
        """
        held = [(topic_partition, p.log) for topic_partition, p in self.partitions.items() if p.log is not None]
        self._everywhere(
            lambda files: write_high_watermarks(files, [one for one in held if one[1].files is files]),
            only=[log.files for _, log in held],
        )

    def flush_dirty_logs(self) -> None:
        """Sync logs with messages unsynced for their topic's limit (log.flush.interval.ms)."""
        now_ms = self.context.now.mono_ms

        def flush(files: Files) -> None:
            for _, log in self._logs_in(files):
                if now_ms - log.flushed_ms >= log.settings.flush_ms:
                    log.flush()

        self._everywhere(flush)

    def checkpoint_recovery_points(self) -> None:
        self._everywhere(self._checkpoint_recovery_points)

    def increment_log_start(self, partition: Partition, offset: Offset, reason: str) -> None:
        """Delete the records below `offset`. The partition may be offline afterwards."""
        try:
            moved = partition.increment_log_start(offset, reason)
        except StorageError as error:
            self.storage_failed(error)
            return
        if moved:
            self.log_start_moved()

    @property
    def some_start_within(self) -> bool:
        """Whether a log has deleted records in its first segment."""
        return any(log.starts_within for log in self.logs.values())

    def checkpoint_log_starts(self) -> None:
        self._everywhere(self._checkpoint_log_starts)

    def _checkpoint_log_starts(self, files: Files) -> None:
        write_log_starts(files, self._logs_in(files), self.context.gates)

    def delete_segments_below_starts(self) -> None:
        def delete(files: Files) -> None:
            for _, log in self._logs_in(files):
                log.delete_segments_below_start()

        self._everywhere(delete)

    def truncate(self, cuts: Sequence[tuple[Partition, Offset]], reason: CutReason) -> None:
        """Truncate each to its offset, then write recovery points (semantics 2.1).

        A recovery point beyond a truncation would exempt later records from validation at the next start. A
        partition may be offline afterwards.
        """
        cut: list[Files] = []
        for partition, offset in cuts:
            try:
                if not partition.offline and partition.truncate_to(offset, reason):
                    cut.append(partition.the_log.files)
            except StorageError as error:
                self.storage_failed(error)
        gates = self.context.gates
        if gates.cut_checkpoints_though_nothing_was_cut or (cut and gates.cut_checkpoints_all_directories):
            self.checkpoint_recovery_points()
        else:
            self._everywhere(self._checkpoint_recovery_points, only=cut)

    def truncate_fully(self, partition: Partition, offset: Offset) -> None:
        """Remove all records and begin at `offset`; else as `truncate`."""
        files = partition.the_log.files
        try:
            partition.truncate_fully(offset)
        except StorageError as error:
            self.storage_failed(error)
        own = None if self.context.gates.start_over_checkpoints_all_directories else [files]
        self._everywhere(self._checkpoint_recovery_points, only=own)

    def _checkpoint_recovery_points(self, files: Files) -> None:
        write_recovery_points(files, self._logs_in(files), self.context.gates)

    def close_cleanly(self) -> None:
        """Flush, checkpoint, write the marker (semantics 3).

        Up to 2.7 a log directory that cannot be flushed keeps later ones from being closed; the order is that of a
        hash table (KAFKA-10723).
        """

        def flush(files: Files) -> None:
            for _, log in self._logs_in(files):
                log.flush()

        def mark(files: Files) -> None:
            self._checkpoint_recovery_points(files)
            self._checkpoint_log_starts(files)
            gates = self.context.gates
            files.append(CLEAN_SHUTDOWN, marker(self.context.broker_epoch) if gates.marker_has_broker_epoch else b"")
            if gates.marker_has_broker_epoch:
                files.fsync(CLEAN_SHUTDOWN)

        unsynced = {
            name: any(log.log_end > log.recovery_point for _, log in self._logs_in(files))
            for name, files in self.directories.live.items()
        }
        self.checkpoint_high_watermarks()
        self._everywhere(flush)
        closed = list(unsynced)
        failed = {name for name in closed if unsynced[name] and name not in self.directories.live}
        if failed and self.context.gates.failed_flush_ends_close:
            closed = list(takewhile(lambda name: name not in failed, self.context.chance.shuffled(closed)))
        self._everywhere(mark, only=[files for name, files in self.directories.live.items() if name in closed])

    def _everywhere(self, what: Callable[[Files], None], only: Sequence[Files] | None = None) -> None:
        """Apply `what` in every live directory, or in those of `only`; a failing one goes offline."""
        for files in list(self.directories.live.values()):
            if only is not None and not any(files is one for one in only):
                continue
            if self.failed:
                return
            try:
                what(files)
            except StorageError as error:
                self.storage_failed(error)

    def _logs_in(self, files: Files) -> list[tuple[TopicPartition, Log]]:
        return [(topic_partition, log) for topic_partition, log in self.logs.items() if log.files is files]

    # --- a disk that fails (KIP-112) ---

    def storage_failed(self, error: StorageError, *, ends: bool = False) -> None:
        """Take a failed log directory offline, with its replicas.

        The broker lives on if others are left, and its version supports that (1.0). `ends`: it ends, because its
        start failed (KAFKA-6697).
        """
        name = self.directories.of(error)
        if self.failed or name is None:
            return
        topic_partitions = [topic_partition for topic_partition, _ in self._logs_in(self.directories.live[name])]
        last = len(self.directories.live) == 1
        self.failed = ends or last or self.context.gates.storage_failure_kills_broker
        held = partitions_text(topic_partitions)
        self.context.emit(LogDirFailed(str(error), name, self.directories.names, held, self.failed))
        self.going_offline(topic_partitions)
        self.take_offline(topic_partitions)
        if self.failed:
            self.context.out.exit(1, f"log directory failed: {error}", ExitKind.LOG_DIRECTORIES_FAILED)
        else:
            self.directories.take_offline(name)
            self.tell_controller()

    def take_offline(self, topic_partitions: list[TopicPartition]) -> None:
        """Take partitions offline for the rest of this life: not served, and without state."""
        for topic_partition in topic_partitions:
            self.offline.add(topic_partition)
            self.logs.pop(topic_partition, None)
            partition = self.partitions.pop(topic_partition, None)
            if partition is not None:
                partition.go_offline()


def _remove(files: Files, directory: str) -> None:
    """Remove a folder with its files. Raises StorageError."""
    for name in files.list(directory):
        files.delete(f"{directory}/{name}")
    files.delete(directory)


def _log_settings(settings: BrokerSettings) -> LogSettings:
    flush = (settings.log_flush_interval_messages, settings.log_flush_interval_ms)
    return LogSettings(settings.log_segment_bytes, settings.message_max_bytes, *flush)
