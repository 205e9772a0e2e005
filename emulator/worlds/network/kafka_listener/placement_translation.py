"""Translation of requests about leaders, replicas and log directories.

ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments, AlterReplicaLogDirs, DescribeLogDirs,
DescribeCluster, DescribeProducers.
"""

from emulator.worlds.network.kafka_listener.codec import KafkaRequest
from emulator.worlds.network.kafka_listener.message_encoder import Fields
from emulator.worlds.network.kafka_listener.record_translation import by_topic, topics_answered
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages import placement as m

ALL_OF_A_CLUSTER = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))
"""All operations on a cluster (AclOperation), a bit each.

A broker without authorizer reports these.
"""
UNREQUESTED = -(1 << 31)
"""The operations in a response whose request does not include them."""


def elect_leaders(request: KafkaRequest) -> m.ElectLeadersRequest | Fields:
    """Version 0 has preferred elections only."""
    body = request.body
    election = body.election_type if request.version >= 1 else m.PREFERRED
    if election not in (m.PREFERRED, m.UNCLEAN):
        return _election_unknown(request)
    named = None
    if body.topic_partitions is not None:
        named = [m.PartitionNamed(one.topic, number) for one in body.topic_partitions for number in one.partitions]
    return m.ElectLeadersRequest(named, max(0, body.timeout_ms), election)


def _election_unknown(request: KafkaRequest) -> Fields:
    """Response to an unknown election type (ElectLeadersRequest.getErrorResponse).

    ElectionType.valueOf fails with an IllegalArgumentException.
    """
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    results = [
        {
            "topic": topic.topic,
            "partition_result": [{"partition_id": number, "error_code": error} for number in topic.partitions],
        }
        for topic in request.body.topic_partitions or ()
    ]
    return {"error_code": error, "replica_election_results": results}


def elect_leaders_answer(request: KafkaRequest, answer: m.ElectLeadersResponse) -> Fields:
    results = topics_answered(
        answer.partitions,
        lambda one: {
            "partition_id": one.partition,
            "error_code": one.error,
            "error_message": one.message or None,
        },
        topic="topic",
        inside="partition_result",
    )
    return {"error_code": answer.error, "replica_election_results": results}


def alter_partition_reassignments(request: KafkaRequest) -> m.AlterPartitionReassignmentsRequest:
    return m.AlterPartitionReassignmentsRequest(
        [
            m.Reassigned(
                topic.name,
                one.partition_index,
                None if one.replicas is None else [BrokerId(broker) for broker in one.replicas],
            )
            for topic in request.body.topics
            for one in topic.partitions
        ]
    )


def alter_partition_reassignments_answer(
    request: KafkaRequest, answer: m.AlterPartitionReassignmentsResponse
) -> Fields:
    responses = topics_answered(
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "error_code": one.error,
            "error_message": one.message or None,
        },
    )
    return {"error_code": answer.error, "error_message": None, "responses": responses}


def list_partition_reassignments(request: KafkaRequest) -> m.ListPartitionReassignmentsRequest:
    if request.body.topics is None:
        return m.ListPartitionReassignmentsRequest(None)
    return m.ListPartitionReassignmentsRequest(
        [m.PartitionNamed(topic.name, number) for topic in request.body.topics for number in topic.partition_indexes]
    )


def list_partition_reassignments_answer(request: KafkaRequest, answer: m.ListPartitionReassignmentsResponse) -> Fields:
    topics = topics_answered(
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "replicas": one.replicas,
            "adding_replicas": one.adding,
            "removing_replicas": one.removing,
        },
    )
    return {"error_code": answer.error, "error_message": None, "topics": topics}


def describe_log_dirs(request: KafkaRequest) -> m.DescribeLogDirsRequest:
    if request.body.topics is None:
        return m.DescribeLogDirsRequest(None)
    return m.DescribeLogDirsRequest(
        [m.PartitionNamed(topic.topic, number) for topic in request.body.topics for number in topic.partitions]
    )


def describe_log_dirs_answer(request: KafkaRequest, answer: m.DescribeLogDirsResponse) -> Fields:
    """Includes topics with a log in the directory of which the request names no partition."""
    results = []
    for directory in answer.directories:
        logs = dict(by_topic(directory.logs))
        topics = [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": one.partition,
                        "partition_size": one.size_bytes,
                        "offset_lag": one.lag,
                        "is_future_key": False,
                    }
                    for one in logs.get(topic, ())
                ],
            }
            for topic in directory.topics
        ]
        results.append({"error_code": directory.error, "log_dir": directory.path, "topics": topics})
    return {"results": results}


def alter_replica_log_dirs(request: KafkaRequest) -> m.AlterReplicaLogDirsRequest:
    return m.AlterReplicaLogDirsRequest(
        [
            m.MovedLog(topic.name, number, directory.path)
            for directory in request.body.dirs
            for topic in directory.topics
            for number in topic.partitions
        ]
    )


def alter_replica_log_dirs_answer(request: KafkaRequest, answer: m.AlterReplicaLogDirsResponse) -> Fields:
    results = topics_answered(
        answer.partitions,
        lambda one: {"partition_index": one.partition, "error_code": one.error},
        topic="topic_name",
    )
    return {"results": results}


def describe_producers(request: KafkaRequest) -> m.DescribeProducersRequest:
    return m.DescribeProducersRequest(
        [m.PartitionNamed(topic.name, number) for topic in request.body.topics for number in topic.partition_indexes]
    )


def describe_producers_answer(request: KafkaRequest, answer: m.DescribeProducersResponse) -> Fields:
    topics = topics_answered(
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "error_code": one.error,
            "error_message": None,
            "active_producers": [
                {
                    "producer_id": each.producer_id,
                    "producer_epoch": each.producer_epoch,
                    "last_sequence": each.last_sequence,
                    "last_timestamp": each.last_timestamp_ms,
                    "coordinator_epoch": each.coordinator_epoch,
                    "current_txn_start_offset": each.transaction_start,
                }
                for each in one.producers
            ],
        },
    )
    return {"topics": topics}


def describe_cluster(request: KafkaRequest) -> m.DescribeClusterRequest:
    return m.DescribeClusterRequest()


def describe_cluster_answer(request: KafkaRequest, answer: m.DescribeClusterResponse) -> Fields:
    """Brokers have the addresses advertised to clients of this AZ."""
    brokers = [
        {"broker_id": one.broker, "host": host, "port": port, "rack": one.rack or None}
        for one, (host, port) in request.listener.place.found(answer.brokers)
    ]
    wanted = request.body.include_cluster_authorized_operations
    return {
        "error_code": 0,
        "error_message": None,
        "cluster_id": request.listener.place.cluster,
        "controller_id": answer.controller,
        "brokers": brokers,
        "cluster_authorized_operations": ALL_OF_A_CLUSTER if wanted else UNREQUESTED,
    }
