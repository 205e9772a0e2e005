"""Faults of links as events tell them: asked for, in force everywhere, of effect, and healed.

Plain Python over the notes of `emulator.judging.findings`. What is not told is a reason for the verdict *unknown*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from emulator.judging.findings import Note
from emulator.runs.verdict import FaultVerdict

ENDING_FAULTS = ("kill", "stop", "power-loss")
"""What a `machine_fault` says that is meant to end a process."""
DIED = "died"
"""What it says of an end that nobody had asked for."""
PAUSE, RESUME = "pause", "resume"
"""And of a process that stands still, and goes on."""
HEAL = "heal"


class _Rule(msgspec.Struct):
    what: str = ""
    asked_ms: float | None = None
    heal_asked_ms: float | None = None
    expects_traffic: bool = True
    in_force: dict[tuple[str, int], float] = {}
    healed: dict[tuple[str, int], float] = {}
    lasted: set[tuple[str, int]] = set()
    frames_stopped: int = 0
    tried_after: bool = False
    traffic_after: bool = False


def fault_verdicts(notes: Sequence[Note]) -> tuple[list[FaultVerdict], list[str]]:
    """Every rule in the order in which it was asked for, and why the run is unknown because of them."""
    rules: dict[str, _Rule] = {}
    standing: set[str] = set()
    for note in notes:
        if _asks_for_heal(note):
            healed = standing & {note.rule} if note.rule is not None else {*standing}
            for rule_id in healed:
                rules[rule_id].heal_asked_ms = note.at_ms
            standing -= healed
            continue
        if note.rule is None or not note.event.startswith("fault_"):
            continue
        if note.rule not in rules:
            rules[note.rule] = _Rule()
            standing.add(note.rule)
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
            case "fault_lasted":
                rule.lasted.add(who)
                rule.frames_stopped += note.frames_stopped or 0
            case "fault_tried":
                rule.tried_after = True
            case "fault_traffic":
                rule.traffic_after = True
    ended = ended_ms(notes)
    running = _running_at(notes, {rule.asked_ms for rule in rules.values() if rule.asked_ms is not None})
    verdicts, reasons = [], []
    for rule_id, rule in sorted(rules.items(), key=lambda item: (item[1].asked_ms or 0.0, item[0])):
        verdict = _verdict(rule_id, rule, ended)
        verdicts.append(verdict)
        reasons += [*_reasons(verdict, rule), *_not_told_everywhere(verdict, rule, running, ended)]
    return verdicts, reasons


def undone(notes: Iterable[Note], done: int | None) -> list[str]:
    """Faults that the scenario did (`done`, if somebody counted) and nobody was asked for."""
    asked = {note.rule for note in notes if note.event == "fault_asked" and not _asks_for_heal(note)}
    if done is None or len(asked) >= done:
        return []
    return [f"the scenario did {done} faults on links, and events tell of {len(asked)}"]


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
    # While a rule lasts nobody says what it has stopped so far; nor does who is killed, or the kernel.
    untold = not rule.healed and any(who not in rule.lasted for who in rule.in_force)
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
        took_effect=bool(rule.in_force) and (rule.frames_stopped > 0 or not rule.expects_traffic or untold),
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


def _not_told_everywhere(
    verdict: FaultVerdict,
    rule: _Rule,
    running: Mapping[float, Mapping[str, int]],
    ended: Mapping[tuple[str, int], float],
) -> list[str]:
    """Every process that ran when the rule was asked for is told of it, whether or not its links are meant."""
    if rule.asked_ms is None:
        return [f"fault {verdict.rule!r} was in force, and nobody had asked for it"]
    if verdict.in_force_ms is None:
        return []
    lacking = [
        who[0]
        for who in sorted(running[rule.asked_ms].items())
        if who not in rule.in_force and ended.get(who, math.inf) > verdict.in_force_ms
    ]
    return [f"fault {verdict.rule!r} is not told to have been in force at {', '.join(lacking)}"] if lacking else []


def _running_at(notes: Iterable[Note], moments_ms: Iterable[float]) -> dict[float, dict[str, int]]:
    """{moment: {node: its life}} of those that had begun by then and did not stand still: in one pass, for a long run
    has many faults and many notes. Who stands still is told of a rule when it goes on."""
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
        elif note.event == "machine_fault" and note.what == PAUSE:
            halted.add(note.target)
        elif note.event == "machine_fault" and note.what == RESUME:
            halted.discard(note.target)
    until(math.inf)
    return found


def ended_ms(notes: Iterable[Note]) -> dict[tuple[str, int], float]:
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
