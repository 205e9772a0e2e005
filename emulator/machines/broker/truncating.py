"""How a follower finds out where its log and its leader's part, and cuts. Semantics 2.1, 2.2."""

from emulator.machines.broker.fetch_state import FetcherCore, FetchState
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.truncation import Cut, cut_for
from protocol.errors import ErrorCode
from protocol.events import EpochAnswered
from protocol.ids import TopicPartition
from protocol.messages.base import Message
from protocol.messages.replication import (
    EpochAnswer,
    EpochQuestion,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)


class Truncating(FetcherCore):
    """The truncate phase of a fetcher's loop, and every cut."""

    def _truncate_without_asking(self, now_ms: float) -> None:
        """No epoch is known of the own log: cut to the fetch offset, which is the high watermark."""
        if not self._context.gates.cuts_without_asking:
            return
        for place, state in list(self.states.items()):
            # An earlier cut may have found their log directory failed.
            if place in self.states and state.truncating and state.delayed_until_ms <= now_ms:
                partition = self._replicas.partitions[place]
                if partition.the_log.epochs.latest == -1:
                    self._cut(partition, place, state.offset, "high-watermark", complete=True)

    def _ask_epochs(self, questions: list[tuple[TopicPartition, FetchState]]) -> None:
        gates = self._context.gates
        self._asked = {place: (state.offset, state.leader_epoch) for place, state in questions}
        asked = [
            EpochQuestion(
                *place,
                self._replicas.partitions[place].the_log.epochs.latest,
                state.leader_epoch if gates.fences_by_epoch else -1,
            )
            for place, state in questions
        ]
        replica = self._context.broker if gates.epoch_request_version >= 3 else -2
        self._send(OffsetForLeaderEpochRequest(asked, replica), gates.epoch_request_version, self._epochs_answered)

    def _epochs_answered(self, message: Message) -> None:
        assert isinstance(message, OffsetForLeaderEpochResponse), message
        for answer in message.partitions:
            self._epoch_answered(answer)

    def _epoch_answered(self, answer: EpochAnswer) -> None:
        place = (answer.topic, answer.partition)
        state = self.states.get(place)
        asked = self._asked.get(place)
        if state is None or asked is None or not state.truncating:
            return
        if self._context.gates.drops_answers_of_older_epochs and asked[1] != state.leader_epoch:
            return
        if answer.error == ErrorCode.FENCED_LEADER_EPOCH:
            self._fenced(place, asked[1])
        elif answer.error != ErrorCode.NONE:
            self._delay([place], ErrorCode(answer.error).name)
        else:
            partition = self._replicas.partitions[place]
            if self._context.gates.epoch_request_version == 0:
                self._cut_by_first_rule(partition, place, answer.end_offset)
                return
            cut = cut_for(partition.the_log, state.offset, answer.leader_epoch, answer.end_offset)
            self._answered(partition, place, answer.leader_epoch, answer.end_offset, cut)
            self._cut(partition, place, cut.offset, "epoch", complete=cut.complete)

    def _cut_by_first_rule(self, partition: Partition, place: TopicPartition, end_offset: int) -> None:
        """E1: one round; an undefined answer means the own high watermark."""
        log = partition.the_log
        undefined = end_offset == -1
        offset = log.high_watermark if undefined else min(end_offset, log.log_end)
        self._answered(partition, place, -1, end_offset, Cut(offset, complete=True))
        self._cut(partition, place, offset, "high-watermark" if undefined else "epoch", complete=True)

    def _answered(
        self, partition: Partition, place: TopicPartition, leader_epoch: int, end_offset: int, cut: Cut
    ) -> None:
        log = partition.the_log
        own_epoch, _ = log.end_offset_for_epoch(leader_epoch)
        self._context.emit(
            EpochAnswered(
                *place, self.source, leader_epoch, end_offset, own_epoch, log.log_end, cut.offset, cut.complete
            )
        )

    def _cut(self, partition: Partition, place: TopicPartition, offset: int, reason: str, *, complete: bool) -> None:
        state = self.states[place]
        self._replicas.truncate([(partition, offset)], reason)
        if partition.offline:
            return
        state.offset = min(offset, partition.the_log.log_end)
        state.last_fetched_epoch = partition.the_log.epochs.latest
        state.truncating = not (complete or self._context.gates.truncates_on_fetch)

    def _fenced(self, place: TopicPartition, request_epoch: int) -> None:
        """2.2: fenced with the epoch it still holds: wait for LeaderAndIsr; otherwise try again later."""
        state = self.states[place]
        if request_epoch == state.leader_epoch:
            self.states.pop(place)
            self._say(place, "failed", state.offset, "FENCED_LEADER_EPOCH", state.leader_epoch)
        else:
            self._delay([place], "FENCED_LEADER_EPOCH")
