"""Whether a run can be trusted: its faults took effect and healed, its timers were punctual, nobody died by itself.

Plain Python over the notes of `emulator.judging.findings`: a few events per run. Each finding is a reason for the
verdict *unknown*.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

import msgspec

from emulator.judging.findings import EventCount, Note
from emulator.runs.verdict import FaultVerdict
from protocol.events.faults import DEADLY_FAULTS, START_REFUSED
from protocol.lateness import merged, share_ms

ENDING_FAULTS = ("kill", "stop", "power-loss")
"""What a `machine_fault` says that is meant to end a process."""
KAFKAS_EXIT = 1
"""Code of a process that ends as Kafka's would; a bug of ours ends it with another."""
HEAL = "heal"
SPARE = 0.8
"""Of the speed at which the same lateness would just do: the next run may meet a busier moment."""
WHOLE = 10.0
"""Times the limit, which is a tenth of it: the shortest time-out."""
DIED = "died"
"""What it says of an end that nobody had asked for."""


class _Rule(msgspec.Struct):
    what: str = ""
    asked_ms: float | None = None
    heal_asked_ms: float | None = None
    expects_traffic: bool = True
    in_force: dict[tuple[str, int], float] = {}
    healed: dict[tuple[str, int], float] = {}
    frames_stopped: int = 0
    tried_after: bool = False
    traffic_after: bool = False


def fault_verdicts(notes: Sequence[Note]) -> tuple[list[FaultVerdict], list[str]]:
    """Every rule in the order in which it was asked for, and why the run is unknown because of them."""
    rules: dict[str, _Rule] = defaultdict(_Rule)
    for note in notes:
        if _asks_for_heal(note):
            for rule_id, rule in rules.items():
                if note.rule in (None, rule_id) and rule.heal_asked_ms is None:
                    rule.heal_asked_ms = note.at_ms
            continue
        if note.rule is None or not note.event.startswith("fault_"):
            continue
        rule = rules[note.rule]
        rule.what = note.what or rule.what
        who = (note.node, note.incarnation)
        match note.event:
            case "fault_asked":
                rule.asked_ms = note.at_ms
                rule.expects_traffic = note.expects_traffic is not False
            case "fault_in_force":
                rule.in_force.setdefault(who, note.at_ms)
            case "fault_healed":
                rule.healed[who] = note.at_ms
                rule.frames_stopped += note.frames_stopped or 0
            case "fault_tried":
                rule.tried_after = True
            case "fault_traffic":
                rule.traffic_after = True
    ended = _ended(notes)
    verdicts, reasons = [], []
    for rule_id, rule in sorted(rules.items(), key=lambda item: (item[1].asked_ms or 0.0, item[0])):
        verdict = _verdict(rule_id, rule, ended)
        verdicts.append(verdict)
        reasons += _reasons(verdict, rule)
    return verdicts, reasons


def _asks_for_heal(note: Note) -> bool:
    """The injector was asked to heal a rule (`rule`), or the script says that all are healed."""
    if note.event == "fault_asked":
        return (note.what or "").startswith(HEAL)
    return note.event == "scenario_step" and note.text == HEAL


def _verdict(rule_id: str, rule: _Rule, ended: Mapping[tuple[str, int], float]) -> FaultVerdict:
    """Nodes that had ended before the heal need none. One that ended later, as all do in the end, should have healed:
    whoever is asked to heal and is not believed by its nodes must not be saved by the run's end."""
    asked_ms = min((ms for ms in (rule.heal_asked_ms, *rule.healed.values()) if ms is not None), default=None)
    heal_wanted = asked_ms is not None
    unhealed = [
        who
        for who in rule.in_force
        if who not in rule.healed and not (asked_ms is not None and ended.get(who, math.inf) <= asked_ms)
    ]
    healed: bool | str | None = None
    if heal_wanted:
        quiet = not (rule.tried_after and rule.expects_traffic)
        healed = False if unhealed else True if rule.traffic_after or quiet else "unknown"
    return FaultVerdict(
        rule=rule.what,
        asked_ms=rule.asked_ms,
        in_force_ms=max(rule.in_force.values(), default=None),
        healed_ms=max(rule.healed.values(), default=None) if healed else None,
        frames_stopped=rule.frames_stopped,
        # While a rule lasts nobody says what it has stopped so far.
        took_effect=bool(rule.in_force) and (rule.frames_stopped > 0 or not rule.expects_traffic or not rule.healed),
        healed=healed,  # type: ignore[arg-type]
        id=rule_id,
        nodes=sorted({node for node, _ in rule.in_force}),
    )


def _reasons(verdict: FaultVerdict, rule: _Rule) -> list[str]:
    reasons = []
    if not rule.in_force:
        reasons.append(f"fault {verdict.rule!r} was asked for but was in force nowhere")
    elif not verdict.took_effect:
        reasons.append(f"fault {verdict.rule!r} stopped nothing: no traffic met it")
    if verdict.healed is False:
        healed = {node for node, _ in rule.healed}
        missing = ", ".join(node for node in verdict.nodes if node not in healed)
        reasons.append(f"fault {verdict.rule!r} did not heal: still in force at {missing}")
    elif verdict.healed == "unknown":
        reasons.append(f"fault {verdict.rule!r} was healed, but nothing that was sent since has arrived")
    return reasons


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


def lost_events(counts: Iterable[EventCount]) -> list[str]:
    """Incarnations whose sequence numbers have gaps: events that were written are not there."""
    numbers: dict[tuple[str, int], list[EventCount]] = defaultdict(list)
    for count in counts:
        if count.problem is None and count.node is not None and count.incarnation is not None:
            numbers[count.node, count.incarnation].append(count)
    reasons = []
    for (node, incarnation), of in sorted(numbers.items()):
        first = min(c.first_seq for c in of if c.first_seq is not None)
        last = max(c.last_seq for c in of if c.last_seq is not None)
        events = sum(c.events for c in of)
        # The first number is 0 or 1; whatever comes later was preceded by something.
        lacking = last + 1 - min(first, 1) - events
        if lacking > 0:
            reasons.append(
                f"{lacking} events of {node}, incarnation {incarnation}, are missing (its numbers go up to {last})"
            )
        elif lacking < 0:
            reasons.append(f"{-lacking} events of {node}, incarnation {incarnation}, are there twice")
    return reasons


def _ended(notes: Iterable[Note]) -> dict[tuple[str, int], float]:
    """When incarnations were over, scenario ms: from then on nobody can heal there."""
    last: dict[str, int] = {}
    ended: dict[tuple[str, int], float] = {}
    for note in notes:
        if note.event == "machine_fault" and note.what in (*ENDING_FAULTS, DIED) and note.target in last:
            ended.setdefault((note.target, last[note.target]), note.at_ms)
        elif note.event == "node_stopped":
            ended.setdefault((note.node, note.incarnation), note.at_ms)
        elif note.event == "node_started":
            last[note.node] = note.incarnation
    return ended
