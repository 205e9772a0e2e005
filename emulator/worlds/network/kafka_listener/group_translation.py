"""Translation of FindCoordinator, OffsetCommit, OffsetFetch and OffsetDelete."""

from emulator.worlds.network.kafka_listener.codec import KafkaRequest, within_62_bits
from emulator.worlds.network.kafka_listener.message_encoder import Fields
from emulator.worlds.network.kafka_listener.record_translation import topics_answered
from protocol.errors import ErrorCode
from protocol.ids import LeaderEpoch, Offset
from protocol.messages.groups import (
    GROUP_KEY,
    TRANSACTION_KEY,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupPartition,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)


def find_coordinator(request: KafkaRequest) -> FindCoordinatorRequest | Fields:
    """CoordinatorType.forId fails for an unknown type, with an IllegalArgumentException."""
    key_type = request.body.key_type
    if key_type not in (GROUP_KEY, TRANSACTION_KEY):
        return _no_coordinator(ErrorCode.UNKNOWN_SERVER_ERROR, f"Unknown coordinator type received: {key_type}")
    return FindCoordinatorRequest(request.body.key, key_type)


def find_coordinator_answer(request: KafkaRequest, answer: FindCoordinatorResponse) -> Fields:
    address = request.listener.place.brokers.get(answer.node)
    error = ErrorCode(answer.error)
    if address is None:
        return _no_coordinator(error or ErrorCode.COORDINATOR_NOT_AVAILABLE, None)
    host, port = address
    return {"error_code": error, "error_message": None, "node_id": answer.broker, "host": host, "port": port}


def _no_coordinator(error: ErrorCode, message: str | None) -> Fields:
    return {"error_code": error, "error_message": message, "node_id": -1, "host": "", "port": -1}


def offset_commit(request: KafkaRequest) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        request.body.group_id,
        [
            OffsetToCommit(
                topic.name,
                one.partition_index,
                Offset(within_62_bits(one.committed_offset)),
                LeaderEpoch(one.committed_leader_epoch),
                one.committed_metadata or "",
            )
            for topic in request.body.topics
            for one in topic.partitions
        ],
        request.body.generation_id_or_member_epoch,
        request.body.member_id,
        request.body.group_instance_id,
    )


def offset_commit_answer(request: KafkaRequest, answer: OffsetCommitResponse) -> Fields:
    topics = topics_answered(
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "error_code": one.error,
        },
    )
    return {"topics": topics}


def offset_fetch(request: KafkaRequest) -> OffsetFetchRequest:
    """Null topics (version 2 and later) select all offsets that the group has committed."""
    if request.body.topics is None:
        return OffsetFetchRequest(
            request.body.group_id, [], everything=True, stable=bool(request.body.require_stable)
        )
    return OffsetFetchRequest(
        request.body.group_id,
        [GroupPartition(topic.name, one) for topic in request.body.topics for one in topic.partition_indexes],
        stable=bool(request.body.require_stable),
    )


def offset_fetch_answer(request: KafkaRequest, answer: OffsetFetchResponse) -> Fields:
    """Up to version 1 each partition carries the group's error."""
    if answer.error and request.version < 2:
        topics = [
            {
                "name": topic.name,
                "partitions": [
                    {"partition_index": one, "committed_offset": -1, "metadata": "", "error_code": answer.error}
                    for one in topic.partition_indexes
                ],
            }
            for topic in request.body.topics or ()
        ]
    else:
        topics = topics_answered(
            answer.partitions,
            lambda one: {
                "partition_index": one.partition,
                "committed_offset": one.offset,
                "committed_leader_epoch": one.leader_epoch,
                "metadata": one.metadata,
                "error_code": one.error,
            },
        )
    return {"topics": topics, "error_code": answer.error}


def offset_delete(request: KafkaRequest) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        request.body.group_id,
        [GroupPartition(topic.name, one.partition_index) for topic in request.body.topics for one in topic.partitions],
    )


def offset_delete_answer(request: KafkaRequest, answer: OffsetDeleteResponse) -> Fields:
    topics = topics_answered(
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "error_code": one.error,
        },
    )
    return {"error_code": answer.error, "topics": topics}
