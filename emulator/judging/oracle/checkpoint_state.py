"""Replicas' knowledge of their own logs: high watermarks, epochs' beginnings, checkpoints.

The facts span all incarnations of a broker: a high watermark that was reached once is known here also after the broker
itself has lost it.
"""

from collections.abc import Mapping

from emulator.judging.oracle.truth import Ahead, CutBelow, IsrChange, Outlived
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.replica_log import Log
from protocol.ids import TopicPartition


class Kept:
    """Facts about replicas' logs. `found`: count of logs found at starts."""

    def __init__(self) -> None:
        self.cuts: list[CutBelow] = []
        self.outlived: list[Outlived] = []
        self.ahead: list[Ahead] = []
        self.isr_changes: list[IsrChange] = []
        self.found = 0
        self._high_watermarks: dict[tuple[str, TopicPartition], int] = {}
        self._outlived_known: set[tuple[str, int, TopicPartition, int, int]] = set()
        """(node, incarnation, topic_partition, epoch, begins) of the entries of `outlived`."""

    def loaded(
        self,
        node: str,
        incarnation: int,
        logs: Mapping[TopicPartition, Log],
        checkpointed: Mapping[TopicPartition, int],
        led: Mapping[TopicPartition, int],
    ) -> None:
        """Record the logs that an incarnation has found.

        `led`: leader epochs that it began at their ends in the same step, as a broker of KRaft does.
        """
        for topic_partition, log in logs.items():
            self.found += 1
            known = self._high_watermarks.get((node, topic_partition), 0)
            self._high_watermarks[node, topic_partition] = max(min(known, log.log_end), log.high_watermark)
            if checkpointed.get(topic_partition, -1) > log.log_end:
                ahead = Ahead(topic_partition, node, incarnation, checkpointed[topic_partition], log.log_end)
                self.ahead.append(ahead)
            self._outlived(node, incarnation, topic_partition, log, led.get(topic_partition, -1))

    def made_anew(self, node: str, topic_partition: TopicPartition) -> None:
        """Forget a replica's high watermark: its log is a new, empty one."""
        self._high_watermarks.pop((node, topic_partition), None)

    def reached(self, node: str, topic_partition: TopicPartition, high_watermark: int) -> None:
        """Record a replica's high watermark."""
        key = (node, topic_partition)
        if high_watermark > self._high_watermarks.get(key, 0):
            self._high_watermarks[key] = high_watermark

    def cut(
        self,
        node: str,
        incarnation: int,
        topic_partition: TopicPartition,
        partition: Partition,
        log: Log,
        was_end: int,
        *,
        wiped: bool = False,
    ) -> None:
        """Record that `log`, which ended at `was_end`, has a lower end now.

        `wiped`: the log was deleted to begin anew at its leader's log start; that breaks no promise.
        """
        known = self._high_watermarks.get((node, topic_partition), 0)
        if log.log_end < known:
            if not wiped:
                self.cuts.append(CutBelow(topic_partition, node, log.log_end, was_end, known))
            self._high_watermarks[node, topic_partition] = log.log_end
        # A leader may have begun its epoch at the new end already.
        began = partition.leader_epoch if partition.leads else -1
        self._outlived(node, incarnation, topic_partition, log, began)

    def _outlived(self, node: str, incarnation: int, topic_partition: TopicPartition, log: Log, began: int) -> None:
        for epoch, begins in log.epochs.entries:
            at_end = begins == log.log_end and epoch == began
            key = (node, incarnation, topic_partition, epoch, begins)
            if begins >= log.log_end and not at_end and key not in self._outlived_known:
                self._outlived_known.add(key)
                self.outlived.append(Outlived(topic_partition, node, incarnation, epoch, begins, log.log_end))
