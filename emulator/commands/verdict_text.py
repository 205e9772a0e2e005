"""A verdict as a person reads it: expectations, faults, checks, one line each, and the last word."""

from typing import Any

from rich.console import Console
from rich.markup import escape

from audit.verdict import evidence_text
from emulator.observations.model import Observations
from emulator.runs.equal import equal_recording, recorded_versions
from emulator.runs.resolve import Resolved
from emulator.scenario.seen import seen_words
from emulator.settings.account import Account, lines

MARKS = {True: "[green]✓[/]", False: "[red]✗[/]", "unknown": "[yellow]?[/]"}
LAST_WORDS = {
    True: "[bold green]valid[/]: what the scenario expects happened",
    False: "[bold red]not valid[/]: something the scenario expects did not happen, or happened that it does not",
    "unknown": "[bold yellow]unknown[/]: the run cannot be judged",
}


def print_account(console: Console, account: Account) -> None:
    """What is to be said about the settings of a run, before it begins."""
    for line in lines(account):
        style = "yellow" if line.startswith(("warning", "not modelled")) else "dim"
        console.print(f"[{style}]{escape(line)}[/]")


def against_kafka(resolved: Resolved, observations: Observations) -> str:
    """How the run stands to the recordings of real Kafka, as a line with its mark."""
    scenario, version = resolved.scenario, resolved.spec.kafka_version
    equals = equal_recording(scenario, version, observations)
    if equals:
        return f"{MARKS[True]} equals real Kafka: {escape(equals)}"
    if equals is not None:
        return f"{MARKS[False]} differs from every recording of real Kafka (faultline compare says where)"
    others = recorded_versions(scenario.id)
    if others:
        return f"[dim]-[/] no recording of real Kafka {version} for this scenario, only of {', '.join(others)}"
    return "[dim]-[/] no recording of real Kafka for this scenario"


def print_verdict(console: Console, verdict: dict[str, Any], against_kafka: str) -> None:
    """`against_kafka`: how the run stands to the recordings (see there)."""
    for expectation in verdict["expectations"]:
        line = f"  {MARKS[expectation['held']]} {escape(expectation['text'])}"
        if expectation["held"] is not True:
            line += f"  [dim](saw {escape(_short(seen_words(expectation['seen'])))})[/]"
        console.print(line)
    for fault in verdict["faults"]:
        console.print(f"  {_fault_mark(fault)} {escape(_fault(fault))}")
    for name, check in verdict["checks"].items():
        console.print(f"  {_check_mark(check)} {escape(_check(name, check))}")
    for reason in verdict.get("unknown_because", []):
        console.print(f"  {MARKS['unknown']} {escape(reason)}")
    if verdict.get("vouched_by"):
        console.print(f"  {MARKS[True]} {escape(vouched_text(verdict))}")
    console.print(f"  {against_kafka}")
    console.print(LAST_WORDS[verdict["valid"]])


def vouched_text(verdict: dict[str, Any]) -> str:
    """Of a run whose timers were late, and changed nothing."""
    late_ms = verdict["measures"].get("timers_late_ms") or 0.0
    return f"timers were late (p99.9: {late_ms:.0f} ms), which changed nothing: vouched for by {verdict['vouched_by']}"


def _short(value: object, limit: int = 120) -> str:
    text = str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _fault_mark(fault: dict[str, Any]) -> str:
    good = fault.get("took_effect") and fault.get("healed", True) is not False
    return MARKS[True] if good else MARKS["unknown"]


def _fault(fault: dict[str, Any]) -> str:
    words = f"{fault['rule']}: stopped {fault.get('frames_stopped', 0)} frames"
    if fault.get("in_force_ms") is not None:
        words += f", from {fault['in_force_ms'] / 1000:.1f} s"
    if fault.get("healed_ms") is not None:
        words += f" to {fault['healed_ms'] / 1000:.1f} s"
    if not fault.get("took_effect"):
        words += "; it stopped nothing"
    return words


def _check_mark(check: dict[str, Any]) -> str:
    if check["verdict"] == "unknown":
        return MARKS["unknown"]
    if check["verdict"] == "skipped":
        return "[dim]-[/]"
    return MARKS[(check["verdict"] == "violated") == bool(check.get("expected"))]


def _check(name: str, check: dict[str, Any]) -> str:
    words = f"{name}: {check['verdict']}"
    if check["verdict"] == "violated":
        words += f" ({check.get('count', 0)})"
        words += ", as expected" if check.get("expected") else ", unexpected"
    elif check.get("expected") and check["verdict"] == "held":
        words += ", though a violation was expected"
    if check["verdict"] == "unknown" and check.get("reason"):
        return f"{words}: {check['reason']}"
    evidence = [_evidence(item) for item in check.get("evidence", [])[:3]]
    return words + ("" if not evidence else ": " + "; ".join(evidence))


def _evidence(item: dict[str, Any]) -> str:
    return _short(evidence_text(item), 110)
