"""Facts of an incident: logs that came back shorter than they had been. Pure."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import Final

from emulator.runs.importing.incident_facts import Cut, Forgotten, Line
from emulator.runs.importing.log_facts import place_of

Replica = tuple[str, str]
"""(node, partition)"""
_LOAD: Final = 0
_CUT: Final = 1
_END: Final = 2
"""Order of changes with one time: a load and a cut concern only earlier log ends."""


def forgotten_of(by_name: Mapping[str, list[Line]], cuts: Sequence[Cut]) -> list[Forgotten]:
    """Leaders that loaded a shorter log than a follower had copied, or than they had."""
    found: dict[Replica, Forgotten] = {}
    loads = _loads(by_name)
    had_before = _known_ends(by_name, cuts, loads)
    led: dict[Replica, tuple[float, float]] = {}
    """{replica: the first and the last time at which it began to lead}"""
    for role in by_name["role_changed"]:
        if role["role"] == "leader":
            first_ms, last_ms = led.get((role["node"], place_of(role)), (role["at_ms"], role["at_ms"]))
            led[role["node"], place_of(role)] = (min(first_ms, role["at_ms"]), max(last_ms, role["at_ms"]))
    copied = _Copies(cuts)
    for number, load in enumerate(loads):
        node, place = load["node"], place_of(load)
        known = [had_before[number]] if number in had_before else []
        first_ms, last_ms = led.get((node, place), (load["at_ms"], load["at_ms"]))
        if first_ms < load["at_ms"] <= last_ms:
            known += copied.after(node, place, load["at_ms"])
        had = max(known, default=0)
        if had > load["log_end"]:
            found.setdefault((node, place), Forgotten(node, place, load["log_end"], had, load["at_ms"]))
    return list(found.values())


def _loads(by_name: Mapping[str, list[Line]]) -> list[Line]:
    """Loads of logs. Without their lines the first role of a later incarnation stands for one."""
    loads = [one for one in by_name["log_loaded"] if not one["topic"].startswith("__cluster")]
    known = {(one["node"], one["incarnation"], place_of(one)) for one in loads}
    for role in by_name["role_changed"]:
        key = (role["node"], role["incarnation"], place_of(role))
        if role["incarnation"] > 1 and key not in known:
            known.add(key)
            loads.append(role)
    return loads


def _known_ends(
    by_name: Mapping[str, list[Line]], cuts: Sequence[Cut], loads: Sequence[Line]
) -> dict[int, int]:
    """{number of a load: the greatest earlier log end that no cut has removed}"""
    changes: defaultdict[Replica, list[tuple[float, int, int]]] = defaultdict(list)
    for one in (*by_name["role_changed"], *by_name["isr_change_asked"]):
        changes[one["node"], place_of(one)].append((one["at_ms"], _END, one["log_end"]))
    for cut in cuts:
        changes[cut.node, cut.partition].append((cut.at_ms, _CUT, cut.to))
    for number, load in enumerate(loads):
        changes[load["node"], place_of(load)].append((load["at_ms"], _LOAD, number))
    found: dict[int, int] = {}
    for of_replica in changes.values():
        ends: list[int] = []  # a heap, the greatest end first
        for _, what, value in sorted(of_replica):
            if what == _END:
                heappush(ends, -value)
            elif what == _LOAD:
                if ends:
                    found[value] = -ends[0]
            else:
                while ends and -ends[0] > value:
                    heappop(ends)
    return found


class _Copies:
    """Log ends of followers' copies that they cut, by partition; the latest first."""

    def __init__(self, cuts: Sequence[Cut]) -> None:
        self._before_ms: defaultdict[str, list[float]] = defaultdict(list)
        """{partition: times of its cuts, negative, so that they rise}"""
        self._best: defaultdict[str, list[dict[str, int]]] = defaultdict(list)
        """{partition: of each cut the two greatest ends since then, by node}"""
        for cut in sorted(cuts, key=lambda cut: -cut.at_ms):
            if cut.led:
                continue
            best = self._best[cut.partition]
            ends = dict(best[-1]) if best else {}
            ends[cut.node] = max(cut.log_end, ends.get(cut.node, cut.log_end))
            best.append(dict(sorted(ends.items(), key=lambda one: -one[1])[:2]))
            self._before_ms[cut.partition].append(-cut.at_ms)

    def after(self, node: str, place: str, at_ms: float) -> list[int]:
        """The greatest log end that another node cut after that time, if any."""
        later = bisect_left(self._before_ms.get(place, ()), -at_ms)
        ends = self._best[place][later - 1] if later else {}
        return [max(end for of, end in ends.items() if of != node)] if set(ends) - {node} else []
