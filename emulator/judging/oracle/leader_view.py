"""Leaders' views of their ISRs, and records that replicas lacked after a restart."""

from emulator.judging.oracle.truth import Belief, Forgotten
from protocol.ids import TopicPartition


class Beliefs:
    """History of leaders' views. `told`, `forgotten`: in order of time."""

    def __init__(self) -> None:
        self.told: list[Belief] = []
        self.forgotten: list[Forgotten] = []
        self._last: dict[tuple[str, TopicPartition], tuple[int, int]] = {}
        self._ends: dict[tuple[str, TopicPartition], int] = {}

    def note(self, belief: Belief) -> None:
        """Record a belief if it differs from the last one."""
        key, now = (belief.node, belief.topic_partition), (belief.in_sync, belief.least)
        if self._last.get(key, (-1, now[1])) != now:
            self.told.append(belief)
        self._last[key] = now

    def ended(self, node: str, topic_partition: TopicPartition, log_end: int) -> None:
        """Record the log end of a replica at the end of its node's incarnation."""
        self._ends[node, topic_partition] = log_end

    def found(self, node: str, topic_partition: TopicPartition, log_end: int) -> None:
        """Record the log end that a replica's incarnation finds first."""
        before = self._ends.pop((node, topic_partition), 0)
        if log_end < before:
            self.forgotten.append(Forgotten(topic_partition, node, before, log_end))
