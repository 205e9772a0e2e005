"""Short texts of advice, for a terminal and a page. Pure."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from emulator.check_table import ADVICE
from emulator.judging.advice.advice import Advice, PairsAdvice
from emulator.judging.advice.outcomes import PROMISES
from emulator.judging.advice.recommendation import Finding, Recommendation, cost_of
from emulator.judging.advice.summary import FaultSummary

SUMMARY_LINES_MAX: Final = 12
CHANGES_MAX: Final = 6
LEFT_MAX: Final = 2
"""Remaining findings that a summary names; the table below it has all."""


def summary_lines(
    summaries: Sequence[FaultSummary], recommendation: Recommendation | None, exhausted: str
) -> list[str]:
    """Broken promises, the fewest changes that end most findings, their cost, and what remains.

    At most SUMMARY_LINES_MAX lines. `exhausted`: what was played, for `of 71 single faults`.
    """
    tell = telling(summaries)
    broken = [one for one in tell if one.broken]
    lines = _inconclusive(len(summaries) - len(tell), "fault", bool(tell))
    if not broken:
        return [*([f"No promise is broken by {len(tell)} {exhausted}."] if tell else []), *lines]
    counts = Counter(found.check for one in broken for found in one.broken)
    named = ", ".join(f"{check} ({counts[check]})" for check in PROMISES if counts[check])
    lines.insert(0, f"{len(broken)} of {len(tell)} {exhausted} break a promise: {named}.")
    if recommendation is None:
        return [*lines, "No change of settings that was tried ends a finding."]
    change = recommendation.change
    count = f"{len(change)} setting{'s' if len(change) != 1 else ''}"
    ended = f"{recommendation.ended} of {recommendation.findings} findings"
    lines.append(f"Change {count} and {ended} end ({_runs(recommendation.runs)} with the change):")
    most = sorted(change, key=lambda word: -change[word])
    for word in most[:CHANGES_MAX]:
        lines.append(f"  {word}: {_bearing(change[word])}; cost: {cost_of(word)}")
    if most[CHANGES_MAX:]:
        lines.append(f"  and {', '.join(most[CHANGES_MAX:])}")
    before, after = (max(ms.values(), default=0.0) for ms in (recommendation.before_ms, recommendation.after_ms))
    lines.append(f"Longest wait of a write: {before / 1000:.1f} s before, {after / 1000:.1f} s with the change.")
    return [*lines, _left_line(recommendation.left)]


def _runs(count: int) -> str:
    return f"{count} run{'s' if count != 1 else ''}"


def _bearing(findings: int) -> str:
    return f"ends {findings} of them" if findings else "keeps the promises that the others would break"


def _left_line(left: Sequence[Finding]) -> str:
    if not left:
        return "Left: no finding."
    named = "; ".join(f"{check} by {fault}" for check, fault in left[:LEFT_MAX])
    more = f"; {len(left) - LEFT_MAX} more" if len(left) > LEFT_MAX else ""
    return f"Left: {len(left)} finding{'s' if len(left) != 1 else ''}: {named}{more}."


def verdicts(summaries: Sequence[FaultSummary]) -> list[str]:
    """A sentence for each broken promise, or one for all; and the count of inconclusive faults."""
    tell = telling(summaries)
    sentences = []
    for check in PROMISES:
        count = sum(any(one.check == check for one in summary.broken) for summary in tell)
        if count:
            sentences.append(f"With these settings, {count} of {len(tell)} faults {ADVICE[check].verb}.")
    if tell and not sentences:
        sentences = [f"With these settings, none of {len(tell)} faults loses, doubles or reorders records."]
    return [*sentences, *_inconclusive(len(summaries) - len(tell), "fault", bool(tell))]


def pairs_verdicts(pairs: PairsAdvice) -> list[str]:
    """Count of runs, then a sentence for each promise that only pairs break."""
    every = "all" if pairs.played == pairs.of else f"{pairs.played}, drawn at random, of"
    left_out = f"violations of one fault alone are left out ({pairs.known})"
    sentences = [f"Pairs of faults, {every} {pairs.of} runs; {left_out}."]
    summaries = pairs.advice.summaries
    tell = telling(summaries)
    for check in PROMISES:
        count = sum(any(one.check == check for one in summary.broken) for summary in tell)
        if count:
            sentences.append(f"{count} of {len(tell)} pairs {ADVICE[check].verb}, and neither of the two does.")
    if len(sentences) == 1 and (tell or not summaries):
        sentences.append("No pair breaks a promise that single faults leave whole.")
    return [*sentences, *_inconclusive(len(summaries) - len(tell), "pair")]


def telling(summaries: Sequence[FaultSummary]) -> list[FaultSummary]:
    """Faults with a conclusive run."""
    return [one for one in summaries if one.conclusive]


def _inconclusive(count: int, what: str, more: bool = False) -> list[str]:
    words = f"{count} {'more ' if more else ''}{what}{'s' if count != 1 else ''}"
    return [f"All runs of {words} are inconclusive."] if count else []


def seeds_words(advice: Advice) -> str:
    seeds = len(advice.options.runs) // len(advice.options.faults)
    return f"{seeds} seed{'s' if seeds != 1 else ''}"


def change_words(change: Sequence[str] | None) -> str:
    return " and ".join(change) if change else "no tried change ends it"


def wait_words(ms: float) -> str:
    """Seconds; `–` for no wait that counts."""
    return f"{ms / 1000:.1f}" if ms else "–"
