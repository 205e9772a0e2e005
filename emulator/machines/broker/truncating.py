"""Truncation of a follower to the history shared with its leader. Semantics 2.1, 2.2."""

from collections.abc import Callable

from emulator.machines.broker.fetch_state import FetchState, Followed
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.truncation import Cut, cut_for
from protocol.errors import ErrorCode
from protocol.events import EpochAnswered
from protocol.ids import EPOCH_UNKNOWN, LeaderEpoch, Offset, TopicPartition
from protocol.kinds import CutReason
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    UNKNOWN_REPLICA_ID,
    EpochEnd,
    EpochRequest,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

Send = Callable[[Message, int, Callable[[Message], None]], None]
"""(request, its version, handler of the response)"""


class Truncating:
    """Truncate phase of a fetcher's loop, and every truncation.

    `has_responses`: this turn's epoch requests have their responses. `without_epochs`: partitions of this turn to
    truncate without a request, after the responses for the others.
    """

    def __init__(self, followed: Followed, send: Send) -> None:
        self._followed = followed
        self._context = followed.context
        self._replicas = followed.replicas
        self._send = send
        self.has_responses = False
        self.without_epochs: list[TopicPartition] = []

    def questions(self, ready: list[tuple[TopicPartition, FetchState]]) -> list[tuple[TopicPartition, FetchState]]:
        """Partitions that need an epoch request; the others to truncate become `without_epochs`.

        Source: AbstractFetcherThread.fetchTruncatingPartitions.
        """
        self.without_epochs = []
        requested = []
        for topic_partition, state in ready:
            if not state.truncating:
                continue
            known = self._replicas.partitions[topic_partition].the_log.epochs.latest >= 0
            if known or not self._context.gates.truncates_without_epoch_request:
                requested.append((topic_partition, state))
            else:
                self.without_epochs.append(topic_partition)
        return requested

    def cut_without_epochs(self) -> TopicPartition | None:
        """Truncate partitions without known epochs to the fetch offset, the high watermark.

        A partition removed since the epoch requests is left out; in 2.1 it ends the fetcher, and is returned
        (KAFKA-8012).
        """
        removed = None
        for topic_partition in self.without_epochs:
            state = self._followed.states.get(topic_partition)
            if state is not None:
                partition = self._replicas.partitions[topic_partition]
                self.cut(partition, topic_partition, state.offset, CutReason.HIGH_WATERMARK, complete=True)
            elif self._context.gates.removed_partition_ends_fetcher:
                removed = topic_partition
                break
        self.without_epochs = []
        return removed

    def ask_epochs(self, questions: list[tuple[TopicPartition, FetchState]]) -> None:
        gates = self._context.gates
        self._followed.requested = {
            topic_partition: (state.offset, state.leader_epoch) for topic_partition, state in questions
        }
        requested = [
            EpochRequest(
                *topic_partition,
                self._replicas.partitions[topic_partition].the_log.epochs.latest,
                state.leader_epoch if gates.fences_by_epoch else EPOCH_UNKNOWN,
            )
            for topic_partition, state in questions
        ]
        replica = self._context.broker if gates.epoch_request_version >= 3 else UNKNOWN_REPLICA_ID
        self._send(OffsetForLeaderEpochRequest(requested, replica), gates.epoch_request_version, self._epochs_answered)

    def unanswered(self, reason: str) -> None:
        """Delay unchanged partitions of a request without a response; this turn has no other round."""
        self.has_responses = True
        still = self._context.gates.drops_answers_of_older_epochs
        for topic_partition, (_, leader_epoch) in self._followed.requested.items():
            state = self._followed.states.get(topic_partition)
            if state is not None and (not still or state.leader_epoch == leader_epoch):
                self._followed.delay([topic_partition], reason)

    def _epochs_answered(self, message: Message) -> None:
        assert isinstance(message, OffsetForLeaderEpochResponse), message
        self.has_responses = True
        for answer in message.partitions:
            self._epoch_answered(answer)

    def _epoch_answered(self, answer: EpochEnd) -> None:
        topic_partition = (answer.topic, answer.partition)
        state = self._followed.states.get(topic_partition)
        requested = self._followed.requested.get(topic_partition)
        if state is None or requested is None or not state.truncating:
            return
        if self._context.gates.drops_answers_of_older_epochs and requested[1] != state.leader_epoch:
            return
        if answer.error == ErrorCode.FENCED_LEADER_EPOCH:
            self._followed.fenced(topic_partition, requested[1])
        elif answer.error != ErrorCode.NONE:
            self._followed.delay([topic_partition], ErrorCode(answer.error).name)
        else:
            partition = self._replicas.partitions[topic_partition]
            if self._context.gates.epoch_request_version == 0:
                self._cut_by_first_rule(partition, topic_partition, answer.end_offset)
                return
            cut = cut_for(partition.the_log, state.offset, answer.leader_epoch, answer.end_offset)
            self.answered(partition, topic_partition, answer.leader_epoch, answer.end_offset, cut)
            self.cut(partition, topic_partition, cut.offset, CutReason.EPOCH, complete=cut.complete)

    def _cut_by_first_rule(self, partition: Partition, topic_partition: TopicPartition, end_offset: Offset) -> None:
        """Truncate by E1's rule: one round; an undefined answer means the own high watermark."""
        log = partition.the_log
        undefined = end_offset == -1
        offset = log.high_watermark if undefined else min(end_offset, log.log_end)
        self.answered(partition, topic_partition, EPOCH_UNKNOWN, end_offset, Cut(offset, complete=True))
        reason = CutReason.HIGH_WATERMARK if undefined else CutReason.EPOCH
        self.cut(partition, topic_partition, offset, reason, complete=True)

    def answered(
        self,
        partition: Partition,
        topic_partition: TopicPartition,
        leader_epoch: LeaderEpoch,
        end_offset: Offset,
        cut: Cut,
    ) -> None:
        log = partition.the_log
        own_epoch, _ = log.end_offset_for_epoch(leader_epoch)
        self._context.emit(
            EpochAnswered(
                *topic_partition,
                self._followed.source,
                leader_epoch,
                end_offset,
                own_epoch,
                log.log_end,
                cut.offset,
                cut.complete,
            )
        )

    def cut(
        self,
        partition: Partition,
        topic_partition: TopicPartition,
        offset: Offset,
        reason: CutReason,
        *,
        complete: bool,
    ) -> None:
        state = self._followed.states[topic_partition]
        self._replicas.truncate([(partition, offset)], reason)
        if partition.offline:
            return
        state.offset = min(offset, partition.the_log.log_end)
        state.last_fetched_epoch = partition.the_log.epochs.latest
        state.truncating = not (complete or self._context.gates.truncates_on_fetch)
