"""The logs that several checks read."""

from emulator.judging.oracle.truth import Batch, Truth
from protocol.ids import TopicPartition


class FinalLogs:
    """The final leaders' logs, by digest. What several checks ask for is made when it is asked for."""

    def __init__(self, truth: Truth) -> None:
        self._logs = truth.logs
        self._leaders = truth.final_leaders()
        self._by_digest: dict[TopicPartition, dict[int, list[Batch]] | None] = {}

    def by_digest(self, topic_partition: TopicPartition) -> dict[int, list[Batch]] | None:
        """Batches of equal content together, in order; None if nobody ever led, or the log cannot be read."""
        if topic_partition not in self._by_digest:
            log = self._logs.get(topic_partition, {}).get(self._leaders.get(topic_partition, ""))
            self._by_digest[topic_partition] = None if log is None else _by_digest(log)
        return self._by_digest[topic_partition]

    def holds(self, topic_partition: TopicPartition, digest: int, offset: int) -> bool | None:
        """Whether a batch of that content is where it belongs (`offset` -1: anywhere); None as `by_digest`."""
        log = self.by_digest(topic_partition)
        if log is None:
            return None
        return any(offset < 0 or batch.first <= offset <= batch.last for batch in log.get(digest, ()))


def _by_digest(log: list[Batch]) -> dict[int, list[Batch]]:
    found: dict[int, list[Batch]] = {}
    for batch in log:
        found.setdefault(batch.digest, []).append(batch)
    return found
