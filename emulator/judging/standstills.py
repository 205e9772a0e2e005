"""Processes of a live cluster that did not run while nothing of the emulator had stopped them. Pure.

A process that stands still for half of a time-out may lose its session, its place in an ISR or its leader: what the
cluster then does is no fault of the cluster. The limit is that of the moment: half of the shortest time-out of the
ensemble and of every incarnation that lives then, by the version and settings that its start tells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from emulator.judging.completeness import Life, Told
from emulator.judging.findings import Note
from emulator.judging.link_faults import DIED
from emulator.machines.session.sessions import SessionLimits
from emulator.settings.in_force import brokers_in_force
from emulator.settings.timeout_settings import SESSION, TIMEOUT_SETTINGS
from protocol.events.faults import UNRESPONSIVE
from protocol.lateness import REPORT_EVERY_MS
from protocol.versions import UnknownVersion, ladder_name

SHARE = 0.5
"""A client of ZooKeeper pings it each third of its time-out: one that stands still for half of it may expire."""
STARVED_SHARE = 0.1
"""Of the shortest time-out: a process is starved if half of its timers in one report are later."""
ENDS = ("kill", "power-loss", DIED)
NAMED_MAX = 20
"""Incarnations that are named; others are counted."""
_GIVEN = {name: re.compile(rf"(?:^| ){re.escape(name)}=([0-9]{{1,18}})(?= |$)") for name in TIMEOUT_SETTINGS}


class Ensemble(msgspec.Struct, frozen=True):
    """`sync_ms`: time-out between its servers (tickTime x syncLimit). `sessions`: bounds of sessions' time-outs."""

    sync_ms: float
    sessions: SessionLimits


class _Span(msgspec.Struct, frozen=True):
    """An incarnation [from_ms, to_ms], and its shortest time-out."""

    from_ms: float
    to_ms: float
    shortest_ms: float


class _Late(msgspec.Struct, frozen=True):
    """`ms`: for how long; `limit_ms`: what is allowed."""

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
    """Shortest time-out in force in an incarnation with this binary and these settings (`a=1 b=2`), in scenario ms;
    infinity where the version is none of Kafka's."""
    try:
        values = brokers_in_force(ladder_name(version), {})
    except UnknownVersion:
        return math.inf
    found = {name: float(values[name]) for name in TIMEOUT_SETTINGS if isinstance(values.get(name), int)}
    found |= {name: float(given.group(1)) for name, asked in _GIVEN.items() if (given := asked.search(settings))}
    if SESSION in found:
        found[SESSION] = float(sessions.negotiated_ms(int(found[SESSION])))
    return min(found.values(), default=math.inf)


def standstills(notes: Sequence[Note], lives: Mapping[Life, Told], ensemble: Ensemble | None) -> list[str]:
    """Reasons for the verdict unknown: an incarnation each, the node first.

    A pause or a slow disk of the injector does not count: processes report their lateness without those.

    Args:
        notes: in the order of the scenario's clock.
        lives: what each incarnation wrote, in numbers.
        ensemble: None: the run is not of a live cluster, and nothing is said."""
    if ensemble is None:
        return []
    spans = _spans(notes, ensemble.sessions)
    worst: dict[Life, _Late] = {}
    for note in notes:
        for life, late in _late(note, lives, spans, ensemble):
            if late.ms > late.limit_ms and (life not in worst or late.ms > worst[life].ms):
                worst[life] = late
    told = [f"{node}, incarnation {number}, {late.text}" for (node, number), late in sorted(worst.items())]
    more = [f"{len(told) - NAMED_MAX} more incarnations stood still"] if len(told) > NAMED_MAX else []
    return told[:NAMED_MAX] + more


def _late(
    note: Note, lives: Mapping[Life, Told], spans: Sequence[_Span], ensemble: Ensemble
) -> Iterable[tuple[Life, _Late]]:
    """What the note says of an incarnation that did not run."""
    if note.report_max_ms is not None:
        since_ms = note.at_ms - REPORT_EVERY_MS - note.report_max_ms
        shortest = _shortest(spans, ensemble, since_ms, note.at_ms)
        life = (note.node, note.incarnation)
        yield life, _stood_still(note.report_max_ms, shortest)
        half_ms = note.report_p50_ms or 0.0
        if note.report_max_ms <= SHARE * shortest:
            text = (
                f"was starved until {note.at_ms:.0f} ms: half of its timers were {half_ms:.0f} ms late; more than "
                f"{STARVED_SHARE * shortest:g} ms, a tenth of the shortest time-out, can change the outcome"
            )
            yield life, _Late(half_ms, STARVED_SHARE * shortest, text)
    elif note.event == "machine_fault" and note.what == UNRESPONSIVE and note.target and note.life:
        life = (note.target, note.life)
        if life in lives:
            since_ms = lives[life].last_ms
            shortest = _shortest(spans, ensemble, since_ms, note.at_ms)
            yield life, _stood_still(note.at_ms - since_ms, shortest)


def _stood_still(late_ms: float, shortest: float) -> _Late:
    text = (
        f"stood still for {late_ms:.0f} ms, and no fault of this run stopped it; more than {SHARE * shortest:g} ms, "
        "half of the shortest time-out, can change the outcome; repeat the run without what stopped it"
    )
    return _Late(late_ms, SHARE * shortest, text)


def _shortest(spans: Sequence[_Span], ensemble: Ensemble, from_ms: float, to_ms: float) -> float:
    """In force at any time of [from_ms, to_ms]."""
    living = (span.shortest_ms for span in spans if span.from_ms <= to_ms and span.to_ms >= from_ms)
    return min(ensemble.sync_ms, *living, math.inf)


def _spans(notes: Iterable[Note], sessions: SessionLimits) -> list[_Span]:
    """Of brokers and controllers."""
    begun: dict[str, tuple[float, float]] = {}
    spans: list[_Span] = []
    for note in notes:
        node = note.target if note.event == "machine_fault" else note.node
        ends = note.event in ("node_started", "node_stopped") or (note.event == "machine_fault" and note.what in ENDS)
        if ends and node in begun:
            from_ms, shortest = begun.pop(node)
            spans.append(_Span(from_ms, note.at_ms, shortest))
        if note.event == "node_started" and note.kafka_version:
            begun[note.node] = note.at_ms, shortest_ms(note.kafka_version, note.settings or "", sessions)
    return spans + [_Span(from_ms, math.inf, shortest) for from_ms, shortest in begun.values()]
