"""The group coordinator (semantics 6, "Committed offsets").

It keeps the committed offsets of groups, in the partitions of `__consumer_offsets` that this broker leads.

    elected --> loading --the log is read--> loaded
    loading, loaded --resigned--> gone: NOT_COORDINATOR

A commit is an append with acks=all to that partition, as any produce. It waits for the partition's lock and for its
in-sync replicas, and counts when they have it. A generation of a group with members is one, too
(`group_membership`).
"""

from collections.abc import Callable
from typing import Final

from emulator.machines.broker.appends import VERSION_2, Appends
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
from emulator.machines.broker.producer_state import Guard
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.request_channel import Request
from emulator.machines.broker.transaction_verification import Errors, Subject
from emulator.storage.files import StorageError
from protocol.errors import NO_ERROR, ErrorCode
from protocol.events import GroupCoordinatorChanged
from protocol.ids import EPOCH_UNKNOWN, Offset, TopicPartition
from protocol.messages.groups import (
    CommittedPartition,
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
from protocol.messages.transactions import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from protocol.records.group_metadata import StoredGroup
from protocol.records.offset_commits import (
    OFFSETS_TOPIC,
    CommittedOffset,
    OffsetKey,
    hash_partition,
)
from protocol.records.types import NO_SEQUENCE
from protocol.work import Work

LOAD = "offsets-load"
TRANSACTION_ENDED = "offsets-of-transaction"
LOAD_BYTES = 5 * 1024 * 1024
"""Bytes read in one step (offsets.load.buffer.size)."""

MS_PER_MINUTE = 60_000
FIRST_COMMIT_WITH_ABORTABLE: Final = 4
"""First version of TxnOffsetCommit whose clients know TRANSACTION_ABORTABLE (KIP-1050)."""
FIRST_COMMIT_OF_VERSION_2: Final = 5
"""First version of TxnOffsetCommit of transaction version 2 (KIP-890)."""


class GroupCoordinator:
    """Coordinator of groups."""

    def __init__(
        self,
        context: BrokerContext,
        replicas: Replicas,
        metadata: MetadataCache,
        appends: Appends,
    ) -> None:
        self._context = context
        self._replicas = replicas
        self._metadata = metadata
        self._appends = appends
        self._caches: dict[int, OffsetCache] = {}
        self._stopped_at: int | None = None
        """The partition whose loading cannot go on; it occupies the only thread that loads."""
        self._ended_count = 0
        self._writing = GroupRecords(context, appends)
        self.members = GroupMembership(context, self._coordinated, self._store)
        groups, gates = self.members.groups, context.gates
        self.administration = GroupAdministration(groups, self._coordinated, self._committing, self._loading, gates)

    def partition_of(self, group: str) -> int:
        """Partition of a group; the metadata have the number of partitions.

        Kafka reads it from ZooKeeper once, at a broker's start.
        """
        known = self._metadata.partition_count(OFFSETS_TOPIC)
        return hash_partition(group, known or self._context.settings.offsets_topic_num_partitions)

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
        self.members.resigned(lambda group: self.partition_of(group) == number)

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
        number = self.partition_of(body.group)
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

        accepted_keys = [keys[index] for index in accepted]
        cache.prepare(accepted_keys)

        def appended(results: list[ProduceResult]) -> None:
            (result,) = results
            error = ErrorCode(result.error)
            errors.update(dict.fromkeys(accepted, COMMIT_ERRORS.get(error, error)))
            cache.answered(accepted_keys)
            if error == ErrorCode.NONE and self._caches.get(number) is cache:
                for place, index in enumerate(accepted):
                    cache.committed(keys[index], committed[index], result.base_offset + place)
            answer()

        commits = [(keys[index], committed[index]) for index in accepted]
        yield from self._writing.append(number, commit_records(commits, self._context.gates), appended)

    def commit_in_transaction(self, request: Request, body: TxnOffsetCommitRequest) -> Work[None]:
        """Append offsets as part of a transaction.

        They are visible after its marker (KIP-98, KIP-447).
        """
        number = self.partition_of(body.group)
        partition = self._replicas.partitions.get((OFFSETS_TOPIC, number))
        verification, gates = self._appends.verification, self._context.gates
        error = self._cache(number)[1]
        guard = None
        adds = request.version >= FIRST_COMMIT_OF_VERSION_2 and gates.transaction_version >= VERSION_2
        if not error and partition is not None and partition.leads and verification.applies(of_client=False):
            producers = partition.the_log.producers
            guard = producers.begin_verification(body.producer_id, body.producer_epoch, NO_SEQUENCE, adds=adds)
        if guard is None:
            yield from self._commit_verified(request, body, None, error)
            return
        place = (OFFSETS_TOPIC, number)
        abortable = request.version >= FIRST_COMMIT_WITH_ABORTABLE
        subject = Subject(
            body.transactional_id, body.producer_id, body.producer_epoch, (place,), adds, names_abortable=abortable
        )

        def verified(errors: Errors) -> None:
            # No handler waits for it.
            error = errors.get(place, NO_ERROR)
            work = self._commit_verified(request, body, guard, COMMIT_ERRORS.get(error, error))
            self._context.threads.start("request-handler", request.name, work)

        verification.verify(subject, verified)

    def _commit_verified(
        self, request: Request, body: TxnOffsetCommitRequest, guard: Guard | None, error: ErrorCode
    ) -> Work[None]:
        """Append unless the verification failed; its generation is checked now."""
        number = self.partition_of(body.group)
        cache, now_error = self._cache(number)
        error = error or now_error or self.members.may_commit_in_transaction(body)
        keys = [OffsetKey(body.group, each.topic, each.partition) for each in body.partitions]
        errors = [error or self._refused(each) for each in body.partitions]
        accepted = [index for index, error in enumerate(errors) if not error]
        if cache is not None and not cache.has_room([keys[index] for index in accepted]):
            errors = [error or ErrorCode.INVALID_COMMIT_OFFSET_SIZE for error in errors]
            accepted = []

        def answer() -> None:
            results = [PartitionError(p.topic, p.partition, errors[i]) for i, p in enumerate(body.partitions)]
            request.answer(TxnOffsetCommitResponse(results))

        if cache is None or not accepted:
            answer()
            return
        accepted_keys = [keys[index] for index in accepted]
        commits = [(keys[index], self._committed(body.partitions[index])) for index in accepted]
        cache.prepare_transactional(body.producer_id, accepted_keys)

        def appended(results: list[ProduceResult]) -> None:
            (result,) = results
            error = ErrorCode(result.error)
            if error:
                cache.transactional_failed(body.producer_id, accepted_keys)
                for index in accepted:
                    errors[index] = COMMIT_ERRORS.get(error, error)
            else:
                for place, (key, committed) in enumerate(commits):
                    cache.transactional(body.producer_id, key, committed, result.base_offset + place)
            answer()

        records = commit_records(commits, self._context.gates)
        yield from self._writing.append_transactional(
            number, records, body.producer_id, body.producer_epoch, guard, appended
        )

    def transaction_ended(self, number: int, producer_id: int, commits: bool, visible: Callable[[], None]) -> None:
        """Take a marker in a partition of the offsets topic, then call `visible`.

        Until 3.9.0 a task does it a moment later (KAFKA-6917).
        """

        def end() -> None:
            cache = self._caches.get(number)
            if cache is not None and not cache.loading:
                cache.transaction_ended(producer_id, commits=commits)
            visible()

        if self._context.gates.marker_answer_waits_for_offsets:
            end()
        else:
            self._ended_count += 1
            self._context.set_timer((TRANSACTION_ENDED, self._ended_count), 0.0, end)

    def _store(self, group: str, stored: StoredGroup, done: Callable[[ErrorCode], None]) -> Work[None]:
        """Append a generation of a group."""
        number = self.partition_of(group)
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
            lambda group: self.partition_of(group) == number and not cache.of_group(group)
        )

    def delete(self, request: Request, body: DeleteGroupsRequest) -> Work[None]:
        """Delete groups without members, and their committed offsets (KIP-229)."""
        deleted: list[DeletedGroup] = []
        for group in body.groups:
            number = self.partition_of(group)
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
        number = self.partition_of(body.group)
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
        cache, error = self._cache(self.partition_of(request.group))
        if cache is None:
            return OffsetFetchResponse(error)
        if request.everything:
            keys = [key for key, _ in cache.of_group(request.group)]
        else:
            keys = [OffsetKey(request.group, entry.topic, entry.partition) for entry in request.partitions]
        refuses = request.stable and self._context.gates.unstable_offsets_refused
        found: list[CommittedPartition] = []
        for key in keys:
            held = cache.get(key)
            if refuses and cache.is_unstable(key):
                found.append(CommittedPartition(key.topic, key.partition, error=ErrorCode.UNSTABLE_OFFSET_COMMIT))
            elif held is None:
                found.append(CommittedPartition(key.topic, key.partition))
            else:
                found.append(
                    CommittedPartition(key.topic, key.partition, held.offset, held.leader_epoch, held.metadata)
                )
        return OffsetFetchResponse(ErrorCode.NONE, found)

    def committed_of(self, group: str) -> dict[TopicPartition, Offset]:
        """The committed offsets of a group, as far as this broker coordinates it."""
        cache, _ = self._cache(self.partition_of(group))
        held = cache.of_group(group) if cache is not None else []
        return {(key.topic, key.partition): committed.offset for key, committed in held}

    def _loading(self) -> bool:
        return any(cache.loading for cache in self._caches.values())

    def _committing(self) -> set[str]:
        """Groups with committed offsets, as far as loaded."""
        return {group for cache in self._caches.values() if not cache.loading for group in cache.names()}

    def _coordinated(self, group: str) -> ErrorCode:
        return self._cache(self.partition_of(group))[1]

    def _cache(self, number: int) -> tuple[OffsetCache | None, ErrorCode]:
        cache = self._caches.get(number)
        if cache is None:
            return None, ErrorCode.NOT_COORDINATOR
        if not cache.loading:
            return cache, ErrorCode.NONE
        named = self._context.gates.loading_coordinator_reports_loading
        return None, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if named else ErrorCode.NOT_COORDINATOR
