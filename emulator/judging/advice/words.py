"""Advice in few words, for a terminal and a page. Pure."""

from collections.abc import Sequence
from typing import Final

from emulator.judging.advice.advice import Advice, PairsAdvice
from emulator.judging.advice.summary import FaultSummary

TITLES: Final = {
    "lost-acknowledged": "lost",
    "duplicate": "twice",
    "reordered": "order",
    "replica-divergence": "differ",
    "read-then-lost": "read, gone",
    "non-monotonic-read": "read again",
    "skipped-read": "skipped",
    "unseen": "unseen",
}
"""{check: a column's head}"""
VERBS: Final = {
    "lost-acknowledged": "lose acknowledged records",
    "duplicate": "leave records twice",
    "reordered": "break the order",
    "replica-divergence": "leave replicas that differ",
    "read-then-lost": "take away what was read",
    "non-monotonic-read": "give consumers again what they had",
    "skipped-read": "leave something out as leaders change",
    "unseen": "let consumers read past records",
}


def verdicts(summaries: Sequence[FaultSummary]) -> list[str]:
    """A sentence for each promise that is broken, or one for all; and of how many faults nothing is known."""
    tell = telling(summaries)
    said = []
    for check, verb in VERBS.items():
        count = sum(any(one.check == check for one in summary.broken) for summary in tell)
        if count:
            said.append(f"With these settings, {count} of {len(tell)} faults {verb}.")
    if tell and not said:
        said = [f"With these settings, none of {len(tell)} faults loses, doubles or reorders records."]
    return [*said, *_untold(len(summaries) - len(tell), "fault", bool(tell))]


def pairs_verdicts(pairs: PairsAdvice) -> list[str]:
    """What was played of how many, then a sentence for each promise that only pairs break."""
    every = "all" if pairs.played == pairs.of else f"{pairs.played}, drawn by chance, of"
    left_out = f"what one of the two breaks by itself is left out ({pairs.known})"
    told = [f"Pairs of faults, {every} {pairs.of} runs; {left_out}."]
    summaries = pairs.advice.summaries
    tell = telling(summaries)
    for check, verb in VERBS.items():
        count = sum(any(one.check == check for one in summary.broken) for summary in tell)
        if count:
            told.append(f"{count} of {len(tell)} pairs {verb}, and neither of the two does.")
    if len(told) == 1 and (tell or not summaries):
        told.append("No pair breaks a promise that single faults leave whole.")
    return [*told, *_untold(len(summaries) - len(tell), "pair")]


def telling(summaries: Sequence[FaultSummary]) -> list[FaultSummary]:
    """Faults of which a run says something: of the others it is not known what they break."""
    return [one for one in summaries if one.told]


def _untold(count: int, what: str, more: bool = False) -> list[str]:
    words = f"{count} {what}{'s' if count != 1 else ''}{' more' if more else ''}"
    return [f"Of {words} no run tells anything."] if count else []


def seeds_words(advice: Advice) -> str:
    seeds = len(advice.asked.runs) // len(advice.asked.faults)
    return f"{seeds} seed{'s' if seeds != 1 else ''}"


def change_words(change: Sequence[str] | None) -> str:
    return " and ".join(change) if change else "none of those that were tried ends it"


def wait_words(ms: float) -> str:
    """Seconds; `–` for no wait that counts."""
    return f"{ms / 1000:.1f}" if ms else "–"
