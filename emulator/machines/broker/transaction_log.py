"""States of transactional ids, and their log `__transaction_state` (semantics 12.1).

Source: TransactionStateManager.

    elected --> loading --the log is read to its end--> loaded, prepared transactions are completed
    loading, loaded --resigned--> gone: NOT_COORDINATOR

A partition's leader epoch is the *coordinator epoch*. A transition is an append with acks=all. It counts when the
in-sync replicas have it, if the coordinator epoch is still the same. A record whose append failed stays in the log: a
later coordinator may find it.
"""

from collections.abc import Callable, Iterator
from typing import Final

from emulator.machines.broker.appends import Appends
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.transaction_metadata import PREPARED, TransactionMetadata, Transition
from emulator.storage.files import StorageError
from protocol.errors import NO_ERROR, ErrorCode
from protocol.events import TransactionCoordinatorChanged, TransactionStateChanged
from protocol.ids import LeaderEpoch, Offset, partitions_text
from protocol.messages.replication_messages import ProducePartition, ProduceRequest, ProduceResult
from protocol.records.format import encode, iter_headers, read_records
from protocol.records.offset_commits import hash_partition
from protocol.records.transaction_states import (
    TRANSACTIONS_TOPIC,
    decode_transaction,
    decode_transaction_key,
    encode_transaction,
    encode_transaction_key,
)
from protocol.records.types import RecordFields
from protocol.work import Work

LOAD: Final = "transactions-load"
LOAD_BYTES: Final = 5 * 1024 * 1024
"""Bytes read in one step (transaction.state.log.load.buffer.size)."""
IDS_MAX: Final = 1_000_000
"""Bound of transactional ids of one partition; further ones are refused."""

APPEND_ERRORS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""Error of a transition for each error of its append; other codes stay as they are."""

Ended = Callable[[ErrorCode], None]
"""Callback, once, with the result of a transition."""


class Refusal(Exception):
    """An error code as the answer to a request."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error.name)
        self.error = error


class _Partition:
    """States of one partition. `loaded_to`: the log has been read up to here.

    `loading`: no request is served.
    """

    __slots__ = ("coordinator_epoch", "ids", "loaded_to", "loading")

    def __init__(self, coordinator_epoch: LeaderEpoch, log_start: Offset) -> None:
        self.coordinator_epoch = coordinator_epoch
        self.ids: dict[str, TransactionMetadata] = {}
        self.loaded_to = log_start
        self.loading = True


class Held:
    """A transactional id's state, as of a coordinator epoch."""

    __slots__ = ("coordinator_epoch", "metadata")

    def __init__(self, coordinator_epoch: LeaderEpoch, metadata: TransactionMetadata) -> None:
        self.coordinator_epoch = coordinator_epoch
        self.metadata = metadata


class TransactionLog:
    """The partitions of `__transaction_state` that this broker leads.

    `completes` is called, after loading, with each prepared transaction.
    """

    def __init__(
        self,
        context: BrokerContext,
        replicas: Replicas,
        metadata: MetadataCache,
        appends: Appends,
        completes: Callable[[Held], None],
    ) -> None:
        self._context = context
        self._replicas = replicas
        self._metadata = metadata
        self._appends = appends
        self._completes = completes
        self._partitions: dict[int, _Partition] = {}

    def partition_of(self, transactional_id: str) -> int:
        """Partition of an id; the metadata have the number of partitions.

        Kafka reads it once, at a broker's start.
        """
        known = self._metadata.partition_count(TRANSACTIONS_TOPIC)
        settings = self._context.settings
        return hash_partition(transactional_id, known or settings.transaction_state_log_num_partitions)

    # --- election and resignation ---

    def is_loading(self, number: int) -> bool:
        """Whether a partition is loading."""
        known = self._partitions.get(number)
        return known is not None and known.loading

    def elected(self, number: int) -> None:
        """Load a partition that this broker leads from now on, in steps."""
        partition = self._replicas.partitions[TRANSACTIONS_TOPIC, number]
        self._partitions[number] = _Partition(partition.leader_epoch, partition.the_log.log_start)
        self._changed(number, "loading")
        self._load_soon(number)

    def resigned(self, number: int) -> None:
        """Drop the states of a partition that this broker leads no more."""
        known = self._partitions.pop(number, None)
        if known is None:
            return
        if known.loading:
            self._context.out.cancel_timer((LOAD, number))
        self._changed(number, "resigned", len(known.ids))

    def _load_soon(self, number: int) -> None:
        self._context.set_timer((LOAD, number), 0.0, lambda: self._load(number))

    def _load(self, number: int) -> None:
        """Load one piece of the log, up to its end."""
        known = self._partitions[number]
        log = self._replicas.partitions[TRANSACTIONS_TOPIC, number].the_log
        if known.loaded_to < log.log_end:
            try:
                piece = log.read(known.loaded_to, log.log_end, LOAD_BYTES)
            except StorageError as error:
                self._replicas.storage_failed(error)
                return
            self._take(known, piece)
        if known.loaded_to < log.log_end:
            self._load_soon(number)
            return
        known.loading = False
        self._changed(number, "loaded", len(known.ids))
        for metadata in list(known.ids.values()):
            if metadata.state in PREPARED:
                self._completes(Held(known.coordinator_epoch, metadata))

    def _take(self, known: _Partition, piece: bytes) -> None:
        """Take the records of a piece; the last one of an id counts.

        Raises CorruptRecord, UnreadableRecord.
        """
        for position, header in iter_headers(piece):
            for record in () if header.is_control else read_records(piece, position, header):
                transactional_id = decode_transaction_key(record.key or b"")
                if record.value is None:
                    known.ids.pop(transactional_id, None)
                else:
                    stored = decode_transaction(record.value)
                    known.ids[transactional_id] = TransactionMetadata.loaded(transactional_id, stored)
            known.loaded_to = header.next_offset

    def _changed(self, number: int, change: str, ids: int = 0) -> None:
        epoch = self._replicas.partitions[TRANSACTIONS_TOPIC, number].leader_epoch
        self._context.emit(TransactionCoordinatorChanged(TRANSACTIONS_TOPIC, number, change, epoch, ids))

    # --- look-ups ---

    def find(self, transactional_id: str) -> Held | None:
        """The state of an id; None: it has none.

        Raises Refusal: another coordinator's, or still loading.
        """
        known = self._led(self.partition_of(transactional_id))
        metadata = known.ids.get(transactional_id)
        return None if metadata is None else Held(known.coordinator_epoch, metadata)

    def create(self, metadata: TransactionMetadata) -> Held:
        """Take a new id, in memory alone. Raises Refusal as `find`, or if there is no room."""
        known = self._led(self.partition_of(metadata.transactional_id))
        if len(known.ids) >= IDS_MAX:
            raise Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return Held(known.coordinator_epoch, known.ids.setdefault(metadata.transactional_id, metadata))

    def _led(self, number: int) -> _Partition:
        known = self._partitions.get(number)
        if known is None:
            raise Refusal(ErrorCode.NOT_COORDINATOR)
        if known.loading:
            raise Refusal(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return known

    def still(self, held: Held) -> ErrorCode:
        """NONE if the id has the same coordinator epoch here, else the error."""
        try:
            now = self.find(held.metadata.transactional_id)
        except Refusal as refusal:
            return refusal.error
        same = now is not None and now.coordinator_epoch == held.coordinator_epoch
        return NO_ERROR if same else ErrorCode.NOT_COORDINATOR

    def all_held(self) -> Iterator[Held]:
        """The states of all loaded partitions, by partition."""
        for _, known in sorted(self._partitions.items()):
            if not known.loading:
                for metadata in list(known.ids.values()):
                    yield Held(known.coordinator_epoch, metadata)

    @property
    def loading(self) -> bool:
        """Whether any partition is loading."""
        return any(known.loading for known in self._partitions.values())

    # --- transitions ---

    def append(
        self,
        held: Held,
        transition: Transition,
        ended: Ended,
        retries: Callable[[ErrorCode], bool] = lambda error: False,
    ) -> Work[None]:
        """Append a transition's record, within the transaction's time-out, and end the transition.

        After an error that the caller `retries`, the transition stays pending.
        """
        error = self.still(held)
        if error:
            ended(error)
            return
        record = (
            encode_transaction_key(held.metadata.transactional_id),
            encode_transaction(transition.record(), 1 if self._context.gates.transaction_version else 0),
            (),
        )

        def appended(results: list[ProduceResult]) -> None:
            error = self._settled(held, transition, ErrorCode(results[0].error), results[0].base_offset, retries)
            ended(error)

        yield from self._write(held, record, transition.timeout_ms, appended)

    def _settled(
        self,
        held: Held,
        transition: Transition,
        append_error: ErrorCode,
        offset: Offset,
        retries: Callable[[ErrorCode], bool],
    ) -> ErrorCode:
        """End a transition after its append. Returns its error."""
        error = APPEND_ERRORS.get(append_error, append_error)
        moved = self.still(held)
        if error:
            if not moved and not retries(error):
                held.metadata.pending = None
        elif moved:
            error = moved
        else:
            held.metadata.complete(transition)
        self._emit(held, transition, error, offset)
        return error

    def _emit(self, held: Held, transition: Transition, error: ErrorCode, offset: Offset) -> None:
        self._context.emit(
            TransactionStateChanged(
                TRANSACTIONS_TOPIC,
                self.partition_of(held.metadata.transactional_id),
                held.metadata.transactional_id,
                transition.producer_id,
                transition.producer_epoch,
                transition.state.text,
                partitions_text(transition.partitions),
                held.coordinator_epoch,
                offset,
                int(error),
            )
        )

    def forget(self, held: Held) -> Work[None]:
        """Append a tombstone for an id that expires, and drop it."""
        transition = held.metadata.begin_death()
        record = encode_transaction_key(held.metadata.transactional_id), None, ()

        def appended(results: list[ProduceResult]) -> None:
            if results[0].error or self.still(held):
                held.metadata.pending = None
                return
            number = self.partition_of(held.metadata.transactional_id)
            del self._partitions[number].ids[held.metadata.transactional_id]
            self._emit(held, transition, NO_ERROR, results[0].base_offset)

        yield from self._write(held, record, self._context.settings.request_timeout_ms, appended)

    def _write(
        self, held: Held, record: RecordFields, timeout_ms: int, appended: Callable[[list[ProduceResult]], None]
    ) -> Work[None]:
        number = self.partition_of(held.metadata.transactional_id)
        gates, now_ms = self._context.gates, int(self._context.now.wall_ms)
        batch = encode([record], magic=gates.record_magic, timestamp_ms=now_ms)
        produce = ProduceRequest(-1, timeout_ms, [ProducePartition(TRANSACTIONS_TOPIC, number, batch)])
        yield from self._appends.append(produce, appended)
