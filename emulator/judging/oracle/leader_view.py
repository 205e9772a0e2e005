"""Leaders' views of their ISRs, and records that replicas lacked after a restart."""

from emulator.judging.oracle.truth import Forgotten, LeaderView
from protocol.ids import TopicPartition


class LeaderViews:
    """History of leaders' views. `told`, `forgotten`: in order of time."""

    def __init__(self) -> None:
        self.recorded: list[LeaderView] = []
        self.forgotten: list[Forgotten] = []
        self._last: dict[tuple[str, TopicPartition], tuple[int, int]] = {}
        self._ends: dict[tuple[str, TopicPartition], int] = {}

    def note(self, view: LeaderView) -> None:
        """Record a view if it differs from the last one."""
        key, now = (view.node, view.topic_partition), (view.in_sync, view.least)
        if self._last.get(key, (-1, now[1])) != now:
            self.recorded.append(view)
        self._last[key] = now

    def ended(self, node: str, topic_partition: TopicPartition, log_end: int) -> None:
        """Record the log end of a replica at the end of its node's incarnation."""
        self._ends[node, topic_partition] = log_end

    def found(self, node: str, topic_partition: TopicPartition, log_end: int) -> None:
        """Record the log end that a replica's incarnation finds first."""
        before = self._ends.pop((node, topic_partition), 0)
        if log_end < before:
            self.forgotten.append(Forgotten(topic_partition, node, before, log_end))
