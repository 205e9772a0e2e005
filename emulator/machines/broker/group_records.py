"""Records of the offsets topic: commits, groups with members, and tombstones."""

from collections.abc import Callable, Iterable, Sequence

from emulator.machines.broker.appends import Appends
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.producer_state import Guard
from protocol.errors import ErrorCode
from protocol.gates import Gates
from protocol.messages.replication_messages import ProducePartition, ProduceRequest, ProduceResult
from protocol.records.batch import encode_batch
from protocol.records.format import encode
from protocol.records.group_metadata import StoredGroup, encode_group, encode_group_key
from protocol.records.offset_commits import OFFSETS_TOPIC, CommittedOffset, OffsetKey, encode_key, encode_value
from protocol.records.types import RecordFields
from protocol.work import Work

COMMIT_ERRORS = {
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,  # of a verification
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
}
"""Error of a commit for each error of its append; other codes (7) stay as they are."""

STORE_ERRORS = COMMIT_ERRORS | {
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""Error of a group's members for a generation's append (GroupMetadataManager.storeGroup)."""


def commit_records(commits: Iterable[tuple[OffsetKey, CommittedOffset]], gates: Gates) -> list[RecordFields]:
    version = gates.offset_commit_value_version
    return [(encode_key(key), encode_value(value, version), ()) for key, value in commits]


def group_record(group: str, stored: StoredGroup, gates: Gates) -> RecordFields:
    return encode_group_key(group), encode_group(stored, gates.group_metadata_value_version), ()


class GroupRecords:
    """Appends to partitions of the offsets topic that this broker leads."""

    def __init__(self, context: BrokerContext, appends: Appends) -> None:
        self._context = context
        self._appends = appends

    def append(
        self, number: int, records: Sequence[RecordFields], appended: Callable[[list[ProduceResult]], None]
    ) -> Work[None]:
        """Append as one batch (before 0.11: one message each), within `offsets.commit.timeout.ms`."""
        settings = self._context.settings
        yield from self._append(
            number, records, settings.offsets_commit_required_acks, settings.offsets_commit_timeout_ms, appended
        )

    def append_transactional(
        self,
        number: int,
        records: Sequence[RecordFields],
        producer_id: int,
        producer_epoch: int,
        guard: Guard | None,
        appended: Callable[[list[ProduceResult]], None],
    ) -> Work[None]:
        """Append offsets of a transaction, as `append`; the sequence is 0 and is not checked."""
        settings = self._context.settings
        acks, timeout_ms = settings.offsets_commit_required_acks, settings.offsets_commit_timeout_ms
        batch = encode_batch(
            records,
            timestamp_ms=int(self._context.now.wall_ms),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
        yield from self._produce(number, batch, acks, timeout_ms, appended, guard)

    def forget(self, number: int, keys: Sequence[OffsetKey], groups: Sequence[str] = ()) -> Work[None]:
        """Append records without a value (tombstones), with acks=0."""
        gone: list[RecordFields] = [(encode_key(key), None, ()) for key in keys]
        gone += [(encode_group_key(group), None, ()) for group in groups]
        if gone:
            yield from self._append(number, gone, 0, 0, lambda results: None)

    def _append(
        self,
        number: int,
        records: Sequence[RecordFields],
        acks: int,
        timeout_ms: int,
        appended: Callable[[list[ProduceResult]], None],
    ) -> Work[None]:
        magic, now_ms = self._context.gates.record_magic, int(self._context.now.wall_ms)
        batch = encode(records, magic=magic, timestamp_ms=now_ms)
        yield from self._produce(number, batch, acks, timeout_ms, appended)

    def _produce(
        self,
        number: int,
        batch: bytes,
        acks: int,
        timeout_ms: int,
        appended: Callable[[list[ProduceResult]], None],
        guard: Guard | None = None,
    ) -> Work[None]:
        produce = ProduceRequest(acks, timeout_ms, [ProducePartition(OFFSETS_TOPIC, number, batch)])
        guards = None if guard is None else {(OFFSETS_TOPIC, number): guard}
        yield from self._appends.append(produce, appended, guards=guards)
