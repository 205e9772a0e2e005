"""Blocks of producer ids for brokers: AllocateProducerIds at the active controller.

KIP-730.

Source: ProducerIdControlManager.generateNextProducerId.
"""

from typing import Final

from controller.kraft.cluster_view import ClusterView
from protocol.errors import ErrorCode
from protocol.messages.transactions import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from protocol.records.metadata_records import MetadataRecord, ProducerIdsRecord

BLOCK_IDS: Final = 1_000
"""Ids of a block (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE)."""


def allocate_producer_ids(
    view: ClusterView, request: AllocateProducerIdsRequest
) -> tuple[list[MetadataRecord], AllocateProducerIdsResponse]:
    """The next block, and the record that takes it; ids are never used again."""
    registration = view.image.brokers.get(request.broker)
    if registration is None:
        return [], AllocateProducerIdsResponse(ErrorCode.BROKER_ID_NOT_REGISTERED)
    if registration.epoch != request.broker_epoch:
        return [], AllocateProducerIdsResponse(ErrorCode.STALE_BROKER_EPOCH)
    first = view.image.next_producer_id
    record = ProducerIdsRecord(request.broker, request.broker_epoch, first + BLOCK_IDS)
    return [record], AllocateProducerIdsResponse(ErrorCode.NONE, first, BLOCK_IDS)
