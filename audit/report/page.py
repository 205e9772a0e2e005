"""Page: the verdict and the picture as one HTML file that needs nothing else."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files
from typing import Any

from audit.checks.registry import CHECKS
from audit.report import tables
from audit.report.about import UNKNOWN, About
from audit.report.layout import Layout
from audit.report.legend import LEGEND
from audit.report.picture import Picture
from audit.report.timeline import Span, Timeline
from emulator.runs.verdict import CheckVerdict, Verdict, evidence_text
from protocol.ids import TopicPartition, topic_partition_text

PARTITIONS_MAX = 8
"""Partitions that are drawn: those of which most happened."""
EVIDENCE_SHOWN_MAX = 20

_CODE = re.compile(r"`([^`]+)`")
_AS_CODE = r"<code>\1</code>"
_HEADLINES = {True: "As expected", False: "Not as expected", "unknown": "Unknown"}
_HEADLINES_ALONE = {True: "Every check held", False: "Checks are violated", "unknown": "Unknown"}
"""Of a cluster that was just used: nobody said what to expect."""
_CLASSES: dict[Any, str] = {True: "good", False: "bad", "unknown": "unsure"}
_PILLS = {"held": "good", "violated": "bad", "unknown": "unsure", "skipped": "quiet"}
_PANE = "Timeline: plus and minus zoom, 0 shows all of it, arrows move along"
_ZOOM = (
    # Hidden until the script is there that does it.
    '<p class="zoom" id="zoom" hidden><button type="button" data-by="2">Zoom in</button> '
    '<button type="button" data-by="0.5">Zoom out</button> <button type="button" data-by="0">Whole run</button> '
    '<span role="status"></span> <small>Or drag across a part; Ctrl and the wheel; the keys + - 0.</small></p>'
)
_WORLDS = {"network": "real processes", "sim": "simulated"}


def render(verdict: Verdict, timeline: Timeline, about: About = UNKNOWN) -> str:
    """The whole page."""
    topic_partitions = _drawn(timeline)
    sections = [
        _head(verdict, about),
        _pictures(verdict, timeline, topic_partitions),
        _checks(verdict, timeline, topic_partitions),
        tables.expectations(verdict),
        tables.faults(verdict),
        tables.measures(verdict),
        tables.settings(about),
    ]
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    scripts = (files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("zoom.js", "page.js"))
    script = "\n".join(scripts)
    title = about.title or verdict.scenario or verdict.run
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}: {_headline(verdict).lower()}</title>\n<style>\n{style}</style></head>\n"
        f'<body><main>{"".join(sections)}</main><div id="tip" role="status"></div>\n<script>\n{script}</script>'
        "</body></html>\n"
    )


def _meant(verdict: Verdict) -> list[str]:
    """Checks that the scenario is there to violate, and that are violated."""
    return [name for name, check in verdict.checks.items() if check.verdict == "violated" and check.expected]


def _headline(verdict: Verdict) -> str:
    headline = (_HEADLINES if verdict.scenario else _HEADLINES_ALONE)[verdict.valid]
    if verdict.valid is True and _meant(verdict):
        count = len(_meant(verdict))
        return f"{headline}: {count} promise{'s are' if count > 1 else ' is'} broken on purpose"
    return headline


def _head(verdict: Verdict, about: About) -> str:
    facts = [verdict.scenario or "a cluster that was used, without a scenario"]
    facts += [f"Kafka {about.kafka}"] if about.kafka else []
    facts.append(_WORLDS.get(verdict.world, verdict.world))
    facts += [f"clock x{about.speed:g}"] if about.speed is not None else []
    facts += [f"seed {about.seed}"] if about.seed is not None else []
    facts.append(f"{verdict.measures.get('events', 0):,} events")
    facts.append(f"run {verdict.run}")
    said = list(verdict.unknown_because)
    if verdict.vouched_by:
        said.append(f"timers were late, which changed nothing: vouched for by {verdict.vouched_by}")
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in said)
    css = "meant" if verdict.valid is True and _meant(verdict) else _CLASSES[verdict.valid]
    return (
        f'<header class="{css}"><p class="badge">{_headline(verdict)}</p>'
        f"<h1>{escape(about.title or verdict.run)}</h1><p>{' · '.join(map(escape, facts))}</p>"
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


def _drawn(timeline: Timeline) -> list[TopicPartition]:
    """The partitions of which most happened, by name."""
    activity = {
        topic_partition: sum(len(r.log_ends) for r in replicas.values())
        for topic_partition, replicas in timeline.replicas.items()
    }
    return sorted(
        sorted(activity, key=lambda topic_partition: (-activity[topic_partition], topic_partition))[:PARTITIONS_MAX]
    )


def _pictures(verdict: Verdict, timeline: Timeline, drawn: list[TopicPartition]) -> str:
    pictures = [
        Picture(timeline, topic_partition, _dual(verdict, timeline, topic_partition)).svg()
        for topic_partition in drawn
    ] or [Picture(timeline, None).svg()]
    figures = "".join(
        f'<div class="picture" data-partition="{n}"{" hidden" if n else ""}>{svg}</div>'
        for n, svg in enumerate(pictures)
    )
    choice = ""
    if len(drawn) > 1:
        options = "".join(f'<option value="{n}">{escape(t)}-{p}</option>' for n, (t, p) in enumerate(drawn))
        left_out = len(timeline.replicas) - len(drawn)
        more = f" <small>{left_out} quieter partitions are not drawn.</small>" if left_out else ""
        choice = f'<p><label>Partition <select id="partition">{options}</select></label>{more}</p>'
    note = ""
    if not timeline.complete:
        note = (
            '<p class="note">The run is too big to be drawn whole: of its writes and appends the picture shows some, '
            "and does not tell lost records apart. The verdict is about all of them.</p>"
        )
    pane = f'<div class="scroll" id="picture" tabindex="0" role="group" aria-label="{_PANE}">{figures}</div>'
    hint = '<p class="hint">The picture goes on to the right.</p>'
    return f"<section><h2>What happened</h2>{choice}{note}{_ZOOM}{hint}{pane}{LEGEND}</section>"


def _dual(verdict: Verdict, timeline: Timeline, topic_partition: TopicPartition) -> list[Span]:
    """The windows with two leaders that the verdict shows of this partition."""
    check = verdict.checks.get("dual-leader")
    return [
        Span(one["from_ms"], one.get("to_ms") or timeline.end_ms, -1, one["text"])
        for one in (check.evidence if check else [])
        if one.get("partition") == f"{topic_partition[0]}-{topic_partition[1]}"
    ]


def _checks(verdict: Verdict, timeline: Timeline, drawn: list[TopicPartition]) -> str:
    moments = _Moments(timeline, drawn)
    rows = "".join(_check(name, check, bool(verdict.scenario), moments) for name, check in verdict.checks.items())
    return f'<section><h2>Promises</h2><div class="cards">{rows}</div></section>'


class _Moments:
    """Where in the picture a piece of evidence is."""

    def __init__(self, timeline: Timeline, drawn: list[TopicPartition]) -> None:
        self._operations = {one.identifier: one.at_ms for one in timeline.operations}
        self._pictures = {
            topic_partition_text(*topic_partition): number for number, topic_partition in enumerate(drawn)
        }
        self._x = Layout(timeline, None, dual=False).x

    def link(self, evidence: dict[str, Any]) -> str:
        """A button that leads there; nothing where no moment is known, or its partition is not drawn."""
        at_ms = evidence.get("from_ms", self._operations.get(evidence.get("operation", "")))
        number = self._pictures.get(evidence.get("partition", ""), None if "partition" in evidence else 0)
        if at_ms is None or number is None:
            return ""
        where = f'data-x="{self._x(at_ms):.1f}" data-in="{number}"'
        return f' <button type="button" class="where" {where}>{at_ms / 1000:.2f} s</button>'


def _check(name: str, check: CheckVerdict, expects: bool, moments: _Moments) -> str:
    """`expects`: somebody said what to expect."""
    known = CHECKS.get(name)
    title = known.title if known else name
    meant = check.expected and check.verdict == "violated"
    surprise = check.expected != (check.verdict == "violated") and check.verdict in ("held", "violated")
    remark = "as expected" if meant else "not expected" if surprise and expects else ""
    about = _counted(check) if check.verdict in ("held", "violated") else check.reason
    shown = check.evidence[:EVIDENCE_SHOWN_MAX]
    evidence = "".join(f"<li>{escape(evidence_text(one))}{moments.link(one)}</li>" for one in shown)
    more = check.count - len(shown)
    evidence += f"<li>and {more} more</li>" if more > 0 else ""
    parts = known.definition.strip().split("\n\n") if known else []
    definition = "".join(f"<p>{_CODE.sub(_AS_CODE, escape(part))}</p>" for part in parts)
    opened = " open" if check.verdict == "violated" else ""
    css = "meant" if meant else _PILLS[check.verdict]
    return (
        f'<details class="check"{opened}><summary><span class="pill {css}">{check.verdict}</span>'
        f"<strong>{escape(title)}</strong> <code>{escape(name)}</code>"
        + (f' <em class="{"bad" if surprise else "meant"}">{remark}</em>' if remark else "")
        + f"<span class='about'>{escape(about)}</span></summary>"
        + (f"<ul>{evidence}</ul>" if evidence else "")
        + f'<div class="definition">{definition}</div></details>'
    )


def _counted(check: CheckVerdict) -> str:
    if check.verdict == "held":
        return f"{check.judged:,} {check.subject} looked at"
    by_acks = ", ".join(f"{n} with acks={acks}" for acks, n in check.by_acks.items())
    return f"{check.count:,} found" + (f" ({by_acks})" if by_acks else "") + f" among {check.judged:,} {check.subject}"
