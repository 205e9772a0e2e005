"""DescribeTransactions and ListTransactions, at the coordinator (KIP-664)."""

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.transaction_log import Refusal, TransactionLog
from emulator.machines.broker.transaction_metadata import PREPARED
from protocol.errors import ErrorCode
from protocol.messages.groups import GroupPartition
from protocol.messages.transactions import (
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from protocol.records.transaction_states import TransactionState

_OPEN = PREPARED | {TransactionState.ONGOING}
_NAMES = {state.text for state in TransactionState}


class TransactionQueries:
    """Answers both requests."""

    def __init__(self, context: BrokerContext, log: TransactionLog) -> None:
        self._context = context
        self._log = log

    def describe(self, body: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
        """State of each id (TransactionCoordinator.handleDescribeTransactions)."""
        return DescribeTransactionsResponse([self._described(one) for one in body.transactional_ids])

    def _described(self, transactional_id: str) -> DescribedTransaction:
        if not transactional_id:
            return DescribedTransaction(transactional_id, ErrorCode.INVALID_REQUEST)
        try:
            held = self._log.find(transactional_id)
        except Refusal as refusal:
            return DescribedTransaction(transactional_id, refusal.error)
        if held is None or held.metadata.state == TransactionState.DEAD:
            return DescribedTransaction(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        known = held.metadata
        return DescribedTransaction(
            transactional_id,
            ErrorCode.NONE,
            known.state.text,
            known.timeout_ms,
            known.started_ms if known.state in _OPEN else -1,
            known.producer_id,
            known.producer_epoch,
            [GroupPartition(*topic_partition) for topic_partition in sorted(known.partitions)],
        )

    def list(self, body: ListTransactionsRequest) -> ListTransactionsResponse:
        """The ids that pass the filters (TransactionStateManager.listTransactionStates)."""
        if self._log.loading:
            return ListTransactionsResponse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        unknown = [name for name in body.states if name not in _NAMES]
        states = set(body.states) - set(unknown)
        now_ms = int(self._context.now.wall_ms)
        found = [
            ListedTransaction(one.metadata.transactional_id, one.metadata.producer_id, one.metadata.state.text)
            for one in self._log.all_held()
            if one.metadata.state != TransactionState.DEAD
            and (not body.producer_ids or one.metadata.producer_id in body.producer_ids)
            and (not body.states or one.metadata.state.text in states)
            and (body.longer_than_ms < 0 or 0 <= one.metadata.started_ms <= now_ms - body.longer_than_ms)
        ]
        return ListTransactionsResponse(ErrorCode.NONE, unknown, found)
