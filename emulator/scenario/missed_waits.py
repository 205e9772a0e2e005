"""Waits that were not reached.

Later steps then act on a cluster in another state than intended. So the run is unknown, unless the wait may fail
(`may_time_out`). Pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emulator.scenario import scenario_model as m


def missed_waits(steps: Sequence[m.AnyStep], timeline: Sequence[Mapping[str, Any]]) -> list[str]:
    """Reasons for an unknown run, one line each. `timeline`: its entries, as plain dicts."""
    waits = _numbered_waits(steps)
    under_way: list[tuple[int, m.Wait]] = []
    found = []
    for entry in timeline:
        if entry.get("do") == "wait":
            under_way += [wait for wait in [next(waits, None)] if wait is not None]
        elif entry.get("saw") in ("reached", "not-reached"):
            ended = next((one for one in reversed(under_way) if one[1].called == entry["until"]), None)
            if ended is None:
                continue  # a timeline of other steps: compare reports that
            under_way.remove(ended)
            number, wait = ended
            if entry["saw"] == "not-reached" and not wait.may_time_out:
                found.append(
                    f"step {number}: wait {wait.called!r} timed out after {wait.limit_s:g} s, at {entry['t']:.1f} s; "
                    "set may_time_out: true to allow it"
                )
    return found


def whenever(why: str) -> str:
    """The line without its time, in which seeds of one scenario differ; any other line as it is."""
    return re.sub(r"(timed out after [\d.e+]+ s), at [\d.]+ s;", r"\1;", why)


def in_play_order(steps: Sequence[m.AnyStep]) -> Iterator[m.AnyStep]:
    """Steps as a player takes them: those of a repetition each time."""
    for step in steps:
        if isinstance(step, m.Repeat):
            for _ in range(step.times):
                yield from in_play_order(step.steps)
        else:
            yield step


def _numbered_waits(steps: Sequence[m.AnyStep]) -> Iterator[tuple[int, m.Wait]]:
    """Numbers as in `scenario_step` events, from 1."""
    for number, step in enumerate(in_play_order(steps), start=1):
        inner = step.step if isinstance(step, m.Background) else step
        if isinstance(inner, m.Wait):
            yield number, inner
