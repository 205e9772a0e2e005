"""A verdict as text: faults, expectations, promises, evidence, and the result."""

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from emulator.exit_codes import UNKNOWN
from emulator.judging.ci_reports import CiReports
from emulator.judging.recording_match import equal_recording, recorded_as_played, recorded_versions
from emulator.runs.resolve import Resolved
from emulator.runs.scenario_sources import place_of_step
from emulator.runs.starts import versions_played
from emulator.runs.verdict_file import RANKS, USUAL, Rank, evidence_text, rank_of, usual_text
from emulator.scenario.expectation_text import saw_words
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.player.steps import StepFailed
from emulator.settings.account import Account, lines

MARKS: dict[bool | str, str] = {
    True: "[green]✓[/]",
    False: "[red]✗[/]",
    "unknown": "[yellow]?[/]",
    "skipped": "[dim]-[/]",
    "meant": "[magenta]![/]",
}
"""Marks of outcomes. "meant": a broken promise that the scenario demonstrates."""
EVIDENCE_MAX = 3
LAST_WORDS = {
    True: "[bold green]valid[/]: the run meets the scenario's expectations",
    False: "[bold red]not valid[/]: the run does not meet the scenario's expectations",
    "unknown": "[bold yellow]unknown[/]: the run cannot be judged",
}


def versions_shown(resolved: Resolved) -> str:
    """`2.6`; of brokers that change theirs `0.11, then 2.8`."""
    return ", then ".join(versions_played(resolved.spec, resolved.scenario.steps))


def not_played(scenario: str, error: BaseException) -> str:
    """One line about a scenario that ended early; begins with the step's place in its file."""
    place = place_of_step(scenario, error.step) if isinstance(error, StepFailed) else ""
    return f"{place}faultline run: the scenario was not played to its end: {error}"


def end_early(scenario: str, resolved: Resolved, error: BaseException, ci_reports: CiReports) -> int:
    """Report a scenario that ended early; returns the exit code."""
    print(not_played(scenario, error), file=sys.stderr)
    ci_reports.write_not_played(resolved.scenario.id, str(error))
    return UNKNOWN


def print_account(console: Console, account: Account) -> None:
    """Print notes on the settings of a run, before it begins."""
    for line in lines(account):
        style = "yellow" if line.startswith(("warning", "not modelled")) else "dim"
        console.print(f"[{style}]{escape(line)}[/]")


def against_kafka(resolved: Resolved, observations: Observations) -> tuple[str, str]:
    """Comparison of the run with recordings of real Kafka: a mark, and text."""
    scenario, version = resolved.scenario, resolved.spec.kafka_version
    equals = equal_recording(scenario, version, observations)
    if equals:
        return MARKS[True], f"equals real Kafka: {escape(equals)}"
    if equals is not None and not recorded_as_played(resolved):
        return MARKS["skipped"], "differs from the recordings of real Kafka, which were made with other settings"
    if equals is not None:
        return MARKS[False], "differs from every recording of real Kafka (faultline compare shows where)"
    others = recorded_versions(scenario.id)
    if others:
        return MARKS["skipped"], f"no recording of real Kafka {version} for this scenario, only of {', '.join(others)}"
    return MARKS["skipped"], "no recording of real Kafka for this scenario"


def print_verdict(
    console: Console, verdict: dict[str, Any], against_kafka: tuple[str, str], *, verbose: bool = False
) -> None:
    """Faults, expectations, promises and comparison with real Kafka; what broke comes first.

    `against_kafka`: mark and text of the comparison. `verbose`: name each check that held or was skipped."""
    checks = verdict["checks"]
    if verdict["faults"]:
        console.print("[bold]Faults[/]")
        for fault in verdict["faults"]:
            _item(console, _fault_mark(fault), _fault(fault))
    below = tuple(f"{name} is violated: " for name, check in checks.items() if check["verdict"] == "violated")
    seen = [one for one in verdict["expectations"] if one["held"] is not True or not one["text"].startswith(below)]
    if seen:
        console.print("[bold]What the scenario expects[/]")
    for one in sorted(seen, key=lambda one: one["held"] is True):
        saw = "" if one["held"] is True else f"  [dim]({escape(_short(saw_words(one['held'], one['seen'])))})[/]"
        _item(console, MARKS[one["held"]], escape(one["text"]) + saw)
    if checks:
        console.print("[bold]Promises[/]")
    ranks = {name: _rank(check) for name, check in checks.items()}
    for name in sorted(checks, key=lambda name: RANKS.index(ranks[name])):
        if verbose or ranks[name] not in USUAL:
            _print_check(console, name, checks[name], [one["text"] for one in verdict["expectations"]])
    if usual := usual_text(Counter(ranks.values()), verbose=verbose):
        _item(console, MARKS[True], usual)
    console.print("[bold]Can it be trusted?[/]")
    for reason in verdict.get("unknown_because", []):
        _item(console, MARKS["unknown"], escape(reason))
    if verdict.get("vouched_by"):
        _item(console, MARKS[True], escape(vouched_text(verdict)))
    _item(console, *against_kafka)
    console.print(LAST_WORDS[verdict["valid"]], soft_wrap=not console.is_terminal)


def _rank(check: dict[str, Any]) -> Rank:
    return rank_of(check["verdict"], expected=bool(check.get("expected")))


def _item(console: Console, mark: str, text: str, indent: int = 2) -> None:
    """Print one item: a single line in a pipe; on a terminal with a hanging indent."""
    if not console.is_terminal:
        console.print(f"{' ' * indent}{mark} {text}", soft_wrap=True)
        return
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=len(Text.from_markup(mark)))
    grid.add_column(overflow="fold")
    grid.add_row(mark, text)
    console.print(Padding(grid, (0, 0, 0, indent)))


def vouched_text(verdict: dict[str, Any]) -> str:
    """Evidence for a run whose timers were late without an effect."""
    late_ms = verdict["measures"].get("timers_late_ms") or 0.0
    return f"timers were late (p99.9: {late_ms:.0f} ms), which changed nothing: vouched for by {verdict['vouched_by']}"


def _short(value: object, limit: int = 120) -> str:
    text = str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _fault_mark(fault: dict[str, Any]) -> str:
    good = fault.get("took_effect") and fault.get("healed", True) is not False
    return MARKS[True] if good else MARKS["unknown"]


def _fault(fault: dict[str, Any]) -> str:
    count = fault.get("frames_stopped", 0)
    words = f"{fault['rule']}: stopped {count} frame{'' if count == 1 else 's'}"
    if fault.get("in_force_ms") is not None:
        words += f", from {fault['in_force_ms'] / 1000:.1f} s"
    if fault.get("healed_ms") is not None:
        words += f" to {fault['healed_ms'] / 1000:.1f} s"
    if not fault.get("took_effect"):
        words += "; it stopped nothing"
    return words


def _check_mark(check: dict[str, Any]) -> str:
    if check["verdict"] in ("unknown", "skipped"):
        return MARKS[check["verdict"]]
    if check["verdict"] == "violated" and check.get("expected"):
        return MARKS["meant"]
    return MARKS[_rank(check) == "held"]


def _print_check(console: Console, name: str, check: dict[str, Any], expectations: Iterable[str]) -> None:
    """Print a check that did not simply hold: why it was expected, and the first findings."""
    words = f"{name}: {check['verdict']}"
    if check["verdict"] == "violated":
        because = next((text for text in expectations if text.startswith(f"{name} is violated: ")), "")
        words += f" ({check.get('count', 0)})" + (", as expected" if check.get("expected") else ", unexpected")
        words += f": {because.partition(': ')[2]}" if because else ""
        words += f"; {check['reason']}" if check.get("reason") else ""
    elif check["verdict"] == "held" and check.get("expected"):
        words += ", though a violation was expected"
    elif check.get("reason"):
        words += f": {check['reason']}"
    _item(console, _check_mark(check), escape(words))
    evidence = check.get("evidence", [])[:EVIDENCE_MAX]
    for one in evidence:
        _item(console, "[dim]·[/]", f"[dim]{escape(_short(evidence_text(one), 160))}[/]", 4)
    if (more := check.get("count", 0) - len(evidence)) > 0 and check["verdict"] == "violated":
        _item(console, "[dim]·[/]", f"[dim]and {more} more[/]", 4)
