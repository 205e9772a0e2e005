"""The base of all events, and the levels at which they are written."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, get_args

import msgspec

from protocol.ids import TopicPartition

EVENT_FORMAT = 2
FORMATS_READ = (1, EVENT_FORMAT)
"""Of format 1 the events had no topic ids (`emulator.runs.former_format`)."""

Level = Literal["client", "replica", "wire"]
LEVELS: tuple[str, ...] = get_args(Level)


class Event(msgspec.Struct, omit_defaults=False, gc=False):
    """Base of all events."""

    NAME: ClassVar[str] = ""
    LEVEL: ClassVar[Level] = "replica"

    def name_topic(self, topic_ids: Mapping[TopicPartition, str]) -> None:
        """Set the topic's id, if the event is about a partition and has none."""


class OfTopic(Event, kw_only=True):
    """Base of the events about one topic.

    `topic_id`: its identity: a later topic of the same name has another one. Empty where the writer does not know it,
    as of a log that a broker has found on its disk.
    """

    topic_id: str = ""          # "": unknown


class OfPartition(OfTopic):
    """Base of a broker's and the controller's events about one partition."""

    topic: str
    partition: int

    def name_topic(self, topic_ids: Mapping[TopicPartition, str]) -> None:
        if not self.topic_id:
            self.topic_id = topic_ids.get((self.topic, self.partition), "")


def ids_text(ids: Sequence[int]) -> str:
    """Spelling of broker lists in events: `[0, 2, 1]` -> `0,2,1`."""
    return ",".join(map(str, ids))
