"""Log directories and their logs: DescribeLogDirs, AlterReplicaLogDirs (KIP-113)."""

from emulator.machines.broker.replica_log import Log
from emulator.machines.broker.replica_manager import Replicas
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.placement import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribedLog,
    DescribedLogDir,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    MovedLog,
    PartitionResult,
)


def describe_log_dirs(replicas: Replicas, body: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """Handle DescribeLogDirs (ReplicaManager.describeLogDirs).

    Paths begin at the broker's disk: `/`, or `/d0` and `/d1`. The lag is zero except for a log that ends below its
    high watermark.
    """
    wanted = None if body.partitions is None else {(one.topic, one.partition) for one in body.partitions}
    found: list[DescribedLogDir] = []
    for name, files in replicas.directories.live.items():
        held = sorted(place for place, log in replicas.logs.items() if log.files is files)
        logs = [_described(place, replicas.logs[place]) for place in held if wanted is None or place in wanted]
        topics = [*dict.fromkeys(topic for topic, _ in held)]
        found.append(DescribedLogDir(f"/{name}", ErrorCode.NONE, topics, logs))
    found += [DescribedLogDir(f"/{name}", ErrorCode.KAFKA_STORAGE_ERROR) for name in replicas.directories.offline]
    return DescribeLogDirsResponse(found)


def alter_replica_log_dirs(replicas: Replicas, body: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    """Handle AlterReplicaLogDirs (ReplicaManager.alterReplicaLogDirs).

    Existing logs do not move between directories here: the response is UNSUPPORTED_VERSION.
    """
    return AlterReplicaLogDirsResponse(
        [PartitionResult(one.topic, one.partition, _altered(replicas, one)) for one in body.partitions]
    )


def _altered(replicas: Replicas, entry: MovedLog) -> ErrorCode:
    directories, topic_partition = replicas.directories, (entry.topic, entry.partition)
    name = entry.path.removeprefix("/")
    if name not in directories.live:
        there = name in directories.offline
        return ErrorCode.KAFKA_STORAGE_ERROR if there else ErrorCode.LOG_DIR_NOT_FOUND
    log = replicas.logs.get(topic_partition)
    if log is None:
        directories.prefer(topic_partition, name)
        return ErrorCode.REPLICA_NOT_AVAILABLE
    return ErrorCode.NONE if log.files is directories.live[name] else ErrorCode.UNSUPPORTED_VERSION


def _described(topic_partition: TopicPartition, log: Log) -> DescribedLog:
    size_bytes = sum(segment.size_bytes for segment in log.segments)
    return DescribedLog(*topic_partition, size_bytes, max(0, log.high_watermark - log.log_end))
