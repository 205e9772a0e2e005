"""Contents of a replica's log over time, replayed from its appends and truncations.

A truncation removes the first batch that ends at or after the offset, and all later ones, as in Kafka
(LogSegment.truncateTo). Up to 0.10.2 a follower appends a whole wrapper that begins before its log's end (semantics
11.9). Then two batches contain one offset, and neither replaces the other.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import inf

import msgspec

from emulator.judging.explain.run_history import UNTOLD, Cut, History, LostTail, Unseen, Written
from protocol.gates import Gates
from protocol.ids import TopicPartition


class Held(msgspec.Struct):
    """A record in a replica's log from `record.at_ms` until `until_ms`.

    `gone`: the event that removed it; None: it was not removed, or was overwritten, which no event reports.
    """

    record: Written
    until_ms: float = inf
    gone: Cut | LostTail | None = None

    def at(self, at_ms: float) -> bool:
        """Whether the log had it at that time; at `inf`: at the end."""
        return self.record.at_ms <= at_ms and (at_ms < self.until_ms or self.until_ms == inf)


class ReplicaLogs:
    """Logs of a run with these `gates`.

    `tails`: records that power losses and lost disks removed.
    """

    def __init__(self, gates: Gates, history: History, tails: list[LostTail]) -> None:
        self._gates = gates
        self._history = history
        self._tails = tails
        self._known: dict[tuple[TopicPartition, int], list[Held]] = {}

    def held(self, topic_partition: TopicPartition, broker: int) -> list[Held]:
        """All batches that the replica ever had, in the order of appends."""
        if (topic_partition, broker) not in self._known:
            self._known[topic_partition, broker] = self._played(topic_partition, broker, inf)
        return self._known[topic_partition, broker]

    def over(self, topic_partition: TopicPartition, offset: int, broker: int) -> Iterator[Held]:
        """All batches that the replica ever had over this offset."""
        return (one for one in self.held(topic_partition, broker) if one.record.first <= offset <= one.record.last)

    def at(self, topic_partition: TopicPartition, offset: int, broker: int, at_ms: float) -> tuple[Written, ...]:
        """Batches over this offset at that time, in the log's order."""
        return tuple(one.record for one in self.over(topic_partition, offset, broker) if one.at(at_ms))

    def _played(self, topic_partition: TopicPartition, broker: int, before_ms: float) -> list[Held]:
        """Replay a log, without unseen records found from `before_ms` on."""
        history = self._history
        led = [one for one in history.written.get(topic_partition, []) if one.broker == broker]
        copied = [one for one in history.copied.get(topic_partition, []) if one.broker == broker]
        for unseen in history.unseen.get(topic_partition, []):
            if unseen.written.broker == broker and unseen.written.at_ms < before_ms:
                (led if unseen.leader == broker else copied).extend(self._found(topic_partition, unseen))
        cuts = [cut for cut in history.cuts.get(topic_partition, []) if cut.broker == broker]
        tails = [tail for tail in self._tails if tail.broker == broker and tail.topic_partition == topic_partition]
        log: list[Held] = []
        past: list[Held] = []
        # In one step a truncation precedes an append.
        events: list[Cut | LostTail | Written] = [*cuts, *tails, *led, *copied]
        own = {id(one) for one in led}
        for event in sorted(events, key=lambda one: one.at_ms):
            match event:
                case Written():
                    whole = self._gates.wrapper_reads_whole and id(event) not in own
                    if not (whole and log and log[-1].record.last < event.last):
                        _end(log, event.first, event.at_ms, None)
                    log.append(Held(event))
                    past.append(log[-1])
                case Cut(reason=reason):
                    _end(log, event.to, event.at_ms, event, tails if reason == UNTOLD else ())
                case LostTail():
                    _end(log, event.first, event.at_ms, event)
        return past

    def _found(self, topic_partition: TopicPartition, unseen: Unseen) -> list[Written]:
        """Batches that a follower had appended unseen, taken from its leader's log.

        Of a leader's unseen batches only the epoch is known.
        """
        own, leader = unseen.written, unseen.leader
        if leader == own.broker:
            return [msgspec.structs.replace(own, of=own.epoch if self._gates.has_epoch_cache else -1)]
        theirs = [
            one.record
            for one in self._played(topic_partition, leader, own.at_ms)
            if one.at(own.at_ms) and own.first <= one.record.last <= own.last
        ]
        return [
            msgspec.structs.replace(record, at_ms=own.at_ms, broker=own.broker, epoch=own.epoch) for record in theirs
        ] or [own]


def _end(
    log: list[Held], offset: int, at_ms: float, gone: Cut | LostTail | None, spared: Sequence[LostTail] = ()
) -> None:
    """End all batches that end at or after `offset`, except those that `spared` removed."""
    first = bisect_left(log, offset, key=lambda one: one.record.last)
    kept = []
    for one in log[first:]:
        if any(tail.first <= one.record.last and one.record.first <= tail.last for tail in spared):
            kept.append(one)
        else:
            one.until_ms, one.gone = at_ms, gone
    log[first:] = kept
