"""Index of batches by content and offset, with look-ups in logarithmic time.

Many batches may have one content: up to 0.9 records of equal value are equal in every byte.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

Span = tuple[int, int, int]
"""(digest, first offset, last offset)"""


class BatchIndex:
    """Index of `spans`, in any order; they may overlap."""

    __slots__ = ("_firsts", "_furthest", "_sorted")

    def __init__(self, spans: Iterable[Span]) -> None:
        self._firsts: dict[int, list[tuple[int, int]]] = {}
        for digest, first, last in spans:
            self._firsts.setdefault(digest, []).append((first, last))
        self._furthest: dict[int, list[int]] = {}
        """{digest: the furthest last offset up to each of its spans}, once needed."""
        self._sorted: set[int] = set()

    def covers(self, digest: int, offset: int) -> bool:
        """Whether a batch of that content covers `offset`; a negative `offset` stands for any."""
        spans = self._firsts.get(digest)
        if spans is None:
            return False
        if offset < 0:
            return True
        if len(spans) == 1:
            return spans[0][0] <= offset <= spans[0][1]
        before = self._up_to(digest, spans, offset)
        return before >= 0 and self._furthest[digest][before] >= offset

    def covering(self, digest: int, offset: int) -> Iterator[tuple[int, int]]:
        """(first, last) of all batches of that content that cover `offset`, the last first."""
        spans = self._firsts.get(digest)
        if spans is None:
            return
        place = self._up_to(digest, spans, offset)
        furthest = self._furthest[digest]
        while place >= 0 and furthest[place] >= offset:
            if spans[place][1] >= offset:
                yield spans[place]
            place -= 1

    def _up_to(self, digest: int, spans: list[tuple[int, int]], offset: int) -> int:
        """Index of the last span that begins at or before `offset`; -1: none does."""
        if digest not in self._sorted:
            self._sorted.add(digest)
            spans.sort()
            furthest, reached = [], -1
            for _, last in spans:
                reached = max(reached, last)
                furthest.append(reached)
            self._furthest[digest] = furthest
        return bisect_right(spans, offset, key=_first) - 1


def _first(span: tuple[int, int]) -> int:
    return span[0]
