"""Reactions of a transactional producer to errors, as TransactionManager's handlers.

*Abortable*: the application may only abort. *Fatal*: it may only close the producer. After some errors the producer
also needs a new epoch, which it requests after the abort (KIP-360).
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from emulator.machines.client.transaction_behaviour import TransactionBehaviour
from protocol.errors import TRAITS, ErrorCode

RequestKind = Literal["find-coordinator", "init", "add-partitions", "add-offsets", "offsets", "end"]
"""Requests of a transactional producer; offsets: TxnOffsetCommit, end: EndTxn."""

Outcome = Literal["done", "retry", "look-up", "part", "abortable", "renew", "fatal"]
"""Reaction to a code.

- done: nothing more. retry: the same request again. look-up: FindCoordinator, then again.
- part: of one partition of AddPartitionsToTxn, abortable unless another partition's error decides.
- abortable; renew: abortable, and the producer needs a new epoch or id. fatal.
"""

FENCED: Final = "ProducerFencedException"
OLD_EPOCH: Final = "InvalidProducerEpochException"
TIMED_OUT: Final = "TimeoutException"
ABORTED: Final = "TransactionAbortedException"
ILLEGAL_STATE: Final = "IllegalStateException"
KAFKA: Final = "KafkaException"

_EXCEPTIONS: Final = {
    ErrorCode.PRODUCER_FENCED: FENCED,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "OutOfOrderSequenceException",
    ErrorCode.UNKNOWN_PRODUCER_ID: "UnknownProducerIdException",
    ErrorCode.INVALID_TXN_STATE: "InvalidTxnStateException",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: "InvalidPidMappingException",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "InvalidTxnTimeoutException",
    ErrorCode.TRANSACTION_ABORTABLE: "TransactionAbortableException",
    ErrorCode.FENCED_INSTANCE_ID: "FencedInstanceIdException",
    ErrorCode.ILLEGAL_GENERATION: "CommitFailedException",
    ErrorCode.UNKNOWN_MEMBER_ID: "CommitFailedException",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalIdAuthorizationException",
}


class Reaction(msgspec.Struct, frozen=True):
    """Reaction to a code. `exception`: Java's, "" without one."""

    outcome: Outcome
    exception: str = ""


DONE: Final = Reaction("done")
RETRY: Final = Reaction("retry")
LOOK_UP: Final = Reaction("look-up")


def exception_of(error: int | str, behaviour: TransactionBehaviour) -> str:
    """Name of Java's exception for a code; the names of others are their own."""
    if isinstance(error, str):
        return error
    if error == ErrorCode.INVALID_PRODUCER_EPOCH:
        return OLD_EPOCH if behaviour.aborts_after_older_epoch else FENCED
    return _EXCEPTIONS.get(ErrorCode(error), KAFKA)


def reaction_to(kind: RequestKind, code: int, behaviour: TransactionBehaviour) -> Reaction:
    """Reaction to a code of a coordinator's answer, of one partition if it has several."""
    if code == ErrorCode.NONE:
        return DONE
    if again := _again(kind, code, behaviour):
        return again
    if code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED):
        return Reaction("fatal", FENCED)
    exception = exception_of(code, behaviour)
    if code == ErrorCode.TRANSACTION_ABORTABLE and behaviour.knows_abortable and kind != "find-coordinator":
        return Reaction("abortable", exception)
    if code in (ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.INVALID_PRODUCER_ID_MAPPING) and kind in _OF_TRANSACTION:
        renews = behaviour.raises_epoch and behaviour.renews_unknown_mapping
        return Reaction("renew" if renews else "fatal", exception)
    if kind == "offsets" and code in _OF_MEMBERS:
        return Reaction("abortable", exception)
    if kind == "add-partitions" and code not in _FATAL_PARTITION:
        return Reaction("part", KAFKA)
    return Reaction("fatal", exception)


def reaction_to_all(
    kind: RequestKind, codes: Sequence[int], behaviour: TransactionBehaviour
) -> tuple[Reaction, int]:
    """Reaction to the codes of several partitions, with its code.

    Of AddPartitionsToTxn the first that decides, then one that is abortable. Of offsets the first that is not sent
    again.
    """
    reactions = [(reaction_to(kind, code, behaviour), code) for code in codes]
    mild = ("part", "done") if kind == "add-partitions" else ("look-up", "retry", "done")
    for outcome in mild[:-1]:
        others = [one for one in reactions if one[0].outcome not in mild]
        if others:
            return others[0]
        same = [one for one in reactions if one[0].outcome == outcome]
        if same:
            return same[0]
    return reactions[0]


def reaction_to_batch(error: int | str, behaviour: TransactionBehaviour) -> Reaction:
    """Reaction to a batch that failed for good (maybeTransitionToErrorState)."""
    exception = exception_of(error, behaviour)
    if exception == FENCED or error in _FATAL_BATCH:
        return Reaction("fatal", exception)
    mapping = error == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if mapping and behaviour.raises_epoch and not behaviour.renews_unknown_mapping:
        return Reaction("fatal", exception)
    renews = behaviour.raises_epoch and not behaviour.has_version_2
    return Reaction("renew" if renews else "abortable", exception)


_OF_TRANSACTION: Final = ("add-partitions", "add-offsets", "end")
_OF_MEMBERS: Final = frozenset(
    (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)
)
_FATAL_PARTITION: Final = frozenset(
    (ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
)
_FATAL_BATCH: Final = frozenset(
    (
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
    )
)
_ELSEWHERE: Final = frozenset((ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR))


def _again(kind: RequestKind, code: int, behaviour: TransactionBehaviour) -> Reaction | None:
    """Whether the request is sent again."""
    if kind == "find-coordinator":
        more = behaviour.retries_coordinator_appends and TRAITS[ErrorCode(code)].retriable
        return RETRY if code == ErrorCode.COORDINATOR_NOT_AVAILABLE or more else None
    if code in _ELSEWHERE or (kind == "offsets" and code == ErrorCode.REQUEST_TIMED_OUT):
        return LOOK_UP
    if code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return RETRY
    if code == ErrorCode.CONCURRENT_TRANSACTIONS and kind != "offsets":
        return RETRY
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and kind in ("add-partitions", "offsets"):
        return RETRY
    if behaviour.retries_coordinator_appends and TRAITS[ErrorCode(code)].retriable:
        return RETRY
    return None
