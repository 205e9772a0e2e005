"""Records hidden from consumers: markers; at read_committed those of aborted transactions."""

from typing import Final

from emulator.judging.oracle.transaction_facts import TransactionalBatch, with_ends
from emulator.judging.oracle.truth import Truth
from protocol.ids import TopicPartition

READ_COMMITTED: Final = "read_committed"

TransactionalLogs = dict[TopicPartition, list[TransactionalBatch]]


def transactional_logs(truth: Truth) -> TransactionalLogs:
    """Transactional batches of the final leaders' logs."""
    if not truth.producers:
        return {}
    leaders = truth.final_leaders()
    return {
        topic_partition: with_ends(replicas.get(leaders.get(topic_partition, ""), []))
        for topic_partition, replicas in sorted(truth.producers.items())
        if topic_partition[0] not in truth.gone
    }


class HiddenRecords:
    """Hidden records of one truth."""

    def __init__(self, truth: Truth) -> None:
        self._logs = transactional_logs(truth)

    def hides_all(self, topic_partition: TopicPartition, first: int, last: int, isolation: str) -> bool:
        """Whether each record in [first, last] is hidden from a consumer with that isolation."""
        found = 0
        for one in self._logs.get(topic_partition, ()):
            if one.batch.kind != "data" or (isolation == READ_COMMITTED and one.is_aborted):
                found += max(0, min(last, one.batch.last) - max(first, one.batch.first) + 1)
        return found == last - first + 1

    def is_aborted(self, topic_partition: TopicPartition, offset: int) -> bool:
        """Whether the record is of an aborted transaction."""
        log = self._logs.get(topic_partition, ())
        return any(one.is_aborted and one.batch.first <= offset <= one.batch.last for one in log)
