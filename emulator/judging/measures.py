"""Measures of a run that its notes tell: how long it took, how soon there was a new leader, who could not write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from emulator.judging import health
from emulator.judging.findings import Judged, Note

DISTURBING = ("kill", "stop", "pause", "power-loss")
OUTSIDE = "outside"
"""Stands for the AZ of a client that is in none."""


def measures_of(judged: Judged) -> dict[str, Any]:
    """`wall_s`: scenario seconds from launch to the last event. `unavailable_ms`: {AZ: how long the produces of its
    clients kept failing, the longest of them; null: none of them wrote, so it was not measured}.
    `time_to_new_leader_ms`: from the first fault to the first later leader of a higher epoch; null: none.
    `dual_leader_ms`, `dual_controller_ms`: the longest time for which two were in that office at once, whether they did
    anything or not; null: never. `exits`: {node: how many of its lives ended by themselves}."""
    last_ms = _last_ms(judged)
    return {
        "wall_s": round(last_ms / 1000, 3),
        "exits": health.exits(judged.notes),
        "unavailable_ms": _by_az(judged),
        "time_to_new_leader_ms": time_to_new_leader_ms(judged.notes),
        "dual_leader_ms": _two_at_once_ms(judged, "leader"),
        "dual_controller_ms": _two_at_once_ms(judged, "controller"),
    }


def time_to_new_leader_ms(notes: list[Note]) -> float | None:
    """Over all partitions, the first to get one. `notes` in the order of the scenario's clock."""
    epochs: defaultdict[tuple[str | None, int | None], int] = defaultdict(lambda: -1)
    fault_ms: float | None = None
    for note in notes:
        disturbs = note.event == "fault_in_force" or (note.event == "machine_fault" and note.what in DISTURBING)
        if disturbs and fault_ms is None:
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


def _by_az(judged: Judged) -> dict[str, float | None]:
    azs = {note.node: note.az or OUTSIDE for note in judged.notes if note.event == "node_started"}
    of_node = {count.node or "": 0.0 for count in judged.counts if count.problem is None and count.acknowledged}
    of_node |= judged.unavailable_ms
    for node, since_ms in judged.failing_since_ms.items():
        of_node[node] = of_node.get(node, 0.0) + _last_ms(judged) - since_ms
    return longest_by_az(azs, of_node)


def longest_by_az(azs: Mapping[str, str], of_node: Mapping[str, float]) -> dict[str, float | None]:
    """{AZ: the longest of its clients; null: none of them wrote}. `azs`: {node: its AZ}; `of_node`: those that wrote.
    Clients outside every AZ have an entry if they wrote."""
    longest: dict[str, float | None] = dict.fromkeys(sorted(set(azs.values()) - {OUTSIDE}))
    for node, ms in of_node.items():
        az = azs.get(node, OUTSIDE)
        longest[az] = max(longest.get(az) or 0.0, round(ms, 3))
    return longest
