"""Findings: what a follow tells, a line when one begins, when it becomes a violation, when it ends. Pure.

Whoever watches something says after every look *all* that it sees at one place; what is told is the difference to what
was told before. So it does not matter in which order the lines of different nodes arrived: what is seen is made of all
of them, and a finding that a late line refutes is *withdrawn*. A finding keeps its number in all its lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

FINDING_FORMAT: Final = 1
State = Literal["begun", "changed", "ended", "told", "withdrawn"]
"""`told`: of what has no duration."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What is the case, as far as has been read.

    finding: its kind, a check's name where there is one. at_ms: when it happened or began; to_ms: when it ended, None:
    it lasts, or at_ms: it has no duration. violation: whether the check of that name is violated by it. partition: such
    as t-0, "" of none. who: nodes. events: the lines that show it, as NODE.INCARNATION/SEQ."""

    finding: str
    at_ms: float
    to_ms: float | None = None
    violation: bool = False
    partition: str = ""
    who: tuple[str, ...] = ()
    text: str
    details: dict[str, Any] = {}
    events: tuple[str, ...] = ()


class Line(Seen, frozen=True, kw_only=True):
    """One line of what is told. read_to_ms: up to when the events were read that say so."""

    format: int = FINDING_FORMAT
    number: int
    state: State
    read_to_ms: float


class _Told(msgspec.Struct):
    number: int
    seen: Seen


class Findings:
    """What was told. `counts`: {kind: how many}, `violations`: those among them that are; both of what stands."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.violations: Counter[str] = Counter()
        self.withdrawn = 0
        self._told: dict[Hashable, dict[Hashable, _Told]] = {}
        self._number = 0

    def look(
        self, place: Hashable, seen: Mapping[Hashable, Seen], read_to_ms: float, forget_before_ms: float
    ) -> Iterator[Line]:
        """`seen`: all there is at `place`. What ended before `forget_before_ms` need not be in it any more."""
        told = self._told.get(place, {})
        for key in [key for key in told if key not in seen]:
            one = told.pop(key)
            if one.seen.to_ms is not None and one.seen.to_ms < forget_before_ms:
                continue
            self._count(one.seen, -1)
            self.withdrawn += 1
            yield _line(one.number, one.seen, "withdrawn", read_to_ms)
        for key, now in seen.items():
            before = told.get(key)
            if before is None:
                self._number += 1
                told[key] = _Told(self._number, now)
                self._count(now, 1)
                state: State = "begun" if now.to_ms is None else "told" if now.to_ms == now.at_ms else "ended"
                yield _line(self._number, now, state, read_to_ms)
            elif now != before.seen:
                self._count(before.seen, -1)
                self._count(now, 1)
                was, before.seen = before.seen, now
                if now.to_ms != was.to_ms:
                    yield _line(before.number, now, "changed" if now.to_ms is None else "ended", read_to_ms)
                elif now.violation != was.violation:
                    yield _line(before.number, now, "changed", read_to_ms)
        if told:
            self._told[place] = told
        else:
            self._told.pop(place, None)

    def tell(self, seen: Seen, read_to_ms: float) -> Line:
        """What is told once and never looked at again."""
        self._number += 1
        self._count(seen, 1)
        return _line(self._number, seen, "told", read_to_ms)

    @property
    def standing(self) -> list[Seen]:
        """All that was told, still stands and is not forgotten, in the order of their numbers."""
        every = (one for told in self._told.values() for one in told.values())
        return [one.seen for one in sorted(every, key=lambda one: one.number)]

    def _count(self, seen: Seen, by: int) -> None:
        self.counts[seen.finding] += by
        self.violations[seen.finding] += by if seen.violation else 0


def _line(number: int, seen: Seen, state: State, read_to_ms: float) -> Line:
    fields = {name: getattr(seen, name) for name in Seen.__struct_fields__}
    return Line(number=number, state=state, read_to_ms=read_to_ms, **fields)
