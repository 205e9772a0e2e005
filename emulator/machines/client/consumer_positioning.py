"""Positioning of a consumer: offset look-up, and validation of the history at a leader.

`Trouble` handles the errors of these requests and of fetches.
"""

from collections.abc import Callable

from emulator.machines.client.client_metadata import MetadataCache
from emulator.machines.client.client_operations import NO_ANSWER
from emulator.machines.client.client_settings import ConsumerSettings, isolation_of
from emulator.machines.client.client_state import Failure, Leader
from emulator.machines.client.connections import BrokerConnections
from emulator.machines.client.consumer_position import Position, ReadProblem, reset_timestamp
from protocol.errors import ErrorCode
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, LeaderEpoch, Offset, TopicPartition
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    EpochRequest,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from protocol.outbox import Outbox

OnProblem = Callable[[Now, Outbox, ReadProblem], None]


class Trouble:
    """Handling of errors: a pause and fresh metadata, or the end of reading a partition."""

    def __init__(
        self,
        settings: ConsumerSettings,
        metadata: MetadataCache,
        on_problem: OnProblem,
        on_reset: OnProblem | None = None,
    ) -> None:
        self._settings = settings
        self._metadata = metadata
        self._on_problem = on_problem
        self._on_reset = on_reset

    def again(self, now: Now, position: Position) -> None:
        """Retry with fresh metadata."""
        self._metadata.request_update()
        self.wait(now, position)

    def reset(
        self,
        now: Now,
        out: Outbox,
        key: TopicPartition,
        position: Position,
        name: str,
        diverging_offset: Offset = NO_OFFSET,
    ) -> None:
        """Report a wrong position; the caller is about to replace it, by the policy."""
        position.operation.position_left(out, position.offset, name, stopped=False, diverging_offset=diverging_offset)
        if self._on_reset is not None:
            self._on_reset(now, out, ReadProblem(*key, name, position.offset, diverging_offset))

    def note_epoch(self, key: TopicPartition, epoch: LeaderEpoch) -> None:
        """Note the epoch of an offset (-1: none), which may be newer than the metadata's."""
        self._metadata.note_epoch(*key, epoch)

    def wait(self, now: Now, position: Position) -> None:
        position.not_before_ms = now.mono_ms + self._settings.retry_backoff_ms

    def stop(
        self,
        now: Now,
        out: Outbox,
        key: TopicPartition,
        position: Position,
        name: str,
        diverging_offset: Offset = NO_OFFSET,
        error: int = NO_ANSWER,
    ) -> None:
        """Stop reading; the owner receives the reason, and may `seek`."""
        problem = ReadProblem(*key, name, position.offset, diverging_offset)
        position.stop()
        position.operation.position_left(out, position.offset, name, stopped=True, diverging_offset=diverging_offset)
        position.operation.end(out, error=error, offset=position.offset, leader_epoch=position.offset_epoch)
        self._on_problem(now, out, problem)


class Positioning:
    """Requests for partitions that cannot be fetched yet. One request per partition."""

    def __init__(self, settings: ConsumerSettings, connections: BrokerConnections, trouble: Trouble) -> None:
        self._settings = settings
        self._connections = connections
        self._trouble = trouble

    def ask(self, now: Now, out: Outbox, key: TopicPartition, position: Position, leader: Leader) -> None:
        """Send the request of the position's state; `leader` is ready."""
        if position.state == "validating":
            question = EpochRequest(*key, position.offset_epoch, position.leader_epoch)
            self._send(now, out, key, position, leader, OffsetForLeaderEpochRequest([question], CONSUMER_REPLICA_ID))
            return
        assert position.state == "resetting", position.state
        timestamp = reset_timestamp(self._settings)
        if timestamp is None:
            self._trouble.stop(now, out, key, position, "NoOffsetForPartitionException")
            return
        epoch = leader.epoch if self._settings.validates_epochs else EPOCH_UNKNOWN
        wanted = ListOffsetsPartition(*key, timestamp, epoch)
        request = ListOffsetsRequest(CONSUMER_REPLICA_ID, [wanted], isolation_of(self._settings))
        self._send(now, out, key, position, leader, request, self._settings.list_offsets_version)

    def _send(
        self,
        now: Now,
        out: Outbox,
        key: TopicPartition,
        position: Position,
        leader: Leader,
        request: Message,
        version: int | None = None,
    ) -> None:
        position.busy = True
        position.sent_ms = now.mono_ms
        generation = position.generation

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            if position.generation == generation:
                position.busy = False
                self._answered(now, out, key, position, answer)

        wait_ms = self._settings.request_timeout_ms
        self._connections.send(now, out, leader.node, request, wait_ms=wait_ms, answered=answered, version=version)

    def _answered(
        self, now: Now, out: Outbox, key: TopicPartition, position: Position, answer: Message | Failure
    ) -> None:
        error = int(ErrorCode.UNKNOWN_SERVER_ERROR)
        match answer:
            case Failure():
                self._trouble.wait(now, position)
                return
            case ListOffsetsResponse(partitions=listed):
                for each in listed:
                    if (each.topic, each.partition) == key:
                        error = each.error
                        if error == ErrorCode.NONE:
                            self._trouble.note_epoch(key, each.leader_epoch)
                            position.seek(each.offset)  # no record was read: there is no history to compare
            case OffsetForLeaderEpochResponse(partitions=ends):
                for end in ends:
                    if (end.topic, end.partition) == key:
                        error = end.error
                        if error == ErrorCode.NONE:
                            self._compare(now, out, key, position, end.leader_epoch, end.end_offset)
        if error != ErrorCode.NONE:
            # Unexpected ones, too: Fetcher.handleListOffsetResponse, OffsetsForLeaderEpochClient.handleResponse.
            self._trouble.again(now, position)

    def _compare(
        self, now: Now, out: Outbox, key: TopicPartition, position: Position, epoch: LeaderEpoch, end_offset: Offset
    ) -> None:
        """Validate a position: an undefined epoch, or a lower end, means truncation (semantics 6)."""
        undefined = epoch < 0 or end_offset < 0
        if not undefined and end_offset >= position.offset:
            position.state = "fetching"
            return
        diverging = NO_OFFSET if undefined else end_offset
        if reset_timestamp(self._settings) is None:
            if not self._settings.reports_truncation:
                # AsyncClient catches the listener's exception: the partition stays so until its next request is due.
                position.not_before_ms = position.sent_ms + self._settings.request_timeout_ms
                return
            self._trouble.stop(now, out, key, position, "LogTruncationException", diverging)
            return
        self._trouble.reset(now, out, key, position, "LogTruncationException", diverging)
        if undefined:
            position.restart()
        else:
            position.seek(end_offset, epoch)
