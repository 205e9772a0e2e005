"""Contents of replicas' logs, and acknowledged records that the newest leader lacks. Pure.

The rule is that of the check lost-acknowledged for a whole run (`audit.log_tables.LOGS`): a batch is in a log until a
truncation of that replica reaches it. An acknowledged record is lost when the log of the newest leader holds no batch
with its digest at its offset. Here a record is checked when it is acknowledged, and again after a change of leader or a
truncation of the leader's log.

Batches and acknowledgements are bounded: the oldest are forgotten. A truncation into the forgotten part, and a log with
missing events, make the losses of a partition unknown, which is reported as well.
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
"""Maximum of batches in all logs together."""
RECORDS_MAX: Final = 100_000
"""Maximum of acknowledgements of all partitions together."""
LOST_MAX: Final = 10_000
"""Maximum of lost records that are reported per partition."""
Place = tuple[str, int]


class Batch(msgspec.Struct):
    base: int
    last: int
    digest: int


class Acknowledged(msgspec.Struct, frozen=True):
    """`records` of one batch, the first at `offset`, -1: acks=0 promises none.

    `values`: of each; empty: unknown.
    """

    operation: str
    offset: int
    digest: int
    acks: int
    at_ms: float
    values: tuple[str, ...]
    name: str
    records: int = 1


class Replica:
    """One replica's log.

    `begins`: where it began; `forgotten_to`: below it, the contents are forgotten.
    """

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
    def complete(self) -> bool:
        """Whether its events describe all of it."""
        return self._gap is None and self.end >= self._bound

    def append(self, batch: Batch) -> None:
        if batch.base != self.end and self._gap is None:
            self._gap = self.end
        self._batches.append(batch)
        self._by_digest.setdefault(batch.digest, []).append(batch)

    def cut(self, to: int, begins: int | None = None) -> bool:
        """Truncate to whole batches; returns whether that reached the forgotten part.

        `begins`: new beginning.
        """
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
        """Forget the oldest batch, unless a truncation has removed it already."""
        if self._batches and self._batches[0] is batch:
            self._gone(self._batches.popleft())
            self.forgotten_to = batch.last + 1

    def holds(self, record: Acknowledged) -> bool:
        """Whether the record is there, or may be, in the forgotten part."""
        if 0 <= record.offset < self.forgotten_to or (record.offset < 0 and self.forgotten_to > 0):
            return True
        return any(
            record.offset < 0 or one.base <= record.offset <= one.last for one in self._by_digest.get(record.digest, ())
        )

    def below(self, offset: int) -> Iterator[Batch]:
        """Known batches that begin below `offset`, cut there."""
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
        """{(operation, index of its record): lost record}"""
        self.deleted: dict[tuple[int, int], Batch] = {}
        """{(digest, base offset): a batch that was deleted on request}"""
        self.reached_forgotten: Seen | None = None
        self.cause: tuple[float, str] = (0.0, "")
        self.untold: Seen | None = None

    def has_deleted(self, written: Acknowledged, record: int) -> bool:
        """Whether the record was deleted on request; a deletion may end within a batch."""
        offset = written.offset + record
        return any(
            digest == written.digest and (written.offset < 0 or base <= offset <= batch.last)
            for (digest, base), batch in self.deleted.items()
        )

    def replica(self, node: str) -> Replica:
        return self.replicas.setdefault(node, Replica())


class Logs:
    """State of all logs.

    `touched`: partitions in which losses may be new, since it was last emptied.
    """

    def __init__(self) -> None:
        self.touched: set[Place] = set()
        self._partitions: dict[Place, _Partition] = {}
        self._appended: deque[tuple[Replica, Batch]] = deque()
        self._acknowledged: deque[tuple[_Partition, Acknowledged]] = deque()

    def leads(self, place: Place, event: Event, epoch: int) -> str:
        """Record a new leader; returns the former one if it is another node, else ""."""
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
        """(epoch, node) of the newest leader."""
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
        """Truncate a replica's log to `to` or before; `begins`: new beginning."""
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
                text=f"the log of {event.node} was cut to {to}, below the records in memory; only an "
                "audit of the whole run can decide whether acknowledged records below it are lost",
                details={"cut_to": to},
                events=(event.name,),
            )
            self.touched.add(place)

    def deleted(self, place: Place, event: Event) -> None:
        """Delete records on request below the leader's new start.

        Its copies count for other replicas too: a follower that starts over and lacks them has lost nothing.
        """
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
        """Count of the batch's acknowledged records (with acks=0 acknowledged before the append)."""
        known = self._of(place).acknowledged.get(batch.digest, ())
        return sum(one.records for one in known if one.offset < 0 or batch.base <= one.offset <= batch.last)

    def removed(self, topic: str) -> None:
        """Forget a deleted topic with all its records."""
        for place in [place for place in self._partitions if place[0] == topic]:
            del self._partitions[place]
            self.touched.add(place)

    def seen(self, place: Place) -> dict[Hashable, Seen]:
        """Lost records of the partition, and whether they can be known."""
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
                text=f"{why}: the partition's lost records are unknown",
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
        for operation, written in list(partition.suspects.items()):
            there = replica.holds(written)
            kept = [record for record in range(written.records) if there or partition.has_deleted(written, record)]
            for record in kept:
                partition.lost.pop((operation, record), None)
            if len(kept) == written.records:
                del partition.suspects[operation]
                continue
            for record in sorted(set(range(written.records)).difference(kept)):
                if (operation, record) not in partition.lost and len(partition.lost) < LOST_MAX:
                    partition.lost[operation, record] = _lost(place, written, record, node, epoch, partition.cause)
        return partition.lost

    def _untold(self, partition: _Partition) -> tuple[str, tuple[str, ...]]:
        if partition.leader is None:
            return "no event has its leader", ()
        node = partition.leader[1]
        if not partition.replica(node).complete:
            return f"the events of {node}, its leader, do not have all of its log", (node,)
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


def _lost(place: Place, written: Acknowledged, record: int, node: str, epoch: int, cause: tuple[float, str]) -> Seen:
    at_ms = max(written.at_ms, cause[0])
    value = written.values[record] if record < len(written.values) else ""
    what = written.operation if written.records == 1 else f"record {record} of {written.operation}"
    what = f"{value!r} of {written.operation}" if value else what
    offset = written.offset + record if written.offset >= 0 else written.offset
    where = f"at offset {offset}" if offset >= 0 else "at no offset"
    return Seen(
        finding="lost-acknowledged",
        at_ms=at_ms,
        to_ms=at_ms,
        violation=True,
        partition=topic_partition_text(*place),
        who=(node,),
        text=f"{what} was acknowledged (acks={written.acks}) {where}; the leader, {node} (epoch {epoch}), does not "
        "have it",
        details={
            "operation": written.operation, "offset": offset, "acks": written.acks, "digest": written.digest,
            "acknowledged_ms": written.at_ms,
        },
        events=tuple(name for name in (written.name, cause[1]) if name),
    )  # fmt: skip
