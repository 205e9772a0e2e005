"""Tables of the page: expectations, faults, measures, settings in force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import zip_longest
from typing import Any

from audit.report.about import About
from audit.report.claims import Claim, Claims
from audit.report.report_links import Links
from emulator.judging.measures import OUTSIDE
from emulator.runs.verdict_file import Verdict
from emulator.scenario.expectation_text import seen_words

HELD: dict[Any, tuple[str, str]] = {
    True: ("✓ held", "good"),
    False: ("✗ broken", "bad"),
    "unknown": ("? unknown", "unsure"),
}
NOT_MEASURED = "not measured: no client wrote"
NEVER_AGAIN = "not in this run"
NEVER = "–"
MACHINE_FAULTS_MAX = 40

OF_CLIENTS = {"unavailable_ms": "Writes failed", "recovered_ms": "Writes acknowledged again, from the first fault on"}
"""{measure of an AZ's clients, or of one: its name}"""

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


def expectations(verdict: Verdict, claims: Claims, links: Links) -> str:
    if not verdict.expectations:
        return ""
    rows = []
    for one in verdict.expectations:
        word, css = HELD[one.held]
        seen = "" if one.seen is None and one.held is True else seen_words(one.seen)
        where = links.of(claims.of_expectation(one, verdict.checks))
        rows.append((f'<span class="pill {css}">{word}</span>', escape(one.text), escape(seen), where or NEVER))
    return section("Expectations", table(("Held?", "Expected", "Seen", "Where"), rows))


def faults(verdict: Verdict, claims: Claims, links: Links) -> str:
    """Table of link rules and faults of nodes."""
    rows = [
        (escape(one.rule), links.of(claims.of_fault(one)) or NEVER, at(one.requested_ms), at(one.healed_ms),
         f"{one.frames_stopped:,}", yes(one.took_effect), yes(one.healed))
        for one in verdict.faults
    ]  # fmt: skip
    done = claims.machine_faults[:MACHINE_FAULTS_MAX]
    for event in done:
        moment = links.of(Claim(event["at_ms"], "", [event]))
        rows.append((escape(f"{event['what']} {event['target']}"), moment, at(event["at_ms"]), *(NEVER,) * 4))
    if not rows:
        return ""
    more = len(claims.machine_faults) - len(done)
    note = f"<p>{more:,} more faults of machines are not listed.</p>" if more else ""
    names = ("Fault", "In force everywhere", "Asked", "Healed", "Frames stopped", "Took effect", "Proved healed")
    return section("Faults", table(names, rows) + note)


def measures(verdict: Verdict) -> str:
    rows = [(name, escape(text)) for name, text in measured(verdict)]
    return section("Measures", table((), [(f'<th scope="row">{escape(name)}</th>', text) for name, text in rows]))


def measured(verdict: Verdict) -> list[tuple[str, str]]:
    """[(name of a measure, value with its unit)]."""
    rows = []
    for name, value in verdict.measures.items():
        if isinstance(value, dict) and name in ("unavailable_ms", "recovered_ms", "clients", "unknown_outcomes"):
            rows += _of_clients(verdict, name, value)
            continue
        rows.append((MEASURES.get(name) or _words(name), _measure(name, value)))
    rows.append(("Lines torn by a death", str(verdict.quarantine.torn)))
    rows.append(("Lines in quarantine", str(verdict.quarantine.lines)))
    return rows


def _of_clients(verdict: Verdict, name: str, value: dict[str, Any]) -> list[tuple[str, str]]:
    """Rows of a measure with several values."""
    if name == "unknown_outcomes":
        words = ", ".join(f"{count} {_words(one).lower()}" for one, count in value.items())
        return [("Writes of unknown outcome", words)]
    if name == "clients":
        return [
            (f"{words}, {client}", NEVER_AGAIN if of_client.get(one) is None else duration(of_client[one]))
            for client, of_client in value.items()
            for one, words in OF_CLIENTS.items()
        ]
    wrote = verdict.measures.get("unavailable_ms") or {}
    return [
        (
            f"{OF_CLIENTS[name]}, {'clients outside every AZ' if az == OUTSIDE else f'clients of {az}'}",
            duration(ms) if ms is not None else NOT_MEASURED if wrote.get(az) is None else NEVER_AGAIN,
        )
        for az, ms in value.items()
    ]


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
    """A table. `rows`: cells as HTML. Without names it has no head."""
    names = list(names)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(f"<tr>{''.join(_cells(row, names))}</tr>" for row in rows)
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f'<div class="scroll"><table>{top}<tbody>{body}</tbody></table></div>'


def _cells(row: Iterable[str], names: Sequence[str]) -> Iterator[str]:
    """Cells, each with its column's name, which stands beside it on a narrow screen."""
    for inner, name in zip_longest(row, names, fillvalue=""):
        label = f' data-label="{escape(name)}"' if name else ""
        yield inner if inner.startswith("<th") else f"<td{label}>{inner}</td>"


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
    """A duration: below a second in ms, else in s."""
    return f"{ms:,.0f} ms" if abs(ms) < 1000 else f"{ms / 1000:,.1f} s"


def at(ms: float | None) -> str:
    """A time on the scenario's clock."""
    return NEVER if ms is None else f"{ms / 1000:.2f} s"


def yes(value: bool | str | None) -> str:
    return escape(value) if isinstance(value, str) else {True: "yes", False: "no", None: NEVER}[value]
