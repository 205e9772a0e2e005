"""Kafka's requests about the cluster and its topics, and the answers back: ApiVersions, Metadata, CreateTopics,
CreatePartitions, DeleteTopics, DeleteRecords, SaslHandshake."""

from typing import Any, Final
from uuid import UUID

from emulator.worlds.network.door.apis import Range
from emulator.worlds.network.door.codec import Asked, part, response, within_62_bits, write_response
from emulator.worlds.network.door.config_translation import fields_of
from emulator.worlds.network.door.place import Place
from emulator.worlds.network.door.record_translation import by_topic, topics_answered
from protocol.errors import ErrorCode
from protocol.ids import NO_LEADER, BrokerId
from protocol.messages.administration import (
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
from protocol.records.offset_commits import OFFSETS_TOPIC

FIRST_WITH_A_SAY: Final = 4
"""Version of METADATA from which on a client says whether topics may be made."""
FIRST_WITH_TOPIC_IDS: Final = 6
"""Version of DELETE_TOPICS."""
NO_ID: Final = UUID(int=0)
"""Of a topic without one, as all are here (in Kafka with inter.broker.protocol.version below 2.8)."""
NO_NAME: Final = ""
CONCERNS_EVERY_TOPIC: Final = (ErrorCode.NOT_CONTROLLER, ErrorCode.TOPIC_DELETION_DISABLED)
FIRST_THAT_NAMES_ITSELF: Final = 3
"""Version of APIVERSIONS of brokers that tell its versions to who request in another."""


def api_versions(request: Asked, spoken: dict[int, Range]) -> bytes:
    """Who asks in a version that is not spoken is told so in version 0, and from 2.4 on in which to ask (KIP-511)."""
    error, version = ErrorCode.NONE, request.version
    if request.body is None:
        error, version = ErrorCode.UNSUPPORTED_VERSION, 0
        this = spoken[request.api]
        spoken = {request.api: this} if this.most >= FIRST_THAT_NAMES_ITSELF else {}
    keys = [
        part(request.api, "ApiVersion", api_key=key, min_version=range_.least, max_version=range_.most)
        for key, range_ in spoken.items()
    ]
    return write_response(request, response(request.api, error_code=error, api_keys=keys), version=version)


def sasl_refused(request: Asked) -> Any:
    """As a broker answers on a listener without SASL."""
    return response(request.api, error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=[])


# --- Metadata ---


def metadata(body: Any, version: int) -> MetadataRequest:
    """Of all topics where none is named: up to version 0 an empty list means that, then no list at all. Up to version
    3 nobody could say that topics are not to be made."""
    makes = version < FIRST_WITH_A_SAY or body.allow_auto_topic_creation
    return MetadataRequest([topic.name for topic in body.topics or ()], bool(makes))


def metadata_answer(request: Asked, answer: MetadataResponse, place: Place) -> Any:
    """Brokers are where they are for clients of this AZ."""
    alive = {one.broker for one in answer.brokers} if request.version == 0 else None
    topics = [] if request.version >= 1 and request.body.topics == [] else answer.partitions
    brokers = [
        part(request.api, "MetadataResponseBroker", node_id=one.broker, host=host, port=port, rack=one.rack or None)
        for one, (host, port) in place.found(answer.brokers)
    ]
    return response(
        request.api,
        brokers=brokers,
        cluster_id=place.cluster,
        controller_id=answer.controller,
        topics=[_topic(request, topic, those, alive) for topic, those in by_topic(topics)],
    )


def _topic(request: Asked, topic: str, partitions: list[PartitionMetadata], alive: set[BrokerId] | None) -> Any:
    """An unknown topic has an entry without a partition, which carries the error. `alive`: of version 0, which lists no
    replica on a dead broker, and answers 9 if one is missing (MetadataCache.getPartitionMetadata)."""
    known = [one for one in partitions if one.partition >= 0]
    return part(
        request.api,
        "MetadataResponseTopic",
        error_code=ErrorCode.NONE if known else partitions[0].error,
        name=topic,
        is_internal=topic == OFFSETS_TOPIC,
        partitions=[
            part(
                request.api,
                "MetadataResponseTopic.MetadataResponsePartition",
                error_code=_with_missing_replicas(one, alive),
                partition_index=one.partition,
                leader_id=max(one.leader, NO_LEADER),
                leader_epoch=one.leader_epoch,
                replica_nodes=_listed(one.replicas, alive),
                isr_nodes=_listed(one.isr, alive),
                offline_replicas=one.offline_replicas,
            )
            for one in known
        ],
        authorized_operations=None,
    )


def _listed(brokers: list[BrokerId], alive: set[BrokerId] | None) -> list[BrokerId]:
    return brokers if alive is None else [one for one in brokers if one in alive]


def _with_missing_replicas(one: PartitionMetadata, alive: set[BrokerId] | None) -> int:
    missing = alive is not None and not alive.issuperset((*one.replicas, *one.isr))
    return ErrorCode.REPLICA_NOT_AVAILABLE if missing and not one.error else one.error


# --- topics made, grown and deleted ---


def create_topics(body: Any) -> CreateTopicsRequest:
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
            for one in body.topics
        ],
        max(0, body.timeout_ms),
        bool(body.validate_only),
    )


def create_topics_answer(request: Asked, answer: CreateTopicsResponse) -> Any:
    topics = [
        part(
            request.api,
            "CreatableTopicResult",
            name=one.topic,
            topic_id=NO_ID,
            error_code=one.error,
            error_message=one.message or None,
            num_partitions=one.partitions,
            replication_factor=one.replication_factor,
            configs=[  # never null, which Java's client would not survive
                part(request.api, "CreatableTopicResult.CreatableTopicConfigs", **fields_of(setting))
                for setting in one.settings
            ],
        )
        for one in answer.topics
    ]
    return response(request.api, topics=topics)


def create_partitions(body: Any) -> CreatePartitionsRequest:
    return CreatePartitionsRequest(
        [
            GrownTopic(
                one.name,
                one.count,
                None
                if one.assignments is None
                else [[BrokerId(broker) for broker in placed.broker_ids] for placed in one.assignments],
            )
            for one in body.topics
        ],
        max(0, body.timeout_ms),
        bool(body.validate_only),
    )


def create_partitions_answer(request: Asked, answer: CreatePartitionsResponse) -> Any:
    results = [
        part(
            request.api,
            "CreatePartitionsTopicResult",
            name=one.topic,
            error_code=one.error,
            error_message=one.message or None,
        )
        for one in answer.topics
    ]
    return response(request.api, results=results)


def delete_topics(request: Asked) -> DeleteTopicsRequest:
    """Version 6 may name a topic by an id, which none has here: NO_NAME stands for each, so that what concerns every
    topic (NOT_CONTROLLER) is answered for these, too."""
    body = request.body
    if request.version < FIRST_WITH_TOPIC_IDS:
        names = list(body.topic_names)
    elif any(_has_both(one) for one in body.topics):
        names = []
    else:
        names = [one.name or NO_NAME for one in body.topics]
    return DeleteTopicsRequest(names, max(0, body.timeout_ms))


def delete_topics_answer(request: Asked, answer: DeleteTopicsResponse) -> Any:
    if request.version >= FIRST_WITH_TOPIC_IDS:
        return _deleted_by_name_or_id(request, answer)
    responses = [
        part(
            request.api, "DeletableTopicResult", name=one.topic, error_code=one.error, error_message=one.message or None
        )
        for one in answer.topics
    ]
    return response(request.api, responses=responses)


def _has_both(topic: Any) -> bool:
    return topic.name is not None and _id_of(topic) != NO_ID


def _id_of(topic: Any) -> UUID:
    """Version 6 of the request has one always, zeros for none."""
    return topic.topic_id or NO_ID


def _deleted_by_name_or_id(request: Asked, answer: DeleteTopicsResponse) -> Any:
    """KafkaApis.handleDeleteTopicsRequest, of a cluster in which no topic has that id."""
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
        part(request.api, "DeletableTopicResult", name=name, topic_id=id_, error_code=error, error_message=why or None)
        for name, id_, error, why in results
    ]
    return response(request.api, responses=responses)


def delete_records(body: Any) -> DeleteRecordsRequest:
    partitions = [
        DeleteRecordsPartition(topic.name, one.partition_index, within_62_bits(one.offset))
        for topic in body.topics
        for one in topic.partitions
    ]
    return DeleteRecordsRequest(partitions, max(0, body.timeout_ms))


def delete_records_answer(request: Asked, answer: DeleteRecordsResponse) -> Any:
    topics = topics_answered(
        request.api,
        "DeleteRecordsTopicResult.DeleteRecordsPartitionResult",
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "low_watermark": one.low_watermark,
            "error_code": one.error,
        },
    )
    return response(request.api, topics=topics)
