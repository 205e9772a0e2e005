"""What leaders believed of their ISRs, and what replicas had forgotten when they came back."""

import msgspec

from protocol.ids import TopicPartition


class Belief(msgspec.Struct, frozen=True):
    """From now on a leader takes so many replicas for in sync, and needs `least` of them for acks=all; `in_sync` -1: it
    does not lead. `high_watermark`: as it was until now. `ended`: how many operations had ended by then."""

    topic_partition: TopicPartition
    node: str
    in_sync: int
    least: int
    high_watermark: int
    ended: int


class Forgotten(msgspec.Struct, frozen=True):
    """A replica came back with a log that ends at `to`, and had reached `log_end` when its life before ended."""

    topic_partition: TopicPartition
    node: str
    log_end: int
    to: int


class Beliefs:
    """`told`, `forgotten`: in order of time."""

    def __init__(self) -> None:
        self.told: list[Belief] = []
        self.forgotten: list[Forgotten] = []
        self._last: dict[tuple[str, TopicPartition], tuple[int, int]] = {}
        self._ends: dict[tuple[str, TopicPartition], int] = {}

    def note(self, belief: Belief) -> None:
        """If it is another than before."""
        key, now = (belief.node, belief.topic_partition), (belief.in_sync, belief.least)
        if self._last.get(key, (-1, now[1])) != now:
            self.told.append(belief)
        self._last[key] = now

    def ended(self, node: str, topic_partition: TopicPartition, log_end: int) -> None:
        """A life of a node, in which that replica's log had come so far."""
        self._ends[node, topic_partition] = log_end

    def found(self, node: str, topic_partition: TopicPartition, log_end: int) -> None:
        """A replica's log, for the first time in a life."""
        before = self._ends.pop((node, topic_partition), 0)
        if log_end < before:
            self.forgotten.append(Forgotten(topic_partition, node, before, log_end))

    def renamed(self, topic: str, name: str) -> None:
        """What was of `topic` is called `name` from now on."""
        self.told = [
            msgspec.structs.replace(one, topic_partition=(name, one.topic_partition[1]))
            if one.topic_partition[0] == topic
            else one
            for one in self.told
        ]
        self.forgotten = [one for one in self.forgotten if one.topic_partition[0] != topic]
        self._last = {key: last for key, last in self._last.items() if key[1][0] != topic}
        self._ends = {key: log_end for key, log_end in self._ends.items() if key[1][0] != topic}
