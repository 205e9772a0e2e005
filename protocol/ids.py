"""What brokers, epochs and offsets are to mypy, how a partition is named, and what Kafka writes where there is none.

All of them are plain numbers when the program runs, and nothing is asked then; mypy refuses one for another. Text and
other numbers become one where they are read: files, znodes, scenarios, commands.

Plain numbers remain where they are only told or compared: in events, and so in what reads them (the audit, `judging`,
observations, the conditions of waits); in what `storage` reads of a dead node's disk; in the old message format, whose
inner offsets may count from 0. `replace` of a Struct asks for no types at all.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NewType

from protocol.numbers import number_in

TopicPartition = tuple[str, int]
"""Topic and partition number: ("t", 0) is written t-0."""

BrokerId = NewType("BrokerId", int)
"""Also of a dedicated controller."""
LeaderEpoch = NewType("LeaderEpoch", int)
"""Of a partition: counts its leaders."""
ControllerEpoch = NewType("ControllerEpoch", int)
"""Of a cluster: counts its controllers' terms."""

if TYPE_CHECKING:

    class Offset(int):
        """Of a record in its partition's log; ends are exclusive. One that is counted on is an offset again, so that
        nothing has to say so where batches are appended and read; what lies between two is a plain number."""

        def __add__(self, count: int, /) -> "Offset": ...

else:
    Offset = NewType("Offset", int)

NO_OFFSET: Final = Offset(-1)
"""There is none, or it is unknown."""
FIRST_OFFSET: Final = Offset(0)

NO_BROKER: Final = BrokerId(-1)
NO_LEADER: Final = NO_BROKER
"""In place of a broker's id."""
LEADER_DURING_DELETE: Final = BrokerId(-2)
"""Leader of a partition whose topic is being deleted, as UpdateMetadata says it (semantics 4.3)."""

EPOCH_UNKNOWN: Final = LeaderEpoch(-1)
BROKER_EPOCH_UNKNOWN: Final = -1
"""Of a broker's registration (KIP-380)."""
CONTROLLER_EPOCH_UNKNOWN: Final = ControllerEpoch(-1)
EPOCH_DURING_DELETE: Final = LeaderEpoch(-2)
"""Leader epoch in the StopReplica of a topic being deleted (semantics 1.7)."""


TOPIC_CHARACTERS_MAX = 249
_TOPIC = re.compile(rf"[a-zA-Z0-9._-]{{1,{TOPIC_CHARACTERS_MAX}}}")


def can_be_topic(name: str) -> bool:
    """As Kafka's Topic.validate has it: what can be a directory's name."""
    return _TOPIC.fullmatch(name) is not None and name not in (".", "..")


OFFSET_MAX = 2**62
"""Of an offset that travels: half of Kafka's long, so that sums of two fit."""
ID_CHARACTERS_MAX = 100
_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{ID_CHARACTERS_MAX - 1}}}")


def can_be_id(text: str) -> bool:
    """Of a scenario: what a directory can be called after."""
    return _ID.fullmatch(text) is not None


def topic_partition_text(topic: str, partition: int) -> str:
    """`t-0`, as Kafka's logs and directories write it."""
    return f"{topic}-{partition}"


def partitions_text(topic_partitions: Iterable[TopicPartition]) -> str:
    """`t-0,t-2`, in order, as fields of events have it."""
    return ",".join(topic_partition_text(*topic_partition) for topic_partition in sorted(topic_partitions))


def topic_partition_of(text: str) -> TopicPartition | None:
    """The other way round; None: no partition is called so."""
    topic, _, last = text.rpartition("-")
    number = number_in(last)
    return (topic, number) if topic and number is not None else None
