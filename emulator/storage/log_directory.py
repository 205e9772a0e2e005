"""What lies in a Kafka log directory, by name (docs/semantics.md 3).

A partition's own directory, such as `t-0`, holds its segments and its leader epochs; the rest is one file per
broker.
"""

from typing import Final

SEGMENT_SUFFIX: Final = ".log"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
META_PROPERTIES: Final = "meta.properties"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"


DELETED_LOG_SUFFIX: Final = "-delete"
NAME_CHARACTERS_MAX: Final = 255
"""Of one name in a file system's folder."""
UNIQUE_ID_CHARACTERS: Final = 32
"""Of what Kafka draws for a deleted log's name (Log.logDeleteDirName)."""


def deleted_log_directory(directory: str, incarnation: int, number: int) -> str:
    """`t-0.000000010000000a-delete`: where a log goes that is deleted, the 10th of the broker's first life. No other
    one of this broker has that name; Kafka draws a number for it. A topic's name that is too long is cut off."""
    topic, _, partition = directory.rpartition("-")
    suffix = f"-{partition}.{incarnation:08x}{number:08x}{DELETED_LOG_SUFFIX}"
    return f"{topic[: NAME_CHARACTERS_MAX - len(suffix)]}{suffix}"


def is_too_long_to_delete(directory: str) -> bool:
    """Whether the name that Kafka gives a deleted log is too long, where the topic's is not cut off (KAFKA-4893)."""
    return len(directory) + 1 + UNIQUE_ID_CHARACTERS + len(DELETED_LOG_SUFFIX) > NAME_CHARACTERS_MAX


def is_deleted_log(directory: str) -> bool:
    """Whether it is such a folder. A topic's own may end so, but for the number of the partition."""
    return directory.endswith(DELETED_LOG_SUFFIX) and "." in directory


def directory_names(log_dirs: str) -> list[str]:
    """The folders that the setting `log.dirs` names ("d0, d1"); none: the disk is the only log directory."""
    return [name.strip() for name in log_dirs.split(",") if name.strip()]


def segment_name(base_offset: int) -> str:
    """`00000000000000000042.log`: names sort as their base offsets do."""
    return f"{base_offset:020d}{SEGMENT_SUFFIX}"
