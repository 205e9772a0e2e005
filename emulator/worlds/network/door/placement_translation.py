"""Translation of requests about leaders, replicas and log directories.

ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments, AlterReplicaLogDirs, DescribeLogDirs,
DescribeCluster, DescribeProducers.
"""

from typing import Any

from emulator.worlds.network.door.codec import Asked, part, response
from emulator.worlds.network.door.place import Place
from emulator.worlds.network.door.record_translation import by_topic, topics_answered
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages import placement as m

ALL_OF_A_CLUSTER = {5, 7, 8, 9, 10, 11, 12}
"""All operations on a cluster (AclOperation); a broker without authorizer reports these."""


def elect_leaders(request: Asked) -> m.ElectLeadersRequest:
    """Version 0 has preferred elections only."""
    body = request.body
    named = None
    if body.topic_partitions is not None:
        named = [m.PartitionNamed(one.topic, number) for one in body.topic_partitions for number in one.partitions]
    election = body.election_type if request.version >= 1 else m.PREFERRED
    return m.ElectLeadersRequest(named, max(0, body.timeout_ms), election)


def knows_election(request: Asked) -> bool:
    return request.version == 0 or request.body.election_type in (m.PREFERRED, m.UNCLEAN)


def election_unknown(request: Asked) -> Any:
    """Response to an unknown election type (ElectLeadersRequest.getErrorResponse).

    ElectionType.valueOf fails with an IllegalArgumentException.
    """
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    results = [
        part(
            request.api,
            "ReplicaElectionResult",
            topic=topic.topic,
            partition_result=[
                part(request.api, "ReplicaElectionResult.PartitionResult", partition_id=number, error_code=error)
                for number in topic.partitions
            ],
        )
        for topic in request.body.topic_partitions or ()
    ]
    return response(request.api, error_code=error, replica_election_results=results)


def elect_leaders_answer(request: Asked, answer: m.ElectLeadersResponse) -> Any:
    results = topics_answered(
        request.api,
        "ReplicaElectionResult.PartitionResult",
        answer.partitions,
        lambda one: {
            "partition_id": one.partition,
            "error_code": one.error,
            "error_message": one.message or None,
        },
        topic="topic",
        inside="partition_result",
    )
    return response(request.api, error_code=answer.error, replica_election_results=results)


def alter_partition_reassignments(body: Any) -> m.AlterPartitionReassignmentsRequest:
    return m.AlterPartitionReassignmentsRequest(
        [
            m.Reassigned(
                topic.name,
                one.partition_index,
                None if one.replicas is None else [BrokerId(broker) for broker in one.replicas],
            )
            for topic in body.topics
            for one in topic.partitions
        ]
    )


def alter_partition_reassignments_answer(request: Asked, answer: m.AlterPartitionReassignmentsResponse) -> Any:
    responses = topics_answered(
        request.api,
        "ReassignableTopicResponse.ReassignablePartitionResponse",
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "error_code": one.error,
            "error_message": one.message or None,
        },
    )
    return response(request.api, error_code=answer.error, error_message=None, responses=responses)


def list_partition_reassignments(body: Any) -> m.ListPartitionReassignmentsRequest:
    if body.topics is None:
        return m.ListPartitionReassignmentsRequest(None)
    return m.ListPartitionReassignmentsRequest(
        [m.PartitionNamed(topic.name, number) for topic in body.topics for number in topic.partition_indexes]
    )


def list_partition_reassignments_answer(request: Asked, answer: m.ListPartitionReassignmentsResponse) -> Any:
    topics = topics_answered(
        request.api,
        "OngoingTopicReassignment.OngoingPartitionReassignment",
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "replicas": one.replicas,
            "adding_replicas": one.adding,
            "removing_replicas": one.removing,
        },
    )
    return response(request.api, error_code=answer.error, error_message=None, topics=topics)


def describe_log_dirs(body: Any) -> m.DescribeLogDirsRequest:
    if body.topics is None:
        return m.DescribeLogDirsRequest(None)
    return m.DescribeLogDirsRequest(
        [m.PartitionNamed(topic.topic, number) for topic in body.topics for number in topic.partitions]
    )


def describe_log_dirs_answer(request: Asked, answer: m.DescribeLogDirsResponse) -> Any:
    """Includes topics with a log in the directory of which the request names no partition."""
    path = "DescribeLogDirsResult"
    results = []
    for directory in answer.directories:
        logs = dict(by_topic(directory.logs))
        topics = [
            part(
                request.api,
                f"{path}.DescribeLogDirsTopic",
                name=topic,
                partitions=[
                    part(
                        request.api,
                        f"{path}.DescribeLogDirsTopic.DescribeLogDirsPartition",
                        partition_index=one.partition,
                        partition_size=one.size_bytes,
                        offset_lag=one.lag,
                        is_future_key=False,
                    )
                    for one in logs.get(topic, ())
                ],
            )
            for topic in directory.topics
        ]
        results.append(part(request.api, path, error_code=directory.error, log_dir=directory.path, topics=topics))
    return response(request.api, results=results)


def alter_replica_log_dirs(body: Any) -> m.AlterReplicaLogDirsRequest:
    return m.AlterReplicaLogDirsRequest(
        [
            m.MovedLog(topic.name, number, directory.path)
            for directory in body.dirs
            for topic in directory.topics
            for number in topic.partitions
        ]
    )


def alter_replica_log_dirs_answer(request: Asked, answer: m.AlterReplicaLogDirsResponse) -> Any:
    results = topics_answered(
        request.api,
        "AlterReplicaLogDirTopicResult.AlterReplicaLogDirPartitionResult",
        answer.partitions,
        lambda one: {"partition_index": one.partition, "error_code": one.error},
        topic="topic_name",
    )
    return response(request.api, results=results)


def describe_producers(body: Any) -> m.DescribeProducersRequest:
    return m.DescribeProducersRequest(
        [m.PartitionNamed(topic.name, number) for topic in body.topics for number in topic.partition_indexes]
    )


def describe_producers_answer(request: Asked, answer: m.DescribeProducersResponse) -> Any:
    """Transactions are not emulated: no producer has a coordinator or a first offset."""
    path = "TopicResponse.PartitionResponse"
    topics = topics_answered(
        request.api,
        path,
        answer.partitions,
        lambda one: {
            "partition_index": one.partition,
            "error_code": one.error,
            "error_message": None,
            "active_producers": [
                part(
                    request.api,
                    f"{path}.ProducerState",
                    producer_id=each.producer_id,
                    producer_epoch=each.producer_epoch,
                    last_sequence=each.last_sequence,
                    last_timestamp=each.last_timestamp_ms,
                    coordinator_epoch=-1,
                    current_txn_start_offset=-1,
                )
                for each in one.producers
            ],
        },
    )
    return response(request.api, topics=topics)


def describe_cluster_answer(request: Asked, answer: m.DescribeClusterResponse, place: Place) -> Any:
    """Brokers have the addresses advertised to clients of this AZ."""
    brokers = [
        part(request.api, "DescribeClusterBroker", broker_id=one.broker, host=host, port=port, rack=one.rack or None)
        for one, (host, port) in place.found(answer.brokers)
    ]
    wanted = request.body.include_cluster_authorized_operations
    return response(
        request.api,
        error_code=0,
        error_message=None,
        cluster_id=place.cluster,
        controller_id=answer.controller,
        brokers=brokers,
        authorized_operations=ALL_OF_A_CLUSTER if wanted else None,
    )
