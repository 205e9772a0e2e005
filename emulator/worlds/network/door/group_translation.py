"""Translation of FindCoordinator, OffsetCommit, OffsetFetch and OffsetDelete."""

from typing import Any

from emulator.worlds.network.door.codec import Asked, part, response, within_62_bits
from emulator.worlds.network.door.place import Place
from emulator.worlds.network.door.record_translation import topics_answered
from protocol.errors import ErrorCode
from protocol.ids import LeaderEpoch, Offset
from protocol.messages.groups import (
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

GROUP = 0
TRANSACTION = 1
"""`key_type`: the coordinator of a transactional id."""


def find_coordinator(body: Any) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(body.key)


def find_coordinator_answer(request: Asked, answer: FindCoordinatorResponse, place: Place) -> Any:
    address = place.brokers.get(answer.node)
    error = ErrorCode(answer.error)
    if address is None:
        error = error or ErrorCode.COORDINATOR_NOT_AVAILABLE
        return response(request.api, error_code=error, error_message=None, node_id=-1, host="", port=-1)
    host, port = address
    return response(
        request.api, error_code=error, error_message=None, node_id=answer.broker, host=host, port=port
    )  # fmt: skip


def unknown_coordinator(request: Asked) -> Any:
    """CoordinatorType.forId fails with an IllegalArgumentException."""
    return response(
        request.api,
        error_code=ErrorCode.UNKNOWN_SERVER_ERROR,
        error_message=f"Unknown coordinator type received: {request.body.key_type}",
        node_id=-1,
        host="",
        port=-1,
    )


def no_transactions(request: Asked) -> Any:
    return response(
        request.api,
        error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        error_message="transactions are not emulated",
        node_id=-1,
        host="",
        port=-1,
    )


def offset_commit(body: Any) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        body.group_id,
        [
            OffsetToCommit(
                topic.name,
                one.partition_index,
                Offset(within_62_bits(one.committed_offset)),
                LeaderEpoch(one.committed_leader_epoch),
                one.committed_metadata or "",
            )
            for topic in body.topics
            for one in topic.partitions
        ],
        body.generation_id_or_member_epoch,
        body.member_id,
        body.group_instance_id,
    )


def offset_commit_answer(request: Asked, answer: OffsetCommitResponse) -> Any:
    topics = topics_answered(
        request.api,
        "OffsetCommitResponseTopic.OffsetCommitResponsePartition",
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "error_code": one.error,
        },
    )
    return response(request.api, topics=topics)


def offset_fetch(body: Any) -> OffsetFetchRequest:
    """Null topics (version 2 and later) select all offsets that the group has committed."""
    if body.topics is None:
        return OffsetFetchRequest(body.group_id, [], everything=True)
    return OffsetFetchRequest(
        body.group_id,
        [GroupPartition(topic.name, one) for topic in body.topics for one in topic.partition_indexes],
    )


def offset_fetch_answer(request: Asked, answer: OffsetFetchResponse) -> Any:
    """Up to version 1 each partition carries the group's error."""
    topic_of, partition_of = "OffsetFetchResponseTopic", "OffsetFetchResponseTopic.OffsetFetchResponsePartition"
    if answer.error and request.version < 2:
        topics = [
            part(
                request.api,
                topic_of,
                name=topic.name,
                partitions=[
                    part(request.api, partition_of, partition_index=one, committed_offset=-1, metadata="",
                         error_code=answer.error)
                    for one in topic.partition_indexes
                ],
            )
            for topic in request.body.topics or ()
        ]  # fmt: skip
    else:
        topics = topics_answered(
            request.api,
            partition_of,
            answer.partitions,
            lambda one: {
                "partition_index": one.partition,
                "committed_offset": one.offset,
                "committed_leader_epoch": one.leader_epoch,
                "metadata": one.metadata,
                "error_code": ErrorCode.NONE,
            },
        )
    return response(request.api, topics=topics, error_code=answer.error)


def offset_delete(body: Any) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        body.group_id,
        [GroupPartition(topic.name, one.partition_index) for topic in body.topics for one in topic.partitions],
    )


def offset_delete_answer(request: Asked, answer: OffsetDeleteResponse) -> Any:
    topics = topics_answered(
        request.api,
        "OffsetDeleteResponseTopic.OffsetDeleteResponsePartition",
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "error_code": one.error,
        },
    )
    return response(request.api, error_code=answer.error, topics=topics)
