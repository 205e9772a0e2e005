"""Types of brokers, epochs and offsets for mypy, names of partitions, Kafka's null values.

At run time all of them are plain numbers, without checks; mypy rejects one type for another. Readers convert text and
other numbers: files, znodes, scenarios, commands.

Plain numbers remain where they are only reported or compared: in events, and so in their readers (the audit, `judging`,
observations, the conditions of waits); in `storage`'s reading of a dead node's disk; in the old message format, whose
inner offsets may count from 0. `replace` of a Struct checks no types at all.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NewType

from protocol.numbers import number_in

TopicPartition = tuple[str, int]
"""Topic and partition number: ("t", 0) is written t-0."""

BrokerId = NewType("BrokerId", int)
"""Id of a broker, or of a dedicated controller."""
LeaderEpoch = NewType("LeaderEpoch", int)
"""Epoch of a partition: counts its leaders."""
ControllerEpoch = NewType("ControllerEpoch", int)
"""Epoch of a cluster: counts its controllers' terms."""

if TYPE_CHECKING:

    class Offset(int):
        """Offset of a record in its partition's log; ends are exclusive.

        An offset plus a count is an offset again, so appending and reading code needs no conversion. A difference of
        two is a plain number.
        """

        def __add__(self, count: int, /) -> "Offset": ...

else:
    Offset = NewType("Offset", int)

NO_OFFSET: Final = Offset(-1)
"""No offset, or an unknown one."""
FIRST_OFFSET: Final = Offset(0)

NO_BROKER: Final = BrokerId(-1)
NO_LEADER: Final = NO_BROKER
"""Id in place of a missing leader."""
LEADER_DURING_DELETE: Final = BrokerId(-2)
"""Leader of a partition of a topic under deletion, in UpdateMetadata (semantics 4.3)."""

EPOCH_UNKNOWN: Final = LeaderEpoch(-1)
BROKER_EPOCH_UNKNOWN: Final = -1
"""Unknown epoch of a broker's registration (KIP-380)."""
CONTROLLER_EPOCH_UNKNOWN: Final = ControllerEpoch(-1)
EPOCH_DURING_DELETE: Final = LeaderEpoch(-2)
"""Leader epoch in the StopReplica of a topic under deletion (semantics 1.7)."""


TOPIC_CHARACTERS_MAX = 249
_TOPIC = re.compile(rf"[a-zA-Z0-9._-]{{1,{TOPIC_CHARACTERS_MAX}}}")


def can_be_topic(name: str) -> bool:
    """Whether a topic may have this name, as in Kafka's Topic.validate."""
    return _TOPIC.fullmatch(name) is not None and name not in (".", "..")


OFFSET_MAX = 2**62
"""Maximum of a transmitted offset: half of Kafka's long, so that sums of two fit."""
ID_CHARACTERS_MAX = 100
_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{ID_CHARACTERS_MAX - 1}}}")


def can_be_id(text: str) -> bool:
    """Whether a scenario may have this id; directories are named after it."""
    return _ID.fullmatch(text) is not None


def topic_partition_text(topic: str, partition: int) -> str:
    """`t-0`, as in Kafka's logs and directories."""
    return f"{topic}-{partition}"


def partitions_text(topic_partitions: Iterable[TopicPartition]) -> str:
    """`t-0,t-2`, sorted, as in fields of events."""
    return ",".join(topic_partition_text(*topic_partition) for topic_partition in sorted(topic_partitions))


def topic_partition_of(text: str) -> TopicPartition | None:
    """Inverse of `topic_partition_text`; None: not a partition's name."""
    topic, _, last = text.rpartition("-")
    number = number_in(last)
    return (topic, number) if topic and number is not None else None
