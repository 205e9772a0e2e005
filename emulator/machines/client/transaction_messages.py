"""Requests of a transactional producer, with the version that client and brokers know."""

from collections.abc import Mapping, Sequence

from emulator.machines.client.client_settings import ProducerSettings
from emulator.machines.client.client_state import NO_MEMBER, Identity
from emulator.machines.client.offset_store import Committed, GroupOperations
from emulator.machines.client.producer_sequences import Sequences
from emulator.machines.client.transaction_behaviour import TransactionBehaviour
from emulator.machines.client.transaction_requests import TransactionRequest
from protocol.ids import TopicPartition
from protocol.messages.groups import GroupPartition, OffsetToCommit
from protocol.messages.transactions import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    AddedPartitions,
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)


class TransactionMessages:
    """Builds requests under the identity that `sequences` has."""

    def __init__(self, settings: ProducerSettings, behaviour: TransactionBehaviour, sequences: Sequences) -> None:
        self._settings = settings
        self._behaviour = behaviour
        self._sequences = sequences

    def identity(self) -> tuple[int, int]:
        """Producer id and epoch, -1 without."""
        return self._sequences.producer_id, self._sequences.producer_epoch

    def init(self, *, priority: int | None = None, continues: bool) -> TransactionRequest:
        """Request of an id; `continues`: with another epoch of the present one."""
        settings = self._settings
        identity = self.identity() if continues else (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        message = InitProducerIdRequest(settings.transactional_id, int(settings.transaction_timeout_ms), *identity)
        return TransactionRequest("init", message, self._version("InitProducerId"), priority=priority)

    def partitions(self, partitions: Sequence[TopicPartition]) -> TransactionRequest:
        """AddPartitionsToTxn."""
        places = [GroupPartition(*one) for one in partitions]
        added = AddedPartitions(self._settings.transactional_id, *self.identity(), places)
        message = AddPartitionsToTxnRequest([added])
        request = TransactionRequest("add-partitions", message, self._version("AddPartitionsToTxn"))
        request.partitions = list(partitions)
        return request

    def group(
        self,
        group: str,
        offsets: Mapping[TopicPartition, Committed],
        operations: GroupOperations,
        identity: Identity,
    ) -> TransactionRequest:
        """AddOffsetsToTxn, which precedes the offsets."""
        message = AddOffsetsToTxnRequest(self._settings.transactional_id, *self.identity(), group)
        request = TransactionRequest("add-offsets", message, self._version("AddOffsetsToTxn"))
        request.group, request.offsets, request.operations, request.identity = group, offsets, operations, identity
        return request

    def offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, Committed],
        operations: GroupOperations,
        identity: Identity,
    ) -> TransactionRequest:
        """TxnOffsetCommit, with the consumer's identity as far as both sides know it (KIP-447)."""
        known = identity if self._behaviour.names_group else NO_MEMBER
        message = TxnOffsetCommitRequest(
            self._settings.transactional_id, group, *self.identity(),
            [OffsetToCommit(*key, each.offset, each.leader_epoch) for key, each in offsets.items()],
            known.generation, known.member, known.instance,
        )  # fmt: skip
        request = TransactionRequest("offsets", message, self._version("TxnOffsetCommit"), coordinator="group")
        request.group, request.offsets, request.operations, request.identity = group, offsets, operations, identity
        return request

    def end(self, *, commits: bool) -> TransactionRequest:
        """EndTxn."""
        message = EndTxnRequest(self._settings.transactional_id, *self.identity(), commits)
        return TransactionRequest("end", message, self._version("EndTxn"))

    def _version(self, api: str) -> int:
        return self._behaviour.request_version(api)
