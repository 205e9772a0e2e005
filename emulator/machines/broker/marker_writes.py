"""WriteTxnMarkers at a leader: markers are appended as any batch with acks=all.

Source: KafkaApis.handleWriteTxnMarkersRequest.
"""

from collections.abc import Callable
from functools import partial

from emulator.machines.broker.appends import Appends
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.request_channel import Request
from protocol.errors import ErrorCode
from protocol.messages.leadership_messages import PartitionError
from protocol.messages.replication_messages import ProducePartition, ProduceRequest, ProduceResult
from protocol.messages.transactions import (
    TransactionMarkers,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
    WrittenMarkers,
)
from protocol.records.offset_commits import OFFSETS_TOPIC
from protocol.records.transaction_markers import Marker, encode_marker
from protocol.work import Work

OffsetsEnded = Callable[[int, int, bool, Callable[[], None]], None]
"""Callback of a marker in the offsets topic.

Arguments: its partition, the producer id, whether it commits, and a callback once the offsets are visible.
"""
ALL_IN_SYNC = -1


class MarkerWrites:
    """Handles WriteTxnMarkers of one broker.

    `offsets_ended` is called with each marker in the offsets topic.
    """

    def __init__(
        self, context: BrokerContext, replicas: Replicas, appends: Appends, offsets_ended: OffsetsEnded
    ) -> None:
        self._context = context
        self._replicas = replicas
        self._appends = appends
        self._offsets_ended = offsets_ended

    def write(self, request: Request, body: WriteTxnMarkersRequest) -> Work[None]:
        """Append the markers, one append for each transaction; answer when all have a result."""
        written: dict[int, list[PartitionError]] = {}

        def settle(index: int, results: list[PartitionError]) -> None:
            written[index] = results
            if len(written) == len(body.markers):
                request.answer(
                    WriteTxnMarkersResponse(
                        [WrittenMarkers(one.producer_id, written[place]) for place, one in enumerate(body.markers)]
                    )
                )

        if not body.markers:
            request.answer(WriteTxnMarkersResponse([]))
        for index, one in enumerate(body.markers):
            yield from self._append(one, partial(settle, index))

    def _append(self, markers: TransactionMarkers, settled: Callable[[list[PartitionError]], None]) -> Work[None]:
        context = self._context
        unknown = [
            PartitionError(one.topic, one.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            for one in markers.partitions
            if (one.topic, one.partition) not in self._replicas.logs
        ]
        here = [one for one in markers.partitions if (one.topic, one.partition) in self._replicas.logs]
        if not here:
            settled(unknown)
            return
        batch = encode_marker(
            Marker(markers.commits, markers.coordinator_epoch),
            producer_id=markers.producer_id,
            producer_epoch=markers.producer_epoch,
            timestamp_ms=int(context.now.wall_ms),
        )

        def appended(results: list[ProduceResult]) -> None:
            ended = [one for one in results if one.topic == OFFSETS_TOPIC and not one.error]
            errors = unknown + [PartitionError(one.topic, one.partition, one.error) for one in results]
            self._tell_offsets(markers, [one.partition for one in ended], lambda: settled(errors))

        produce = ProduceRequest(
            ALL_IN_SYNC,
            context.settings.request_timeout_ms,
            [ProducePartition(one.topic, one.partition, batch) for one in here],
        )
        yield from self._appends.append(produce, appended)

    def _tell_offsets(self, markers: TransactionMarkers, partitions: list[int], done: Callable[[], None]) -> None:
        """Tell the group coordinator.

        With KAFKA-17507 the answer waits until it has made the offsets visible.
        """
        waits = self._context.gates.marker_answer_waits_for_offsets
        left = len(partitions)

        def visible() -> None:
            nonlocal left
            left -= 1
            if waits and left == 0:
                done()

        for number in partitions:
            self._offsets_ended(number, markers.producer_id, markers.commits, visible)
        if not waits or not partitions:
            done()


