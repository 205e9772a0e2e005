"""Measures of an audited run, from the results of the query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from emulator.judging import health
from emulator.judging.findings import Judged, Note
from emulator.judging.measures import OUTSIDE, FailedWrites, availability, disturbs, time_to_new_leader_ms
from emulator.judging.oracle.truth import Term


def measures_of(judged: Judged) -> dict[str, Any]:
    """All measures of a run. `wall_s`: scenario seconds from launch to the last event.

    - `unavailable_ms`: {AZ: longest time during which the produces of one of its clients failed; null: no client of
      the AZ wrote, so it was not measured}
    - `recovered_ms`: {AZ: time from the first fault until the last of its clients got lasting acknowledgements again;
      0: no produce failed; null: no client wrote, or one of them got no acknowledgement again}
    - `clients`: {client that wrote: both measures of it}
    - `unknown_outcomes`: produces whose outcome their clients do not know: `in_log` of the final leader, `not_in_log`,
      and `open` (they did not end, or the log is unknown)
    - `time_to_new_leader_ms`: from the first fault to the first later leader of a higher epoch; null: none
    - `dual_leader_ms`, `dual_controller_ms`: longest time during which two nodes held that role at once, active or not;
      null: never
    - `exits`: {node: count of its incarnations that ended by themselves}
    """
    last_ms, fault_ms = _last_ms(judged), first_fault_ms(judged.notes)
    return {
        "wall_s": round(last_ms / 1000, 3),
        "exits": health.exits(judged.notes),
        **availability(azs_of(judged), _writes(judged), fault_ms, last_ms),
        "unknown_outcomes": _unknown_outcomes(judged),
        "time_to_new_leader_ms": time_to_new_leader_ms(leader_terms(judged.notes), fault_ms),
        "dual_leader_ms": _two_at_once_ms(judged, "leader", last_ms),
        "dual_controller_ms": _two_at_once_ms(judged, "controller", last_ms),
    }


def first_fault_ms(notes: list[Note]) -> float | None:
    """Time of the first link rule in force or node fault. `notes` in the scenario's time order."""
    return next((note.at_ms for note in notes if disturbs(note.event, note.what)), None)


def leader_terms(notes: Iterable[Note]) -> Iterator[Term]:
    """Terms of leaders."""
    for note in notes:
        if note.event == "role_changed" and note.leader_epoch is not None:
            yield Term((note.topic or "", note.partition or 0), note.node, note.leader_epoch, note.at_ms)


def _two_at_once_ms(judged: Judged, term: str, last_ms: float) -> float | None:
    if term not in judged.two_at_once_ms:
        return None
    since_ms = judged.two_since_ms.get(term)
    lasting = 0.0 if since_ms is None else last_ms - since_ms
    return round(max(judged.two_at_once_ms[term], lasting), 3)


def _last_ms(judged: Judged) -> float:
    return max((count.last_ms for count in judged.counts if count.last_ms is not None), default=0.0)


def azs_of(judged: Judged) -> dict[str, str]:
    """{node: its AZ}"""
    return {note.node: note.az or OUTSIDE for note in judged.notes if note.event == "node_started"}


def _writes(judged: Judged) -> FailedWrites:
    """Failed produces, also of the clients without any."""
    wrote = {count.node or "": 0.0 for count in judged.counts if count.problem is None and count.acknowledged}
    return replace(judged.writes, unavailable_ms=wrote | judged.writes.unavailable_ms)


def _unknown_outcomes(judged: Judged) -> dict[str, int]:
    counted = dict.fromkeys(("in_log", "not_in_log", "open"), 0) | judged.unknown_outcomes
    known = [count for count in judged.counts if count.problem is None]
    counted["open"] += max(0, sum(count.begun for count in known) - sum(count.ended for count in known))
    return counted
