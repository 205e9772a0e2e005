"""The verdict, the picture and the logs as one HTML file without dependencies.

Without a script everything is there but the messages and the logs of earlier times. The page has the digests of its
scripts and styles, so that no browser runs anything that came with a record.
"""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from audit.report import tables
from audit.report.about import UNKNOWN, About
from audit.report.claims import Claims
from audit.report.drawn import drawn_partitions, dual_windows, island_of, logs_at_the_end
from audit.report.legend import LEGEND
from audit.report.marks import PATTERNS
from audit.report.report_frames import LOGS, MESSAGES_LISTED, NEAR, message_choices
from audit.report.report_links import Links
from audit.report.report_messages import Messages
from audit.report.report_promises import counted, meant, promises
from audit.report.report_svg import Picture
from audit.report.report_timeline import Timeline
from emulator.cluster.page.static_files import colours
from emulator.html_file import html_file
from emulator.runs.verdict_file import Verdict
from protocol.ids import TopicPartition, topic_partition_text

SCRIPTS = ("view.js", "messages.js", "logs.js", "page.js")
STYLES = ("picture.css", "page.css", "messages.css", "logs.css")

_HEADLINES = {True: "As expected", False: "Not as expected", "unknown": "Unknown"}
_HEADLINES_ALONE = {True: "Every check held", False: "Checks are violated", "unknown": "Unknown"}
"""Headlines of a live cluster, which has no expectations."""
_CLASSES: dict[Any, str] = {True: "good", False: "bad", "unknown": "unsure"}
_PANE = "Timeline. Plus and minus zoom, 0 shows all of it, arrows move along, a click chooses a moment"
# Hidden until its script runs.
_ZOOM = (
    '<p class="tools" id="zoom" hidden><button type="button" data-by="2">Zoom in</button> '
    '<button type="button" data-by="0.5">Zoom out</button> <button type="button" data-by="0">Whole run</button> '
    '<span role="status"></span> <small>Or drag across a part; Ctrl and the wheel; the keys + − 0 and arrows. '
    "A click chooses a moment.</small></p>"
)
_MOMENT = (
    '<div class="tools moment" id="moment" hidden><label for="at">Moment</label> '
    '<button type="button" data-to="-1" aria-label="Change of a log before">◀</button> '
    '<input type="range" id="at" min="0" max="1" step="1"> '
    '<button type="button" data-to="1" aria-label="Next change of a log">▶</button> <output for="at"></output></div>'
)
NOT_RECORDED = (
    '<p class="tools">Messages were not recorded: the wire level of events was off. <code>faultline run</code> always '
    "has it; a long-running cluster has it if it was started with <code>faultline up --wire</code>.</p>"
)
_WORLDS = {"network": "real processes", "sim": "simulated", "imported": "real brokers, imported"}


def render(
    verdict: Verdict,
    timeline: Timeline,
    about: About = UNKNOWN,
    messages: Messages | None = None,
    claims: Claims | None = None,
) -> str:
    """The whole page."""
    claims = claims or Claims()
    drawn = drawn_partitions(verdict, timeline)
    links = Links(drawn)
    sections = [
        _head(verdict, about),
        _happened(verdict, timeline, drawn, messages or Messages()),
        promises(verdict, claims, links),
        tables.expectations(verdict, claims, links),
        tables.faults(verdict, claims, links),
        tables.measures(verdict),
        tables.settings(about),
    ]
    style, script = f"{colours()}\n{_texts(STYLES)}", _texts(SCRIPTS)
    body = (
        f'<svg class="patterns" aria-hidden="true">{PATTERNS}</svg><main>{"".join(sections)}</main>'
        f'<div id="tip" role="tooltip"></div>\n{island_of(verdict, timeline, drawn, messages or Messages())}'
    )
    title = about.title or verdict.scenario or verdict.run
    return html_file(f"{title}: {_headline(verdict).lower()}", body, style=style, script=script)


@cache
def _texts(names: tuple[str, ...]) -> str:
    return "\n".join(files(__package__).joinpath(name).read_text(encoding="utf-8") for name in names)


def _headline(verdict: Verdict) -> str:
    headline = (_HEADLINES if verdict.scenario else _HEADLINES_ALONE)[verdict.valid]
    if verdict.valid is True and meant(verdict.checks):
        count = len(meant(verdict.checks))
        return f"{headline}: {count} promise{'s are' if count > 1 else ' is'} broken on purpose"
    return headline


def _head(verdict: Verdict, about: About) -> str:
    imported = verdict.world == "imported"
    facts = [verdict.scenario or ("log files" if imported else "a cluster that was used, without a scenario")]
    facts += [f"Kafka {about.kafka}"] if about.kafka else []
    facts.append(_WORLDS.get(verdict.world, verdict.world))
    facts += [f"clock x{about.speed:g}"] if about.speed is not None else []
    facts += [f"seed {about.seed}"] if about.seed is not None else []
    facts.append(f"{verdict.measures.get('events', 0):,} events")
    facts.append(f"run {verdict.run}")
    reasons_shown = list(verdict.unknown_because)
    if verdict.vouched_by:
        reasons_shown.append(f"timers were late, which changed nothing: vouched for by {verdict.vouched_by}")
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in reasons_shown)
    css = "meant" if verdict.valid is True and meant(verdict.checks) else _CLASSES[verdict.valid]
    return (
        f'<header class="{css}"><p class="badge">{_headline(verdict)}</p>'
        f"<h1>{escape(about.title or verdict.run)}</h1><p>{' · '.join(map(escape, facts))}</p>"
        + (f"<ul>{reasons}</ul>" if reasons else "")
        + _summary(verdict)
        + "</header>"
    )


def _summary(verdict: Verdict) -> str:
    """A sentence per violated check."""
    reasons_shown = []
    for name, check in verdict.checks.items():
        if check.verdict == "violated":
            expected = " The scenario expects it." if check.expected else ""
            reasons_shown.append(
                f'<li><a href="#check-{escape(name)}">{escape(name)}</a>: {escape(counted(check))}.{expected}</li>'
            )
    return f'<ul class="summary">{"".join(reasons_shown)}</ul>' if reasons_shown else ""


def _happened(verdict: Verdict, timeline: Timeline, drawn: list[TopicPartition], messages: Messages) -> str:
    outside = {name for one in messages.kept for name in (one.sender, one.receiver)}
    pictures = [Picture(timeline, one, dual_windows(verdict, timeline, one), outside).svg() for one in drawn] or [
        Picture(timeline, None, (), outside).svg()
    ]
    figures = "".join(
        f'<div class="picture" data-partition="{n}"{" hidden" if n else ""}>{svg}</div>'
        for n, svg in enumerate(pictures)
    )
    choice = ""
    if len(drawn) > 1:
        options = "".join(
            f'<option value="{n}">{escape(topic_partition_text(*one))}</option>' for n, one in enumerate(drawn)
        )
        left_out = len(timeline.replicas) - len(drawn)
        more = f" <small>{left_out} less active partitions are not drawn.</small>" if left_out else ""
        choice = f'<p><label>Partition <select id="partition">{options}</select></label>{more}</p>'
    note = ""
    if not timeline.complete:
        note = (
            '<p class="note">The run is too big to be drawn whole: the picture shows a sample of writes and appends, '
            "and does not mark lost records. The verdict is about all of them.</p>"
        )
    pane = f'<div class="scroll" id="picture" tabindex="0" role="group" aria-label="{_PANE}">{figures}</div>'
    hint = '<p class="hint">The picture goes on to the right.</p>'
    choices = message_choices() if messages.recorded else NOT_RECORDED
    listed = MESSAGES_LISTED if messages.recorded else ""
    return (
        f'<section id="happened"><h2>What happened</h2>{choice}{note}{_ZOOM}{choices}{hint}{pane}{_MOMENT}'
        f'{_logs(timeline, drawn)}<details class="key" open><summary>What the marks mean</summary>{LEGEND}</details>'
        f"{NEAR}{listed}</section>"
    )


def _logs(timeline: Timeline, drawn: list[TopicPartition]) -> str:
    if not drawn:
        return ""
    live = LOGS if timeline.complete else ""
    note = "" if timeline.complete else " Of a run of this size the page does not have every batch of moments before."
    return (
        f'{live}<details id="ended" open><summary>Every log as it ended</summary>{logs_at_the_end(timeline, drawn)}'
        f"<p><small>{note}</small></p></details>"
    )
