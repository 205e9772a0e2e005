"""The commits of one group to one partition, indexed for fast comparison with reads."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from math import inf

from emulator.judging.oracle.truth import OfGroup


class CommitsOfGroup:
    """Index of `commits`: all that one store has, or may have, received."""

    def __init__(self, commits: Iterable[OfGroup]) -> None:
        acknowledged: list[OfGroup] = []
        of_offset: dict[int, list[OfGroup]] = {}
        self._open_since: dict[int, float] = {}
        """{offset: beginning of the first commit of it that may take effect at any time}"""
        for one in commits:
            if one.outcome == "ok":
                acknowledged.append(one)
                of_offset.setdefault(one.requested, []).append(one)
            elif one.outcome in ("", "unknown"):
                self._open_since[one.requested] = min(one.begun, self._open_since.get(one.requested, inf))
        acknowledged.sort(key=lambda one: one.over)
        self._over = [one.over for one in acknowledged]
        self._last: list[OfGroup] = []
        """For each index the commit up to it that ended last."""
        for one in acknowledged:
            latest = self._last[-1] if self._last else one
            self._last.append(one if one.ended > latest.ended else latest)
        self._begun: dict[int, tuple[list[int], list[int]]] = {}
        """{offset: (beginnings of its commits, latest end up to each)}"""
        for offset, some in of_offset.items():
            some.sort(key=lambda one: one.begun)
            over, latest_over = [], -1
            for one in some:
                latest_over = max(latest_over, one.over)
                over.append(latest_over)
            self._begun[offset] = [one.begun for one in some], over

    def last_before(self, begun: int) -> OfGroup | None:
        """The last commit that was acknowledged and had ended by then."""
        place = bisect_right(self._over, begun)
        return self._last[place - 1] if place else None

    def may_be_found(self, look: OfGroup, last: OfGroup) -> bool:
        """Whether `look` may have found a commit that took effect after `last`."""
        if self._open_since.get(look.offset, inf) < look.over:
            return True
        began, over = self._begun.get(look.offset, ((), ()))
        place = bisect_left(began, look.over)
        return place > 0 and over[place - 1] > last.begun
