"""Common parts of a node's story: events, notices, facts about replicas. Pure."""

from typing import Final, NamedTuple

from protocol import events as e
from protocol.ids import TopicPartition, topic_partition_of
from protocol.kinds import CutReason

UNKNOWN: Final = -1


class NodeEvent(NamedTuple):
    """An event of an incarnation. `source`: `FILE:LINE`, or where in a data file."""

    wall_ms: float
    incarnation: int
    event: e.Event
    source: str


class Notice(NamedTuple):
    """A line about an incident that no event has. `what`: the name of its form."""

    wall_ms: float
    incarnation: int
    what: str
    fields: dict[str, str]
    source: str


class ReplicaFacts:
    """Facts about one replica that lines leave out."""

    def __init__(self) -> None:
        self.leader_epoch = UNKNOWN
        self.leader = UNKNOWN
        self.log_end = UNKNOWN
        self.high_watermark = UNKNOWN
        self.zk_version = UNKNOWN
        self.isr = ""
        self.ordered_epoch = UNKNOWN
        self.ordered_isr = ""
        self.reason: CutReason | None = None
        self.recovered: list[str] = []
        self.corrupted = UNKNOWN


class LineEvents:
    """Emits events of one node's lines. `number`: its id, in a run of these `roles`."""

    def __init__(self, number: int, roles: str) -> None:
        self.number = number
        self.incarnation = 0
        self._roles = roles
        self._controller_epoch = UNKNOWN
        self._replicas: dict[TopicPartition, ReplicaFacts] = {}
        self._source = ""
        self._at = 0.0
        self._waiting: list[NodeEvent] = []

    @property
    def name(self) -> str:
        return node_named(self.number, self._roles)

    def _emit(self, event: e.Event) -> None:
        self._waiting.append(NodeEvent(self._at, self.incarnation, event, self._source))

    def _place(self, fields: dict[str, str]) -> TopicPartition:
        text = fields.get("tp") or fields.get("any_tp") or fields.get("old_tp") or ""
        if text.startswith("["):
            topic, _, partition = text[1:-1].rpartition(",")
            return topic, int(partition)
        if not text:
            return fields["topic"], int(fields["partition"])
        place = topic_partition_of(text)
        return place if place is not None else ("", UNKNOWN)

    def _replica(self, fields: dict[str, str]) -> ReplicaFacts:
        return self._replicas.setdefault(self._place(fields), ReplicaFacts())


def node_named(number: int, roles: str) -> str:
    """The node's name in the run. A real dedicated controller has an id of any size."""
    return f"broker-{number}" if "broker" in roles else f"controller-{number}"


def number_in_line(fields: dict[str, str], name: str, default: int = UNKNOWN) -> int:
    """A field as a number; `default` if the line has it not."""
    value = fields.get(name)
    return default if value is None else int(value)


def ids_in_line(text: str) -> str:
    """`0, 1` -> `0,1`: the spelling of events."""
    return ",".join(one.strip() for one in text.split(",") if one.strip())
