"""Findings of advice for CI: violations that one change ends, and its places. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from emulator.judging.advice.advice_output import AdviceReport
from emulator.judging.advice.advice_text import change_words
from emulator.judging.advice.outcomes import PROMISES
from emulator.judging.advice.remedies import OF_THE_TOPIC, VERSION
from emulator.judging.advice.single_faults import MOMENTS
from emulator.judging.advice.summary import Broken, FaultSummary
from emulator.settings.properties_files import SettingsFile
from emulator.settings.setting import BROKER, TOPIC
from emulator.settings.setting_registry import REGISTRY

OF_THE_VERSION: Final = "inter.broker.protocol.version"
"""The line of a settings file that a change of the version has to do with."""


class Place(msgspec.Struct, frozen=True):
    """Place of a word of a change. `path`: "" if no file is given; `line`: from 1."""

    word: str
    path: str
    line: int


class AdviceFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Violations of one promise by faults that the same change ends.

    `change`: None: no tried change ends them. `of`: count of faults or pairs played. `faults`: texts of all, the first
    of which `reason` and `replay` are of. `pairs`: whether they are pairs.
    """

    check: str
    change: tuple[str, ...] | None
    of: int
    faults: tuple[str, ...]
    names: tuple[str, ...]
    runs: int
    runs_of: int
    reason: str
    replay: str
    pairs: bool = False

    @property
    def sentences(self) -> list[str]:
        """The finding in three sentences."""
        what = "pairs of faults" if self.pairs else "single faults"
        count = f"{len(self.faults)} of {self.of} {what} break it" if len(self.faults) > 1 else "broken by"
        first = f"{count}, such as {self.faults[0]}" if len(self.faults) > 1 else f"{count} {self.faults[0]}"
        return [
            f"{self.check}: {PROMISES[self.check]}; {first} ({self.runs} of {self.runs_of} runs).",
            f"Why: {self.reason}.",
            f"Change: {change_words(self.change)}.",
        ]


def advice_findings(report: AdviceReport) -> list[AdviceFinding]:
    """Findings in the order of promises, those of most faults first; then those of pairs."""
    found = list(_grouped(report, report.advice.summaries, report.advice.remedies, False))
    if report.pairs is not None:
        advice = report.pairs.advice
        found += _grouped(report, advice.summaries, advice.remedies, True)
    return found


def _grouped(
    report: AdviceReport,
    summaries: Sequence[FaultSummary],
    remedies: Mapping[tuple[str, str], tuple[str, ...]],
    pairs: bool,
) -> Iterator[AdviceFinding]:
    groups: dict[tuple[str, tuple[str, ...] | None], list[tuple[FaultSummary, Broken]]] = {}
    for summary in summaries:
        for broken in summary.broken:
            change = remedies.get((broken.check, summary.fault.name))
            groups.setdefault((broken.check, change), []).append((summary, broken))
    order = list(PROMISES)
    for (check, change), members in sorted(groups.items(), key=lambda one: (order.index(one[0][0]), -len(one[1]))):
        first, broken = members[0]
        yield AdviceFinding(
            check=check,
            change=change,
            of=sum(1 for one in summaries if one.conclusive),
            faults=tuple(f"{one.fault.text} {MOMENTS[one.fault.moment]}" for one, _ in members),
            names=tuple(one.fault.name for one, _ in members),
            runs=broken.runs,
            runs_of=broken.of,
            reason=broken.reason,
            replay=f"{report.replays[first.fault.name]} --seed {broken.seed}",
            pairs=pairs,
        )


def places_of(finding: AdviceFinding, files: Sequence[tuple[str, SettingsFile]]) -> list[Place]:
    """Places of the finding's change; every one needs it. `files`: (path, file) of those given.

    A setting that no file has belongs into the first file of its kind, at line 1, and without one into the first file.
    """
    return [place for word in finding.change or ("",) for place in _places(word, files)]


def _places(word: str, files: Sequence[tuple[str, SettingsFile]]) -> Iterable[Place]:
    if not files:
        return [Place(word, "", 1)]
    version = word.startswith(VERSION)
    setting = REGISTRY.get(OF_THE_VERSION if version else word.partition("=")[0])
    scope, name = (setting.scope, setting.name) if setting is not None else (BROKER, "")
    lines = [
        Place(word, path, entry.line)
        for path, file in files
        if file.scope == scope
        for entry in file.entries
        if entry.name == name
    ]
    scopes = (TOPIC, BROKER) if scope == TOPIC or name in OF_THE_TOPIC else (scope,)
    of_kind = [path for path, file in files if file.scope in scopes]
    return lines or [Place(word, (of_kind or [files[0][0]])[0], 1)]
