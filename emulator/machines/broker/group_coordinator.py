"""The group coordinator (semantics 6, "Committed offsets").

It keeps the committed offsets of groups, in the partitions of `__consumer_offsets` that this broker leads.

    elected --> loading --the log is read--> loaded
    loading, loaded --resigned--> gone: NOT_COORDINATOR

A commit is an append with acks=all to that partition, as any produce. It waits for the partition's lock and for its
in-sync replicas, and counts when they have it. A generation of a group with members is one, too
(`group_membership`).
"""

from collections.abc import Callable

from emulator.machines.broker.appends import Appends
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.group_administration import GroupAdministration
from emulator.machines.broker.group_membership import GroupMembership
from emulator.machines.broker.group_records import (
    COMMIT_ERRORS,
    STORE_ERRORS,
    GroupRecords,
    commit_records,
    group_record,
)
from emulator.machines.broker.offset_cache import OffsetCache
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.request_channel import Request
from emulator.storage.files import StorageError
from protocol.errors import ErrorCode
from protocol.events import GroupCoordinatorChanged
from protocol.ids import EPOCH_UNKNOWN, TopicPartition
from protocol.messages.groups import (
    CommittedPartition,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from protocol.messages.leadership_messages import PartitionError
from protocol.messages.membership import DeletedGroup, DeleteGroupsRequest, DeleteGroupsResponse
from protocol.messages.replication_messages import ProduceResult
from protocol.records.group_metadata import StoredGroup
from protocol.records.offset_commits import (
    OFFSETS_TOPIC,
    CommittedOffset,
    OffsetKey,
    group_partition,
)
from protocol.work import Until, Work

LOAD = "offsets-load"
LOAD_BYTES = 5 * 1024 * 1024
"""Bytes read in one step (offsets.load.buffer.size)."""

MS_PER_MINUTE = 60_000

CreateTopic = Callable[[str, int, int, dict[str, str], Callable[..., None]], None]
"""Creates a topic as an admin tool, then calls back.

Arguments: topic, partitions, replication factor, configs, callback.
"""

class GroupCoordinator:
    """Coordinator of groups. `create_topic` makes the offsets topic, on the first look-up."""

    def __init__(
        self,
        context: BrokerContext,
        replicas: Replicas,
        metadata: MetadataCache,
        appends: Appends,
        create_topic: CreateTopic,
    ) -> None:
        self._context = context
        self._replicas = replicas
        self._metadata = metadata
        self._appends = appends
        self._create_topic = create_topic
        self._caches: dict[int, OffsetCache] = {}
        self._stopped_at: int | None = None
        """The partition whose loading cannot go on; it occupies the only thread that loads."""
        self._writing = GroupRecords(context, appends)
        self.members = GroupMembership(context, self._coordinated, self._store)
        groups, gates = self.members.groups, context.gates
        self.administration = GroupAdministration(groups, self._coordinated, self._committing, self._loading, gates)

    # --- look-up of the coordinator ---

    def find(self, request: Request, body: FindCoordinatorRequest) -> Work[None]:
        """Respond with the coordinator by this broker's metadata, which may be outdated.

        A group without a name has offsets, too.
        """
        if not self._metadata.partition_count(OFFSETS_TOPIC):
            yield from self._create()
            request.answer(FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            state = self._metadata.partitions.get((OFFSETS_TOPIC, self._partition_of(body.group)))
            node = None if state is None else self._metadata.node_of(state.leader)
            if state is None or node is None:
                request.answer(FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            else:
                request.answer(FindCoordinatorResponse(ErrorCode.NONE, state.leader, node))

    def _create(self) -> Work[None]:
        settings, alive = self._context.settings, len(self._metadata.live)
        factor = settings.offsets_topic_replication_factor
        if alive < factor:
            if self._context.gates.offsets_topic_needs_all_brokers or not alive:
                return
            factor = alive
        partitions = settings.offsets_topic_num_partitions
        configs = {
            "cleanup.policy": "compact",
            "segment.bytes": str(settings.offsets_topic_segment_bytes),
            "compression.type": "producer",
        }
        yield Until(
            f"the topic {OFFSETS_TOPIC}",
            lambda made: self._create_topic(OFFSETS_TOPIC, partitions, factor, configs, made),
        )

    def _partition_of(self, group: str) -> int:
        """Partition of a group; the metadata have the number of partitions.

        Kafka reads it from ZooKeeper once, at a broker's start.
        """
        known = self._metadata.partition_count(OFFSETS_TOPIC)
        return group_partition(group, known or self._context.settings.offsets_topic_num_partitions)

    # --- election and resignation ---

    def elected(self, number: int) -> None:
        """Load a partition of the offsets topic that this broker leads from now on, in steps."""
        log = self._replicas.partitions[OFFSETS_TOPIC, number].the_log
        self._caches[number] = OffsetCache(log.log_start)
        self._changed(number, "loading")
        self._load_soon(number)

    def _load_soon(self, number: int) -> None:
        self._context.set_timer((LOAD, number), 0.0, lambda: self._load(number))

    def resigned(self, number: int) -> None:
        """Drop the loaded state of a partition that this broker leads no more."""
        cache = self._caches.pop(number, None)
        if cache is None:
            return
        if cache.loading:
            self._context.out.cancel_timer((LOAD, number))
        if self._stopped_at == number:
            self._stopped_at = None
            for waiting in sorted(other for other, cache in self._caches.items() if cache.loading):
                self._load_soon(waiting)
        self._changed(number, "resigned", len(cache))
        self.members.resigned(lambda group: self._partition_of(group) == number)

    def going_offline(self, number: int) -> None:
        """Handle a partition whose log is out of reach: keep its loaded state, end its loading."""
        cache = self._caches.get(number)
        if cache is not None and cache.loading:
            self.resigned(number)

    def _load(self, number: int) -> None:
        """Load one piece of the log."""
        if self._stopped_at is not None:
            return
        cache = self._caches[number]
        log = self._replicas.partitions[OFFSETS_TOPIC, number].the_log
        to_end = self._context.gates.offsets_loaded_to_log_end
        stop_offset = log.log_end if to_end else log.high_watermark
        if cache.loaded_to < stop_offset:
            try:
                # Read without a limit, although the loading has one (GroupMetadataManager: maxOffset is None).
                grows = not self._context.gates.large_batch_stops_loading
                piece = log.read(cache.loaded_to, log.log_end, LOAD_BYTES, at_least_one=grows)
                cache.load(piece)
            except StorageError as error:
                self._replicas.storage_failed(error)
                return
            if not piece:
                self._stopped_at = number
                return
        if cache.loaded_to < stop_offset:
            self._load_soon(number)
        else:
            cache.loading = False
            self._changed(number, "loaded", len(cache))
            groups, cache.groups = cache.groups, {}
            self.members.loaded(groups)

    def _changed(self, number: int, change: str, offsets: int = 0) -> None:
        epoch = self._replicas.partitions[OFFSETS_TOPIC, number].leader_epoch
        self._context.emit(GroupCoordinatorChanged(OFFSETS_TOPIC, number, change, epoch, offsets))

    # --- commits ---

    def commit(self, request: Request, body: OffsetCommitRequest) -> Work[None]:
        """Append the valid commits.

        The response follows when the in-sync replicas have them, or after `offsets.commit.timeout.ms`.
        """
        number = self._partition_of(body.group)
        cache, error = self._cache(number)
        if self.members.refuses(body.instance):
            error = ErrorCode.UNSUPPORTED_VERSION
        elif error == ErrorCode.NONE:
            error = self.members.may_commit(body)
        if cache is None or error != ErrorCode.NONE:
            refused = [PartitionError(each.topic, each.partition, error) for each in body.partitions]
            request.answer(OffsetCommitResponse(refused))
            return
        errors = {index: self._refused(each) for index, each in enumerate(body.partitions)}
        accepted = [index for index, error in errors.items() if error == ErrorCode.NONE]
        keys = [OffsetKey(body.group, each.topic, each.partition) for each in body.partitions]
        if not cache.has_room([keys[index] for index in accepted]):
            errors.update(dict.fromkeys(accepted, ErrorCode.INVALID_COMMIT_OFFSET_SIZE))
            accepted = []

        def answer() -> None:
            results = [PartitionError(p.topic, p.partition, errors[i]) for i, p in enumerate(body.partitions)]
            request.answer(OffsetCommitResponse(results))

        if not accepted:
            answer()
            return
        committed = {index: self._committed(body.partitions[index]) for index in accepted}

        def appended(results: list[ProduceResult]) -> None:
            (result,) = results
            error = ErrorCode(result.error)
            errors.update(dict.fromkeys(accepted, COMMIT_ERRORS.get(error, error)))
            if error == ErrorCode.NONE and self._caches.get(number) is cache:
                for place, index in enumerate(accepted):
                    cache.committed(keys[index], committed[index], result.base_offset + place)
            answer()

        commits = [(keys[index], committed[index]) for index in accepted]
        yield from self._writing.append(number, commit_records(commits, self._context.gates), appended)

    def _store(self, group: str, stored: StoredGroup, done: Callable[[ErrorCode], None]) -> Work[None]:
        """Append a generation of a group."""
        number = self._partition_of(group)
        if self._cache(number)[0] is None:
            done(ErrorCode.NOT_COORDINATOR)
            return

        def appended(results: list[ProduceResult]) -> None:
            error = ErrorCode(results[0].error)
            done(STORE_ERRORS.get(error, error))

        yield from self._writing.append(number, [group_record(group, stored, self._context.gates)], appended)

    def partitions_deleted(self, topic_partitions: list[TopicPartition]) -> Work[None]:
        """Drop the committed offsets of deleted partitions, by records without a value and acks=0.

        GroupMetadataManager.cleanupGroupMetadata. A loading partition keeps them.
        """
        for number, cache in sorted(self._caches.items()):
            if not cache.loading:
                keys = cache.drop(topic_partitions)
                yield from self._writing.forget(number, keys, self._idle(number, cache))

    def _idle(self, number: int, cache: OffsetCache) -> list[str]:
        """Drop groups without members and committed offsets; returns those with stored generations."""
        return self.administration.forget(
            lambda group: self._partition_of(group) == number and not cache.of_group(group)
        )

    def delete(self, request: Request, body: DeleteGroupsRequest) -> Work[None]:
        """Delete groups without members, and their committed offsets (KIP-229)."""
        deleted: list[DeletedGroup] = []
        for group in body.groups:
            number = self._partition_of(group)
            cache, error = self._cache(number)
            if cache is not None:
                keys = [key for key, _ in cache.of_group(group)]
                error, generation = self.administration.delete(group)
                if error == ErrorCode.NONE:
                    cache.drop_keys(keys)
                    yield from self._writing.forget(number, keys, [group] if generation > 0 else [])
            deleted.append(DeletedGroup(group, error))
        request.answer(DeleteGroupsResponse(deleted))

    def delete_offsets(self, request: Request, body: OffsetDeleteRequest) -> Work[None]:
        """Delete committed offsets of partitions that no member of the group reads (KIP-496)."""
        number = self._partition_of(body.group)
        cache, error = self._cache(number) if body.group else (None, ErrorCode.INVALID_GROUP_ID)
        if cache is None:
            request.answer(OffsetDeleteResponse(error))
            return
        known = [key for key, _ in cache.of_group(body.group)]
        error, read = self.administration.may_forget(body.group, {one.topic for one in body.partitions})
        if error != ErrorCode.NONE:
            request.answer(OffsetDeleteResponse(error))
            return
        results: dict[TopicPartition, ErrorCode] = {}
        for one in body.partitions:
            topic_partition: TopicPartition = (one.topic, one.partition)
            results[topic_partition] = ErrorCode.NONE
            if topic_partition not in self._metadata.partitions:
                results[topic_partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif one.topic in read:
                results[topic_partition] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        gone = [key for key in known if results.get((key.topic, key.partition)) == ErrorCode.NONE]
        cache.drop_keys(gone)
        yield from self._writing.forget(number, gone)
        request.answer(
            OffsetDeleteResponse(ErrorCode.NONE, [PartitionError(*place, error) for place, error in results.items()])
        )

    def _refused(self, entry: OffsetToCommit) -> ErrorCode:
        if (entry.topic, entry.partition) not in self._metadata.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if len(entry.metadata.encode()) > self._context.settings.offset_metadata_max_bytes:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        return ErrorCode.NONE

    def _committed(self, entry: OffsetToCommit) -> CommittedOffset:
        """Committed offset; up to 2.0 with its expiry (offsets.retention.minutes), unused here."""
        now_ms = int(self._context.now.wall_ms)
        if self._context.gates.offset_commit_value_version >= 3:
            return CommittedOffset(entry.offset, entry.leader_epoch, entry.metadata, now_ms)
        expire_ms = now_ms + self._context.settings.offsets_retention_minutes * MS_PER_MINUTE
        return CommittedOffset(entry.offset, EPOCH_UNKNOWN, entry.metadata, now_ms, expire_ms)

    # --- look-ups ---

    def fetch(self, request: OffsetFetchRequest) -> OffsetFetchResponse:
        """Respond from the cache, whatever the replicas' state; an outdated coordinator is outdated."""
        cache, error = self._cache(self._partition_of(request.group))
        if cache is None:
            return OffsetFetchResponse(error)
        if request.everything:
            held_all = cache.of_group(request.group)
            return OffsetFetchResponse(
                ErrorCode.NONE,
                [
                    CommittedPartition(key.topic, key.partition, one.offset, one.leader_epoch, one.metadata)
                    for key, one in held_all
                ],
            )
        found: list[CommittedPartition] = []
        for entry in request.partitions:
            held = cache.get(OffsetKey(request.group, entry.topic, entry.partition))
            if held is None:
                found.append(CommittedPartition(entry.topic, entry.partition))
            else:
                topic_partition: TopicPartition = (entry.topic, entry.partition)
                found.append(CommittedPartition(*topic_partition, held.offset, held.leader_epoch, held.metadata))
        return OffsetFetchResponse(ErrorCode.NONE, found)

    def _loading(self) -> bool:
        return any(cache.loading for cache in self._caches.values())

    def _committing(self) -> set[str]:
        """Groups with committed offsets, as far as loaded."""
        return {group for cache in self._caches.values() if not cache.loading for group in cache.names()}

    def _coordinated(self, group: str) -> ErrorCode:
        return self._cache(self._partition_of(group))[1]

    def _cache(self, number: int) -> tuple[OffsetCache | None, ErrorCode]:
        cache = self._caches.get(number)
        if cache is None:
            return None, ErrorCode.NOT_COORDINATOR
        if not cache.loading:
            return cache, ErrorCode.NONE
        named = self._context.gates.loading_coordinator_reports_loading
        return None, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if named else ErrorCode.NOT_COORDINATOR
