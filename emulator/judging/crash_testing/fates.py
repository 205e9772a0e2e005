"""What became of one record: who held it when, which leader took office without it, and what had taken it from there.

The first leader without it, behind the last one that had it, is the very event: all that follow copy that one's log.
"""

from collections.abc import Iterator
from math import inf

import msgspec

from emulator.judging.crash_testing.history import UNSEEN, Cut, Followed, History, Led, LostTail, Written
from emulator.judging.crash_testing.replica_logs import ReplicaLogs
from emulator.topology import broker_name
from protocol.ids import TopicPartition

ANY_END = -1
"""Of a leader that took no office: where its log ended then is not told."""


class Fate(msgspec.Struct, frozen=True):
    """`record`, as a leader wrote it, at `offset`. `committed_ms`: when a leader that had it counted it as committed;
    None: never.

    `by`: the leader that took office without it. `held`: (epoch, broker) of the last before that had it, or wrote it.
    `gone`: what took it from `by`, or, where no leader came after, from who held it; None: `by` had never had it, or
    nothing tells."""

    topic_partition: TopicPartition
    record: Written
    offset: int
    committed_ms: float | None
    held: tuple[int, int]
    by: Led | None
    gone: Cut | LostTail | None

    @property
    def text(self) -> str:
        """The event, in words."""
        topic, partition = self.topic_partition
        what = f"{topic}-{partition}@{self.offset} of epoch {self.record.epoch}"
        if self.by is not None:
            what += f": broker-{self.by.broker} led from {self.by.at_ms:.0f} ms on, epoch {self.by.epoch}, without it"
        match self.gone:
            case Cut(at_ms=at_ms, broker=broker, to=to, reason=reason):
                what += f"; broker-{broker} had cut its log to {to} at {at_ms:.0f} ms ({reason})"
            case LostTail(at_ms=at_ms, broker=broker, first=first, last=last, disk=disk):
                how = "disk" if disk else "power"
                what += f"; broker-{broker} was back at {at_ms:.0f} ms, and its {how} had taken [{first}, {last}]"
        return what


class Fates:
    """Of the records of a run."""

    def __init__(self, history: History, logs: ReplicaLogs) -> None:
        self._history = history
        self._logs = logs

    def of(self, topic_partition: TopicPartition, offset: int, digest: int) -> list[Fate]:
        """Of each place where leaders wrote what is known by `digest` (0: whatever they wrote): as the last of them
        wrote it there. `offset` -1: any."""
        last: dict[int, Written] = {}
        for batch in self._history.written.get(topic_partition, []):
            if digest in (0, batch.digest) and (offset < 0 or batch.first <= offset <= batch.last):
                at = offset if offset >= 0 else batch.first
                if at not in last or batch.epoch >= last[at].epoch:
                    last[at] = batch
        return [self._fate(topic_partition, at, batch) for at, batch in sorted(last.items())]

    def replaced(self, topic_partition: TopicPartition, offset: int) -> list[Fate]:
        """Of all that leaders wrote at `offset` before they wrote there for the last time. That may have been the same
        once more: what is sent again may find its old place empty."""
        written = [b for b in self._history.written.get(topic_partition, []) if b.first <= offset <= b.last]
        final = max(written, key=lambda batch: (batch.epoch, batch.at_ms), default=None)
        return [
            self._fate(topic_partition, offset, batch, final.at_ms if batch.digest == final.digest else inf)
            for batch in written
            if final is not None and batch is not final
        ]

    def _fate(self, topic_partition: TopicPartition, offset: int, record: Written, until_ms: float = inf) -> Fate:
        """`until_ms`: when the same was written there again."""
        untold = list(self._untold(topic_partition))
        own = [led.epoch for led in untold if led.broker == record.broker and led.at_ms <= record.at_ms]
        epoch = max([record.epoch, *own])  # in which its writer led, told or not
        held, held_ms = (epoch, record.broker), record.at_ms
        by: Led | None = None
        for led in self._later(topic_partition, record, epoch, until_ms, untold):
            reaches = led.log_end > offset or led.log_end == ANY_END
            if reaches and self._had(topic_partition, offset, record, led.broker, led.at_ms)[0]:
                held, held_ms, by = (led.epoch, led.broker), led.at_ms, None
            elif by is None and led.log_end != ANY_END:
                by = led
        if by is not None:
            _, gone = self._had(topic_partition, offset, record, by.broker, by.at_ms)
        else:
            _, gone = self._had(topic_partition, offset, record, held[1], until_ms)
            gone = gone if gone is not None and gone.at_ms >= held_ms else None
        return Fate(
            topic_partition, record, offset, self._committed_ms(topic_partition, offset, record), held, by, gone
        )

    def _later(
        self, topic_partition: TopicPartition, record: Written, epoch: int, until_ms: float, untold: list[Led]
    ) -> list[Led]:
        """Who led in a later epoch than this, or in the record's again, from before `until_ms`."""
        leaders = [*self._history.leaders.get(topic_partition, []), *untold]
        later = [
            led
            for led in leaders
            if led.at_ms < until_ms
            and (
                led.epoch > epoch
                or (led.epoch == record.epoch and led.broker == record.broker and led.at_ms > record.at_ms)
            )
        ]
        return sorted(later, key=lambda led: (led.epoch, led.at_ms))

    def _untold(self, topic_partition: TopicPartition) -> Iterator[Led]:
        """Who was elected again while it led on in an epoch of the past, and did not hear of it, leads nevertheless."""
        history = self._history
        leaders, followers = history.leaders.get(topic_partition, []), history.followers.get(topic_partition, [])
        known = {led.epoch for led in leaders}
        for stated in history.states.get(topic_partition, []):
            broker, epoch = stated.state.leader, stated.state.leader_epoch
            if broker < 0 or epoch in known:
                continue
            own = [led.at_ms for led in leaders if led.broker == broker and led.at_ms <= stated.at_ms]
            ends = [role.at_ms for role in followers if role.broker == broker]
            ends += history.lives.get(broker_name(broker), [])
            if own and not any(max(own) < at_ms <= stated.at_ms for at_ms in ends):
                yield Led(stated.at_ms, broker, epoch, ANY_END)

    def _had(
        self, topic_partition: TopicPartition, offset: int, record: Written, broker: int, at_ms: float
    ) -> tuple[bool, Cut | LostTail | None]:
        """(whether it has the record at that moment; what took it away, if it had it before)."""
        copies = [
            one
            for one in self._logs.over(topic_partition, offset, broker)
            if one.record.digest == record.digest and one.record.at_ms <= at_ms
        ]
        has = any(one.at(at_ms) for one in copies)
        return has, None if has or not copies else max(copies, key=lambda one: one.until_ms).gone

    def _committed_ms(self, topic_partition: TopicPartition, offset: int, record: Written) -> float | None:
        for high in self._history.highs.get(topic_partition, []):
            if high.high_watermark <= offset or high.epoch < record.epoch or high.at_ms < record.at_ms:
                continue
            if self._had(topic_partition, offset, record, high.broker, high.at_ms)[0]:
                return high.at_ms
        return None

    # --- what rules ask beside that ---

    def holds_another(self, fate: Fate, led: Led) -> bool:
        """`led` took office with another record in its place, that it had appended."""
        own = [one.digest for one in self._logs.at(fate.topic_partition, fate.offset, led.broker, led.at_ms)]
        return led.log_end > fate.offset and any(one not in (UNSEEN, fate.record.digest) for one in own)

    def followed(self, topic_partition: TopicPartition, broker: int, at_ms: float) -> Iterator[Followed]:
        """Its role at that moment."""
        for role in self._history.followers.get(topic_partition, []):
            if role.broker == broker and role.at_ms <= at_ms <= role.until_ms:
                yield role
