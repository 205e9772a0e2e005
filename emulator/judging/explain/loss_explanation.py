"""Explains a lost record: its holders, the leader elected without it, the removing event.

The decisive event is the first leader without the record after the last leader with it. Later leaders copy that one's
log.
"""

from collections.abc import Iterator
from math import inf

import msgspec

from emulator.judging.explain.replica_logs import ReplicaLogs
from emulator.judging.explain.run_history import UNSEEN, Cut, Followed, History, Led, LostTail, Written
from emulator.topology import broker_name
from protocol.ids import TopicPartition

ANY_END = -1
"""In place of the log end of a leader whose election no event reports."""


class Fate(msgspec.Struct, frozen=True):
    """A copy of `record`, as a leader wrote it, at `offset`.

    `committed_ms`: when a leader with it counted it as committed; None: never. `by`: the leader elected without it.
    `held`: (epoch, broker) of the last leader before that had it, or wrote it. `gone`: the event that removed it from
    `by`, or from the last holder where no leader came after; None: `by` never had it, or no event reports it.
    """

    topic_partition: TopicPartition
    record: Written
    offset: int
    committed_ms: float | None
    held: tuple[int, int]
    by: Led | None
    gone: Cut | LostTail | None

    @property
    def text(self) -> str:
        """Description of the event."""
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
    """Fates of the records of a run."""

    def __init__(self, history: History, logs: ReplicaLogs) -> None:
        self._history = history
        self._logs = logs

    def of(self, topic_partition: TopicPartition, offset: int, digest: int) -> list[Fate]:
        """Fates of the record with `digest` (0: any), by its last write at each offset.

        `offset` -1: any.
        """
        last: dict[int, Written] = {}
        for batch in self._history.written.get(topic_partition, []):
            if digest in (0, batch.digest) and (offset < 0 or batch.first <= offset <= batch.last):
                at = offset if offset >= 0 else batch.first
                if at not in last or batch.epoch >= last[at].epoch:
                    last[at] = batch
        return [self._fate(topic_partition, at, batch) for at, batch in sorted(last.items())]

    def replaced(self, topic_partition: TopicPartition, offset: int) -> list[Fate]:
        """Fates of all records that leaders wrote at `offset` before the last one.

        The last one may be the same record: a resent record may find its old offset empty.
        """
        written = [b for b in self._history.written.get(topic_partition, []) if b.first <= offset <= b.last]
        final = max(written, key=lambda batch: (batch.epoch, batch.at_ms), default=None)
        return [
            self._fate(topic_partition, offset, batch, final.at_ms if batch.digest == final.digest else inf)
            for batch in written
            if final is not None and batch is not final
        ]

    def _fate(self, topic_partition: TopicPartition, offset: int, record: Written, until_ms: float = inf) -> Fate:
        """`until_ms`: when the same record was written there again."""
        untold = list(self._untold(topic_partition))
        own = [led.epoch for led in untold if led.broker == record.broker and led.at_ms <= record.at_ms]
        epoch = max([record.epoch, *own])  # epoch in which its writer led, reported or not
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
        """Leaders of later epochs, or of the record's epoch again, from before `until_ms`."""
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
        """Unreported elections: a leader of an older epoch that did not receive its new one."""
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
                yield Led(stated.at_ms, broker, epoch=epoch, log_end=ANY_END)

    def _had(
        self, topic_partition: TopicPartition, offset: int, record: Written, broker: int, at_ms: float
    ) -> tuple[bool, Cut | LostTail | None]:
        """(whether the broker has the record at that time; the event that removed it, if any)."""
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

    # --- further questions of rules ---

    def holds_another(self, fate: Fate, led: Led) -> bool:
        """Whether `led` became leader with another record in its place, which it had appended."""
        own = [one.digest for one in self._logs.at(fate.topic_partition, fate.offset, led.broker, led.at_ms)]
        return led.log_end > fate.offset and any(one not in (UNSEEN, fate.record.digest) for one in own)

    def followed(self, topic_partition: TopicPartition, broker: int, at_ms: float) -> Iterator[Followed]:
        """Roles of the broker at that time."""
        for role in self._history.followers.get(topic_partition, []):
            if role.broker == broker and role.at_ms <= at_ms <= role.until_ms:
                yield role
