"""Processes of a live cluster that others stopped or starved. Pure.

A process that stands still for half of a time-out may lose its session, its place in an ISR or its leader: what the
cluster then does is no fault of the cluster. The limit is that of the moment: half of the shortest time-out of the
ensemble and of every incarnation that lives then, by the version and settings that its start tells.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from emulator.faults.machine_fault_kinds import SILENT_ENDS
from emulator.judging.completeness import EventNumbers, Life
from emulator.judging.findings import Note
from emulator.machines.session.sessions import SessionLimits
from emulator.settings.in_force import brokers_in_force
from emulator.settings.timeout_settings import SESSION, TIMEOUT_SETTINGS
from protocol.events.fault_events import UNRESPONSIVE
from protocol.lateness import REPORT_EVERY_MS
from protocol.versions import UnknownVersion, ladder_name

SHARE = 0.5
"""Of the shortest time-out.

A client of ZooKeeper pings it each third of its time-out; after half of it without a ping a session may expire."""
STARVED_SHARE = 0.1
"""Of the shortest time-out; a process is starved if half of its timers are later."""
NAMED_MAX = 20
"""Incarnations that are named; others are counted."""
ENDED_MAX = 1_000
"""Ended incarnations whose time-outs are remembered."""
_GIVEN = {name: re.compile(rf"(?:^| ){re.escape(name)}=([0-9]{{1,18}})(?= |$)") for name in TIMEOUT_SETTINGS}


class Ensemble(msgspec.Struct, frozen=True):
    """Time-outs of a ZooKeeper ensemble.

    sync_ms: between its servers (tickTime x syncLimit). sessions: bounds of sessions' time-outs."""

    sync_ms: float
    sessions: SessionLimits


class _Span(msgspec.Struct, frozen=True):
    """An incarnation [from_ms, to_ms], and its shortest time-out."""

    from_ms: float
    to_ms: float
    shortest_ms: float


class Late(msgspec.Struct, frozen=True):
    """An incarnation that did not run.

    `ms`: for how long, more than `limit_ms`; `text`: the same in words, the node first."""

    life: Life
    ms: float
    limit_ms: float
    text: str


def ensemble_of(nodes: Mapping[str, Any]) -> Ensemble | None:
    """From the `nodes` of settings.json; None where they name no ensemble."""
    for settings in nodes.values():
        match settings:
            case {
                "tickTime": int(tick_ms), "syncLimit": int(ticks), "minSessionTimeout": int(least_ms),
                "maxSessionTimeout": int(most_ms),
            }:  # fmt: skip
                return Ensemble(float(tick_ms * ticks), SessionLimits(tick_ms, least_ms, most_ms))
    return None


def shortest_ms(version: str, settings: str, sessions: SessionLimits) -> float:
    """Shortest time-out in force in an incarnation, in scenario ms.

    `settings`: given ones, `a=1 b=2`. Infinity where the version is none of Kafka's."""
    try:
        values = brokers_in_force(ladder_name(version), {})
    except UnknownVersion:
        return math.inf
    found = {name: float(values[name]) for name in TIMEOUT_SETTINGS if isinstance(values.get(name), int)}
    found |= {name: float(given.group(1)) for name, pattern in _GIVEN.items() if (given := pattern.search(settings))}
    if SESSION in found:
        found[SESSION] = float(sessions.negotiated_ms(int(found[SESSION])))
    return min(found.values(), default=math.inf)


def standstills(notes: Iterable[Note], lives: Mapping[Life, EventNumbers], ensemble: Ensemble | None) -> list[str]:
    """Reasons for the verdict unknown: one for each incarnation, its worst.

    A pause or a slow disk of the injector does not count: processes report their lateness without those.

    Args:
        notes: in the order of the scenario's clock.
        lives: what each incarnation wrote, in numbers.
        ensemble: None: the run is not of a live cluster, and nothing is said."""
    if ensemble is None:
        return []
    watch = Watch(ensemble)
    worst: dict[Life, Late] = {}
    for note in notes:
        life = note.target or "", note.life or 0
        late = watch.take(note, lives[life].last_ms if life in lives else None)
        if late is not None and (late.life not in worst or late.ms > worst[late.life].ms):
            worst[late.life] = late
    texts = [late.text for _, late in sorted(worst.items())]
    more = [f"{len(texts) - NAMED_MAX} more incarnations stood still"] if len(texts) > NAMED_MAX else []
    return texts[:NAMED_MAX] + more


class Watch:
    """Limits of the moment, and what exceeds them.

    Takes notes in the order of the scenario's clock."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble
        self._living: dict[str, tuple[float, float]] = {}
        """{broker or controller: since when, its shortest time-out}"""
        self._ended: deque[_Span] = deque(maxlen=ENDED_MAX)

    def take(self, note: Note, last_ms: float | None = None) -> Late | None:
        """Take one note.

        `last_ms`: of the last event of the incarnation that a machine fault names, None: it wrote none."""
        self._follow_lives(note)
        if note.report_max_ms is not None:
            return self._of_report(note, note.report_max_ms)
        if note.what == UNRESPONSIVE and note.target and note.life and last_ms is not None:
            return self._stood_still((note.target, note.life), note.at_ms - last_ms, last_ms, note.at_ms)
        return None

    def _follow_lives(self, note: Note) -> None:
        node = note.target or "" if note.event == "machine_fault" else note.node
        by_fault = note.event == "machine_fault" and note.what in SILENT_ENDS
        ends = by_fault or note.event in ("node_started", "node_stopped")
        if ends and node in self._living:
            since_ms, shortest = self._living.pop(node)
            self._ended.append(_Span(since_ms, note.at_ms, shortest))
        if note.event == "node_started" and note.kafka_version:
            shortest = shortest_ms(note.kafka_version, note.settings or "", self._ensemble.sessions)
            self._living[node] = note.at_ms, shortest

    def _of_report(self, note: Note, longest_ms: float) -> Late | None:
        life, since_ms = (note.node, note.incarnation), note.at_ms - REPORT_EVERY_MS - longest_ms
        if late := self._stood_still(life, longest_ms, since_ms, note.at_ms):
            return late
        half_ms, limit_ms = note.report_p50_ms or 0.0, STARVED_SHARE * self._shortest_ms(since_ms, note.at_ms)
        if half_ms <= limit_ms:
            return None
        text = (
            f"{note.node}, incarnation {note.incarnation}, was starved until {note.at_ms:.0f} ms: half of its timers "
            f"were {half_ms:.0f} ms late; more than {limit_ms:g} ms, a tenth of the shortest time-out, can change the "
            "outcome"
        )
        return Late(life, half_ms, limit_ms, text)

    def _stood_still(self, life: Life, late_ms: float, from_ms: float, to_ms: float) -> Late | None:
        limit_ms = SHARE * self._shortest_ms(from_ms, to_ms)
        if late_ms <= limit_ms:
            return None
        text = (
            f"{life[0]}, incarnation {life[1]}, stood still for {late_ms:.0f} ms, and no fault of this run stopped it; "
            f"more than {limit_ms:g} ms, half of the shortest time-out, can change the outcome; repeat the run without "
            "what stopped it"
        )
        return Late(life, late_ms, limit_ms, text)

    def _shortest_ms(self, from_ms: float, to_ms: float) -> float:
        """In force at any time of [from_ms, to_ms], which is not later than the last note."""
        ended = (span.shortest_ms for span in self._ended if span.from_ms <= to_ms and span.to_ms >= from_ms)
        living = (shortest for since_ms, shortest in self._living.values() if since_ms <= to_ms)
        return min((self._ensemble.sync_ms, *ended, *living))
