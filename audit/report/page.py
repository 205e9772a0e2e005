"""Page: the verdict and the picture as one HTML file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from typing import Any

from audit.checks.registry import CHECKS
from audit.report.picture import Picture
from audit.report.timeline import Place, Span, Timeline
from audit.verdict import CheckVerdict, Verdict, evidence_text
from emulator.scenario.seen import seen_words

PARTITIONS_MAX = 8
"""Partitions that are drawn: those of which most happened."""
EVIDENCE_SHOWN_MAX = 20

_CODE = re.compile(r"`([^`]+)`")
_AS_CODE = r"<code>\1</code>"
_HEADLINES = {True: "As expected", False: "Not as expected", "unknown": "Unknown"}
_HEADLINES_ALONE = {True: "Every check held", False: "Checks are violated", "unknown": "Unknown"}
"""Of a cluster that was just used: nobody said what to expect."""
_CLASSES: dict[Any, str] = {True: "good", False: "bad", "unknown": "unsure"}
_HELD: dict[Any, str] = {True: "held", False: "broken", "unknown": "unknown"}
_PILLS = {"held": "good", "violated": "bad", "unknown": "unsure", "skipped": "quiet"}


def render(verdict: Verdict, timeline: Timeline) -> str:
    """The whole page."""
    sections = [
        _head(verdict),
        _pictures(verdict, timeline),
        _checks(verdict),
        _expectations(verdict),
        _faults(verdict),
        _measures(verdict),
    ]
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    script = files(__package__).joinpath("page.js").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(verdict.run)}: {_headline(verdict).lower()}</title>\n<style>\n{style}</style></head>\n"
        f'<body><main>{"".join(sections)}</main><div id="tip" role="status"></div>\n<script>\n{script}</script>'
        "</body></html>\n"
    )


def _headline(verdict: Verdict) -> str:
    return (_HEADLINES if verdict.scenario else _HEADLINES_ALONE)[verdict.valid]


def _head(verdict: Verdict) -> str:
    facts = [verdict.scenario or "a cluster that was used, without a scenario", f"{verdict.world} world"]
    facts.append(f"{verdict.measures.get('events', 0):,} events")
    if "wall_s" in verdict.measures:
        facts.append(f"{verdict.measures['wall_s']:.1f} s on the wall")
    said = list(verdict.unknown_because)
    if verdict.vouched_by:
        said.append(f"timers were late, which changed nothing: vouched for by {verdict.vouched_by}")
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in said)
    return (
        f'<header class="{_CLASSES[verdict.valid]}"><p class="badge">{_headline(verdict)}</p>'
        f"<h1>{escape(verdict.run)}</h1><p>{' · '.join(map(escape, facts))}</p>"
        + (f"<ul>{reasons}</ul>" if reasons else "")
        + _summary(verdict)
        + "</header>"
    )


def _summary(verdict: Verdict) -> str:
    """What happened, in a sentence per violated check."""
    said = []
    for name, check in verdict.checks.items():
        if check.verdict == "violated":
            expected = " This is what the scenario is there to show." if check.expected else ""
            said.append(f"<li><strong>{escape(name)}</strong>: {_counted(check)}.{expected}</li>")
    return f'<ul class="summary">{"".join(said)}</ul>' if said else ""


def _pictures(verdict: Verdict, timeline: Timeline) -> str:
    activity = {place: sum(len(r.log_ends) for r in replicas.values()) for place, replicas in timeline.replicas.items()}
    places = sorted(activity, key=lambda place: (-activity[place], place))
    drawn = sorted(places[:PARTITIONS_MAX])
    pictures = [Picture(timeline, place, _dual(verdict, timeline, place)).svg() for place in drawn] or [
        Picture(timeline, None).svg()
    ]
    figures = "".join(
        f'<div class="picture" data-partition="{n}"{" hidden" if n else ""}>{svg}</div>'
        for n, svg in enumerate(pictures)
    )
    choice = ""
    if len(drawn) > 1:
        options = "".join(f'<option value="{n}">{escape(t)}-{p}</option>' for n, (t, p) in enumerate(drawn))
        left_out = len(places) - len(drawn)
        more = f" <small>{left_out} quieter partitions are not drawn.</small>" if left_out else ""
        choice = f'<p><label>Partition <select id="partition">{options}</select></label>{more}</p>'
    note = ""
    if not timeline.complete:
        note = (
            '<p class="note">The run is too big to be drawn whole: of its writes and appends the picture shows some, '
            "and does not tell lost records apart. The verdict is about all of them.</p>"
        )
    return f'<section><h2>What happened</h2>{choice}{note}<div class="scroll">{figures}</div>{_LEGEND}</section>'


def _dual(verdict: Verdict, timeline: Timeline, place: Place) -> list[Span]:
    """The windows with two leaders that the verdict shows of this partition."""
    check = verdict.checks.get("dual-leader")
    return [
        Span(one["from_ms"], one.get("to_ms", timeline.end_ms), -1, one["text"])
        for one in (check.evidence if check else [])
        if one.get("partition") == f"{place[0]}-{place[1]}"
    ]


_LEGEND = """<ul class="legend">
<li><i class="dot kept"></i>acknowledged, kept</li><li><i class="dot lost"></i>acknowledged, lost</li>
<li><i class="dot failed"></i>failed</li><li><i class="dot unknown"></i>unanswered</li>
<li><i class="box e0"></i><i class="box e1"></i><i class="box e2"></i>leads, by leader epoch</li>
<li><i class="bar controls"></i>is controller</li><li><i class="box logend"></i>log</li>
<li><i class="bar watermark"></i>high watermark</li><li><i class="wedge"></i>truncated</li>
<li><i class="box cut"></i>cut off</li><li><i class="cross">✕</i>killed, died</li>
<li><i class="diamond">◆</i>session lost, ISR change refused</li><li><i class="box leading"></i>leads the ensemble</li>
</ul>"""


def _checks(verdict: Verdict) -> str:
    rows = "".join(_check(name, check, bool(verdict.scenario)) for name, check in verdict.checks.items())
    return f'<section><h2>Promises</h2><div class="cards">{rows}</div></section>'


def _check(name: str, check: CheckVerdict, expects: bool) -> str:
    """`expects`: somebody said what to expect."""
    known = CHECKS.get(name)
    title = known.title if known else name
    surprise = check.expected != (check.verdict == "violated") and check.verdict in ("held", "violated")
    remark = "expected" if check.expected and not surprise else "not expected" if surprise and expects else ""
    about = _counted(check) if check.verdict in ("held", "violated") else check.reason
    evidence = "".join(f"<li>{escape(evidence_text(one))}</li>" for one in check.evidence[:EVIDENCE_SHOWN_MAX])
    more = check.count - min(len(check.evidence), EVIDENCE_SHOWN_MAX)
    evidence += f"<li>and {more} more</li>" if more > 0 else ""
    parts = known.definition.strip().split("\n\n") if known else []
    definition = "".join(f"<p>{_CODE.sub(_AS_CODE, escape(part))}</p>" for part in parts)
    opened = " open" if check.verdict == "violated" else ""
    return (
        f'<details class="check"{opened}><summary><span class="pill {_PILLS[check.verdict]}">{check.verdict}</span>'
        f"<strong>{escape(title)}</strong> <code>{escape(name)}</code>"
        + (f' <em class="{"bad" if surprise else "quiet"}">{remark}</em>' if remark else "")
        + f"<span class='about'>{escape(about)}</span></summary>"
        + (f"<ul>{evidence}</ul>" if evidence else "")
        + f'<div class="definition">{definition}</div></details>'
    )


def _counted(check: CheckVerdict) -> str:
    if check.verdict == "held":
        return f"{check.judged:,} {check.subject} looked at"
    by_acks = ", ".join(f"{n} with acks={acks}" for acks, n in check.by_acks.items())
    return f"{check.count:,} found" + (f" ({by_acks})" if by_acks else "") + f" among {check.judged:,} {check.subject}"


def _expectations(verdict: Verdict) -> str:
    if not verdict.expectations:
        return ""
    rows = (
        f'<tr><td><span class="pill {_CLASSES[one.held]}">{_HELD[one.held]}'
        f"</span></td><td>{escape(one.text)}</td><td>{escape(seen_words(one.seen))}</td></tr>"
        for one in verdict.expectations
    )
    return _table("Expectations", ("", "Expected", "Seen"), rows)


def _faults(verdict: Verdict) -> str:
    if not verdict.faults:
        return ""
    rows = (
        f"<tr><td>{escape(one.rule)}</td><td>{_ms(one.asked_ms)}</td><td>{_ms(one.in_force_ms)}</td>"
        f"<td>{_ms(one.healed_ms)}</td><td>{one.frames_stopped:,}</td><td>{_yes(one.took_effect)}</td>"
        f"<td>{_yes(one.healed)}</td></tr>"
        for one in verdict.faults
    )
    names = ("Rule", "Asked", "In force everywhere", "Healed", "Frames stopped", "Took effect", "Proved healed")
    return _table("Faults", names, rows)


def _measures(verdict: Verdict) -> str:
    measures: dict[str, Any] = dict(verdict.measures)
    quarantine = verdict.quarantine
    measures["lines torn by a death"] = quarantine.torn
    measures["lines in quarantine"] = quarantine.lines
    rows = (f"<tr><td>{escape(name)}</td><td>{escape(_plain(value))}</td></tr>" for name, value in measures.items())
    return _table("Measures", ("", ""), rows)


def _table(title: str, names: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    return (
        f'<section><h2>{escape(title)}</h2><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _plain(value: Any) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:,.1f}"
        case dict():
            return ", ".join(f"{key}: {_plain(one)}" for key, one in value.items()) or "–"
        case list() | tuple():
            return ", ".join(map(_plain, value)) or "–"
        case _:
            return str(value)


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value / 1000:.2f} s"


def _yes(value: bool | str | None) -> str:
    return {True: "yes", False: "no", None: "–"}.get(value, str(value)) if not isinstance(value, str) else value
