"""Faults of links as events report them: requested, in force everywhere, of effect, healed.

Plain Python over the notes of `emulator.judging.findings`. A missing report is a reason for the verdict *unknown*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from emulator.faults.machine_fault_kinds import ENDING, PauseNode, ResumeNode
from emulator.judging.findings import Note
from emulator.runs.verdict_file import FaultVerdict
from protocol.events.fault_events import DIED

HEAL = "heal"


class _Rule(msgspec.Struct):
    what: str = ""
    requested_ms: float | None = None
    heal_requested_ms: float | None = None
    expects_traffic: bool = True
    in_force: dict[tuple[str, int], float] = {}
    healed: dict[tuple[str, int], float] = {}
    lasted: set[tuple[str, int]] = set()
    frames_stopped: int = 0
    tried_after: bool = False
    traffic_after: bool = False


def fault_verdicts(notes: Sequence[Note]) -> tuple[list[FaultVerdict], list[str]]:
    """Verdicts of all rules in the order of their requests, and the reasons for an unknown run."""
    rules: dict[str, _Rule] = {}
    standing: set[str] = set()
    for note in notes:
        if _is_heal_request(note):
            healed = standing & {note.rule} if note.rule is not None else {*standing}
            for rule_id in healed:
                rules[rule_id].heal_requested_ms = note.at_ms
            standing -= healed
            continue
        if note.rule is None or not note.event.startswith("fault_"):
            continue
        if note.rule not in rules:
            rules[note.rule] = _Rule()
            standing.add(note.rule)
        rule = rules[note.rule]
        rule.what = note.what or rule.what
        incarnation = (note.node, note.incarnation)
        match note.event:
            case "fault_asked":
                rule.requested_ms = note.at_ms
                rule.expects_traffic = note.expects_traffic is not False
            case "fault_in_force":
                rule.in_force.setdefault(incarnation, note.at_ms)
            case "fault_healed":
                rule.healed[incarnation] = note.at_ms
                rule.frames_stopped += note.frames_stopped or 0
            case "fault_lasted":
                rule.lasted.add(incarnation)
                rule.frames_stopped += note.frames_stopped or 0
            case "fault_tried":
                rule.tried_after = True
            case "fault_traffic":
                rule.traffic_after = True
    ended = ended_ms(notes)
    running = _running_at(notes, {rule.requested_ms for rule in rules.values() if rule.requested_ms is not None})
    verdicts, reasons = [], []
    for rule_id, rule in sorted(rules.items(), key=lambda item: (item[1].requested_ms or 0.0, item[0])):
        verdict = _verdict(rule_id, rule, ended)
        verdicts.append(verdict)
        reasons += [*_reasons(verdict, rule), *_missing_in_force(verdict, rule, running, ended)]
    return verdicts, reasons


def undone(notes: Iterable[Note], done: int | None) -> list[str]:
    """Reasons for faults that the scenario did (`done`, if counted) but no event reports."""
    requested = {note.rule for note in notes if note.event == "fault_asked" and not _is_heal_request(note)}
    if done is None or len(requested) >= done:
        return []
    return [f"the scenario did {done} faults on links, and events report {len(requested)}"]


def _is_heal_request(note: Note) -> bool:
    """Whether a note requests to heal one rule (`rule`), or is the step that heals all rules."""
    if note.event == "fault_asked":
        return (note.what or "").startswith(HEAL)
    return note.event == "scenario_step" and note.text == HEAL


def _verdict(rule_id: str, rule: _Rule, ended: Mapping[tuple[str, int], float]) -> FaultVerdict:
    """The verdict of one rule.

    A node that ended before the heal needs none. A node that ended later should have healed: the run's end must not
    hide a heal that the node ignored.
    """
    requested_ms = min((ms for ms in (rule.heal_requested_ms, *rule.healed.values()) if ms is not None), default=None)
    heal_wanted = requested_ms is not None
    unhealed = [
        incarnation
        for incarnation in rule.in_force
        if incarnation not in rule.healed
        and not (requested_ms is not None and ended.get(incarnation, math.inf) <= requested_ms)
    ]
    # The count of stopped frames is unknown while a rule lasts, after a kill, and for rules in the kernel.
    uncounted = not rule.healed and any(incarnation not in rule.lasted for incarnation in rule.in_force)
    healed: bool | str | None = None
    if heal_wanted:
        quiet = not (rule.tried_after and rule.expects_traffic)
        healed = False if unhealed else True if rule.traffic_after or quiet else "unknown"
    return FaultVerdict(
        rule=rule.what,
        requested_ms=rule.requested_ms,
        in_force_ms=max(rule.in_force.values(), default=None),
        healed_ms=max(rule.healed.values(), default=None) if healed else None,
        frames_stopped=rule.frames_stopped,
        took_effect=bool(rule.in_force) and (rule.frames_stopped > 0 or not rule.expects_traffic or uncounted),
        healed=healed,  # type: ignore[arg-type]
        id=rule_id,
        nodes=sorted({node for node, _ in rule.in_force}),
    )


def _reasons(verdict: FaultVerdict, rule: _Rule) -> list[str]:
    reasons = []
    if not rule.in_force:
        reasons.append(f"fault {verdict.rule!r} was requested but was in force nowhere")
    elif not verdict.took_effect:
        reasons.append(f"fault {verdict.rule!r} stopped nothing: no traffic met it")
    if verdict.healed is False:
        healed = {node for node, _ in rule.healed}
        missing = ", ".join(node for node in verdict.nodes if node not in healed)
        reasons.append(f"fault {verdict.rule!r} did not heal: still in force at {missing}")
    elif verdict.healed == "unknown":
        reasons.append(f"fault {verdict.rule!r} was healed, but nothing that was sent since has arrived")
    return reasons


def _missing_in_force(
    verdict: FaultVerdict,
    rule: _Rule,
    running: Mapping[float, Mapping[str, int]],
    ended: Mapping[tuple[str, int], float],
) -> list[str]:
    """A reason for processes that ran at the request and do not report the rule.

    Every process gets every rule, whether or not it concerns its links.
    """
    if rule.requested_ms is None:
        return [f"fault {verdict.rule!r} was in force without a request"]
    if verdict.in_force_ms is None:
        return []
    lacking = [
        incarnation[0]
        for incarnation in sorted(running[rule.requested_ms].items())
        if incarnation not in rule.in_force and ended.get(incarnation, math.inf) > verdict.in_force_ms
    ]
    return [f"fault {verdict.rule!r} is not reported in force at {', '.join(lacking)}"] if lacking else []


def _running_at(notes: Iterable[Note], moments_ms: Iterable[float]) -> dict[float, dict[str, int]]:
    """{moment: {node: its incarnation}} of nodes that had started and were not paused.

    One pass over the notes, because a long run has many faults and many notes. A paused node gets a rule when it
    resumes.
    """
    found: dict[float, dict[str, int]] = {}
    waiting = sorted(moments_ms, reverse=True)
    lives: dict[str, int] = {}
    halted: set[str | None] = set()

    def until(at_ms: float) -> None:
        while waiting and waiting[-1] <= at_ms:
            found[waiting.pop()] = {node: life for node, life in lives.items() if node not in halted}

    for note in notes:
        until(note.at_ms)
        if note.event == "node_started":
            lives[note.node] = note.incarnation
            halted.discard(note.node)
        elif note.event == "machine_fault" and note.what == PauseNode.VERB:
            halted.add(note.target)
        elif note.event == "machine_fault" and note.what == ResumeNode.VERB:
            halted.discard(note.target)
    until(math.inf)
    return found


def ended_ms(notes: Iterable[Note]) -> dict[tuple[str, int], float]:
    """Times at which incarnations ended, scenario ms; an ended incarnation cannot heal a rule."""
    last: dict[str, int] = {}
    ended: dict[tuple[str, int], float] = {}
    for note in notes:
        if note.event == "machine_fault" and note.what in (*ENDING, DIED) and note.target in last:
            ended.setdefault((note.target, last[note.target]), note.at_ms)
        elif note.event == "node_stopped":
            ended.setdefault((note.node, note.incarnation), note.at_ms)
        elif note.event == "node_started":
            last[note.node] = note.incarnation
    return ended
