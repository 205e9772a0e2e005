"""Records that a consumer's reads skipped: one sweep over the offsets of a partition.

A stretch is what one operation read without leaving its position. It skips a record if it extends from at or before
the record to behind it, ended after the record was acknowledged, and has no batch with the record. Comparing all writes
with all stretches takes too long. The sweep keeps the stretches that extend over the current offset, in the order in
which they ended, and disables those that have the current record's batch.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TypeVar

from emulator.judging.oracle.final_logs import FinalLogs
from emulator.judging.oracle.hidden_records import READ_COMMITTED, HiddenRecords
from emulator.judging.oracle.oracle_check import batches_read, oracle_check
from emulator.judging.oracle.truth import Given, Truth, Violation, Write
from emulator.machines.client.client_state import Read
from protocol.ids import TopicPartition

Of = TypeVar("Of", int, tuple[int, int])
NONE = 1 << 62
"""In place of a name's rank."""


@oracle_check("unseen", "batches read", batches_read, reads="final leaders' logs")
def unseen(truth: Truth) -> Iterator[Violation]:
    """One acknowledged record of the final leader that a consumer's reads skipped."""
    final = FinalLogs(truth)
    given_of: dict[TopicPartition, list[Given]] = {}
    for given in truth.reads:
        given_of.setdefault(given.topic_partition, []).append(given)
    writes_of: dict[TopicPartition, list[int]] = {}
    for number, write in enumerate(truth.writes):
        topic_partition, offset = write.topic_partition, write.offset
        if write.outcome != "ok" or offset < 0 or topic_partition[0] in truth.gone or topic_partition not in given_of:
            continue
        if final.holds(topic_partition, write.digest, offset):
            writes_of.setdefault(topic_partition, []).append(number)
    passed: dict[int, tuple[str, int]] = {}
    hidden = HiddenRecords(truth)
    for topic_partition, numbers in writes_of.items():
        readers = given_of[topic_partition]
        aborted = [one for one in numbers if hidden.is_aborted(topic_partition, truth.writes[one].offset)]
        kept = [one for one in numbers if one not in set(aborted)] if aborted else numbers
        passed.update(_passed(readers, truth.writes, kept))
        if aborted:
            all_reading = [one for one in readers if one.isolation != READ_COMMITTED]
            passed.update(_passed(all_reading, truth.writes, aborted))
    for number, (reader, times) in sorted(passed.items()):
        write = truth.writes[number]
        text = f"{write.operation} lies at offset {write.offset}, which {reader} read past without it (times: {times})"
        details = {"operation": write.operation, "reader": reader, "times": times}
        yield Violation(write.topic_partition, write.offset, text, details)


def _passed(
    given: Iterable[Given], writes: Sequence[Write], numbers: Iterable[int]
) -> Iterator[tuple[int, tuple[str, int]]]:
    """(number of a skipped write, (first of its readers by name, their count))."""
    stretches: dict[tuple[str, int], list[Read]] = {}
    for one in given:
        stretches.setdefault((one.operation, one.stretch), []).append(one.read)
    over = _Over(stretches)
    sweep = [(writes[number].offset, number) for number in numbers]
    for offset, number in sorted(sweep):
        write = writes[number]
        over.advance(offset)
        times, first = over.ended_after(write.ended, write.digest)
        if times:
            yield number, (over.names[first], times)


class _Over:
    """Stretches that extend over an increasing offset. Their index is their rank by end."""

    def __init__(self, stretches: dict[tuple[str, int], list[Read]]) -> None:
        in_order = sorted(
            ((max(read.ended for read in reads), operation, reads) for (operation, _), reads in stretches.items()),
            key=itemgetter(0, 1),  # two stretches of one operation may end together
        )
        self.names = sorted({operation for _, operation, _ in in_order})
        rank = {name: number for number, name in enumerate(self.names)}
        self._ranks = [rank[operation] for _, operation, _ in in_order]
        self._ended = [ended for ended, _, _ in in_order]
        # Both lists are in descending order, so that the next one is the last.
        self._begin, self._end = _edges(
            (read.base_offset, read.last_offset + 1, (read.digest, place))
            for place, (_, _, reads) in enumerate(in_order)
            for read in reads
        )
        self._enter, self._leave = _edges(
            (min(read.base_offset for read in reads), max(read.last_offset for read in reads), place)
            for place, (_, _, reads) in enumerate(in_order)
        )
        self._there: set[int] = set()
        self._have: dict[int, dict[int, int]] = {}
        """{digest: {index: count of its batches with that content that extend over the offset}}"""
        self._tree = _Tree(len(in_order))
        self._without = 0
        self._off: set[int] = set()
        """Indexes of disabled stretches: they have the batch with the digest `_without`."""

    def advance(self, offset: int) -> None:
        """Move to `offset`, which never decreases."""
        while self._begin and self._begin[-1][0] <= offset:
            digest, place = self._begin.pop()[1]
            of_digest = self._have.setdefault(digest, {})
            of_digest[place] = of_digest.get(place, 0) + 1
            self._refresh(digest, place)
        while self._end and self._end[-1][0] <= offset:
            digest, place = self._end.pop()[1]
            of_digest = self._have[digest]
            of_digest[place] -= 1
            if not of_digest[place]:
                del of_digest[place]
            self._refresh(digest, place)
        while self._enter and self._enter[-1][0] <= offset:
            place = self._enter.pop()[1]
            self._there.add(place)
            self._show(place)
        while self._leave and self._leave[-1][0] <= offset:
            place = self._leave.pop()[1]
            self._there.discard(place)
            self._show(place)

    def ended_after(self, ended: int, digest: int) -> tuple[int, int]:
        """(count of stretches ended after `ended` without `digest` here, first name's number)."""
        if digest != self._without:
            before, self._off, self._without = self._off, set(self._have.get(digest, ())), digest
            for place in before ^ self._off:
                self._show(place)
        return self._tree.from_place(bisect_right(self._ended, ended))

    def _refresh(self, digest: int, place: int) -> None:
        if digest == self._without:
            if place in self._have[digest]:
                self._off.add(place)
            else:
                self._off.discard(place)
            self._show(place)

    def _show(self, place: int) -> None:
        seen = place in self._there and place not in self._off
        self._tree.set(place, self._ranks[place] if seen else NONE)


class _Tree:
    """A rank at each index, or NONE: count and least from an index on."""

    def __init__(self, places: int) -> None:
        self._size = 1
        while self._size < places:
            self._size *= 2
        self._counts = [0] * (2 * self._size)
        self._least = [NONE] * (2 * self._size)

    def set(self, place: int, rank: int) -> None:
        node = self._size + place
        if self._least[node] == rank:
            return
        self._least[node], self._counts[node] = rank, int(rank != NONE)
        while node > 1:
            node //= 2
            self._counts[node] = self._counts[2 * node] + self._counts[2 * node + 1]
            self._least[node] = min(self._least[2 * node], self._least[2 * node + 1])

    def from_place(self, place: int) -> tuple[int, int]:
        """(count, least rank) from `place` on."""
        count, least, node = 0, NONE, self._size + place
        if place >= self._size:
            return 0, NONE
        while True:
            if node == 1 or node % 2:  # the root, or a right child: all below it counts
                count, least = count + self._counts[node], min(least, self._least[node])
                node += 1
                if node & (node - 1) == 0:  # behind the last of its row
                    return count, least
            node //= 2


def _edges(spans: Iterable[tuple[int, int, Of]]) -> tuple[list[tuple[int, Of]], list[tuple[int, Of]]]:
    """Beginnings and ends of spans [first, end), the last first; empty spans are left out."""
    some = [span for span in spans if span[0] < span[1]]
    return (
        sorted(((first, of) for first, _, of in some), reverse=True),
        sorted(((end, of) for _, end, of in some), reverse=True),
    )
