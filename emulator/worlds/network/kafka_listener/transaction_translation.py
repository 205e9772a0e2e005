"""Translation of requests about transactions (KIP-98, KIP-664).

There is no authorizer, so a client may also send what brokers send each other: WriteTxnMarkers (as the tool that ends a
hanging transaction does) and AddPartitionsToTxn from version 4 on.
"""

from collections.abc import Iterable
from typing import Any, Final

from emulator.worlds.network.kafka_listener.codec import KafkaRequest, within_62_bits
from emulator.worlds.network.kafka_listener.message_encoder import Fields
from emulator.worlds.network.kafka_listener.record_translation import by_topic, topics_answered
from protocol.errors import ErrorCode
from protocol.ids import LeaderEpoch, Offset
from protocol.messages import transactions as m
from protocol.messages.groups import GroupPartition, OffsetToCommit
from protocol.messages.leadership_messages import PartitionError

FIRST_COMMIT_WITH_LOADING: Final = 2
"""First TXN_OFFSET_COMMIT whose clients know COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296)."""


def init_producer_id(request: KafkaRequest) -> m.InitProducerIdRequest:
    body = request.body
    return m.InitProducerIdRequest(
        body.transactional_id, body.transaction_timeout_ms, within_62_bits(body.producer_id), body.producer_epoch
    )


def init_producer_id_answer(request: KafkaRequest, answer: m.InitProducerIdResponse) -> Fields:
    return {"error_code": answer.error, "producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}


# --- AddPartitionsToTxn, AddOffsetsToTxn ---


def add_partitions(request: KafkaRequest) -> m.AddPartitionsToTxnRequest:
    body = request.body
    if request.version < m.FIRST_BETWEEN_BROKERS:
        own = m.AddedPartitions(
            body.v3_and_below_transactional_id,
            within_62_bits(body.v3_and_below_producer_id),
            body.v3_and_below_producer_epoch,
            _partitions(body.v3_and_below_topics),
        )
        return m.AddPartitionsToTxnRequest([own])
    return m.AddPartitionsToTxnRequest(
        [
            m.AddedPartitions(
                one.transactional_id,
                within_62_bits(one.producer_id),
                one.producer_epoch,
                _partitions(one.topics),
                bool(one.verify_only),
            )
            for one in body.transactions
        ]
    )


def add_partitions_answer(request: KafkaRequest, answer: m.AddPartitionsToTxnResponse) -> Fields:
    results = [_added(one.partitions) for one in answer.transactions]
    if request.version < m.FIRST_BETWEEN_BROKERS:
        return {"results_by_topic_v3_and_below": results[0]}
    return {
        "results_by_transaction": [
            {"transactional_id": one.transactional_id, "topic_results": topics}
            for one, topics in zip(answer.transactions, results, strict=True)
        ]
    }


def _added(partitions: list[PartitionError]) -> list[Fields]:
    return topics_answered(
        partitions,
        lambda one: {"partition_index": one.partition, "partition_error_code": one.error},
        inside="results_by_partition",
    )


def add_offsets(request: KafkaRequest) -> m.AddOffsetsToTxnRequest:
    body = request.body
    return m.AddOffsetsToTxnRequest(
        body.transactional_id, within_62_bits(body.producer_id), body.producer_epoch, body.group_id
    )


def add_offsets_answer(request: KafkaRequest, answer: m.AddOffsetsToTxnResponse) -> Fields:
    return {"error_code": answer.error}


# --- EndTxn, WriteTxnMarkers ---


def end(request: KafkaRequest) -> m.EndTxnRequest:
    body = request.body
    return m.EndTxnRequest(
        body.transactional_id, within_62_bits(body.producer_id), body.producer_epoch, bool(body.committed)
    )


def end_answer(request: KafkaRequest, answer: m.EndTxnResponse) -> Fields:
    """Versions before 5 have no room for the next producer id."""
    return {"error_code": answer.error, "producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}


def write_markers(request: KafkaRequest) -> m.WriteTxnMarkersRequest | Fields:
    """Markers without a producer fail in MemoryRecordsBuilder, with an IllegalArgumentException."""
    markers = request.body.markers
    if any(one.producer_id < 0 or one.producer_epoch < 0 for one in markers):
        failed = [
            (one.producer_id, [PartitionError(*place, ErrorCode.UNKNOWN_SERVER_ERROR) for place in _places(one.topics)])
            for one in markers
        ]
        return {"markers": [_written(producer_id, partitions) for producer_id, partitions in failed]}
    return m.WriteTxnMarkersRequest(
        [
            m.TransactionMarkers(
                within_62_bits(one.producer_id),
                one.producer_epoch,
                bool(one.transaction_result),
                [GroupPartition(*place) for place in _places(one.topics)],
                one.coordinator_epoch,
                min(max(one.transaction_version, 0), m.TRANSACTION_VERSION_MAX),
            )
            for one in markers
        ]
    )


def write_markers_answer(request: KafkaRequest, answer: m.WriteTxnMarkersResponse) -> Fields:
    return {"markers": [_written(one.producer_id, one.partitions) for one in answer.markers]}


def _written(producer_id: int, partitions: list[PartitionError]) -> Fields:
    topics = topics_answered(partitions, lambda one: {"partition_index": one.partition, "error_code": one.error})
    return {"producer_id": producer_id, "topics": topics}


# --- TxnOffsetCommit ---


def commit_offsets(request: KafkaRequest) -> m.TxnOffsetCommitRequest | Fields:
    """Offsets without a producer fail here; Kafka commits them without a transaction."""
    body = request.body
    partitions = [
        OffsetToCommit(
            topic.name,
            one.partition_index,
            Offset(within_62_bits(one.committed_offset)),
            LeaderEpoch(one.committed_leader_epoch),
            one.committed_metadata or "",
        )
        for topic in body.topics
        for one in topic.partitions
    ]
    if body.producer_id < 0 or body.producer_epoch < 0:
        failed = [PartitionError(one.topic, one.partition, ErrorCode.UNKNOWN_SERVER_ERROR) for one in partitions]
        return _committed(request, failed)
    return m.TxnOffsetCommitRequest(
        body.transactional_id,
        body.group_id,
        within_62_bits(body.producer_id),
        body.producer_epoch,
        partitions,
        body.generation_id,
        body.member_id,
        body.group_instance_id,
    )


def commit_offsets_answer(request: KafkaRequest, answer: m.TxnOffsetCommitResponse) -> Fields:
    return _committed(request, answer.partitions)


def _committed(request: KafkaRequest, partitions: list[PartitionError]) -> Fields:
    def error_of(one: PartitionError) -> int:
        loads = one.error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and request.version < FIRST_COMMIT_WITH_LOADING
        return ErrorCode.COORDINATOR_NOT_AVAILABLE if loads else one.error

    topics = topics_answered(partitions, lambda one: {"partition_index": one.partition, "error_code": error_of(one)})
    return {"topics": topics}


# --- DescribeTransactions, ListTransactions ---


def describe(request: KafkaRequest) -> m.DescribeTransactionsRequest:
    return m.DescribeTransactionsRequest(list(request.body.transactional_ids))


def describe_answer(request: KafkaRequest, answer: m.DescribeTransactionsResponse) -> Fields:
    states = [
        {
            "error_code": one.error,
            "transactional_id": one.transactional_id,
            "transaction_state": one.state,
            "transaction_timeout_ms": one.timeout_ms,
            "transaction_start_time_ms": one.started_ms,
            "producer_id": one.producer_id,
            "producer_epoch": one.producer_epoch,
            "topics": [
                {"topic": topic, "partitions": [each.partition for each in those]}
                for topic, those in by_topic(one.partitions)
            ],
        }
        for one in answer.transactions
    ]
    return {"transaction_states": states}


def list_all(request: KafkaRequest) -> m.ListTransactionsRequest:
    body = request.body
    return m.ListTransactionsRequest(
        list(body.state_filters),
        [within_62_bits(one) for one in body.producer_id_filters],
        within_62_bits(body.duration_filter),
    )


def list_all_answer(request: KafkaRequest, answer: m.ListTransactionsResponse) -> Fields:
    states = [
        {"transactional_id": one.transactional_id, "producer_id": one.producer_id, "transaction_state": one.state}
        for one in answer.transactions
    ]
    return {
        "error_code": answer.error, "unknown_state_filters": answer.unknown_states, "transaction_states": states
    }  # fmt: skip


def _places(topics: Iterable[Any]) -> list[tuple[str, int]]:
    return [(topic.name, number) for topic in topics for number in topic.partition_indexes]


def _partitions(topics: Iterable[Any]) -> list[GroupPartition]:
    return [GroupPartition(topic.name, number) for topic in topics for number in topic.partitions]
