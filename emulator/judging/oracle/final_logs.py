"""Final logs of partitions, shared by several checks."""

from emulator.judging.oracle.batch_index import BatchIndex
from emulator.judging.oracle.truth import Batch, Truth
from protocol.ids import TopicPartition


class FinalLogs:
    """The final leaders' logs, by digest. Each index is built at its first use."""

    def __init__(self, truth: Truth) -> None:
        self._logs = truth.logs
        self._leaders = truth.final_leaders()
        self._by_digest: dict[TopicPartition, dict[int, list[Batch]] | None] = {}
        self._indexes: dict[TopicPartition, BatchIndex | None] = {}

    def by_digest(self, topic_partition: TopicPartition) -> dict[int, list[Batch]] | None:
        """Batches grouped by content, in order; None if there was no leader, or its log is damaged."""
        if topic_partition not in self._by_digest:
            log = self._log(topic_partition)
            self._by_digest[topic_partition] = None if log is None else _by_digest(log)
        return self._by_digest[topic_partition]

    def holds(self, topic_partition: TopicPartition, digest: int, offset: int) -> bool | None:
        """Whether a batch of that content covers `offset` (-1: any offset); None as `by_digest`."""
        if topic_partition not in self._indexes:
            log = self._log(topic_partition)
            spans = None if log is None else BatchIndex((one.digest, one.first, one.last) for one in log)
            self._indexes[topic_partition] = spans
        index = self._indexes[topic_partition]
        return None if index is None else index.covers(digest, offset)

    def _log(self, topic_partition: TopicPartition) -> list[Batch] | None:
        return self._logs.get(topic_partition, {}).get(self._leaders.get(topic_partition, ""))


def _by_digest(log: list[Batch]) -> dict[int, list[Batch]]:
    found: dict[int, list[Batch]] = {}
    for batch in log:
        found.setdefault(batch.digest, []).append(batch)
    return found
