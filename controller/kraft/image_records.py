"""Records of a snapshot: what an image adds up to, in Kafka's order.

Features, brokers, topics with their partitions, settings, producer ids. An image that is made of these records is equal
to the one that they were made of, but for the offsets of registrations.

Source: MetadataImage.write, ClusterImage.write, TopicsImage.write, ConfigurationsImage.write.
"""

from collections.abc import Iterator

from controller.kraft.feature_levels import METADATA_VERSION
from controller.kraft.metadata_image import MetadataImage
from protocol.ids import NO_BROKER
from protocol.records.metadata_records import (
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    TopicRecord,
)


def image_records(image: MetadataImage) -> Iterator[MetadataRecord]:
    """The records of a snapshot of `image`."""
    for name in sorted(image.features, key=lambda name: (name != METADATA_VERSION, name)):
        yield FeatureLevelRecord(name, image.features[name])
    for _, known in sorted(image.brokers.items()):
        yield RegisterBrokerRecord(
            known.broker, known.incarnation, known.epoch, known.node, known.rack, known.fenced,
            known.in_controlled_shutdown,
        )  # fmt: skip
    for topic in image.topics.values():
        yield TopicRecord(topic.topic, topic.topic_id)
        for number, state in sorted(topic.partitions.items()):
            yield PartitionRecord(
                topic.topic_id, number, state.replicas, state.isr, state.leader, state.leader_epoch,
                state.partition_epoch, state.adding, state.removing, state.recovering, state.elr, state.last_known_elr,
            )  # fmt: skip
    for (kind, name), settings in sorted(image.configs.items()):
        for setting, value in sorted(settings.items()):
            yield ConfigRecord(kind, name, setting, value)
    if image.next_producer_id:
        yield ProducerIdsRecord(NO_BROKER, -1, image.next_producer_id)
