"""Advice as an HTML page: promises by faults, and details of each violation.

Each violation has its share, reason, replay command and remedy. One file without dependencies, in the style of a
campaign's page. It works without a script, which only adds a button that copies a command.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import islice

from emulator.check_table import ADVICE
from emulator.html_file import html_file
from emulator.judging import campaigns
from emulator.judging.advice.advice import CAUSES_MAX, Advice, PairsAdvice
from emulator.judging.advice.advice_output import AdviceReport, shown_of
from emulator.judging.advice.advice_runs import Base
from emulator.judging.advice.advice_text import (
    change_words,
    pairs_verdicts,
    seeds_words,
    telling,
    verdicts,
    wait_words,
)
from emulator.judging.advice.availability import Waits
from emulator.judging.advice.outcomes import PROMISES, READS, WRITES
from emulator.judging.advice.single_faults import MOMENTS
from emulator.judging.advice.summary import Broken, FaultSummary
from emulator.judging.campaigns.cell_text import percent

KEPT, UNKNOWN = "kept", "unknown"


PAIRS_MAX = 50
"""Maximum of pairs that are named for a cause; JSON has all."""


def page_of(report: AdviceReport) -> str:
    advice, base, replays = report.advice, report.base, report.replays
    parts = [
        _head(report),
        _promises(advice),
        _faults(advice),
        _broken(advice, replays),
        "" if report.pairs is None else _pairs(report.pairs, replays),
        _inconclusive(
            advice.summaries if report.pairs is None else [*advice.summaries, *report.pairs.advice.summaries]
        ),
        _settings(base),
    ]
    style = _text(campaigns.__package__, "page.css") + _text(__package__, "page.css")
    body = f"<main>\n{''.join(part for part in parts if part)}</main>"
    return html_file("Advice: which faults break which promise", body, style=style, script=_script())


def _script() -> str:
    return _text(campaigns.__package__, "page.js")


def _text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _head(report: AdviceReport) -> str:
    advice = report.advice
    summaries = [*advice.summaries, *(report.pairs.advice.summaries if report.pairs is not None else ())]
    found = {broken.check for one in summaries for broken in one.broken}
    if found:
        kind, badge = "bad", f"{len(found)} of {len(PROMISES)} promises are broken"
    elif any(not one.conclusive for one in summaries):
        kind, badge = "unsure", "No promise was broken, and some faults have no conclusive run"
    else:
        kind, badge = "good", "Every promise was kept"
    runs, seeds = len(advice.options.runs), seeds_words(advice)
    sentences = [
        *verdicts(advice.summaries),
        *([f"Settings are those of {report.base.cluster.of}."] if report.base.cluster.of else []),
        f"Kafka {report.base.version}; {len(advice.summaries)} single faults with {seeds} each: {runs} simulated runs, "
        f"and {advice.runs} to try changes. Seeds are a sample, never a proof.",
    ]
    if report.pairs is not None:
        sentences.append(f"Pairs of faults: {report.pairs.played} of {report.pairs.of} runs, see below.")
    lines = "".join(f"<p>{escape(line)}</p>" for line in sentences)
    return (
        f'<header class="{kind}"><p class="badge">{badge}</p>'
        f"<h1>Which faults break which promise</h1>{lines}</header>\n"
    )


def _promises(advice: Advice) -> str:
    """A row for each promise, with changes that end its violations, the most effective first."""
    rows, tell = [], telling(advice.summaries)
    for check, promise in PROMISES.items():
        found = [(one, broken) for one in advice.summaries for broken in one.broken if broken.check == check]
        changes = Counter(advice.remedies.get((check, one.fault.name)) for one, _ in found)
        ended = "".join(
            f"<li>{_change(change)} <small>ends {count} of {len(found)}</small></li>"
            for change, count in changes.most_common()
            if change
        )
        lasting = f"<li>none that was tried ends {changes[None]} of {len(found)}</li>" if changes[None] else ""
        worst = max((broken for _, broken in found), key=lambda one: one.runs / one.of, default=None)
        share = KEPT if tell else UNKNOWN
        if worst is not None:
            many = f"{len(found)} of {len(tell)} faults"
            share = f"broken by {many}, in up to {escape(percent(worst.runs, worst.of))} of the runs"
        rows.append(
            f'<tr><th scope="row">{escape(promise)}<br><small>{check}</small></th>'
            f'<td class="{"is-broken" if found else "is-kept"}">{share}</td>'
            f"<td>{f'<ul>{ended}{lasting}</ul>' if found else ''}</td></tr>"
        )
    return "<h2>Promises</h2>" + _table("Each promise, and what ends its breaking", ("promise", "", "change"), rows)


def _faults(advice: Advice) -> str:
    """The matrix; faults without violations and waits are listed below it."""
    azs = list(dict.fromkeys(az for one in advice.summaries for az in one.writes.waited_ms))
    rows, quiet = [], []
    for one in advice.summaries:
        if one.conclusive and not one.broken and not one.has_waits:
            quiet.append(one)
            continue
        checks = {broken.check: broken for broken in one.broken}
        cells = "".join(_cell(one, checks.get(check)) for check in PROMISES)
        waits = "".join(_wait(one.writes, az, "failed") for az in azs)
        waits += "".join(_wait(one.reads, az, "stopped") for az in azs)
        rows.append(f'<tr><th scope="row">{escape(_named(one))}</th>{cells}{waits}</tr>')
    groups = "".join(
        f'<th scope="colgroup" colspan="{span}">{name}</th>'
        for name, span in (
            ("writes", len(WRITES)), ("reads", len(READS)), ("writes wait, s", len(azs)), ("reads wait, s", len(azs)),
        )
        if span
    )  # fmt: skip
    names = [f'<abbr title="{escape(PROMISES[check])}">{ADVICE[check].heading}</abbr>' for check in PROMISES]
    columns = "".join(f'<th scope="col">{name}</th>' for name in (*names, *map(escape, azs), *map(escape, azs)))
    head = f'<tr><th scope="col" rowspan="2">fault</th>{groups}</tr><tr>{columns}</tr>'
    table = _framed("Shares of runs in which a promise is broken; longest waits by AZ", head, rows, "matrix")
    shown = table if rows else "<p>No fault breaks a promise, and no client waits.</p>"
    return f"<h2>Promises against faults</h2>{shown}{_quiet(quiet, len(telling(advice.summaries)))}"


def _cell(summary: FaultSummary, broken: Broken | None) -> str:
    if broken is None:
        word, sign = (KEPT, "–") if summary.conclusive else (UNKNOWN, "?")
        return f'<td class="is-kept"><span aria-label="{word}">{sign}</span></td>'
    share = escape(percent(broken.runs, broken.of))
    return f'<td class="is-broken"><a href="#{_anchor(summary, broken)}">{share}</a></td>'


def _wait(waits: Waits, az: str, ended: str) -> str:
    """A cell of a waiting time. `ended`: what happened to refused operations."""
    ms, refused = waits.waited_ms.get(az, 0.0), waits.refused.get(az, 0)
    more = f" <small>{refused} {ended}</small>" if refused else ""
    return f'<td class="wait">{wait_words(ms)}{more}</td>'


def _quiet(quiet: Sequence[FaultSummary], of: int) -> str:
    if not quiet:
        return ""
    found = "".join(f"<li>{escape(_named(one))}</li>" for one in quiet)
    report = f"{len(quiet)} of {of} faults break nothing and delay no client by a second"
    return f"<details><summary>{report}</summary><ul>{found}</ul></details>"


def _broken(advice: Advice, replays: Mapping[str, str]) -> str:
    parts = [part for one in advice.summaries for part in _explained(one, advice, replays)]
    return f"<h2>What breaks, why, and what ends it</h2>{''.join(parts)}" if parts else ""


def _explained(one: FaultSummary, advice: Advice, replays: Mapping[str, str]) -> Iterator[str]:
    for broken in one.broken:
        change = advice.remedies.get((broken.check, one.fault.name))
        yield _explanation(one, broken, replays, _change(change))


def _explanation(one: FaultSummary, broken: Broken, replays: Mapping[str, str], change: str, more: str = "") -> str:
    return (
        f'<section class="broken" id="{_anchor(one, broken)}">'
        f"<h3>{escape(broken.check)}: {escape(_named(one))}</h3>"
        f"<dl><dt>share</dt><dd>{broken.runs} of {broken.of} runs</dd>"
        f"<dt>why</dt><dd>{escape(broken.reason)}</dd>"
        f"<dt>replay</dt><dd><code>{escape(f'{replays[one.fault.name]} --seed {broken.seed}')}</code></dd>"
        f"<dt>change</dt><dd>{change}</dd></dl>{more}</section>\n"
    )


def _pairs(pairs: PairsAdvice, replays: Mapping[str, str]) -> str:
    """Each cause by the first of its pairs; the other pairs are named."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in pairs_verdicts(pairs))
    parts = []
    for shown in islice(shown_of(pairs), CAUSES_MAX):
        of = len(shown.cause.faults)
        ends = f" <small>ends {shown.ended} of {of}</small>" if shown.change and of > 1 else ""
        others = "".join(f"<li>{escape(other)}</li>" for other in shown.others[:PAIRS_MAX])
        others += f"<li>and {of - 1 - PAIRS_MAX} more</li>" if of - 1 > PAIRS_MAX else ""
        report = f"{of - 1} other pairs do, for the same cause" if of > 2 else "Another pair does, for the same cause"
        more = f"<details><summary>{report}</summary><ul>{others}</ul></details>" if others else ""
        parts.append(_explanation(shown.summary, shown.broken, replays, _change(shown.change) + ends, more))
    if len(pairs.causes) > CAUSES_MAX:
        parts.append(f'<p class="note">and {len(pairs.causes) - CAUSES_MAX} causes more</p>')
    return f"<h2>Pairs of faults</h2>{lines}{''.join(parts)}"


def _inconclusive(summaries: Sequence[FaultSummary]) -> str:
    rows = [
        f'<tr><th scope="row">{escape(_named(one))}</th><td>{one.runs - one.conclusive} of {one.runs}</td>'
        f"<td>{escape(one.inconclusive)}</td></tr>"
        for one in summaries
        if one.conclusive < one.runs
    ]
    if not rows:
        return ""
    return "<h2>Inconclusive runs</h2>" + _table("Why they are left out", ("fault", "runs", "because"), rows)


def _settings(base: Base) -> str:
    given = base.settings | base.own
    report = [(name, value, base.sources.get(name, "given")) for name, value in given.items()]
    report += [(name, value, "not set: Kafka's default") for name, value in base.left_open.items()]
    rows = [
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(str(value))}</td><td>{escape(who)}</td></tr>'
        for name, value, who in report
    ]
    warned = "".join(f"<li>{escape(warning)}</li>" for warning in base.warnings)
    table = _table("Settings under test", ("setting", "value", ""), rows) if rows else "<p>Kafka's defaults.</p>"
    return f"<h2>Settings</h2>{table}{f'<ul>{warned}</ul>' if warned else ''}"


# --- pieces ---


def _named(one: FaultSummary) -> str:
    return f"{one.fault.text} {MOMENTS[one.fault.moment]}"


def _anchor(one: FaultSummary, broken: Broken) -> str:
    return f"{one.fault.name}.{broken.check}"


def _change(change: Sequence[str] | None) -> str:
    if not change:
        return escape(change_words(change))
    return " and ".join(f"<b>{escape(part)}</b>" for part in change)


def _table(caption: str, head: Iterable[str], rows: Iterable[str]) -> str:
    columns = "".join(f'<th scope="col">{name}</th>' for name in head)
    return _framed(caption, f"<tr>{columns}</tr>", rows)


def _framed(caption: str, head: str, rows: Iterable[str], kind: str = "") -> str:
    """A table that scrolls where it is too wide, also by keyboard."""
    return (
        f'<div class="scroll {kind}" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f'<caption class="unseen">{escape(caption)}</caption>'
        f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody></table></div>\n"
    )
