"""Transactions of a producer: TransactionManager of Java's client. Semantics 12.7.

    uninitialized --init--> initializing --InitProducerId--> ready --begin--> in-transaction --commit--> committing
    in-transaction, committing --error--> abortable --abort--> aborting --EndTxn--> ready, or initializing
    any --fatal error--> fatal

Calls end by their callback: with "" or the name of Java's exception. A call whose time is over may be repeated; it
then waits for the same requests. Up to transaction version 1 a batch leaves when its partition was added.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from emulator.machines.client.client_operations import NO_ANSWER, OperationLog
from emulator.machines.client.client_settings import ProducerSettings
from emulator.machines.client.client_state import NO_MEMBER, Identity
from emulator.machines.client.offset_store import Committed, GroupOperations
from emulator.machines.client.producer_sequences import Sequences
from emulator.machines.client.transaction_behaviour import TransactionBehaviour
from emulator.machines.client.transaction_calls import CallEnded, CallKind, TransactionCalls
from emulator.machines.client.transaction_errors import (
    ABORTED,
    FENCED,
    ILLEGAL_STATE,
    KAFKA,
    OLD_EPOCH,
    TIMED_OUT,
    Reaction,
    RequestKind,
    exception_of,
    reaction_to,
    reaction_to_all,
    reaction_to_batch,
)
from emulator.machines.client.transaction_messages import TransactionMessages
from emulator.machines.client.transaction_requests import (
    EPOCH_BUMP_PRIORITY,
    FIRST_ADD_PAUSE_MS,
    TransactionRequest,
    TransactionRequests,
)
from protocol.errors import ErrorCode
from protocol.events import ProducerTransactionChanged
from protocol.ids import TopicPartition
from protocol.machine import Now
from protocol.messages.groups import FindCoordinatorResponse
from protocol.messages.message_base import Message
from protocol.messages.transactions import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
    TxnOffsetCommitResponse,
)
from protocol.outbox import Outbox

State = Literal[
    "uninitialized", "initializing", "ready", "in-transaction", "committing", "aborting", "abortable", "fatal"
]


_NAMED: Final = (FENCED, OLD_EPOCH)
"""Exceptions that later calls throw as well; of another one they throw KafkaException."""
_CALLS_OF: Final[dict[RequestKind, tuple[CallKind, ...]]] = {
    "find-coordinator": (), "init": ("init", "abort"), "add-partitions": (), "add-offsets": ("offsets",),
    "offsets": ("offsets",), "end": ("commit", "abort"),
}  # fmt: skip
"""{request: the calls that wait for it}"""


class Transactions:
    """Transactions of one producer, whose `sequences` have its id.

    `wake` is called after a call: further work may be possible.
    """

    def __init__(
        self,
        settings: ProducerSettings,
        behaviour: TransactionBehaviour,
        operations: OperationLog,
        sequences: Sequences,
        wake: Callable[[Now, Outbox], None],
    ) -> None:
        self._settings = settings
        self._behaviour = behaviour
        self._operations = operations
        self._sequences = sequences
        self._wake = wake
        self._requests: TransactionRequests | None = None
        self._state: State = "uninitialized"
        self._error = ""
        """Name of the error of the states abortable and fatal; while aborting, of the transaction."""
        self._calls = TransactionCalls(settings.max_block_ms, behaviour.bounded_calls)
        self._messages = TransactionMessages(settings, behaviour, sequences)
        self._renews = False
        self._unknown_mapping = False
        self._started = False
        self._added: set[TopicPartition] = set()
        self._adding: set[TopicPartition] = set()
        self._new: dict[TopicPartition, None] = {}
        self.transaction = ""
        """Name of the transaction, "" between two."""
        self._number = 0

    def use(self, requests: TransactionRequests) -> None:
        """Set the queue of its requests, whose answers are this object's (`answered`)."""
        self._requests = requests

    # --- calls of the application ---------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """See the module."""
        return self._state

    def init(self, now: Now, out: Outbox, ended: CallEnded) -> None:
        """Obtain the producer id; fences earlier producers of the transactional id."""
        if self._state == "uninitialized":
            self._state = "initializing"
            self._changed(out, "initializing")
            self._calls.begin(now, "init", ended)
            self._queue.add(self._messages.init(continues=False))
            self._wake(now, out)
        else:
            self._repeat(now, out, "init", ended)

    def begin(self, now: Now, out: Outbox) -> str:
        """Begin a transaction; "" or the exception."""
        if self._state != "ready" or self._calls.kind is not None:
            return self._failure()
        self._state = "in-transaction"
        self._number += 1
        self.transaction = self._operations.next_identifier()
        self._changed(out, "begun")
        return ""

    def send_offsets(
        self,
        now: Now,
        out: Outbox,
        offsets: Mapping[TopicPartition, Committed],
        group: str,
        ended: CallEnded,
        identity: Identity = NO_MEMBER,
    ) -> None:
        """Commit a group's offsets as part of the transaction.

        `identity`: the consumer's generation and member (KIP-447), as far as client and brokers know them.
        """
        if self._state != "in-transaction" or self._calls.kind is not None:
            ended(now, out, self._failure())
            return
        self._calls.begin(now, "offsets", ended)
        operations = GroupOperations(
            self._operations, out, "send-offset", group, offsets, transaction=self.transaction
        )
        if self._behaviour.has_version_2:
            self._started = True
            self._queue.add(self._messages.offsets(group, offsets, operations, identity))
        else:
            self._queue.add(self._messages.group(group, offsets, operations, identity))
        self._wake(now, out)

    def commit(self, now: Now, out: Outbox, ended: CallEnded) -> None:
        """Commit the transaction, when all its records have ended."""
        if self._state == "in-transaction" and self._calls.kind is None:
            self._complete(now, out, "commit", ended)
        else:
            self._repeat(now, out, "commit", ended)

    def abort(self, now: Now, out: Outbox, ended: CallEnded) -> None:
        """Abort the transaction: records that have not left are dropped."""
        if self._state in ("in-transaction", "abortable") and (self._calls.kind in (None, "offsets")):
            self._new.clear()
            self._complete(now, out, "abort", ended)
        else:
            self._repeat(now, out, "abort", ended)

    def close(self, now: Now, out: Outbox) -> None:
        """End what is under way. A transaction stays open at its coordinator."""
        for request in self._queue.take_all():
            self._drop(out, request, "the producer was closed", KAFKA)
        if self._state in ("committing", "aborting"):
            self._changed(out, "unknown", KAFKA)
        elif self.transaction and self._state in ("in-transaction", "abortable"):
            self._changed(out, "abandoned")
        self.transaction = ""
        self._state, self._error = "fatal", KAFKA
        self._calls.end(now, out, KAFKA)

    # --- the producer's side --------------------------------------------------------------------------------

    def refusal(self) -> str:
        """Exception of a send now; "": it may be sent."""
        return "" if self._state == "in-transaction" else self._failure()

    def note(self, partition: TopicPartition) -> None:
        """Note a partition with records to send."""
        if partition in self._added or partition in self._adding or partition in self._new:
            return
        if self._behaviour.has_version_2:
            self._added.add(partition)
            self._started = True
        elif self._state in ("in-transaction", "committing"):
            self._new[partition] = None

    def may_leave(self, partition: TopicPartition) -> bool:
        """Whether batches of the partition may leave: it is part of the transaction."""
        return partition in self._added

    @property
    def is_completing(self) -> bool:
        return self._state in ("committing", "aborting")

    @property
    def drops_unsent(self) -> str:
        """Exception with which records end that have not left; "": they may leave."""
        if self._state == "aborting":
            return self._error or ABORTED
        return self._error if self._state == "abortable" else ""

    @property
    def fatal_error(self) -> str:
        """Exception of the state fatal, else ""."""
        return self._error if self._state == "fatal" else ""

    @property
    def produce_version(self) -> int:
        return self._behaviour.request_version("Produce")

    def batch_failed(self, now: Now, out: Outbox, error: int | str) -> None:
        """Handle a batch that was given up."""
        reaction = reaction_to_batch(error, self._behaviour)
        if reaction.outcome == "fatal":
            self._fail(now, out, reaction.exception)
            return
        self._renews |= reaction.outcome == "renew" and not self.is_completing
        self._may_only_abort(out, reaction.exception)

    def sequences_lost(self, now: Now, out: Outbox) -> None:
        """Handle numbers of a partition whose use is unknown (maybeResolveSequences)."""
        if not self._behaviour.raises_epoch:
            self._fail(now, out, KAFKA)
            return
        self._renews = not self._behaviour.has_version_2
        self._may_only_abort(out, KAFKA)

    def poll(self, now: Now, out: Outbox, *, incomplete: bool) -> bool:
        """Send the next request. Whether batches have to wait for it.

        `incomplete`: records have not ended.
        """
        if self._calls.is_over(now):
            if self.is_completing and self._calls.kind in ("commit", "abort"):
                self._changed(out, "unknown", TIMED_OUT)
            self._calls.time_out(now, out)
        queue = self._queue
        if queue.under_way is not None:
            return True
        if self._new:
            queue.add(self._messages.partitions([*self._new]))
            self._adding.update(self._new)
            self._new.clear()
        request = queue.first()
        if request is None or (request.kind == "end" and incomplete):
            return False
        if self._state == "abortable" and request.kind != "find-coordinator":
            self._refuse(now, out, queue.take())
            self._wake(now, out)
        elif request.kind == "end" and not self._started:
            queue.take()
            self._ended(now, out)  # nothing was added: the coordinator knows of no transaction
            self._wake(now, out)
        else:
            queue.send_first(now, out)
        return True

    def deadlines_ms(self) -> list[float]:
        """Times of possible work for `poll` (mono_ms)."""
        return [self._calls.deadline_ms, *self._queue.deadlines_ms()]

    # --- requests -------------------------------------------------------------------------------------------

    @property
    def _queue(self) -> TransactionRequests:
        assert self._requests is not None, "without a queue"
        return self._requests

    def _complete(self, now: Now, out: Outbox, kind: Literal["commit", "abort"], ended: CallEnded) -> None:
        """Queue EndTxn; after an error that costs the id, also a request of another one."""
        self._calls.end(now, out, KAFKA)  # offsets of a transaction that is aborted
        self._state = "committing" if kind == "commit" else "aborting"
        self._changed(out, self._state)
        self._calls.begin(now, kind, ended)
        if not self._unknown_mapping:
            self._queue.add(self._messages.end(commits=kind == "commit"))
        if self._unknown_mapping or self._renews:
            self._queue.add(self._messages.init(priority=EPOCH_BUMP_PRIORITY, continues=True))
        self._wake(now, out)

    # --- answers --------------------------------------------------------------------------------------------

    def answered(self, now: Now, out: Outbox, request: TransactionRequest, answer: Message) -> None:
        """Handle a response."""
        match answer:
            case FindCoordinatorResponse(error=error, broker=broker, node=node):
                if self._react(now, out, request, error):
                    self._queue.found(request, broker, node)
            case InitProducerIdResponse(error=error):
                if self._react(now, out, request, error):
                    self._initialized(now, out, answer)
            case AddPartitionsToTxnResponse(transactions=[result]):
                self._partitions_answered(now, out, request, [one.error for one in result.partitions])
            case AddOffsetsToTxnResponse(error=error):
                if self._react(now, out, request, error):
                    self._started = True
                    assert request.operations is not None, request.kind
                    self._queue.add(
                        self._messages.offsets(request.group, request.offsets, request.operations, request.identity)
                    )
            case TxnOffsetCommitResponse(partitions=results):
                self._offsets_answered(now, out, request, [one.error for one in results])
            case EndTxnResponse(error=error):
                if self._react(now, out, request, error):
                    self._ended(now, out, answer)
            case _:
                raise AssertionError(answer)
        self._wake(now, out)

    def _react(self, now: Now, out: Outbox, request: TransactionRequest, error: int) -> bool:
        """Whether the request has succeeded; otherwise handle its error."""
        return self._do(now, out, request, reaction_to(request.kind, error, self._behaviour), error)

    def _do(self, now: Now, out: Outbox, request: TransactionRequest, reaction: Reaction, error: int) -> bool:
        outcome = reaction.outcome
        if outcome == "abortable" and request.kind == "end" and self._state == "aborting":
            outcome = "fatal"  # it cannot be aborted twice
        match outcome:
            case "done":
                return True
            case "retry" | "look-up":
                if reaction.outcome == "look-up":
                    self._queue.look_up(request)
                first = request.kind == "add-partitions" and not self._added
                soon = first and error == ErrorCode.CONCURRENT_TRANSACTIONS
                self._queue.again(request, FIRST_ADD_PAUSE_MS if soon else None)
            case "fatal":
                self._drop(out, request, reaction.exception, error)
                self._fail(now, out, reaction.exception)
            case _:
                if reaction.outcome == "renew":
                    self._renews = True
                    self._unknown_mapping |= error == ErrorCode.INVALID_PRODUCER_ID_MAPPING
                self._adding.difference_update(request.partitions)
                self._may_only_abort(out, reaction.exception)
                self._refuse(now, out, request, error)
        return False

    def _initialized(self, now: Now, out: Outbox, answer: InitProducerIdResponse) -> None:
        self._sequences.restart(answer.producer_id, answer.producer_epoch)
        was_aborting = self._state == "aborting"  # without EndTxn: the mapping was unknown
        if was_aborting:
            self._clear(out, "aborted")
        self._state, self._error = "ready", ""
        self._renews = self._unknown_mapping = False
        self._changed(out, "initialized")
        self._calls.end(now, out, "", ("init", "abort"))

    def _partitions_answered(self, now: Now, out: Outbox, request: TransactionRequest, codes: list[int]) -> None:
        reaction, error = reaction_to_all(request.kind, codes, self._behaviour)
        if self._do(now, out, request, reaction, error):
            self._adding.difference_update(request.partitions)
            self._added.update(request.partitions)
            self._started = True

    def _offsets_answered(self, now: Now, out: Outbox, request: TransactionRequest, codes: list[int]) -> None:
        """Handle the codes of offsets.

        If one is refused for now, all are sent again; Java sends the rest.
        """
        reaction, error = reaction_to_all(request.kind, codes, self._behaviour)
        operations = request.operations
        assert operations is not None, request.kind
        operations.attempt_ended(out, error)
        if self._do(now, out, request, reaction, error):
            operations.end(out, ErrorCode.NONE)
            self._calls.end(now, out, "", ("offsets",))

    def _ended(self, now: Now, out: Outbox, answer: EndTxnResponse | None = None) -> None:
        """Complete the transaction.

        With transaction version 2 the answer has the next identity.
        """
        self._clear(out, "committed" if self._state == "committing" else "aborted")
        if answer is not None and answer.producer_id >= 0:
            self._sequences.restart(answer.producer_id, answer.producer_epoch)
        self._error = ""
        if self._renews:
            self._state = "initializing"
            self._changed(out, "initializing")
            return  # the call ends with the next id
        self._state = "ready"
        self._calls.end(now, out, "", ("commit", "abort"))

    def _repeat(self, now: Now, out: Outbox, kind: CallKind, ended: CallEnded) -> None:
        """Repeat a call that timed out; any other call is refused."""
        if self._calls.repeat(now, out, kind, ended):
            self._wake(now, out)
        else:
            ended(now, out, self._failure())

    def _clear(self, out: Outbox, change: str) -> None:
        self._changed(out, change)
        self.transaction = ""
        self._started = False
        self._new.clear()
        self._adding.clear()
        self._added.clear()

    # --- errors ---------------------------------------------------------------------------------------------

    def _failure(self) -> str:
        """Exception of a call that the state forbids (maybeFailWithError)."""
        if not self._error:
            return ILLEGAL_STATE
        return self._error if self._error in _NAMED else KAFKA

    def _may_only_abort(self, out: Outbox, exception: str) -> None:
        """Enter the state abortable; a transaction that is being aborted stays so."""
        if self._state in ("in-transaction", "committing", "abortable"):
            if self._state != "abortable":
                self._state, self._error = "abortable", exception
                self._changed(out, "abortable", exception)
        elif self._state == "initializing":
            self._state = "uninitialized"
            self._changed(out, "abortable", exception)

    def _fail(self, now: Now, out: Outbox, exception: str) -> None:
        """Enter the state fatal: everything that waits ends."""
        if self._state == "fatal":
            return
        self._state, self._error = "fatal", exception
        self._changed(out, "fatal", exception)
        for request in self._queue.take_all():
            self._drop(out, request, exception, exception)
        self._calls.end(now, out, exception)

    def _refuse(self, now: Now, out: Outbox, request: TransactionRequest, error: int | None = None) -> None:
        """End a request of a transaction that may only be aborted, and the call that waits for it."""
        self._drop(out, request, self._error, self._error if error is None else error)
        exception = self._error or exception_of(error or 0, self._behaviour)
        self._calls.end(now, out, exception, _CALLS_OF[request.kind])

    def _drop(self, out: Outbox, request: TransactionRequest, why: str, error: int | str) -> None:
        """End the operations of a request that is not sent again."""
        if request.operations is not None:
            if request.kind == "offsets" and request.is_sent:
                request.operations.attempt_ended(out, NO_ANSWER, why)
            request.operations.end(out, error)

    def _changed(self, out: Outbox, change: str, reason: str = "") -> None:
        event = ProducerTransactionChanged(
            self._settings.transactional_id, self.transaction, self._number, change, *self._messages.identity(), reason
        )
        self._operations.transaction_changed(out, event)
