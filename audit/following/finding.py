"""Findings: lines of the live audit at a finding's begin, change or end. Pure.

After every look a watcher reports *all* that it sees at one place; the lines are the difference to the former look. So
the order in which lines of different nodes arrive does not matter: a finding rests on all of them, and one that a late
line refutes is *withdrawn*. A finding keeps its number in all its lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

FINDING_FORMAT: Final = 1
State = Literal["begun", "changed", "ended", "told", "withdrawn"]
"""State of a line; `told`: a finding without duration."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A finding, from the events read so far.

    finding: its kind, the name of a check if one matches. at_ms: time or start; to_ms: end, None while it lasts, at_ms
    without duration. violation: whether it violates the check of that name. partition: such as t-0, "" for none. who:
    nodes. events: lines of evidence, as NODE.INCARNATION/SEQ.
    """

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
    """One line of output. read_to_ms: time up to which the events were read."""

    format: int = FINDING_FORMAT
    number: int
    state: State
    read_to_ms: float


class _Reported(msgspec.Struct):
    number: int
    seen: Seen


class Findings:
    """All findings.

    `counts`: {kind: count of those not withdrawn}, `violations`: those of them that are violations.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.violations: Counter[str] = Counter()
        self.withdrawn = 0
        self._reported: dict[Hashable, dict[Hashable, _Reported]] = {}
        self._number = 0

    def look(
        self, place: Hashable, seen: Mapping[Hashable, Seen], read_to_ms: float, forget_before_ms: float
    ) -> Iterator[Line]:
        """Lines of a pass: `seen` is all at `place`; `forget_before_ms`: older ends may be missing."""
        reported = self._reported.get(place, {})
        for key in [key for key in reported if key not in seen]:
            one = reported.pop(key)
            if one.seen.to_ms is not None and one.seen.to_ms < forget_before_ms:
                continue
            self._count(one.seen, -1)
            self.withdrawn += 1
            yield _line(one.number, one.seen, "withdrawn", read_to_ms)
        for key, now in seen.items():
            before = reported.get(key)
            if before is None:
                self._number += 1
                reported[key] = _Reported(self._number, now)
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
        if reported:
            self._reported[place] = reported
        else:
            self._reported.pop(place, None)

    def tell(self, seen: Seen, read_to_ms: float) -> Line:
        """Line of a finding that no later pass reports."""
        self._number += 1
        self._count(seen, 1)
        return _line(self._number, seen, "told", read_to_ms)

    @property
    def standing(self) -> list[Seen]:
        """Findings that are neither withdrawn nor forgotten, in the order of their numbers."""
        every = (one for reported in self._reported.values() for one in reported.values())
        return [one.seen for one in sorted(every, key=lambda one: one.number)]

    def _count(self, seen: Seen, by: int) -> None:
        self.counts[seen.finding] += by
        self.violations[seen.finding] += by if seen.violation else 0


def _line(number: int, seen: Seen, state: State, read_to_ms: float) -> Line:
    fields = {name: getattr(seen, name) for name in Seen.__struct_fields__}
    return Line(number=number, state=state, read_to_ms=read_to_ms, **fields)
