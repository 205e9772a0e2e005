"""The group coordinator: keeps what groups have committed, in the partitions of `__consumer_offsets` that this
broker leads. Semantics 6, "Committed offsets".

    elected --> loading --the log is read--> loaded
    loading, loaded --resigned--> gone: NOT_COORDINATOR

A commit is an append with acks=all to that partition, through the same door as any produce: it waits for the
partition's lock and for its in-sync replicas, and counts when they have it. So is a generation of a group with members
(`group_membership`).
"""

from collections.abc import Callable

from emulator.machines.broker.appends import Appends
from emulator.machines.broker.context import BrokerContext
from emulator.machines.broker.group_administration import GroupAdministration
from emulator.machines.broker.group_membership import GroupMembership
from emulator.machines.broker.group_records import (
    COMMIT_ERRORS,
    STORE_ERRORS,
    GroupRecords,
    commit_records,
    group_record,
)
from emulator.machines.broker.metadata_cache import MetadataCache
from emulator.machines.broker.offset_cache import OffsetCache
from emulator.machines.broker.replicas import Replicas
from emulator.machines.broker.requests import Request
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
from protocol.messages.leadership import PartitionError
from protocol.messages.membership import DeletedGroup, DeleteGroupsRequest, DeleteGroupsResponse
from protocol.messages.replication import ProduceResult
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
"""Read in one step (offsets.load.buffer.size)."""

MS_PER_MINUTE = 60_000

CreateTopic = Callable[[str, int, int, dict[str, str], Callable[..., None]], None]
"""Makes (topic, partitions, replication factor, configs) as an admin tool would; then tells, done or not."""

class GroupCoordinator:
    """`create_topic` is asked to make the offsets topic, on the first look for a coordinator."""

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
        self._writing = GroupRecords(context, appends)
        self.members = GroupMembership(context, self._coordinated, self._store)
        groups, gates = self.members.groups, context.gates
        self.administration = GroupAdministration(groups, self._coordinated, self._committing, self._loading, gates)

    # --- who coordinates ---

    def find(self, request: Request, asked: FindCoordinatorRequest) -> Work[None]:
        """By this broker's own metadata, which may be of the past. A group without a name has offsets, too."""
        if not self._metadata.partition_count(OFFSETS_TOPIC):
            yield from self._create()
            request.answer(FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            state = self._metadata.partitions.get((OFFSETS_TOPIC, self._partition_of(asked.group)))
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
        """Kafka asks the session service once, at a broker's start, how many there are; here the metadata tell."""
        known = self._metadata.partition_count(OFFSETS_TOPIC)
        return group_partition(group, known or self._context.settings.offsets_topic_num_partitions)

    # --- becoming coordinator, and no more ---

    def elected(self, number: int) -> None:
        """This broker has begun to lead a partition of the offsets topic: its log is read, in steps of their own."""
        log = self._replicas.partitions[OFFSETS_TOPIC, number].the_log
        self._caches[number] = OffsetCache(log.log_start)
        self._changed(number, "loading")
        self._context.set_timer((LOAD, number), 0.0, lambda: self._load(number))

    def resigned(self, number: int) -> None:
        """It does not lead it any more: what was loaded is dropped."""
        cache = self._caches.pop(number, None)
        if cache is None:
            return
        if cache.loading:
            self._context.out.cancel_timer((LOAD, number))
        self._changed(number, "resigned", len(cache))
        self.members.resigned(lambda group: self._partition_of(group) == number)

    def going_offline(self, number: int) -> None:
        """The log of a partition is out of reach: what was loaded from it goes on being the answer, the rest is given
        up."""
        cache = self._caches.get(number)
        if cache is not None and cache.loading:
            self.resigned(number)

    def _load(self, number: int) -> None:
        """One piece of the log."""
        cache = self._caches[number]
        log = self._replicas.partitions[OFFSETS_TOPIC, number].the_log
        to_end = self._context.gates.offsets_loaded_to_log_end
        stop_offset = log.log_end if to_end else log.high_watermark
        if cache.loaded_to < stop_offset:
            try:
                # Read without a limit, whatever ends the loading (GroupMetadataManager: maxOffset is None).
                cache.load(log.read(cache.loaded_to, log.log_end, LOAD_BYTES))
            except StorageError as error:
                self._replicas.storage_failed(error)
                return
        if cache.loaded_to < stop_offset:
            self._context.set_timer((LOAD, number), 0.0, lambda: self._load(number))
        else:
            cache.loading = False
            self._changed(number, "loaded", len(cache))
            groups, cache.groups = cache.groups, {}
            self.members.loaded(groups)

    def _changed(self, number: int, change: str, offsets: int = 0) -> None:
        epoch = self._replicas.partitions[OFFSETS_TOPIC, number].leader_epoch
        self._context.emit(GroupCoordinatorChanged(OFFSETS_TOPIC, number, change, epoch, offsets))

    # --- commits ---

    def commit(self, request: Request, asked: OffsetCommitRequest) -> Work[None]:
        """Append what may be committed; answered when the in-sync replicas have it, or `offsets.commit.timeout.ms` is
        over."""
        number = self._partition_of(asked.group)
        cache, error = self._cache(number)
        if self.members.refuses(asked.instance):
            error = ErrorCode.UNSUPPORTED_VERSION
        elif error == ErrorCode.NONE:
            error = self.members.may_commit(asked)
        if cache is None or error != ErrorCode.NONE:
            refused = [PartitionError(each.topic, each.partition, error) for each in asked.partitions]
            request.answer(OffsetCommitResponse(refused))
            return
        errors = {index: self._refused(each) for index, each in enumerate(asked.partitions)}
        accepted = [index for index, error in errors.items() if error == ErrorCode.NONE]
        keys = [OffsetKey(asked.group, each.topic, each.partition) for each in asked.partitions]
        if not cache.has_room([keys[index] for index in accepted]):
            errors.update(dict.fromkeys(accepted, ErrorCode.INVALID_COMMIT_OFFSET_SIZE))
            accepted = []

        def answer() -> None:
            results = [PartitionError(p.topic, p.partition, errors[i]) for i, p in enumerate(asked.partitions)]
            request.answer(OffsetCommitResponse(results))

        if not accepted:
            answer()
            return
        committed = {index: self._committed(asked.partitions[index]) for index in accepted}

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
        """A generation of a group."""
        number = self._partition_of(group)
        if self._cache(number)[0] is None:
            done(ErrorCode.NOT_COORDINATOR)
            return

        def appended(results: list[ProduceResult]) -> None:
            error = ErrorCode(results[0].error)
            done(STORE_ERRORS.get(error, error))

        yield from self._writing.append(number, [group_record(group, stored, self._context.gates)], appended)

    def partitions_deleted(self, topic_partitions: list[TopicPartition]) -> Work[None]:
        """What groups have committed of them is dropped, by records without a value, whoever gets them
        (GroupMetadataManager.cleanupGroupMetadata). What is being loaded keeps it."""
        for number, cache in sorted(self._caches.items()):
            if not cache.loading:
                keys = cache.drop(topic_partitions)
                yield from self._writing.forget(number, keys, self._idle(number, cache))

    def _idle(self, number: int, cache: OffsetCache) -> list[str]:
        """Groups without members, and without anything committed, are groups no more: those the log has told of."""
        return self.administration.forget(
            lambda group: self._partition_of(group) == number and not cache.of_group(group)
        )

    def delete(self, request: Request, asked: DeleteGroupsRequest) -> Work[None]:
        """Groups without members, and what they have committed (KIP-229)."""
        deleted: list[DeletedGroup] = []
        for group in asked.groups:
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

    def delete_offsets(self, request: Request, asked: OffsetDeleteRequest) -> Work[None]:
        """Of partitions that no member of the group reads (KIP-496)."""
        number = self._partition_of(asked.group)
        cache, error = self._cache(number) if asked.group else (None, ErrorCode.INVALID_GROUP_ID)
        if cache is None:
            request.answer(OffsetDeleteResponse(error))
            return
        known = [key for key, _ in cache.of_group(asked.group)]
        error, read = self.administration.may_forget(asked.group, {one.topic for one in asked.partitions})
        if error != ErrorCode.NONE:
            request.answer(OffsetDeleteResponse(error))
            return
        results: dict[TopicPartition, ErrorCode] = {}
        for one in asked.partitions:
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

    def _refused(self, asked: OffsetToCommit) -> ErrorCode:
        if (asked.topic, asked.partition) not in self._metadata.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if len(asked.metadata.encode()) > self._context.settings.offset_metadata_max_bytes:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        return ErrorCode.NONE

    def _committed(self, asked: OffsetToCommit) -> CommittedOffset:
        """Up to 2.0 with the time of its end (offsets.retention.minutes), which nobody looks at here."""
        now_ms = int(self._context.now.wall_ms)
        if self._context.gates.offset_commit_value_version >= 3:
            return CommittedOffset(asked.offset, asked.leader_epoch, asked.metadata, now_ms)
        expire_ms = now_ms + self._context.settings.offsets_retention_minutes * MS_PER_MINUTE
        return CommittedOffset(asked.offset, EPOCH_UNKNOWN, asked.metadata, now_ms, expire_ms)

    # --- questions ---

    def fetch(self, request: OffsetFetchRequest) -> OffsetFetchResponse:
        """Out of the cache, whatever the partition's replicas do: a coordinator of the past answers with the past."""
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
        for asked in request.partitions:
            held = cache.get(OffsetKey(request.group, asked.topic, asked.partition))
            if held is None:
                found.append(CommittedPartition(asked.topic, asked.partition))
            else:
                topic_partition: TopicPartition = (asked.topic, asked.partition)
                found.append(CommittedPartition(*topic_partition, held.offset, held.leader_epoch, held.metadata))
        return OffsetFetchResponse(ErrorCode.NONE, found)

    def _loading(self) -> bool:
        return any(cache.loading for cache in self._caches.values())

    def _committing(self) -> set[str]:
        """Groups that have committed something, as far as it has been read."""
        return {group for cache in self._caches.values() if not cache.loading for group in cache.names()}

    def _coordinated(self, group: str) -> ErrorCode:
        return self._cache(self._partition_of(group))[1]

    def _cache(self, number: int) -> tuple[OffsetCache | None, ErrorCode]:
        cache = self._caches.get(number)
        if cache is None:
            return None, ErrorCode.NOT_COORDINATOR
        if not cache.loading:
            return cache, ErrorCode.NONE
        named = self._context.gates.loading_coordinator_says_so
        return None, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if named else ErrorCode.NOT_COORDINATOR
