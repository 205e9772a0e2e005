"""Translation of requests about records; batches pass through as bytes.

Produce, Fetch, ListOffsets, OffsetForLeaderEpoch.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, Final

from emulator.worlds.network.kafka_listener.codec import KafkaRequest, within_62_bits, write_response
from emulator.worlds.network.kafka_listener.message_encoder import Fields
from emulator.worlds.network.kafka_listener.record_validation import (
    FIRST_WITH_BATCHES,
    Allowance,
    is_transactional,
    magic_of,
    validate,
)
from emulator.worlds.network.mailbox import AnsweredHere
from protocol.errors import ErrorCode
from protocol.ids import NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    EpochRequest,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
)
from protocol.records.format import BATCH_MAGIC

FETCH_BYTES_MAX: Final = 24 * 1024 * 1024
"""Maximum bytes of one response; a connection's send buffer holds it for a slow client."""
NO_SESSION: Final = 0
ISOLATION_LEVELS: Final = (READ_UNCOMMITTED, READ_COMMITTED)
NO_ANSWER: Final = b""


def by_topic(partitions: Iterable[Any]) -> Iterator[tuple[str, list[Any]]]:
    """(topic, its partitions), in the order of the request.

    Kafka's responses have a list of partitions for each topic; our messages have one list.
    """
    for topic, those in groupby(partitions, key=lambda one: one.topic):
        yield topic, list(those)


def topics_answered(
    partitions: Iterable[Any],
    fields: Callable[[Any], Fields],
    *,
    topic: str = "name",
    inside: str = "partitions",
) -> list[Fields]:
    """Topics of a response.

    `fields`: a partition's values. `topic`, `inside`: names of the topic's fields for its name and its partitions.
    """
    return [{topic: name, inside: [fields(one) for one in those]} for name, those in by_topic(partitions)]


# --- Produce ---


def produce(request: KafkaRequest) -> Message:
    """The machine's produce request; acks=0 becomes acks=1.

    So the listener learns the outcome, which it does not send to the client.
    """
    body = request.body
    partitions = _partitions_of(request)
    error = _refusal(request)
    if error:
        frame = NO_ANSWER if body.acks == 0 else write_response(request, produce_error(request, error))
        return AnsweredHere(frame, error, ProduceRequest(1, 0, partitions))
    return ProduceRequest(body.acks or 1, max(0, body.timeout_ms), partitions, body.transactional_id)


def _partitions_of(request: KafkaRequest) -> list[ProducePartition]:
    """The partitions of a produce, their records validated. Raises ProtocolError."""
    topics = request.body.topic_data
    of = [(topic.name, one.index, one.records or b"") for topic in topics for one in topic.partition_data]
    allowance = Allowance(sum(len(records) for _, _, records in of))
    newest = request.listener.apis[request.api].most
    partitions = []
    for topic, index, records in of:
        fault, unread = validate(records, request.version, newest, allowance)
        partitions.append(ProducePartition(topic, index, b"" if unread else records, int(fault)))
    return partitions


def _refusal(request: KafkaRequest) -> ErrorCode:
    """The error with which the listener itself refuses a produce; NONE: it accepts it.

    It refuses records of another format than the broker's log has (Kafka converts them), and transactional ones without
    a transactional id.
    """
    body, magic = request.body, request.listener.magic
    if body.acks not in (-1, 0, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    for topic in body.topic_data:
        for one in topic.partition_data:
            has = magic_of(one.records or b"")
            if has not in (None, magic) and (has == BATCH_MAGIC or request.version < FIRST_WITH_BATCHES):
                return ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
            if has == BATCH_MAGIC and body.transactional_id is None and is_transactional(one.records):
                return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return ErrorCode.NONE


def produce_answer(request: KafkaRequest, answer: ProduceResponse) -> Fields:
    topics = topics_answered(
        answer.partitions,
        lambda one: {
            "index": one.partition,
            "error_code": one.error,
            "base_offset": one.base_offset,
            "log_start_offset": one.log_start,
        },
        inside="partition_responses",
    )
    return {"responses": topics}


def produce_error(request: KafkaRequest, error: ErrorCode) -> Fields:
    """A response with the same error for every partition."""
    topics = [
        {
            "name": topic.name,
            "partition_responses": [
                {"index": one.index, "error_code": error, "base_offset": -1} for one in topic.partition_data
            ],
        }
        for topic in request.body.topic_data
    ]
    return {"responses": topics}


# --- Fetch ---


def fetch(request: KafkaRequest) -> FetchRequest | Fields:
    """A consumer's fetch: followers authenticate with this run's token and use another port.

    The listener keeps no fetch sessions (KIP-227). It answers a request for one with session 0, as a broker whose cache
    is full does. IsolationLevel.forId fails for an unknown level, with an IllegalArgumentException.
    """
    body, version = request.body, request.version
    if body.isolation_level not in ISOLATION_LEVELS:
        return _fetch_failed(request)
    if body.session_id != NO_SESSION:
        return {"error_code": ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "session_id": NO_SESSION, "responses": []}
    partitions = [
        FetchPartition(
            topic.topic,
            one.partition,
            Offset(within_62_bits(one.fetch_offset)),
            max(0, min(one.partition_max_bytes, FETCH_BYTES_MAX)),
            current_leader_epoch=LeaderEpoch(one.current_leader_epoch),
            last_fetched_epoch=LeaderEpoch(one.last_fetched_epoch) if version >= 12 else LeaderEpoch(-1),
        )
        for topic in body.topics
        for one in topic.partitions
    ]
    at_most = max(0, min(body.max_bytes, FETCH_BYTES_MAX))
    return FetchRequest(
        CONSUMER_REPLICA_ID, max(0, body.max_wait_ms), max(0, body.min_bytes), at_most, partitions,
        isolation=body.isolation_level, rack=body.rack_id,
    )  # fmt: skip


def _fetch_failed(request: KafkaRequest) -> Fields:
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    topics = [
        {
            "topic": topic.topic,
            "partitions": [
                {"partition_index": one.partition, "error_code": error, "high_watermark": -1}
                for one in topic.partitions
            ],
        }
        for topic in request.body.topics
    ]
    return {"error_code": error, "session_id": NO_SESSION, "responses": topics}


def fetch_answer(request: KafkaRequest, answer: FetchResponse) -> Fields:
    committed = request.body.isolation_level == READ_COMMITTED
    has_stable = committed or request.listener.gates.fetch_always_has_last_stable_offset
    topics = topics_answered(
        answer.partitions,
        lambda one: _fetched(one, committed=committed, has_stable=has_stable),
        topic="topic",
    )
    return {"responses": topics, "session_id": NO_SESSION}


def _fetched(one: FetchedPartition, *, committed: bool, has_stable: bool) -> Fields:
    """A partition's entry.

    Its aborted transactions are null at read_uncommitted, and with an error.
    """
    diverging = one.diverging_epoch
    stable = one.last_stable_offset if one.last_stable_offset >= 0 else one.high_watermark
    aborted = [{"producer_id": each.producer_id, "first_offset": each.first_offset} for each in one.aborted]
    return {
        "partition_index": one.partition,
        "error_code": one.error,
        "high_watermark": one.high_watermark,
        "last_stable_offset": stable if has_stable else NO_OFFSET,
        "log_start_offset": one.log_start if one.error == ErrorCode.NONE else -1,
        "diverging_epoch": None
        if diverging is None
        else {"epoch": diverging.epoch, "end_offset": diverging.end_offset},
        "preferred_read_replica": one.preferred_replica,
        "aborted_transactions": aborted if committed and one.error == ErrorCode.NONE else None,
        "records": one.records,
    }


# --- offsets and epochs ---


def list_offsets(request: KafkaRequest) -> ListOffsetsRequest | Fields:
    """Version 0, of 0.10.0 and before, requests the base offsets of segments."""
    if request.body.isolation_level not in ISOLATION_LEVELS:
        failed = [
            ListedOffset(topic.name, one.partition_index, ErrorCode.UNKNOWN_SERVER_ERROR)
            for topic in request.body.topics
            for one in topic.partitions
        ]
        return list_offsets_answer(request, ListOffsetsResponse(failed))
    return ListOffsetsRequest(
        CONSUMER_REPLICA_ID,
        [
            ListOffsetsPartition(
                topic.name,
                one.partition_index,
                within_62_bits(one.timestamp),
                LeaderEpoch(one.current_leader_epoch),
                one.max_num_offsets if request.version == 0 else None,
            )
            for topic in request.body.topics
            for one in topic.partitions
        ],
        request.body.isolation_level,
    )


def list_offsets_answer(request: KafkaRequest, answer: ListOffsetsResponse) -> Fields:
    topics = topics_answered(
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "error_code": one.error,
            "timestamp": one.timestamp_ms,
            "offset": one.offset,
            "old_style_offsets": one.offsets,
            "leader_epoch": one.leader_epoch,
        },
    )
    return {"topics": topics}


def leader_epochs(request: KafkaRequest) -> OffsetForLeaderEpochRequest:
    return OffsetForLeaderEpochRequest(
        [
            EpochRequest(
                topic.topic, one.partition, LeaderEpoch(one.leader_epoch), LeaderEpoch(one.current_leader_epoch)
            )
            for topic in request.body.topics
            for one in topic.partitions
        ],
        BrokerId(CONSUMER_REPLICA_ID),
    )


def leader_epochs_answer(request: KafkaRequest, answer: OffsetForLeaderEpochResponse) -> Fields:
    topics = topics_answered(
        answer.partitions,
        lambda one: {
            "error_code": one.error,
            "partition": one.partition,
            "leader_epoch": one.leader_epoch,
            "end_offset": one.end_offset,
        },
        topic="topic",
    )
    return {"topics": topics}
