"""Whether a run can be trusted: its timers were punctual, nobody died by itself.

Plain Python over the notes of `emulator.judging.findings`: a few events per run. Each finding is a reason for the
verdict *unknown*.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable

import msgspec

from emulator.judging.findings import Note
from emulator.judging.link_fault_effects import DIED, ENDING_FAULTS
from protocol.events.fault_events import DEADLY_FAULTS, START_REFUSED
from protocol.lateness import merged, share_ms

KAFKAS_EXIT = 1
"""Code of a process that ends as Kafka's would; a bug of ours ends it with another."""
SPARE = 0.8
"""Of the speed at which the same lateness would just do: the next run may meet a busier moment."""
WHOLE = 10.0
"""Times the limit, which is a tenth of it: the shortest time-out."""


def exits(notes: Iterable[Note]) -> dict[str, int]:
    """{node: how many of its lives ended by themselves}; nodes without any are left out."""
    lives: dict[str, int] = {}
    ended: set[tuple[str, int]] = set()
    for note in notes:
        if note.event == "node_started":
            lives[note.node] = note.incarnation
        elif note.event == "node_stopped" and note.code:
            ended.add((note.node, note.incarnation))
        elif note.event == "machine_fault" and note.what == DIED and note.target in lives:
            ended.add((note.target, lives[note.target]))
    return dict(sorted(Counter(node for node, _ in ended).items()))


def unexpected_deaths(notes: Iterable[Note], expected: Container[str] = ()) -> list[str]:
    """Nodes that ended by themselves, but for `expected` ones that ended as Kafka would, and those whose start somebody
    asked for who was told so: `node_stopped` with a code, an end that the supervisor had not asked for, or a next start
    that nothing explains."""
    notes = list(notes)
    refused = _refused_starts(notes)
    reasons = []
    faults: dict[str, set[str]] = defaultdict(set)
    started: dict[str, int] = {}
    stopped: dict[str, int] = {}
    told: set[tuple[str, int | None]] = set()
    for note in notes:
        if note.event == "machine_fault" and note.target and note.what == DIED:
            known = (note.target, started.get(note.target)) in told
            if not known and not faults[note.target] & {*DEADLY_FAULTS}:
                reasons.append(f"{note.target} ended by itself at {note.at_ms:.0f} ms without a word")
        elif note.event == "machine_fault" and note.target:
            faults[note.target].add(note.what or "")
        elif note.event == "node_started":
            was = started.get(note.node)
            if (
                was is not None
                and stopped.get(note.node) != was
                and not faults[note.node] & {*ENDING_FAULTS, "start"}
            ):
                reasons.append(f"{note.node} started again at {note.at_ms:.0f} ms, and nobody had stopped it")
            started[note.node] = note.incarnation
            faults.pop(note.node, None)
        elif note.event == "node_stopped":
            stopped[note.node] = note.incarnation
            if note.code and not faults[note.node] & {*ENDING_FAULTS, *DEADLY_FAULTS}:
                told.add((note.node, note.incarnation))
                as_kafka = note.node in expected or (note.node, note.incarnation) in refused
                if as_kafka and note.code == KAFKAS_EXIT:
                    continue
                why = f": {note.reason}" if note.reason else ""
                reasons.append(f"{note.node} died by itself at {note.at_ms:.0f} ms with code {note.code}{why}")
    return reasons


def _refused_starts(notes: Iterable[Note]) -> set[tuple[str, int | None]]:
    """The lives, (node, incarnation), that somebody started who was told that they had ended."""
    lives: dict[str, int | None] = {}
    refused = set()
    for note in notes:
        if note.event == "node_started":
            lives[note.node] = note.incarnation
        elif note.event == "machine_fault" and note.what == START_REFUSED and note.target in lives:
            refused.add((note.target, lives[note.target]))
    return refused


class Lateness(msgspec.Struct, frozen=True):
    """`worst_ms`: the worst p99.9 of any process over its whole life, in scenario ms; None: nobody measured. `late`:
    whether it can have changed the outcome, for it passes `limit_ms` or is not known. `of_whom`: (ms, node), the latest
    first. `once`: the same of those that stood still but once, for longer than the shortest time-out: a thousandth of a
    long life is longer than that."""

    worst_ms: float | None
    limit_ms: float | None
    late: bool
    of_whom: tuple[tuple[float, str], ...] = ()
    once: tuple[tuple[float, str], ...] = ()


def late_timers(notes: Iterable[Note], limit_ms: float | None) -> Lateness:
    """`limit_ms`: how late timers may be, in scenario ms; None: any."""
    of: dict[tuple[str, int], list[Note]] = defaultdict(list)
    for note in notes:
        if note.buckets is not None:
            of[note.node, note.incarnation].append(note)
    most_ms = {who: max(report.max_ms or 0.0 for report in reports) for who, reports in of.items()}
    p999_ms = {who: min(most_ms[who], _p999_ms(reports)) for who, reports in of.items()}
    if not p999_ms:
        return Lateness(None, limit_ms, late=limit_ms is not None)
    worst = max(p999_ms.values())
    if limit_ms is None:
        return Lateness(worst, None, late=False)
    late = sorted(((late_ms, node) for (node, _), late_ms in p999_ms.items() if late_ms > limit_ms), reverse=True)
    once = sorted(
        ((most_ms[who], who[0]) for who, late_ms in p999_ms.items() if late_ms <= limit_ms < most_ms[who] / WHOLE),
        reverse=True,
    )
    return Lateness(worst, limit_ms, bool(late or once), tuple(late), tuple(once))


def why_late(lateness: Lateness, compared: str, speed: float | None) -> str:
    """Why a run is unknown whose lateness nobody vouches for, and what to do. `compared`: what it was held against, ""
    if it was not; `speed`: of its clock."""
    if lateness.worst_ms is None or lateness.limit_ms is None:
        return "no process tells how late its timers were"
    of_whom, once = (
        ", ".join(f"{node} {late_ms:.0f} ms" for late_ms, node in late) for late in (lateness.of_whom, lateness.once)
    )
    equals = f", and the run equals none of {compared}" if compared else ""
    limit_ms = lateness.limit_ms
    told = []
    if of_whom:
        told.append(f"timers were later (p99.9) than {limit_ms:g} ms, a tenth of the shortest time-out: {of_whom}")
    if once:
        told.append(f"timers were later, once, than the shortest time-out, {limit_ms * WHOLE:g} ms: {once}")
    worst_ms = max([lateness.worst_ms, *(late_ms / WHOLE for late_ms, _ in lateness.once)])
    return f"{'; '.join(told)}; that could have changed the outcome{equals}. {_instead(worst_ms, limit_ms, speed)}"


def _instead(worst_ms: float, limit_ms: float, speed: float | None) -> str:
    """What is late by so much in scenario time is late by less at a slower clock."""
    if speed is None:
        return "Play it again with a lower --speed"
    if speed <= 1:
        return "Play it again when the machine has less to do"
    return f"Play it again with --speed {max(1, math.floor(min(speed / 2, SPARE * speed * limit_ms / worst_ms)))}"


def _p999_ms(reports: Iterable[Note]) -> float:
    """Of one process, from the counts of all its reports: a bound, which may be above its maximum."""
    return share_ms(merged(report.buckets or "" for report in reports), 0.999)
