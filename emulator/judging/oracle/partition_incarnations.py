"""Maps operations and reads to incarnations of topics; clients learn of deletions late.

Incarnations are numbered from 1; the last one has the topic's own name. An operation belongs to the incarnation in
which it began. A batch that was read belongs to the incarnation in which it was returned, unless only the logs of
another one hold it.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from emulator.judging.oracle.batch_index import BatchIndex
from emulator.judging.oracle.log_extent import former_life
from emulator.judging.oracle.probe import Probe
from emulator.machines.client.client_operations import Operation


class LivesOfTopics:
    """Incarnations of topics, as `probe` has seen them."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._batches: dict[tuple[str, int], BatchIndex] = {}

    def of_operation(self, operation: Operation, number: int, ended: int | None) -> str:
        """Name of the incarnation of an operation.

        `number`: count of operations that began before. `ended`: count of those that ended before its end; None: no
        end. A produce may have waited until the topic existed again. Then it belongs to the incarnation whose log has
        it.
        """
        topic = operation.topic
        begun = _life(number, self._probe.removed.get(topic, ()))
        if operation.kind != "produce":
            return self._name(topic, begun)
        ends = self._probe.ended_by.get(topic, ())
        last = len(ends) + 1 if ended is None else _life(ended, ends)
        for life in range(last, begun, -1):
            name = self._name(topic, life)
            if self._held(name, operation.partition, operation.digest, operation.offset):
                return name
        return self._name(topic, begun)

    def of_reads(self, operation: Operation) -> Iterator[str]:
        """Names for each read in order.

        A late response may come from an ended incarnation that alone had the batch.
        """
        topic, partition = operation.topic, operation.partition
        until = [given.get(operation.identifier, 0) for given in self._probe.read_by.get(topic, ())]
        for number, read in enumerate(operation.reads):
            by_time = _life(number, until)
            if by_time == 1:
                yield self._name(topic, 1)
                continue
            lives = (self._name(topic, life) for life in range(by_time, 0, -1))
            held = (name for name in lives if self._held(name, partition, read.digest, read.base_offset))
            yield next(held, self._name(topic, by_time))

    def _name(self, topic: str, life: int) -> str:
        return former_life(topic, life) if life <= len(self._probe.removed.get(topic, ())) else topic

    def _held(self, name: str, partition: int, digest: int, offset: int) -> bool:
        """Whether a log of the incarnation held the batch (`offset` -1: anywhere).

        That includes a log that outlived its topic and that the next incarnation reuses.
        """
        key = (name, partition)
        if key not in self._batches:
            written = self._probe.written
            held = (*written.batches.get(key, ()), *written.carried.get(key, ()))
            self._batches[key] = BatchIndex((of, first, last) for _, first, last, of in held)
        return self._batches[key].covers(digest, offset)


def _life(number: int, ends: Sequence[int]) -> int:
    """Number of an incarnation. `ends`: counts at the end of each incarnation, never decreasing."""
    return bisect_right(ends, number) + 1
