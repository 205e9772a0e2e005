"""Whether a run's events are complete: of every process, from its first event to its last.

    started (reported by its supervisor)  ->  node_started, numbers 1, 2, 3, ...  ->  node_stopped, or a reported death

A missing file, a missing incarnation, a missing beginning or end, a missing line: each is a reason for the verdict
*unknown*, because the missing events may be those that a check looks for. Plain Python over counts and notes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from emulator.faults.machine_fault_kinds import SILENT_ENDS, PauseNode, ResumeNode, Start
from emulator.judging.findings import SEQ_MODULUS, EventCount, Note
from emulator.topology import INJECTOR, OBSERVER
from protocol.lateness import REPORT_EVERY_MS

SPARE_REAL_MS = 1_000.0
"""Allowance for lines on their way to a file, and for a late process."""

Life = tuple[str, int]
"""(node, incarnation)"""


class EventNumbers(msgspec.Struct):
    """First and last event of one incarnation. `seqs`: count, sum and sum of squares of numbers."""

    first_seq: int
    last_seq: int
    first_ms: float
    last_ms: float
    seqs: tuple[int, int, int]


def reports_by_life(counts: Iterable[EventCount]) -> dict[Life, EventNumbers]:
    """Reports by node and incarnation."""
    of: defaultdict[Life, list[EventCount]] = defaultdict(list)
    for count in counts:
        if count.problem is None and count.node is not None and count.incarnation is not None:
            of[count.node, count.incarnation].append(count)
    return {
        life: EventNumbers(
            first_seq=min(c.first_seq for c in some if c.first_seq is not None),
            last_seq=max(c.last_seq for c in some if c.last_seq is not None),
            first_ms=min(c.first_ms for c in some if c.first_ms is not None),
            last_ms=max(c.last_ms for c in some if c.last_ms is not None),
            seqs=(
                sum(c.events for c in some),
                sum(c.seq_sum or 0 for c in some) % SEQ_MODULUS,
                sum(c.seq_squares or 0 for c in some) % SEQ_MODULUS,
            ),
        )
        for life, some in sorted(of.items())
    }


def incomplete(
    counts: Iterable[EventCount],
    notes: Sequence[Note],
    *,
    processes: Collection[str] = (),
    over: bool = False,
    speed: float | None = None,
) -> list[str]:
    """Reasons why events are missing.

    `processes`: processes that may have written, if known. `over`: the run was played to its end. `speed`: of its
    clock.
    """
    lives = reports_by_life(counts)
    over = over or any(note.event == "node_stopped" and note.node == INJECTOR for note in notes)
    return [
        *lost_events(lives),
        *missing_lives(lives, notes, processes, over=over),
        *unended_lives(lives, notes, over=over, speed=speed or 1.0, injected=INJECTOR in processes),
        *turned_back(lives),
    ]


def lost_events(lives: Mapping[Life, EventNumbers]) -> list[str]:
    """Reasons of incarnations whose numbers are not each there exactly once."""
    reasons = []
    for (node, incarnation), report in lives.items():
        last, events = report.last_seq, report.seqs[0]
        # The first number is 0 or 1; a later one has a predecessor.
        first = min(report.first_seq, 1)
        lacking = last + 1 - first - events
        if lacking > 0:
            reasons.append(
                f"{lacking} events of {node}, incarnation {incarnation}, are missing (its numbers go up to {last})"
            )
        elif lacking < 0:
            reasons.append(f"{-lacking} events of {node}, incarnation {incarnation}, are there twice")
        elif report.seqs != _seqs_up_to(last, events):
            reasons.append(
                f"of {node}, incarnation {incarnation}, some numbers up to {last} are there twice, and others are not"
            )
    return reasons


def _seqs_up_to(last: int, events: int) -> tuple[int, int, int]:
    """Sums as in `EventNumbers` of the numbers up to `last`, each once. A zero adds nothing."""
    total, squares = last * (last + 1) // 2, last * (last + 1) * (2 * last + 1) // 6
    return events, total % SEQ_MODULUS, squares % SEQ_MODULUS


def missing_lives(
    lives: Mapping[Life, EventNumbers], notes: Iterable[Note], processes: Collection[str], *, over: bool
) -> list[str]:
    """Incarnations that were started but have no events, or no `node_started`.

    In a run that does not report its starts, every process must have one incarnation.
    """
    notes = list(notes)
    last_ms = max((report.last_ms for report in lives.values()), default=0.0)
    begun = {(note.node, note.incarnation) for note in notes if note.event == "node_started"}
    starts = {
        (note.target, note.life): note.at_ms
        for note in notes
        if note.event == "machine_fault" and note.what == Start.VERB and note.target and note.life
    }
    owed = {(node, 1) for node in processes if not starts or node in (OBSERVER, INJECTOR)} | set(starts)
    owed |= {(node, number) for node, latest in [*lives, *starts] for number in range(1, latest + 1)}
    reasons = []
    for node, incarnation in sorted(owed):
        if (node, incarnation) not in lives:
            # A process that has just started may have written nothing yet, while the run goes on.
            if over or last_ms - starts.get((node, incarnation), -math.inf) > REPORT_EVERY_MS:
                reasons.append(f"no events of {node}, incarnation {incarnation}, are there, and it was started")
        elif node != INJECTOR and (node, incarnation) not in begun:
            reasons.append(f"the events of {node}, incarnation {incarnation}, do not have its start")
    others = {node for node, _ in lives} - {*processes} if OBSERVER in processes else set()
    return reasons + [f"there are events of {node}, and the run has no such process" for node in sorted(others)]


def unended_lives(
    lives: Mapping[Life, EventNumbers], notes: Iterable[Note], *, over: bool, speed: float, injected: bool
) -> list[str]:
    """Incarnations whose events end without a reason.

    A process writes at least `timer_lateness`, every REPORT_EVERY_MS, while it runs or where the run was cut short.
    """
    notes = list(notes)
    spare_ms = 2 * REPORT_EVERY_MS + SPARE_REAL_MS * speed
    stopped = {(note.node, note.incarnation) for note in notes if note.event == "node_stopped"}
    ends = reported_ends(notes)
    last_ms = max((report.last_ms for report in lives.values()), default=0.0)
    reasons = []
    for life, report in lives.items():
        node, incarnation = life
        if life in stopped or incarnation == 0 or (node == INJECTOR and not (over and injected)):
            continue
        if life in ends:
            until_ms, why = ends[life], "it lived"
        elif over:
            until_ms, why = math.inf, "no event reports its end"
        else:
            until_ms, why = last_ms, "the run goes on"
        if until_ms - report.last_ms > spare_ms:
            until = "" if until_ms == math.inf else f" until {until_ms:.0f} ms"
            reasons.append(
                f"the events of {node}, incarnation {incarnation}, end at {report.last_ms:.0f} ms (number "
                f"{report.last_seq}), and {why}{until}"
            )
    return reasons


def reported_ends(notes: Iterable[Note]) -> dict[Life, float]:
    """{(node, incarnation): time of its kill, or of a pause without a resume}."""
    current: dict[str, int] = {}
    ends: dict[Life, float] = {}
    for note in notes:
        if note.event == "node_started":
            current[note.node] = note.incarnation
        elif note.event == "machine_fault" and note.target in current:
            life = (note.target, note.life or current[note.target])
            if note.what in SILENT_ENDS or note.what == PauseNode.VERB:
                ends.setdefault(life, note.at_ms)
            elif note.what == ResumeNode.VERB:
                ends.pop(life, None)
    return ends


def turned_back(lives: Mapping[Life, EventNumbers]) -> list[str]:
    """Incarnations that began before their predecessor had ended."""
    return [
        f"the clock of {node} went back between its incarnations {incarnation - 1} and {incarnation}, from "
        f"{lives[node, incarnation - 1].last_ms:.0f} ms to {report.first_ms:.0f} ms"
        for (node, incarnation), report in lives.items()
        if (node, incarnation - 1) in lives and report.first_ms < lives[node, incarnation - 1].last_ms
    ]
