"""Advice as text for people and as JSON for programs."""

from collections.abc import Iterator, Mapping
from itertools import islice
from textwrap import wrap
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from emulator.check_table import ADVICE
from emulator.judging.advice.advice import CAUSES_MAX, Advice, PairsAdvice
from emulator.judging.advice.advice_output import AdviceReport, shown_of
from emulator.judging.advice.advice_runs import Base
from emulator.judging.advice.advice_text import (
    change_words,
    pairs_verdicts,
    seeds_words,
    summary_lines,
    wait_words,
)
from emulator.judging.advice.availability import Waits
from emulator.judging.advice.outcomes import PROMISES
from emulator.judging.advice.single_faults import MOMENTS
from emulator.judging.advice.summary import Broken, FaultSummary
from emulator.judging.campaigns.cell_text import percent
from emulator.machines.node.restarts import plain
from emulator.screen import Screen, for_lines

WIDTH = 110
OTHERS_MAX = 3
"""Maximum of pairs with the same promise and cause named besides the first; JSON has all."""


def print_advice(report: AdviceReport, wall_s: float) -> None:
    """Print the verdict, a table, and the reasons, to stdout."""
    advice, base, replays = report.advice, report.base, report.replays
    lines = for_lines()
    for line in summary_lines(advice.summaries, report.recommendation, exhausted_by(base)):
        lines.print(line, style="bold", markup=False, soft_wrap=True)
    for line in _whose(base):
        lines.print(line, markup=False)
    for name, value in base.left_open.items():
        lines.print(f"{name} not set; using Kafka's default {value}", markup=False)
    for warning in base.warnings:
        lines.print(f"warning: {warning}", markup=False)
    console = Screen(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = WIDTH
    console.print(_table(advice.summaries))
    for summary in advice.summaries:
        for broken in summary.broken:
            for line in _reason_lines(summary, broken, advice, replays[summary.fault.name]):
                lines.print(line, markup=False, soft_wrap=True)
    for summary in advice.summaries:
        if summary.conclusive < summary.runs:
            missing = summary.runs - summary.conclusive
            text = f"{summary.fault.text}: {missing} runs are inconclusive: {summary.inconclusive}"
            for line in wrap(text, WIDTH, subsequent_indent="  "):
                lines.print(line, markup=False)
    for bug, replay in report.bugs:
        lines.print(f"bug of faultline: {bug.fault}, seed {bug.seed}: {bug.error}", markup=False, soft_wrap=True)
        lines.print(f"  {'replay':<7} {replay}", markup=False, soft_wrap=True)
    runs, seeds = len(advice.options.runs), seeds_words(advice)
    played = f"{len(advice.summaries)} single faults, each with {seeds}: {runs} runs, {advice.runs} for changes"
    if report.pairs is not None:
        _print_pairs(report.pairs, replays)
        played += f"; {report.pairs.played} runs of pairs, {report.pairs.advice.runs} for changes"
    lines.print(f"{played}; in {wall_s:.0f} s. Seeds are a sample, not a proof", style="dim", markup=False)


def exhausted_by(base: Base) -> str:
    """The kind of faults played, for `of 71 single faults`."""
    return "single faults" if base.every else "faults"


def _whose(base: Base) -> Iterator[str]:
    """A running cluster's version and nodes, and every setting by its source."""
    if not base.cluster.of:
        return
    brokers, azs = len(base.cluster.brokers), len(base.cluster.topology.azs)
    yield f"settings are those of {base.cluster.of}: Kafka {base.version}, {brokers} brokers in {azs} AZs"
    by_source: dict[str, list[str]] = {}
    for name, value in (base.settings | base.own).items():
        by_source.setdefault(base.sources[name], []).append(f"{name}={plain(value)}")
    for source, assignments in by_source.items():
        yield from wrap(f"{source}: {', '.join(assignments)}", WIDTH, initial_indent="  ", subsequent_indent="    ")


def _print_pairs(pairs: PairsAdvice, replays: Mapping[str, str]) -> None:
    lines = for_lines()
    for line in pairs_verdicts(pairs):
        lines.print(line, style="bold", markup=False)
    lines.print()
    for shown in islice(shown_of(pairs), CAUSES_MAX):
        summary, broken, of = shown.summary, shown.broken, len(shown.cause.faults)
        lines.print(f"{broken.check}: {summary.fault.text} {MOMENTS[summary.fault.moment]}", markup=False)
        for number, line in enumerate(wrap(broken.reason, WIDTH - 10)):
            lines.print(f"  {'why' if not number else '':<7} {line}", markup=False)
        replay = f"{replays[summary.fault.name]} --seed {broken.seed}"
        lines.print(f"  {'replay':<7} {replay}", markup=False, soft_wrap=True)
        ends = f" (ends {shown.ended} of {of})" if shown.change and of > 1 else ""
        lines.print(f"  {'change':<7} {change_words(shown.change)}{ends}", markup=False)
        if shown.others:
            more = f"; {of - 1 - OTHERS_MAX} more" if of - 1 > OTHERS_MAX else ""
            for number, line in enumerate(wrap("; ".join(shown.others[:OTHERS_MAX]) + more, WIDTH - 10)):
                lines.print(f"  {'also' if not number else '':<7} {line}", markup=False)
        lines.print()
    if len(pairs.causes) > CAUSES_MAX:
        lines.print(f"and {len(pairs.causes) - CAUSES_MAX} more causes; --json lists all")


def _table(summaries: list[FaultSummary]) -> Table:
    """A row per fault with a broken promise or a wait; a column per broken promise."""
    checks = [check for check in PROMISES if any(one.check == check for every in summaries for one in every.broken)]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("fault", overflow="fold")
    table.add_column("when")
    for check in checks:
        table.add_column(ADVICE[check].heading, justify="right")
    azs = ", ".join(dict.fromkeys(az for one in summaries for az in one.writes.waited_ms))
    table.add_column(f"writes wait, s\n{azs}", justify="right")
    table.add_column("reads wait, s", justify="right")
    for one in summaries:
        if not one.broken and not one.has_waits:
            continue
        shares = {broken.check: percent(broken.runs, broken.of) for broken in one.broken}
        cells = [Text(shares.get(check, "–"), style="bold red" if check in shares else "dim") for check in checks]
        cells += [_waits(one.writes), _waits(one.reads, "stops")]
        table.add_row(Text(one.fault.text), Text(one.fault.moment), *cells)
    return table


def _waits(waits: Waits, ended: str = "") -> Text:
    """Waits of each AZ, such as `18.9 – 19.3`. `ended`: the text for an AZ with refusals."""
    if not any(waits.waited_ms.values()):
        return Text("–")
    words = [ended if ended and waits.refused.get(az) else wait_words(ms) for az, ms in waits.waited_ms.items()]
    return Text("  ".join(words))


def _reason_lines(summary: FaultSummary, broken: Broken, advice: Advice, replay: str) -> Iterator[str]:
    share = f"{broken.runs} of {broken.of} runs"
    yield f"{broken.check}: {summary.fault.text} {MOMENTS[summary.fault.moment]} ({share})"
    for number, line in enumerate(wrap(broken.reason, WIDTH - 10)):
        yield f"  {'why' if not number else '':<7} {line}"
    yield f"  {'replay':<7} {replay} --seed {broken.seed}"
    yield f"  {'change':<7} {change_words(advice.remedies.get((broken.check, summary.fault.name)))}"
    yield ""


def as_json(report: AdviceReport) -> dict[str, Any]:
    """The advice as a JSON document.

    `waits_ms`, `refused`: of writes; `reads_wait_ms`, `reads_stopped`: of consumers. `cluster`: the running cluster and
    its topic. `sources`: the source of each setting, by its name (`broker-0: NAME` of one broker alone).
    """
    advice, base, replays = report.advice, report.base, report.replays
    pairs = {} if report.pairs is None else {"pairs": _pairs_as_json(report.pairs, replays)}
    return {
        "kafka": base.version,
        "settings": {**base.left_open, **base.settings},
        "settings_by_broker": {f"broker-{broker}": own for broker, own in base.by_broker.items()},
        "sources": base.sources,
        "cluster": base.cluster.of,
        "warnings": base.warnings,
        "runs": len(advice.options.runs),
        "runs_for_changes": advice.runs,
        "exhausted": "single faults" if base.every else "",
        "recommendation": msgspec.to_builtins(report.recommendation),
        **pairs,
        "bugs": [
            {"fault": bug.fault, "seed": bug.seed, "error": bug.error, "replay": replay} for bug, replay in report.bugs
        ],
        "promises": PROMISES,
        "faults": [
            {
                "name": one.fault.name,
                "fault": one.fault.text,
                "moment": one.fault.moment,
                "runs": one.runs,
                "told": one.conclusive,
                "untold": one.inconclusive,
                "waits_ms": one.writes.waited_ms,
                "refused": one.writes.refused,
                "reads_wait_ms": one.reads.waited_ms,
                "reads_stopped": one.reads.refused,
                "broken": [
                    {
                        **msgspec.to_builtins(broken),
                        "replay": f"{replays[one.fault.name]} --seed {broken.seed}",
                        "change": advice.remedies.get((broken.check, one.fault.name)),
                    }
                    for broken in one.broken
                ],
            }
            for one in advice.summaries
        ],
    }


def _pairs_as_json(pairs: PairsAdvice, replays: Mapping[str, str]) -> dict[str, Any]:
    """Pairs as JSON. `known`: promises that one fault of the pair breaks alone; not repeated."""
    summaries = {one.fault.name: one for one in pairs.advice.summaries}
    return {
        "runs": pairs.played,
        "of": pairs.of,
        "exhausted": pairs.played == pairs.of,
        "runs_for_changes": pairs.advice.runs,
        "known": pairs.known,
        "untold": sum(one.runs - one.conclusive for one in pairs.advice.summaries),
        "causes": [
            {
                "check": cause.check,
                "cause": cause.text,
                "pairs": [_pair_as_json(cause.check, summaries[name], pairs.advice, replays) for name in cause.faults],
            }
            for cause in pairs.causes
        ],
    }


def _pair_as_json(check: str, one: FaultSummary, advice: Advice, replays: Mapping[str, str]) -> dict[str, Any]:
    broken = next(broken for broken in one.broken if broken.check == check)
    return {
        "name": one.fault.name,
        "fault": one.fault.text,
        "moment": one.fault.moment,
        **msgspec.to_builtins(broken),
        "replay": f"{replays[one.fault.name]} --seed {broken.seed}",
        "change": advice.remedies.get((check, one.fault.name)),
    }
