"""Measures of a run from its notes: duration, time to a new leader, clients' unavailability."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from emulator.judging import health
from emulator.judging.findings import Judged, Note

DISTURBING = ("kill", "stop", "pause", "power-loss")
OUTSIDE = "outside"
"""Stands for the AZ of a client that has none."""


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
    last_ms = _last_ms(judged)
    return {
        "wall_s": round(last_ms / 1000, 3),
        "exits": health.exits(judged.notes),
        **availability(azs_of(judged), _unavailable(judged), _recovered(judged)),
        "unknown_outcomes": _unknown_outcomes(judged),
        "time_to_new_leader_ms": time_to_new_leader_ms(judged.notes),
        "dual_leader_ms": _two_at_once_ms(judged, "leader"),
        "dual_controller_ms": _two_at_once_ms(judged, "controller"),
    }


def first_fault_ms(notes: list[Note]) -> float | None:
    """Time of the first link rule in force or node fault. `notes` in the scenario's time order."""
    return next((note.at_ms for note in notes if _disturbs(note)), None)


def _disturbs(note: Note) -> bool:
    return note.event == "fault_in_force" or (note.event == "machine_fault" and note.what in DISTURBING)


def time_to_new_leader_ms(notes: list[Note]) -> float | None:
    """Time from the first fault to a partition's first new leader. `notes` in time order."""
    epochs: defaultdict[tuple[str | None, int | None], int] = defaultdict(lambda: -1)
    fault_ms: float | None = None
    for note in notes:
        if fault_ms is None and _disturbs(note):
            fault_ms = note.at_ms
        if note.event != "role_changed" or note.leader_epoch is None:
            continue
        topic_partition = note.topic, note.partition
        if fault_ms is not None and note.leader_epoch > epochs[topic_partition] >= 0:
            return round(note.at_ms - fault_ms, 3)
        epochs[topic_partition] = max(epochs[topic_partition], note.leader_epoch)
    return None


def _two_at_once_ms(judged: Judged, office: str) -> float | None:
    if office not in judged.two_at_once_ms:
        return None
    since_ms = judged.two_since_ms.get(office)
    lasting = 0.0 if since_ms is None else _last_ms(judged) - since_ms
    return round(max(judged.two_at_once_ms[office], lasting), 3)


def _last_ms(judged: Judged) -> float:
    return max((count.last_ms for count in judged.counts if count.last_ms is not None), default=0.0)


def azs_of(judged: Judged) -> dict[str, str]:
    """{node: its AZ}"""
    return {note.node: note.az or OUTSIDE for note in judged.notes if note.event == "node_started"}


def _unavailable(judged: Judged) -> dict[str, float]:
    """{client that wrote: total time of its failing produces, ms}"""
    of_node = {count.node or "": 0.0 for count in judged.counts if count.problem is None and count.acknowledged}
    of_node |= judged.unavailable_ms
    for node, since_ms in judged.failing_since_ms.items():
        of_node[node] = of_node.get(node, 0.0) + _last_ms(judged) - since_ms
    return of_node


def _recovered(judged: Judged) -> dict[str, float | None]:
    """{client that wrote: time until it recovered; null: it did not}; empty: there was no fault."""
    fault_ms = first_fault_ms(judged.notes)
    if fault_ms is None:
        return {}
    return {
        node: None if node in judged.failing_since_ms else recovery_ms(judged.again_ms.get(node), fault_ms)
        for node in _unavailable(judged)
    }


def _unknown_outcomes(judged: Judged) -> dict[str, int]:
    counted = dict.fromkeys(("in_log", "not_in_log", "open"), 0) | judged.unknown_outcomes
    known = [count for count in judged.counts if count.problem is None]
    counted["open"] += max(0, sum(count.begun for count in known) - sum(count.ended for count in known))
    return counted


def recovery_ms(again_ms: float | None, fault_ms: float) -> float:
    """Time from the fault to a client's acknowledgement (`again_ms`; None: no produce failed)."""
    return 0.0 if again_ms is None else max(0.0, round(again_ms - fault_ms, 3))


def availability(
    azs: Mapping[str, str], unavailable: Mapping[str, float], recovered: Mapping[str, float | None]
) -> dict[str, Any]:
    """`unavailable_ms`, `recovered_ms` and `clients` of the clients that wrote.

    `azs`: {node: its AZ}. `recovered`: empty if there was no fault.
    """
    by_az = longest_by_az(azs, {node: ms for node, ms in recovered.items() if ms is not None})
    for node, ms in recovered.items():
        if ms is None:
            by_az[azs.get(node, OUTSIDE)] = None
    return {
        "unavailable_ms": longest_by_az(azs, unavailable),
        "recovered_ms": by_az,
        "clients": {
            node: {"unavailable_ms": round(unavailable[node], 3), "recovered_ms": recovered.get(node)}
            for node in sorted(unavailable)
        },
    }


def longest_by_az(azs: Mapping[str, str], of_node: Mapping[str, float]) -> dict[str, float | None]:
    """{AZ: longest time of its clients; null: no client of the AZ wrote}.

    `azs`: {node: its AZ}. `of_node`: {client that wrote: ms}. Clients outside every AZ have an entry if they wrote.
    """
    longest: dict[str, float | None] = dict.fromkeys(sorted(set(azs.values()) - {OUTSIDE}))
    for node, ms in of_node.items():
        az = azs.get(node, OUTSIDE)
        longest[az] = max(longest.get(az) or 0.0, round(ms, 3))
    return longest
