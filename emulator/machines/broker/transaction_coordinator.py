"""The transaction coordinator (semantics 12; KIP-98, KIP-360, KIP-588, KIP-890).

It coordinates the transactional ids of the partitions of `__transaction_state` that this broker leads. Each request
begins a transition of one id. A transaction is decided when its Prepare record is in sync: then the producer has its
answer, and the markers leave.

Source: TransactionCoordinator.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from emulator.machines.broker.appends import Appends
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.coordinator_lookup import INTERNAL_TOPICS
from emulator.machines.broker.marker_sender import MarkerSender
from emulator.machines.broker.producer_ids import ProducerIds
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.request_channel import Request
from emulator.machines.broker.transaction_ends import end_of
from emulator.machines.broker.transaction_log import Held, Refusal, TransactionLog
from emulator.machines.broker.transaction_metadata import (
    EPOCH_EXHAUSTED,
    PREPARED,
    Fenced,
    TransactionMetadata,
    Transition,
)
from protocol.errors import NO_ERROR, ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.leadership_messages import PartitionError
from protocol.messages.transactions import (
    FIRST_BETWEEN_BROKERS,
    FIRST_WITH_EPOCH_BUMP,
    FIRST_WITH_FENCED_CODE,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    AddedPartitions,
    AddedResult,
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from protocol.records.transaction_states import TransactionState
from protocol.work import Work

S = TransactionState
FIRST_OF_INIT_WITH_FENCED_CODE: Final = 4
"""First version of InitProducerId whose clients know PRODUCER_FENCED (KIP-588)."""
ABORT_TIMED_OUT: Final = ("transaction-abort",)
EXPIRE_IDS: Final = ("transactional-id-expiration",)
VERSION_2: Final = 2
"""`transaction.version` with an epoch for each transaction (KIP-890)."""

Answer = Callable[[ErrorCode, int, int], None]
"""Callback of an end: its error, and the producer id and epoch of the next transaction."""


class TransactionCoordinator:
    """Coordinator of transactions."""

    def __init__(
        self,
        context: BrokerContext,
        replicas: Replicas,
        metadata: MetadataCache,
        appends: Appends,
        producer_ids: ProducerIds,
    ) -> None:
        self._context = context
        self._metadata = metadata
        self._producer_ids = producer_ids
        self.log = TransactionLog(context, replicas, metadata, appends, self._complete)
        self.markers = MarkerSender(context, metadata, self.log)
        self._started_ms: float | None = None
        self._tasks_run = False

    def start(self) -> None:
        """Note the start, from which the periods of the tasks count."""
        self._started_ms = self._context.now.mono_ms

    def close(self) -> None:
        """Stop sending markers."""
        self.markers.close()

    # --- election and resignation ---

    def elected(self, number: int) -> None:
        """Load a partition of the transactions topic; its tasks begin with the first one."""
        self.markers.forget(number)
        self.log.elected(number)
        if not self._tasks_run:
            self._tasks_run = True
            settings = self._context.settings
            self._run_every(
                ABORT_TIMED_OUT, settings.transaction_abort_timed_out_transaction_cleanup_interval_ms, self._time_out
            )
            self._run_every(
                EXPIRE_IDS, settings.transaction_remove_expired_transaction_cleanup_interval_ms, self._expire
            )

    def resigned(self, number: int) -> None:
        """Drop a partition that this broker leads no more; its markers stop."""
        self.log.resigned(number)
        self.markers.forget(number)

    def going_offline(self, number: int) -> None:
        """Handle a partition whose log is out of reach: keep its states, end its loading."""
        if self.log.is_loading(number):
            self.resigned(number)

    def _run_every(self, name: tuple[str], interval_ms: int, task: Callable[[], None]) -> None:
        """Run a task in its period since this broker's start."""
        passed_ms = self._context.now.mono_ms - (self._started_ms or 0.0)

        def due() -> None:
            task()
            self._context.set_timer(name, interval_ms, due)

        self._context.set_timer(name, interval_ms - passed_ms % interval_ms, due)

    def _complete(self, held: Held) -> None:
        """Complete a transaction that was found prepared in the log."""
        self.markers.send(held, held.metadata.begin_completion(self._now_ms))

    @property
    def _now_ms(self) -> int:
        return int(self._context.now.wall_ms)

    # --- InitProducerId ---

    def init_producer_id(self, request: Request, body: InitProducerIdRequest) -> Work[None]:
        """Assign a producer id, or raise the epoch of a transactional id."""

        def answer(error: ErrorCode, producer_id: int = NO_PRODUCER_ID, epoch: int = NO_PRODUCER_EPOCH) -> None:
            fenced_known = request.version >= FIRST_OF_INIT_WITH_FENCED_CODE
            request.answer(InitProducerIdResponse(self._fenced_code(error, known=fenced_known), producer_id, epoch))

        try:
            if body.transactional_id is None:
                answer(NO_ERROR, (yield from self._producer_ids.take()), 0)
                return
            held = yield from self._initialised(body)
            transition = yield from self._next_epoch(held, body)
        except Refusal as refusal:
            answer(refusal.error)
            return
        except Fenced:
            answer(ErrorCode.PRODUCER_FENCED)
            return
        if transition.state == S.PREPARE_EPOCH_FENCE:
            # The open transaction is aborted first. The producer tries again, and gets a further epoch.
            def aborted(error: ErrorCode, producer_id: int, epoch: int) -> None:
                answer(error or ErrorCode.CONCURRENT_TRANSACTIONS)

            yield from self._abort(held, transition, aborted)
            return

        def ended(error: ErrorCode) -> None:
            if error:
                answer(error)
            else:
                answer(NO_ERROR, transition.producer_id, transition.producer_epoch)

        yield from self.log.append(held, transition, ended)

    def _initialised(self, body: InitProducerIdRequest) -> Work[Held]:
        """The state of the id, which is created if there is none. Raises Refusal."""
        transactional_id = body.transactional_id
        if not transactional_id:
            raise Refusal(ErrorCode.INVALID_REQUEST)
        if (body.producer_id == NO_PRODUCER_ID) != (body.producer_epoch == NO_PRODUCER_EPOCH):
            raise Refusal(ErrorCode.INVALID_REQUEST)
        if not 0 < body.timeout_ms <= self._context.settings.transaction_max_timeout_ms:
            raise Refusal(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        held = self.log.find(transactional_id)
        if held is not None:
            return held
        producer_id = yield from self._producer_ids.take()
        created = TransactionMetadata(transactional_id, producer_id, body.timeout_ms, self._now_ms)
        return self.log.create(created)

    def _next_epoch(self, held: Held, body: InitProducerIdRequest) -> Work[Transition]:
        """Begin the transition of InitProducerId. Raises Refusal, Fenced."""
        metadata = held.metadata
        expects = body.producer_id != NO_PRODUCER_ID and self._context.gates.producers_raise_own_epoch
        expected_epoch = body.producer_epoch if expects else None
        if metadata.pending is not None:
            raise Refusal(ErrorCode.CONCURRENT_TRANSACTIONS)
        if expects and not _is_own(metadata, body):
            raise Fenced(metadata.transactional_id)
        if metadata.state in PREPARED:
            raise Refusal(ErrorCode.CONCURRENT_TRANSACTIONS)
        if metadata.state == S.ONGOING:
            return metadata.begin_fence(failed_keeps_epoch=self._context.gates.failed_fence_keeps_epoch)
        if metadata.epoch_exhausted and expected_epoch in (None, metadata.producer_epoch):
            producer_id = yield from self._producer_ids.take()
            if metadata.pending is not None:
                raise Refusal(ErrorCode.CONCURRENT_TRANSACTIONS)
            return metadata.begin_rotation(producer_id, body.timeout_ms, self._now_ms, keeps_last=expects)
        return metadata.begin_epoch(body.timeout_ms, expected_epoch, self._now_ms)

    # --- AddPartitionsToTxn, AddOffsetsToTxn ---

    def add_partitions(self, request: Request, body: AddPartitionsToTxnRequest) -> Work[None]:
        """Add partitions to transactions, or verify that they are in them."""
        results: dict[int, list[PartitionError]] = {}

        def settle(index: int, errors: Sequence[ErrorCode]) -> None:
            added = body.transactions[index]
            known = request.version >= FIRST_WITH_FENCED_CODE
            results[index] = [
                PartitionError(one.topic, one.partition, self._fenced_code(error, known=known))
                for one, error in zip(added.partitions, errors, strict=True)
            ]
            if len(results) == len(body.transactions):
                request.answer(
                    AddPartitionsToTxnResponse(
                        [
                            AddedResult(one.transactional_id, results[number])
                            for number, one in enumerate(body.transactions)
                        ]
                    )
                )

        def settle_alike(index: int, error: ErrorCode) -> None:
            settle(index, [error] * len(body.transactions[index].partitions))

        if not body.transactions:
            request.answer(AddPartitionsToTxnResponse([]))
        for index, added in enumerate(body.transactions):
            unknown = self._unknown(added, of_client=request.version < FIRST_BETWEEN_BROKERS)
            if unknown is not None:
                settle(index, unknown)
                continue
            if added.verify_only:
                settle(index, self._verified(added))
                continue
            yield from self.add(added, partial(settle_alike, index))

    def _unknown(self, added: AddedPartitions, *, of_client: bool) -> list[ErrorCode] | None:
        """Errors of a request that names an unknown partition, or as a client's an internal topic.

        None: it names none. Source: KafkaApis.handleAddPartitionsToTxnRequest.
        """
        errors: list[ErrorCode] = []
        for one in added.partitions:
            if of_client and one.topic in INTERNAL_TOPICS:
                errors.append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                continue
            known = (one.topic, one.partition) in self._metadata.partitions
            errors.append(NO_ERROR if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if not any(errors):
            return None
        return [error or ErrorCode.OPERATION_NOT_ATTEMPTED for error in errors]

    def add_offsets(
        self, request: Request, body: AddOffsetsToTxnRequest, offsets_partition: TopicPartition
    ) -> Work[None]:
        """Add the partition of a group's offsets to a transaction."""
        known = request.version >= FIRST_WITH_FENCED_CODE
        yield from self._add(
            body.transactional_id,
            body.producer_id,
            body.producer_epoch,
            [offsets_partition],
            lambda error: request.answer(AddOffsetsToTxnResponse(self._fenced_code(error, known=known))),
        )

    def add(self, added: AddedPartitions, done: Callable[[ErrorCode], None]) -> Work[None]:
        """Add the partitions of one transaction; `done` gets the error, once the record is in sync."""
        partitions = [(one.topic, one.partition) for one in added.partitions]
        yield from self._add(added.transactional_id, added.producer_id, added.producer_epoch, partitions, done)

    def _add(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: list[TopicPartition],
        done: Callable[[ErrorCode], None],
    ) -> Work[None]:
        try:
            held = self._held(transactional_id)
            metadata = held.metadata
            if metadata.pending is not None and self._context.gates.pending_transition_checked_first:
                raise Refusal(ErrorCode.CONCURRENT_TRANSACTIONS)
            if metadata.producer_id != producer_id:
                raise Refusal(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            if metadata.producer_epoch != producer_epoch:
                raise Refusal(ErrorCode.PRODUCER_FENCED)
            if metadata.pending is not None or metadata.state in PREPARED:
                raise Refusal(ErrorCode.CONCURRENT_TRANSACTIONS)
            if metadata.state == S.ONGOING and metadata.partitions.issuperset(partitions):
                raise Refusal(NO_ERROR)
        except Refusal as refusal:
            done(refusal.error)
            return
        yield from self.log.append(held, metadata.begin_adding(partitions, self._now_ms), done)

    def _verified(self, added: AddedPartitions) -> list[ErrorCode]:
        """Error of each partition: whether the open transaction has it.

        A pending transition does not count.
        """
        named = self._context.gates.transaction_abortable_named
        missing = ErrorCode.TRANSACTION_ABORTABLE if named else ErrorCode.INVALID_TXN_STATE
        try:
            metadata = self._held(added.transactional_id).metadata
            if metadata.producer_id != added.producer_id:
                raise Refusal(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            if metadata.producer_epoch != added.producer_epoch:
                raise Refusal(ErrorCode.PRODUCER_FENCED)
            if metadata.state in PREPARED:
                raise Refusal(ErrorCode.CONCURRENT_TRANSACTIONS)
        except Refusal as refusal:
            return [refusal.error] * len(added.partitions)
        return [NO_ERROR if (one.topic, one.partition) in metadata.partitions else missing for one in added.partitions]

    # --- EndTxn ---

    def end(self, request: Request, body: EndTxnRequest) -> Work[None]:
        """Commit or abort a producer's transaction."""
        bumps = request.version >= FIRST_WITH_EPOCH_BUMP

        def answer(error: ErrorCode, producer_id: int, epoch: int) -> None:
            code = self._fenced_code(error, known=request.version >= FIRST_WITH_FENCED_CODE)
            request.answer(EndTxnResponse(code, producer_id, epoch) if bumps else EndTxnResponse(code))

        client_version = self._context.gates.transaction_version if bumps else 0
        held: Held | None = None
        try:
            held = self._held(body.transactional_id)
            state = end_of(held.metadata, body, client_version, self._context.gates)
            next_producer_id = NO_PRODUCER_ID
            if client_version >= VERSION_2 and held.metadata.producer_epoch >= EPOCH_EXHAUSTED:
                next_producer_id = yield from self._producer_ids.take()
        except Refusal as refusal:
            if held is not None and not refusal.error:
                answer(NO_ERROR, held.metadata.producer_id, held.metadata.producer_epoch)
            else:
                answer(refusal.error, NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
            return
        transition = held.metadata.begin_end(
            state, self._now_ms, raises_epoch=client_version >= VERSION_2, next_producer_id=next_producer_id,
            client_version=client_version,
        )  # fmt: skip
        yield from self._prepare(held, transition, answer)

    def _prepare(self, held: Held, transition: Transition, answer: Answer, *, fences: bool = False) -> Work[None]:
        """Append a Prepare record; then answer, and send the markers."""
        metadata = held.metadata

        def ended(error: ErrorCode) -> None:
            if error:
                if fences and not self.log.still(held):
                    metadata.fence_failed = True
                answer(error, NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
                return
            completion = metadata.begin_completion(self._now_ms)
            rotates = completion.producer_id != metadata.producer_id
            next_epoch = completion.producer_epoch if rotates else metadata.producer_epoch
            answer(NO_ERROR, completion.producer_id, next_epoch)
            self.markers.send(held, completion)

        yield from self.log.append(held, transition, ended)

    def _abort(self, held: Held, fence: Transition, answer: Answer) -> Work[None]:
        """Abort an open transaction on behalf of the coordinator, with a fence's epoch."""
        metadata = held.metadata
        metadata.fenced(fence.producer_epoch)
        transition = metadata.begin_end(
            S.PREPARE_ABORT, self._now_ms, raises_epoch=False, next_producer_id=NO_PRODUCER_ID,
            client_version=self._context.gates.transaction_version,
        )  # fmt: skip
        yield from self._prepare(held, transition, answer, fences=True)

    def _held(self, transactional_id: str) -> Held:
        """The state of a known id. Raises Refusal."""
        if not transactional_id:
            raise Refusal(ErrorCode.INVALID_REQUEST)
        held = self.log.find(transactional_id)
        if held is None:
            raise Refusal(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return held

    def _fenced_code(self, error: ErrorCode, *, known: bool) -> ErrorCode:
        """The code of a fenced producer, by the broker's version and the client's."""
        if error == ErrorCode.PRODUCER_FENCED and not (known and self._context.gates.producer_fenced_named):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        return error

    # --- tasks ---

    def _time_out(self) -> None:
        """Abort the transactions whose time-out has passed."""
        for held in self.log.all_held():
            if held.metadata.has_timed_out(self._now_ms):
                fence = held.metadata.begin_fence(failed_keeps_epoch=self._context.gates.failed_fence_keeps_epoch)
                work = self._abort(held, fence, lambda error, producer_id, epoch: None)
                self._context.threads.start("transaction-abort", held.metadata.transactional_id, work)

    def _expire(self) -> None:
        """Forget ids that are unused for transactional.id.expiration.ms."""
        after_ms = self._context.settings.transactional_id_expiration_ms
        for held in self.log.all_held():
            if held.metadata.may_expire(self._now_ms, after_ms):
                work = self.log.forget(held)
                self._context.threads.start("transactional-id-expiration", held.metadata.transactional_id, work)


def _is_own(metadata: TransactionMetadata, body: InitProducerIdRequest) -> bool:
    """Whether a producer that names its id may continue.

    The id is new, or the producer's own, or the last one with all epochs used.
    """
    return (
        metadata.producer_epoch == NO_PRODUCER_EPOCH
        or body.producer_id == metadata.producer_id
        or (body.producer_id == metadata.last_producer_id and body.producer_epoch >= EPOCH_EXHAUSTED)
    )

