"""Translation of requests about the cluster and its topics.

ApiVersions, Metadata, CreateTopics, CreatePartitions, DeleteTopics, DeleteRecords, SaslHandshake.
"""

from typing import Any, Final
from uuid import UUID

from emulator.machines.broker.coordinator_lookup import INTERNAL_TOPICS
from emulator.worlds.network.kafka_listener.codec import KafkaRequest, within_62_bits
from emulator.worlds.network.kafka_listener.config_translation import fields_of
from emulator.worlds.network.kafka_listener.message_encoder import Fields
from emulator.worlds.network.kafka_listener.record_translation import by_topic, topics_answered
from protocol.errors import ErrorCode
from protocol.framing import ProtocolError
from protocol.ids import NO_LEADER, BrokerId
from protocol.messages.administration import (
    TOPICS_MAX,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    GrownTopic,
    NewTopic,
    PlacedPartition,
)
from protocol.messages.leadership_messages import MetadataRequest, MetadataResponse, PartitionMetadata
from protocol.messages.transactions import TRANSACTION_VERSION_MAX

FIRST_WITH_A_SAY: Final = 4
"""First version of METADATA with `allow_auto_topic_creation`."""
FIRST_WITH_MISSING_LISTENERS: Final = 6
"""First version of METADATA with LISTENER_NOT_FOUND."""
FIRST_WITH_TOPIC_IDS: Final = 6
"""First version of DELETE_TOPICS with topic ids."""
NO_ID: Final = UUID(int=0)
"""Id of a topic without one: all topics here, as with inter.broker.protocol.version < 2.8."""
NO_NAME: Final = ""
CONCERNS_EVERY_TOPIC: Final = (ErrorCode.NOT_CONTROLLER, ErrorCode.TOPIC_DELETION_DISABLED)
TRANSACTION_VERSION: Final = "transaction.version"
FIRST_WITH_FEATURES_FROM_ZERO: Final = 4
"""First version of APIVERSIONS that lists supported features of level 0 (KAFKA-17492)."""
FIRST_THAT_NAMES_ITSELF: Final = 3
"""First version of APIVERSIONS whose brokers list its versions beside UNSUPPORTED_VERSION."""


def api_versions(request: KafkaRequest) -> Fields:
    """ApiVersions response.

    A request in an unsupported version gets an error, from 2.4 on with the supported versions (KIP-511). The only
    feature here is transaction.version, as the cluster's storage tool has finalized it (KIP-890).
    """
    error, spoken = ErrorCode.NONE, request.listener.apis
    if request.body is None:
        error, this = ErrorCode.UNSUPPORTED_VERSION, spoken[request.api]
        spoken = {request.api: this} if this.most >= FIRST_THAT_NAMES_ITSELF else {}
    keys = [{"api_key": key, "min_version": range_.least, "max_version": range_.most} for key, range_ in spoken.items()]
    answer: Fields = {"error_code": error, "api_keys": keys}
    level = request.listener.gates.transaction_version
    if level and error == ErrorCode.NONE:
        supported = {"name": TRANSACTION_VERSION, "min_version": 0, "max_version": TRANSACTION_VERSION_MAX}
        finalized = {"name": TRANSACTION_VERSION, "max_version_level": level, "min_version_level": level}
        names_zero = request.version >= FIRST_WITH_FEATURES_FROM_ZERO
        answer["supported_features"] = [supported] if names_zero else []
        answer["finalized_features"], answer["finalized_features_epoch"] = [finalized], 0
    return answer


def sasl_refused(request: KafkaRequest) -> Fields:
    """The response of a broker on a listener without SASL."""
    return {"error_code": ErrorCode.ILLEGAL_SASL_STATE, "mechanisms": []}


# --- Metadata ---


def metadata(request: KafkaRequest) -> MetadataRequest:
    """The machine's metadata request; an empty list of topics means all topics.

    In Kafka an empty list means that in version 0, null does from version 1 on. Up to version 3 a client cannot prevent
    the creation of topics.
    """
    makes = request.version < FIRST_WITH_A_SAY or request.body.allow_auto_topic_creation
    return MetadataRequest([topic.name for topic in request.body.topics or ()], bool(makes))


def metadata_answer(request: KafkaRequest, answer: MetadataResponse) -> Fields:
    """Brokers have the addresses advertised to clients of this AZ."""
    alive = {one.broker for one in answer.brokers} if request.version == 0 else None
    topics = [] if request.version >= 1 and request.body.topics == [] else answer.partitions
    brokers = [
        {"node_id": one.broker, "host": host, "port": port, "rack": one.rack or None}
        for one, (host, port) in request.listener.place.found(answer.brokers)
    ]
    return {
        "brokers": brokers,
        "cluster_id": request.listener.place.cluster,
        "controller_id": answer.controller,
        "topics": [_topic(request, topic, those, alive) for topic, those in by_topic(topics)],
    }


def _topic(
    request: KafkaRequest, topic: str, partitions: list[PartitionMetadata], alive: set[BrokerId] | None
) -> Fields:
    """A topic's entry; that of an unknown topic carries the error and has no partition.

    `alive`: registered brokers, for version 0 only. It lists no replica on a dead broker, and answers 9 if one is
    missing (MetadataCache.getPartitionMetadata).
    """
    known = [one for one in partitions if one.partition >= 0]
    return {
        "error_code": ErrorCode.NONE if known else partitions[0].error,
        "name": topic,
        "is_internal": topic in INTERNAL_TOPICS,
        "partitions": [
            {
                "error_code": _partition_error(request.version, one, alive),
                "partition_index": one.partition,
                "leader_id": max(one.leader, NO_LEADER),
                "leader_epoch": one.leader_epoch,
                "replica_nodes": _listed(one.replicas, alive),
                "isr_nodes": _listed(one.isr, alive),
                "offline_replicas": one.offline_replicas,
            }
            for one in known
        ],
    }


def _listed(brokers: list[BrokerId], alive: set[BrokerId] | None) -> list[BrokerId]:
    return brokers if alive is None else [one for one in brokers if one in alive]


def _partition_error(version: int, one: PartitionMetadata, alive: set[BrokerId] | None) -> int:
    if one.error == ErrorCode.LISTENER_NOT_FOUND and version < FIRST_WITH_MISSING_LISTENERS:
        return ErrorCode.LEADER_NOT_AVAILABLE
    missing = alive is not None and not alive.issuperset((*one.replicas, *one.isr))
    return ErrorCode.REPLICA_NOT_AVAILABLE if missing and not one.error else one.error


# --- topics made, grown and deleted ---


def create_topics(request: KafkaRequest) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        [
            NewTopic(
                one.name,
                one.num_partitions,
                one.replication_factor,
                [
                    PlacedPartition(placed.partition_index, [BrokerId(broker) for broker in placed.broker_ids])
                    for placed in one.assignments
                ],
                {config.name: config.value for config in one.configs},
            )
            for one in request.body.topics
        ],
        max(0, request.body.timeout_ms),
        bool(request.body.validate_only),
    )


def create_topics_answer(request: KafkaRequest, answer: CreateTopicsResponse) -> Fields:
    topics = [
        {
            "name": one.topic,
            "topic_id": NO_ID,
            "error_code": one.error,
            "error_message": one.message or None,
            "num_partitions": one.partitions,
            "replication_factor": one.replication_factor,
            "configs": [  # never null, at which Java's client fails
                fields_of(setting) for setting in one.settings
            ],
        }
        for one in answer.topics
    ]
    return {"topics": topics}


def create_partitions(request: KafkaRequest) -> CreatePartitionsRequest:
    return CreatePartitionsRequest(
        [
            GrownTopic(
                one.name,
                one.count,
                None
                if one.assignments is None
                else [[BrokerId(broker) for broker in placed.broker_ids] for placed in one.assignments],
            )
            for one in request.body.topics
        ],
        max(0, request.body.timeout_ms),
        bool(request.body.validate_only),
    )


def create_partitions_answer(request: KafkaRequest, answer: CreatePartitionsResponse) -> Fields:
    results = [
        {"name": one.topic, "error_code": one.error, "error_message": one.message or None} for one in answer.topics
    ]
    return {"results": results}


def delete_topics(request: KafkaRequest) -> DeleteTopicsRequest:
    """The machine's request to delete topics.

    Version 6 may name a topic by an id, which no topic has here. NO_NAME replaces each id, so that errors of all topics
    (NOT_CONTROLLER) are answered for these, too.
    """
    body = request.body
    if request.version < FIRST_WITH_TOPIC_IDS:
        names = list(body.topic_names)
    elif any(_has_both(one) for one in body.topics):
        names = []
    else:
        names = [one.name or NO_NAME for one in body.topics]
    if len(names) > TOPICS_MAX:
        reason = f"{len(names)} topics; at most {TOPICS_MAX} may be"
        raise ProtocolError(f"{request.name} version {request.version}: {reason}")
    return DeleteTopicsRequest(names, max(0, body.timeout_ms))


def delete_topics_answer(request: KafkaRequest, answer: DeleteTopicsResponse) -> Fields:
    if request.version >= FIRST_WITH_TOPIC_IDS:
        return _deleted_by_name_or_id(request, answer)
    responses = [
        {"name": one.topic, "error_code": one.error, "error_message": one.message or None} for one in answer.topics
    ]
    return {"responses": responses}


def _has_both(topic: Any) -> bool:
    return topic.name is not None and _id_of(topic) != NO_ID


def _id_of(topic: Any) -> UUID:
    """A topic's id in version 6; zeros for none."""
    return topic.topic_id or NO_ID


def _deleted_by_name_or_id(request: KafkaRequest, answer: DeleteTopicsResponse) -> Fields:
    """KafkaApis.handleDeleteTopicsRequest, of a cluster in which no topic has an id."""
    topics = request.body.topics
    if any(_has_both(one) for one in topics):
        both = "Topic name and topic ID can not both be specified."
        results = [(one.name, _id_of(one), int(ErrorCode.INVALID_REQUEST), both) for one in topics]
    else:
        results = []
        for one, result in zip(topics, answer.topics, strict=True):
            error = result.error
            if one.name is None and error not in CONCERNS_EVERY_TOPIC:
                error = ErrorCode.UNKNOWN_TOPIC_ID if _id_of(one) != NO_ID else ErrorCode.INVALID_REQUEST
            results.append((one.name, _id_of(one), error, result.message))
    responses = [
        {"name": name, "topic_id": id_, "error_code": error, "error_message": why or None}
        for name, id_, error, why in results
    ]
    return {"responses": responses}


def delete_records(request: KafkaRequest) -> DeleteRecordsRequest:
    partitions = [
        DeleteRecordsPartition(topic.name, one.partition_index, within_62_bits(one.offset))
        for topic in request.body.topics
        for one in topic.partitions
    ]
    return DeleteRecordsRequest(partitions, max(0, request.body.timeout_ms))


def delete_records_answer(request: KafkaRequest, answer: DeleteRecordsResponse) -> Fields:
    topics = topics_answered(
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "low_watermark": one.low_watermark,
            "error_code": one.error,
        },
    )
    return {"topics": topics}
