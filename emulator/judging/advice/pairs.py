"""Pairs of single faults of one moment: both at once, or one after the other. Pure.

The second fault strikes while the first lasts: at once, before any session has expired (`SOON_S`), and when the first
has had its effect. A dead or paused node cannot be struck again, so two faults that end the same node form no pair.
Two cuts of the same links do.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from random import Random

import msgspec

from emulator.judging.advice.single_faults import Fault, Then

Run = tuple[int, int, int]
"""(choice, fault, seed), as in AdviceOptions."""
SOON_S = 2.0
LONG, SHORT = "-and-the-session-service-are-cut-apart", "-without-sessions"
"""Replaced parts of names, which are also names of scenarios and have at most 100 letters."""


def pairs_of(faults: Iterable[Fault]) -> Iterator[Fault]:
    """All pairs. Two faults that strike at once have one order."""
    by_moment: dict[str, list[Fault]] = {}
    for fault in faults:
        by_moment.setdefault(fault.moment, []).append(fault)
    for found in by_moment.values():
        for one, other in combinations(found, 2):
            if set(one.ends) & set(other.ends):
                continue
            yield _pair(one, other, 0.0)
            for first, second in ((one, other), (other, one)):
                yield _pair(first, second, SOON_S)
                yield _pair(first, second, first.lasts_s)


def _pair(first: Fault, second: Fault, gap_s: float) -> Fault:
    when = f"{gap_s:g} s later" if gap_s else "at once"
    bare, after = first.name.removesuffix(f"-{first.moment}"), when.replace(" ", "-")
    return msgspec.structs.replace(
        first,
        name=f"{bare}-{after}-{second.name}".replace(LONG, SHORT),
        text=f"{first.text}, {when} {second.text}",
        lasts_s=second.lasts_s,
        ends=(*first.ends, *second.ends),
        apart=tuple(sorted({*first.apart, *second.apart})),
        then=Then(second, gap_s, first.text),
    )


def drawn(runs: Sequence[Run], count: int) -> list[Run]:
    """A reproducible random sample of the runs; every prefix of it is a fair sample too."""
    return Random("pairs").sample(runs, min(count, len(runs)))
