"""Reasons against a run's validity: late timers, processes that ended by themselves.

Plain Python over the notes of `emulator.judging.findings`: a few events per run. Each finding is a reason for the
verdict *unknown*.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable

import msgspec

from emulator.faults.machine_fault_kinds import ENDING, MAY_KILL
from emulator.judging.findings import Note
from protocol.events.fault_events import DIED, START_REFUSED
from protocol.lateness import merged, share_ms

KAFKAS_EXIT = 1
"""Exit code of a process that ends as Kafka's would; a bug of ours ends it with another."""
SPARE = 0.8
"""Fraction of the speed at which the same lateness passes: the next run may be later."""
WHOLE = 10.0
"""Shortest time-out divided by the limit."""


def exits(notes: Iterable[Note]) -> dict[str, int]:
    """{node: incarnations that ended by themselves}; nodes without any are omitted."""
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
    """A reason for each node that ended by itself.

    That is `node_stopped` with a code, an end without a request of the supervisor, or an unexplained next start.
    Exceptions: `expected` nodes that ended as Kafka would, and failed starts that were reported to their requester.
    """
    notes = list(notes)
    refused = _refused_starts(notes)
    reasons = []
    faults: dict[str, set[str]] = defaultdict(set)
    started: dict[str, int] = {}
    stopped: dict[str, int] = {}
    reported: set[tuple[str, int | None]] = set()
    for note in notes:
        if note.event == "machine_fault" and note.target and note.what == DIED:
            known = (note.target, started.get(note.target)) in reported
            if not known and not faults[note.target] & MAY_KILL:
                reasons.append(f"{note.target} ended by itself at {note.at_ms:.0f} ms without a word")
        elif note.event == "machine_fault" and note.target:
            faults[note.target].add(note.what or "")
        elif note.event == "node_started":
            was = started.get(note.node)
            if (
                was is not None
                and stopped.get(note.node) != was
                and not faults[note.node] & (ENDING | {"start"})
            ):
                reasons.append(f"{note.node} started again at {note.at_ms:.0f} ms without an earlier stop")
            started[note.node] = note.incarnation
            faults.pop(note.node, None)
        elif note.event == "node_stopped":
            stopped[note.node] = note.incarnation
            if note.code and not faults[note.node] & (ENDING | MAY_KILL):
                reported.add((note.node, note.incarnation))
                as_kafka = note.node in expected or (note.node, note.incarnation) in refused
                if as_kafka and note.code == KAFKAS_EXIT:
                    continue
                why = f": {note.reason}" if note.reason else ""
                reasons.append(f"{note.node} died by itself at {note.at_ms:.0f} ms with code {note.code}{why}")
    return reasons


def _refused_starts(notes: Iterable[Note]) -> set[tuple[str, int | None]]:
    """(node, incarnation) of each failed start that was reported to its requester."""
    lives: dict[str, int | None] = {}
    refused = set()
    for note in notes:
        if note.event == "node_started":
            lives[note.node] = note.incarnation
        elif note.event == "machine_fault" and note.what == START_REFUSED and note.target in lives:
            refused.add((note.target, lives[note.target]))
    return refused


class Lateness(msgspec.Struct, frozen=True):
    """Lateness of a run's timers.

    `worst_ms`: the worst p99.9 of any process over its whole life, in scenario ms; None: not measured. `late`: whether
    it can have changed the outcome, for it exceeds `limit_ms` or is unknown. `of_whom`: (ms, node), the latest first.
    `once`: the same for processes that stood still once, for longer than the shortest time-out. A thousandth of a long
    life is longer than that.
    """

    worst_ms: float | None
    limit_ms: float | None
    late: bool
    of_whom: tuple[tuple[float, str], ...] = ()
    once: tuple[tuple[float, str], ...] = ()


def late_timers(notes: Iterable[Note], limit_ms: float | None) -> Lateness:
    """Lateness of all processes. `limit_ms`: maximum, in scenario ms; None: no limit."""
    of: dict[tuple[str, int], list[Note]] = defaultdict(list)
    for note in notes:
        if note.buckets is not None:
            of[note.node, note.incarnation].append(note)
    most_ms = {process: max(report.max_ms or 0.0 for report in reports) for process, reports in of.items()}
    p999_ms = {process: min(most_ms[process], _p999_ms(reports)) for process, reports in of.items()}
    if not p999_ms:
        return Lateness(None, limit_ms, late=limit_ms is not None)
    worst = max(p999_ms.values())
    if limit_ms is None:
        return Lateness(worst, None, late=False)
    late = sorted(((late_ms, node) for (node, _), late_ms in p999_ms.items() if late_ms > limit_ms), reverse=True)
    once = sorted(
        (
            (most_ms[process], process[0])
            for process, late_ms in p999_ms.items()
            if late_ms <= limit_ms < most_ms[process] / WHOLE
        ),
        reverse=True,
    )
    return Lateness(worst, limit_ms, bool(late or once), tuple(late), tuple(once))


def why_late(lateness: Lateness, compared: str, speed: float | None) -> str:
    """Reason for the verdict unknown after unexcused lateness, with advice.

    `compared`: the recordings that the run was compared with, "" if none; `speed`: of its clock.
    """
    if lateness.worst_ms is None or lateness.limit_ms is None:
        return "no process reported the lateness of its timers"
    of_whom, once = (
        ", ".join(f"{node} {late_ms:.0f} ms" for late_ms, node in late) for late in (lateness.of_whom, lateness.once)
    )
    equals = f", and the run equals none of {compared}" if compared else ""
    limit_ms = lateness.limit_ms
    reasons = []
    if of_whom:
        reasons.append(f"timers were later (p99.9) than {limit_ms:g} ms, a tenth of the shortest time-out: {of_whom}")
    if once:
        reasons.append(f"timers were later, once, than the shortest time-out, {limit_ms * WHOLE:g} ms: {once}")
    worst_ms = max([lateness.worst_ms, *(late_ms / WHOLE for late_ms, _ in lateness.once)])
    return f"{'; '.join(reasons)}; that could have changed the outcome{equals}. {_instead(worst_ms, limit_ms, speed)}"


def _instead(worst_ms: float, limit_ms: float, speed: float | None) -> str:
    """Advice to slow the clock, which lowers lateness in scenario time."""
    if speed is None:
        return "Play it again with a lower --speed"
    if speed <= 1:
        return "Play it again when the machine has less to do"
    return f"Play it again with --speed {max(1, math.floor(min(speed / 2, SPARE * speed * limit_ms / worst_ms)))}"


def _p999_ms(reports: Iterable[Note]) -> float:
    """Upper bound of a process's p99.9, from all its reports; may exceed its maximum."""
    return share_ms(merged(report.buckets or "" for report in reports), 0.999)
