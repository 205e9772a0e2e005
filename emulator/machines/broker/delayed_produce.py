"""A produce with acks=-1, parked until the in-sync replicas have its records. Semantics 1.8."""

from collections.abc import Callable

from emulator.machines.broker.partition import Partition
from emulator.machines.broker.purgatory import Delayed
from emulator.machines.broker.request_channel import Request
from protocol.errors import NO_ERROR, ErrorCode
from protocol.ids import NO_OFFSET, Offset
from protocol.messages.replication_messages import ProduceResult

Required = dict[int, tuple[Partition, Offset]]
"""{index in the request: (partition, required high watermark)}"""


class DelayedProduce(Delayed):
    """A delayed produce.

    `required`: appended but not settled partitions; the others of `results` are settled. `answer` is called once
    with all.
    """

    __slots__ = ("_answer", "_required", "_results")

    def __init__(
        self,
        request: Request | None,
        results: list[ProduceResult],
        required: Required,
        answer: Callable[[list[ProduceResult]], None],
    ) -> None:
        super().__init__(request)
        self._results = results
        self._required = required
        self._answer = answer

    @property
    def waits_for(self) -> str:
        places = (f"{partition.topic}-{partition.partition}:{offset}" for partition, offset in self._required.values())
        return f"high watermarks {' '.join(places)}"

    def watch(self) -> None:
        """Register with its partitions: each change there causes a check."""
        for partition, _ in self._required.values():
            partition.parked_produces[self.number] = self

    def ready(self) -> bool:
        for index, (partition, offset) in list(self._required.items()):
            error = _outcome(partition, offset)
            if error is not None:
                self._settle(index, error)
                if error and error == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    self._results[index].base_offset = NO_OFFSET
        return not self._required

    def complete(self) -> None:
        self._answer(self._results)

    def expire(self) -> None:
        for index in list(self._required):
            self._settle(index, ErrorCode.REQUEST_TIMED_OUT)
        self._answer(self._results)

    def _settle(self, index: int, error: ErrorCode) -> None:
        self._results[index].error = error
        partition, _ = self._required.pop(index)
        partition.parked_produces.pop(self.number, None)


def _outcome(partition: Partition, required_offset: Offset) -> ErrorCode | None:
    """Error of a required partition; None while it must wait."""
    if partition.offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if partition.gone:
        return partition.gone
    if not partition.leads:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if partition.the_log.high_watermark < required_offset:
        return None
    if len(partition.maximal_isr) < partition.min_isr:
        return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    return NO_ERROR
