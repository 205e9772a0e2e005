"""CreateTopics, CreatePartitions and DeleteTopics at the active controller.

Source: ReplicationControlManager.createTopics, createPartitions, deleteTopics; kraft-semantics 6.11.
"""

from collections.abc import Mapping

from controller.kraft.cluster_view import ClusterView
from controller.kraft.config_requests import ConfigValidator, UnusableConfig, altered_settings, elr_clearings
from controller.kraft.replica_placement import UnplaceablePartition, check_assignment, new_partition, place_replicas
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, can_be_topic
from protocol.messages.administration import (
    AS_CONFIGURED,
    PARTITIONS_MAX,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    GrownTopic,
    NewTopic,
    TopicResult,
)
from protocol.messages.configuration import SET, AlteredSetting
from protocol.records.compact_fields import uuid_text
from protocol.records.metadata_records import (
    TOPIC_CONFIG,
    MetadataRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)


class TopicPlacing:
    """Context of new partitions. `usable`: {broker that may get replicas: whether it is fenced}."""

    def __init__(
        self, view: ClusterView, usable: Mapping[BrokerId, bool], chance: Chance, validate: ConfigValidator
    ) -> None:
        self.view = view
        self.usable = usable
        self.chance = chance
        self.validate = validate

    def new_topic_id(self) -> str:
        """A random uuid, as Kafka writes it."""
        halves = (self.chance.below(1 << 64), self.chance.below(1 << 64))
        return uuid_text(b"".join(half.to_bytes(8, "big") for half in halves))


def create_topics(
    placing: TopicPlacing, request: CreateTopicsRequest
) -> tuple[list[MetadataRecord], CreateTopicsResponse]:
    """Create each topic that can be; the others' results have the errors."""
    records: list[MetadataRecord] = []
    results = []
    names = [one.topic for one in request.topics]
    for topic in request.topics:
        try:
            if names.count(topic.topic) > 1:
                raise UnplaceablePartition(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            created, partitions = _created(placing, topic)
        except (UnplaceablePartition, UnusableConfig) as refused:
            results.append(TopicResult(topic.topic, refused.error, str(refused)))
            continue
        factor = len(partitions[0].replicas)
        results.append(TopicResult(topic.topic, partitions=len(partitions), replication_factor=factor))
        records.extend(created)
    return [] if request.validate_only else records, CreateTopicsResponse(results)


def _created(placing: TopicPlacing, topic: NewTopic) -> tuple[list[MetadataRecord], list[PartitionRecord]]:
    """Records of a new topic, and those of its partitions among them."""
    view = placing.view
    if not can_be_topic(topic.topic):
        raise UnplaceablePartition(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic name is invalid.")
    collides = [name for name in view.image.topics if name.replace(".", "_") == topic.topic.replace(".", "_")]
    if topic.topic in collides:
        raise UnplaceablePartition(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.topic}' already exists.")
    if collides:
        why = f"Topic '{topic.topic}' collides with existing topic: {collides[0]}"
        raise UnplaceablePartition(ErrorCode.INVALID_TOPIC_EXCEPTION, why)
    nulls = [name for name, value in topic.configs.items() if value is None]
    if nulls:
        raise UnusableConfig(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
    settings = [AlteredSetting(name, value, SET) for name, value in topic.configs.items()]
    configs = altered_settings(view, placing.validate, TOPIC_CONFIG, topic.topic, settings)
    topic_id = placing.new_topic_id()
    partitions = _assigned(view, topic, topic_id) if topic.assignment else _placed(placing, topic, topic_id)
    return [TopicRecord(topic.topic, topic_id), *configs, *elr_clearings(view, configs), *partitions], partitions


def _assigned(view: ClusterView, topic: NewTopic, topic_id: str) -> list[PartitionRecord]:
    if topic.partitions != AS_CONFIGURED or topic.replication_factor != AS_CONFIGURED:
        what = "replication factor" if topic.replication_factor != AS_CONFIGURED else "numPartitions"
        why = f"A manual partition assignment was specified, but {what} was not set to -1."
        raise UnplaceablePartition(ErrorCode.INVALID_REQUEST, why)
    placed = {one.partition: [BrokerId(broker) for broker in one.brokers] for one in topic.assignment}
    if sorted(placed) != list(range(len(topic.assignment))):
        why = "partitions should be a consecutive 0-based integer sequence"
        raise UnplaceablePartition(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    factor = len(placed[0])
    partitions = []
    for number, replicas in sorted(placed.items()):
        check_assignment(view, replicas, factor)
        partitions.append(new_partition(view, topic_id, number, replicas, assigned=True))
    return partitions


def _placed(placing: TopicPlacing, topic: NewTopic, topic_id: str) -> list[PartitionRecord]:
    view = placing.view
    partitions, factor = topic.partitions, topic.replication_factor
    if factor < AS_CONFIGURED or factor == 0:
        why = "Replication factor must be larger than 0, or -1 to use the default value."
        raise UnplaceablePartition(ErrorCode.INVALID_REPLICATION_FACTOR, why)
    if partitions < AS_CONFIGURED or partitions == 0 or partitions > PARTITIONS_MAX:
        why = f"Number of partitions was set to an invalid value; it is 1 to {PARTITIONS_MAX}, or -1."
        raise UnplaceablePartition(ErrorCode.INVALID_PARTITIONS, why)
    partitions = view.settings.num_partitions if partitions == AS_CONFIGURED else partitions
    factor = view.settings.default_replication_factor if factor == AS_CONFIGURED else factor
    placed = place_replicas(view, placing.usable, placing.chance, partitions, factor)
    return [
        new_partition(view, topic_id, number, replicas, assigned=False) for number, replicas in sorted(placed.items())
    ]


def create_partitions(
    placing: TopicPlacing, request: CreatePartitionsRequest
) -> tuple[list[MetadataRecord], CreatePartitionsResponse]:
    """Grow each topic that can be (KIP-195)."""
    records: list[MetadataRecord] = []
    results = []
    for topic in request.topics:
        try:
            records.extend(_grown(placing, topic))
            results.append(TopicResult(topic.topic))
        except UnplaceablePartition as refused:
            results.append(TopicResult(topic.topic, refused.error, str(refused)))
    return [] if request.validate_only else records, CreatePartitionsResponse(results)


def _grown(placing: TopicPlacing, grown: GrownTopic) -> list[PartitionRecord]:
    view = placing.view
    topic = view.image.topics.get(grown.topic)
    if topic is None:
        raise UnplaceablePartition(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic.")
    first = len(topic.partitions)
    if grown.partitions <= first:
        why = (
            f"The topic {topic.topic} currently has {first} partition(s); {grown.partitions} would not be an increase."
        )
        if grown.partitions == first:
            why = f"Topic already has {first} partition(s)."
        raise UnplaceablePartition(ErrorCode.INVALID_PARTITIONS, why)
    additional = grown.partitions - first
    if grown.partitions > PARTITIONS_MAX:
        why = f"{grown.partitions} partitions: at most {PARTITIONS_MAX} are emulated"
        raise UnplaceablePartition(ErrorCode.INVALID_PARTITIONS, why)
    factor = len(topic.partitions[0].replicas)
    if grown.assignment is None:
        placed = place_replicas(view, placing.usable, placing.chance, additional, factor, first)
        rows = [replicas for _, replicas in sorted(placed.items())]
    else:
        if len(grown.assignment) != additional:
            why = f"Attempted to add {additional} additional partition(s), but only {len(grown.assignment)} "
            raise UnplaceablePartition(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{why}assignment(s) were specified.")
        rows = [tuple(BrokerId(broker) for broker in brokers) for brokers in grown.assignment]
        for row in rows:
            check_assignment(view, row, factor)
    return [
        new_partition(view, topic.topic_id, first + index, row, assigned=grown.assignment is not None)
        for index, row in enumerate(rows)
    ]


def delete_topics(view: ClusterView, request: DeleteTopicsRequest) -> tuple[list[MetadataRecord], DeleteTopicsResponse]:
    """Delete the topics that exist; a name may come once."""
    records: list[MetadataRecord] = []
    results = []
    for name in request.topics:
        topic = view.image.topics.get(name)
        if not view.settings.delete_topic_enable:
            results.append(TopicResult(name, ErrorCode.TOPIC_DELETION_DISABLED, "Topic deletion is disabled."))
        elif request.topics.count(name) > 1:
            results.append(TopicResult(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
        elif topic is None:
            results.append(TopicResult(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        else:
            records.append(RemoveTopicRecord(topic.topic_id))
            results.append(TopicResult(name))
    return records, DeleteTopicsResponse(results)
