"""Replicas' logs as events tell them, and which acknowledged records the newest leader does not have. Pure.

The same as the check lost-acknowledged asks of a whole run (`audit.logs.LOGS`): a batch is in a log until a cut of
that replica reaches it; a record that a produce was told of is lost when the log of the newest leader holds no batch
with its digest at its offset. Here a record is looked for when it is acknowledged, and again when there is another
leader, or the leader's log is cut.

Bounded: batches and acknowledgements are forgotten, oldest first. A cut that reaches into what is forgotten, and a log
whose events do not tell all of it, make a partition one of which nobody can say what is lost; that is told, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from typing import Final

import msgspec

from audit.following.event import Event
from audit.following.finding import Seen
from protocol.ids import topic_partition_text

BATCHES_MAX: Final = 200_000
"""In all logs together."""
RECORDS_MAX: Final = 100_000
"""Acknowledged ones, of all partitions together."""
LOST_MAX: Final = 10_000
"""Of one partition; more are not told one by one."""
Place = tuple[str, int]


class Batch(msgspec.Struct):
    base: int
    last: int
    digest: int


class Acknowledged(msgspec.Struct, frozen=True):
    """`records` of one batch, the first at `offset`, -1: acks=0 promises none. `values`: of each; empty: not known."""

    operation: str
    offset: int
    digest: int
    acks: int
    at_ms: float
    values: tuple[str, ...]
    name: str
    records: int = 1


class Replica:
    """One replica's log. `begins`: where it began; `forgotten_to`: below it, nobody remembers what is in it."""

    def __init__(self) -> None:
        self.begins = 0
        self.forgotten_to = 0
        self._batches: deque[Batch] = deque()
        self._by_digest: dict[int, list[Batch]] = {}
        self._gap: int | None = None
        self._bound = 0

    @property
    def end(self) -> int:
        return self._batches[-1].last + 1 if self._batches else max(self.begins, self.forgotten_to)

    @property
    def told(self) -> bool:
        """Whether its events tell all of it."""
        return self._gap is None and self.end >= self._bound

    def append(self, batch: Batch) -> None:
        if batch.base != self.end and self._gap is None:
            self._gap = self.end
        self._batches.append(batch)
        self._by_digest.setdefault(batch.digest, []).append(batch)

    def cut(self, to: int, begins: int | None = None) -> bool:
        """Whether it reached into what is forgotten. Kafka cuts whole batches. `begins`: it starts there from now."""
        while self._batches and self._batches[-1].last >= to:
            self._gone(self._batches.pop())
        forgot = to < self.forgotten_to
        if forgot:
            self.forgotten_to = to
        if begins is not None:
            self.begins = begins
        self._bound = to
        if self._gap is not None and to <= self._gap:
            self._gap = None
        return forgot

    def forget(self, batch: Batch) -> None:
        """If it is the oldest: one that was cut is gone already."""
        if self._batches and self._batches[0] is batch:
            self._gone(self._batches.popleft())
            self.forgotten_to = batch.last + 1

    def holds(self, record: Acknowledged) -> bool:
        """Whether it is there, or may be, where nobody remembers."""
        if 0 <= record.offset < self.forgotten_to or (record.offset < 0 and self.forgotten_to > 0):
            return True
        return any(
            record.offset < 0 or one.base <= record.offset <= one.last for one in self._by_digest.get(record.digest, ())
        )

    def below(self, offset: int) -> Iterator[Batch]:
        """What it remembers that begins below, as far as it lies there."""
        for batch in self._batches:
            if batch.base >= offset:
                return
            yield Batch(batch.base, min(batch.last, offset - 1), batch.digest)

    def _gone(self, batch: Batch) -> None:
        same = self._by_digest[batch.digest]
        same.remove(batch)
        if not same:
            del self._by_digest[batch.digest]


class _Partition:
    def __init__(self) -> None:
        self.replicas: dict[str, Replica] = {}
        self.leader: tuple[int, str] | None = None
        self.acknowledged: dict[int, list[Acknowledged]] = {}
        self.suspects: dict[str, Acknowledged] = {}
        self.lost: dict[Hashable, Seen] = {}
        """{(operation, which of its records)}"""
        self.deleted: dict[tuple[int, int], Batch] = {}
        """{(digest, base offset): a batch that was deleted on request}"""
        self.reached_forgotten: Seen | None = None
        self.cause: tuple[float, str] = (0.0, "")
        self.untold: Seen | None = None

    def has_deleted(self, told: Acknowledged, record: int) -> bool:
        """A deletion may end within a batch."""
        offset = told.offset + record
        return any(
            digest == told.digest and (told.offset < 0 or base <= offset <= batch.last)
            for (digest, base), batch in self.deleted.items()
        )

    def replica(self, node: str) -> Replica:
        return self.replicas.setdefault(node, Replica())


class Logs:
    """`touched`: partitions in which something may be lost that was not, since it was last emptied."""

    def __init__(self) -> None:
        self.touched: set[Place] = set()
        self._partitions: dict[Place, _Partition] = {}
        self._appended: deque[tuple[Replica, Batch]] = deque()
        self._acknowledged: deque[tuple[_Partition, Acknowledged]] = deque()

    def leads(self, place: Place, event: Event, epoch: int) -> str:
        """A node says that it leads. Who led before, if it takes over from another; else ""."""
        partition = self._of(place)
        before = partition.leader
        if before is not None and before >= (epoch, event.node):
            return ""
        partition.leader = (epoch, event.node)
        if before is not None and before[1] == event.node:
            return ""
        self._suspect_all(place, event)
        return before[1] if before is not None else ""

    def leader(self, place: Place) -> tuple[int, str] | None:
        """(epoch, node) of the newest."""
        return self._of(place).leader

    def appended(self, place: Place, event: Event) -> Batch:
        assert event.base_offset is not None and event.last_offset is not None and event.digest is not None
        batch, replica = Batch(event.base_offset, event.last_offset, event.digest), self._of(place).replica(event.node)
        replica.append(batch)
        self._appended.append((replica, batch))
        if len(self._appended) > BATCHES_MAX:
            oldest_of, oldest = self._appended.popleft()
            oldest_of.forget(oldest)
        if self._of(place).suspects:
            self.touched.add(place)
        return batch

    def cut(self, place: Place, event: Event, to: int, begins: int | None = None) -> None:
        """A replica's log ends at `to`, or before; `begins`: it starts there from now on."""
        partition = self._of(place)
        forgot = partition.replica(event.node).cut(to, begins)
        if partition.leader is None or partition.leader[1] == event.node:
            self._suspect_all(place, event)
        if forgot:
            partition.reached_forgotten = Seen(
                finding="not-judged",
                at_ms=event.at_ms,
                to_ms=event.at_ms,
                partition=topic_partition_text(*place),
                who=(event.node,),
                text=f"the log of {event.node} was cut to {to}, below what is remembered here: whether acknowledged "
                "records are lost that lie there, the audit of the whole run says",
                details={"cut_to": to},
                events=(event.name,),
            )
            self.touched.add(place)

    def deleted(self, place: Place, event: Event) -> None:
        """A leader was asked to delete what it has below its new start. Its copies are remembered like the others: what
        a follower that starts over lacks is not lost."""
        partition = self._of(place)
        for batch in partition.replica(event.node).below(event.log_start or 0):
            partition.deleted[batch.digest, batch.base] = batch
        while len(partition.deleted) > BATCHES_MAX:
            del partition.deleted[next(iter(partition.deleted))]
        self.touched.add(place)

    def acknowledged(self, place: Place, record: Acknowledged) -> None:
        partition = self._of(place)
        partition.acknowledged.setdefault(record.digest, []).append(record)
        partition.suspects[record.operation] = record
        self._acknowledged.append((partition, record))
        if len(self._acknowledged) > RECORDS_MAX:
            self._forget(*self._acknowledged.popleft())
        self.touched.add(place)

    def acknowledgements(self, place: Place, batch: Batch) -> int:
        """How many records clients were told already that they are in the batch (acks=0 is told before)."""
        known = self._of(place).acknowledged.get(batch.digest, ())
        return sum(one.records for one in known if one.offset < 0 or batch.base <= one.offset <= batch.last)

    def removed(self, topic: str) -> None:
        """With all that was in it, as was asked for."""
        for place in [place for place in self._partitions if place[0] == topic]:
            del self._partitions[place]
            self.touched.add(place)

    def seen(self, place: Place) -> dict[Hashable, Seen]:
        """What is lost there, and whether that can be told."""
        partition = self._partitions.get(place)
        if partition is None or not partition.acknowledged:
            return {}
        found: dict[Hashable, Seen] = {}
        if partition.reached_forgotten is not None:
            found["forgotten"] = partition.reached_forgotten
        why, who = self._untold(partition)
        if why:
            first = partition.untold or Seen(
                finding="not-judged",
                at_ms=partition.cause[0],
                partition=topic_partition_text(*place),
                who=who,
                text=f"{why}: what is lost of the partition cannot be said",
            )
            partition.untold = first
            return {**found, "untold": first}
        partition.untold = None
        found.update(self._lost(place, partition))
        return found

    @staticmethod
    def _lost(place: Place, partition: _Partition) -> Mapping[Hashable, Seen]:
        assert partition.leader is not None
        epoch, node = partition.leader
        replica = partition.replica(node)
        for operation, told in list(partition.suspects.items()):
            there = replica.holds(told)
            kept = [record for record in range(told.records) if there or partition.has_deleted(told, record)]
            for record in kept:
                partition.lost.pop((operation, record), None)
            if len(kept) == told.records:
                del partition.suspects[operation]
                continue
            for record in sorted(set(range(told.records)).difference(kept)):
                if (operation, record) not in partition.lost and len(partition.lost) < LOST_MAX:
                    partition.lost[operation, record] = _lost(place, told, record, node, epoch, partition.cause)
        return partition.lost

    def _untold(self, partition: _Partition) -> tuple[str, tuple[str, ...]]:
        if partition.leader is None:
            return "no event tells who leads it", ()
        node = partition.leader[1]
        if not partition.replica(node).told:
            return f"the events of {node}, its leader, do not tell all of its log", (node,)
        return "", ()

    def _suspect_all(self, place: Place, event: Event) -> None:
        partition = self._of(place)
        partition.cause = (event.at_ms, event.name)
        partition.suspects = {one.operation: one for same in partition.acknowledged.values() for one in same}
        self.touched.add(place)

    def _forget(self, partition: _Partition, record: Acknowledged) -> None:
        same = partition.acknowledged.get(record.digest, [])
        if record in same:
            same.remove(record)
            if not same:
                del partition.acknowledged[record.digest]
        partition.suspects.pop(record.operation, None)

    def _of(self, place: Place) -> _Partition:
        return self._partitions.setdefault(place, _Partition())


def _lost(
    place: Place, told: Acknowledged, record: int, node: str, epoch: int, cause: tuple[float, str]
) -> Seen:
    at_ms = max(told.at_ms, cause[0])
    value = told.values[record] if record < len(told.values) else ""
    what = told.operation if told.records == 1 else f"record {record} of {told.operation}"
    what = f"{value!r} of {told.operation}" if value else what
    offset = told.offset + record if told.offset >= 0 else told.offset
    where = f"at offset {offset}" if offset >= 0 else "at no offset"
    return Seen(
        finding="lost-acknowledged",
        at_ms=at_ms,
        to_ms=at_ms,
        violation=True,
        partition=topic_partition_text(*place),
        who=(node,),
        text=f"{what} was acknowledged (acks={told.acks}) {where}; the leader, {node} (epoch {epoch}), does not "
        "have it",
        details={
            "operation": told.operation, "offset": offset, "acks": told.acks, "digest": told.digest,
            "acknowledged_ms": told.at_ms,
        },
        events=tuple(name for name in (told.name, cause[1]) if name),
    )  # fmt: skip
