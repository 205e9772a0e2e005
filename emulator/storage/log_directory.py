"""Names of the files in a Kafka log directory (docs/semantics.md 3).

A partition's own directory, such as `t-0`, holds its segments and its leader epochs. Of the other files there is one
per broker.
"""

import re
from typing import Final

SEGMENT_SUFFIX: Final = ".log"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
META_PROPERTIES: Final = "meta.properties"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
METADATA_LOG: Final = "__cluster_metadata-0"
"""Folder of the metadata log (KRaft), beside the partitions' own."""


PARTITION_METADATA: Final = "partition.metadata"
"""File of a topic's id in a partition's own directory (KRaft)."""


def partition_metadata(topic_id: str) -> bytes:
    """Contents of PARTITION_METADATA (PartitionMetadataFile)."""
    return f"version: 0\ntopic_id: {topic_id}".encode()


def marker(broker_epoch: int) -> bytes:
    """Contents of the marker of a clean stop in KRaft (CleanShutdownFileHandler)."""
    return b'{"version":0,"brokerEpoch":%d}' % broker_epoch


def marker_epoch(data: bytes) -> int:
    """Broker epoch of a marker; -1: none, or unreadable."""
    found = re.search(rb'"brokerEpoch":(\d{1,19})\b', data)
    return int(found.group(1)) if found else -1


DELETED_LOG_SUFFIX: Final = "-delete"
NAME_CHARACTERS_MAX: Final = 255
"""Longest name in a folder of a file system."""
UNIQUE_ID_CHARACTERS: Final = 32
"""Length of the random id in a deleted log's name (Log.logDeleteDirName)."""


def deleted_log_directory(directory: str, incarnation: int, number: int) -> str:
    """`t-0.000000010000000a-delete`: directory of the 10th log deleted in incarnation 1.

    The name is unique on this broker; Kafka draws a random id for it. A topic's name that is too long is cut off.
    """
    topic, _, partition = directory.rpartition("-")
    suffix = f"-{partition}.{incarnation:08x}{number:08x}{DELETED_LOG_SUFFIX}"
    return f"{topic[: NAME_CHARACTERS_MAX - len(suffix)]}{suffix}"


def is_too_long_to_delete(directory: str) -> bool:
    """Whether Kafka's name of the deleted log is too long.

    It does not cut off the topic (KAFKA-4893).
    """
    return len(directory) + 1 + UNIQUE_ID_CHARACTERS + len(DELETED_LOG_SUFFIX) > NAME_CHARACTERS_MAX


def is_deleted_log(directory: str) -> bool:
    """Whether the directory is a deleted log's.

    A topic's own name may end with the suffix too, but the number of the partition follows it.
    """
    return directory.endswith(DELETED_LOG_SUFFIX) and "." in directory


def directory_names(log_dirs: str) -> list[str]:
    """The folders in the setting `log.dirs` ("d0, d1").

    No folder: the disk is the only log directory.
    """
    return [name.strip() for name in log_dirs.split(",") if name.strip()]


def segment_name(base_offset: int) -> str:
    """`00000000000000000042.log`: names sort as their base offsets do."""
    return f"{base_offset:020d}{SEGMENT_SUFFIX}"
