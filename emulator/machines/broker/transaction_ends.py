"""Decision about an EndTxn: the state that it prepares, or an immediate answer.

Semantics 12.2.

Source: TransactionCoordinator.endTransaction, endTransactionWithTV1 (4.0).
"""

from typing import Final

from emulator.machines.broker.transaction_log import Refusal
from emulator.machines.broker.transaction_metadata import EPOCH_EXHAUSTED, TransactionMetadata
from protocol.errors import NO_ERROR, ErrorCode
from protocol.gates import Gates
from protocol.messages.transactions import EndTxnRequest
from protocol.records.transaction_states import TransactionState

S = TransactionState
VERSION_2: Final = 2
_RESULTS: Final = {S.PREPARE_COMMIT: True, S.COMPLETE_COMMIT: True, S.PREPARE_ABORT: False, S.COMPLETE_ABORT: False}
"""{state: whether it commits}"""


def end_of(metadata: TransactionMetadata, body: EndTxnRequest, client_version: int, gates: Gates) -> TransactionState:
    """The state to be prepared. Raises Refusal: the answer, NO_ERROR for a repeated request."""
    if client_version >= VERSION_2:
        _check_identity_2(metadata, body)
        return _of_version_2(metadata, body)
    if metadata.producer_id != body.producer_id:
        raise Refusal(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    older = body.producer_epoch < metadata.producer_epoch
    if older or (body.producer_epoch != metadata.producer_epoch and gates.end_txn_needs_equal_epoch):
        raise Refusal(ErrorCode.PRODUCER_FENCED)
    if metadata.pending is not None:
        raise Refusal(ErrorCode.CONCURRENT_TRANSACTIONS)
    if metadata.state == S.ONGOING:
        return S.PREPARE_COMMIT if body.commits else S.PREPARE_ABORT
    if _RESULTS.get(metadata.state) is not body.commits:
        raise Refusal(ErrorCode.INVALID_TXN_STATE)
    prepared = metadata.state in (S.PREPARE_COMMIT, S.PREPARE_ABORT)
    raise Refusal(ErrorCode.CONCURRENT_TRANSACTIONS if prepared else NO_ERROR)


def _check_identity_2(metadata: TransactionMetadata, body: EndTxnRequest) -> None:
    """Raises Refusal."""
    if metadata.pending is not None:
        raise Refusal(ErrorCode.CONCURRENT_TRANSACTIONS)
    if metadata.producer_id != body.producer_id and not _repeats_rotation(metadata, body):
        raise Refusal(ErrorCode.INVALID_PRODUCER_ID_MAPPING)


def _repeats_rotation(metadata: TransactionMetadata, body: EndTxnRequest) -> bool:
    """Whether the request repeats one that used up the producer id's epochs."""
    return (
        metadata.last_producer_id == body.producer_id
        and body.producer_epoch == EPOCH_EXHAUSTED
        and metadata.producer_epoch == 0
    )


def _of_version_2(metadata: TransactionMetadata, body: EndTxnRequest) -> TransactionState:
    """The table of transaction version 2, by state, result and epoch."""
    prepared = metadata.state in (S.PREPARE_COMMIT, S.PREPARE_ABORT)
    repeats = metadata.producer_epoch == body.producer_epoch + 1
    if not prepared:
        repeats = repeats or _repeats_rotation(metadata, body)
    current = metadata.producer_epoch == body.producer_epoch and metadata.producer_id == body.producer_id
    if not repeats and not current:
        raise Refusal(ErrorCode.PRODUCER_FENCED)
    if metadata.state == S.ONGOING:
        if repeats:
            raise Refusal(ErrorCode.PRODUCER_FENCED)
        return S.PREPARE_COMMIT if body.commits else S.PREPARE_ABORT
    if prepared:
        if current:
            raise Refusal(ErrorCode.PRODUCER_FENCED)
        same = _RESULTS[metadata.state] is body.commits
        raise Refusal(ErrorCode.CONCURRENT_TRANSACTIONS if same else ErrorCode.INVALID_TXN_STATE)
    if current:
        if body.commits:
            raise Refusal(ErrorCode.INVALID_TXN_STATE)
        return S.PREPARE_ABORT
    if metadata.state == S.EMPTY:
        raise Refusal(ErrorCode.PRODUCER_FENCED)
    same = _RESULTS[metadata.state] is body.commits
    raise Refusal(NO_ERROR if same else ErrorCode.INVALID_TXN_STATE)
