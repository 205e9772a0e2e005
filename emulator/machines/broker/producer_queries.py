"""DescribeProducers: producers that a replica knows (KIP-664, 2.8)."""

from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.replica_manager import Replicas
from protocol.errors import ErrorCode
from protocol.messages.placement import (
    ActiveProducer,
    DescribedProducers,
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionNamed,
)


def describe_producers(
    replicas: Replicas, metadata: MetadataCache, body: DescribeProducersRequest
) -> DescribeProducersResponse:
    """Handle DescribeProducers (KafkaApis.handleDescribeProducersRequest), at any replica."""
    return DescribeProducersResponse([_described(replicas, metadata, one) for one in body.partitions])


def _described(replicas: Replicas, metadata: MetadataCache, entry: PartitionNamed) -> DescribedProducers:
    topic_partition = (entry.topic, entry.partition)
    if not metadata.partition_count(entry.topic):
        return DescribedProducers(*topic_partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    partition = replicas.partitions.get(topic_partition)
    if partition is None or partition.log is None:
        return DescribedProducers(*topic_partition, replicas.error_if_not_leader(topic_partition))
    return DescribedProducers(
        *topic_partition,
        ErrorCode.NONE,
        [
            ActiveProducer(*one)
            for one in partition.log.producers.active()
        ],
    )
