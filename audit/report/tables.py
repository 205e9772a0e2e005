"""Tables of the page: expectations, faults, measures, settings in force. Names in words, units with them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from audit.report.about import About
from emulator.judging.measures import OUTSIDE
from emulator.runs.verdict import Verdict
from emulator.scenario.seen import seen_words

HELD: dict[Any, tuple[str, str]] = {True: ("held", "good"), False: ("broken", "bad"), "unknown": ("unknown", "unsure")}
NOT_MEASURED = "not measured: no client there wrote"
NEVER = "–"

MEASURES = {
    "events": "Events",
    "simulated_s": "Scenario time simulated",
    "wall_s": "The run took",
    "played_s": "of that, playing it",
    "audit_s": "Judging it took",
    "spark_ready_s": "Spark was ready after",
    "time_to_new_leader_ms": "From the first fault to a new leader",
    "dual_leader_ms": "Two leaders of one partition at once, at most",
    "dual_controller_ms": "Two controllers at once, at most",
    "timers_late_ms": "Timers were late by (p99.9)",
    "exits": "Nodes that ended by themselves",
}


def expectations(verdict: Verdict) -> str:
    if not verdict.expectations:
        return ""
    rows = []
    for one in verdict.expectations:
        word, css = HELD[one.held]
        seen = "" if one.seen is None and one.held is True else seen_words(one.seen)
        rows.append((f'<span class="pill {css}">{word}</span>', escape(one.text), escape(seen)))
    return section("Expectations", table(("Held?", "Expected", "Seen"), rows))


def faults(verdict: Verdict) -> str:
    if not verdict.faults:
        return ""
    rows = [
        (escape(one.rule), at(one.asked_ms), at(one.in_force_ms), at(one.healed_ms), f"{one.frames_stopped:,}",
         yes(one.took_effect), yes(one.healed))
        for one in verdict.faults
    ]  # fmt: skip
    names = ("Rule", "Asked", "In force everywhere", "Healed", "Frames stopped", "Took effect", "Proved healed")
    return section("Faults", table(names, rows))


def measures(verdict: Verdict) -> str:
    rows = [(name, escape(text)) for name, text in measured(verdict)]
    return section("Measures", table((), [(f'<th scope="row">{escape(name)}</th>', text) for name, text in rows]))


def measured(verdict: Verdict) -> list[tuple[str, str]]:
    """[(name in words, value with its unit)]."""
    told = []
    for name, value in verdict.measures.items():
        if name == "unavailable_ms" and isinstance(value, dict):
            for az, ms in value.items():
                whose = "clients outside every AZ" if az == OUTSIDE else f"clients of {az}"
                told.append((f"Writes failed, {whose}", NOT_MEASURED if ms is None else duration(ms)))
            continue
        told.append((MEASURES.get(name) or _words(name), _measure(name, value)))
    told.append(("Lines torn by a death", str(verdict.quarantine.torn)))
    told.append(("Lines in quarantine", str(verdict.quarantine.lines)))
    return told


def settings(about: About) -> str:
    if not about.settings:
        return ""
    rows = [
        (f'<code class="name">{escape(one.name)}</code>', escape(one.value), escape(one.whose),
         "the scenario" if one.chosen else "default")
        for one in about.settings
    ]  # fmt: skip
    chosen = sum(one.chosen for one in about.settings)
    inner = table(("Setting", "Value", "Of", "Set by"), rows)
    return (
        f'<section><h2>Settings in force</h2><details class="settings"><summary>{len(rows)} settings, {chosen} of them '
        f"set by the scenario</summary>{inner}</details></section>"
    )


def section(title: str, inner: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{inner}</section>"


def table(names: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """`rows`: cells as HTML. Without names there is no row of them."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f'<div class="scroll"><table>{top}<tbody>{body}</tbody></table></div>'


def _cell(inner: str) -> str:
    return inner if inner.startswith("<th") else f"<td>{inner}</td>"


def _words(name: str) -> str:
    stem = name.removesuffix("_ms").removesuffix("_s")
    return stem.replace("_", " ").capitalize()


def _measure(name: str, value: Any) -> str:
    if value is None:
        return NEVER
    if isinstance(value, int | float) and not isinstance(value, bool):
        if name.endswith("_ms"):
            return duration(value)
        return duration(value * 1000) if name.endswith("_s") else f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {one}" for key, one in value.items()) or "none"
    return str(value)


def duration(ms: float) -> str:
    """Below a second in ms, else in s."""
    return f"{ms:,.0f} ms" if abs(ms) < 1000 else f"{ms / 1000:,.1f} s"


def at(ms: float | None) -> str:
    """A moment, on the scenario's clock."""
    return NEVER if ms is None else f"{ms / 1000:.2f} s"


def yes(value: bool | str | None) -> str:
    return escape(value) if isinstance(value, str) else {True: "yes", False: "no", None: NEVER}[value]
