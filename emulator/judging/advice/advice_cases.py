"""Advice as test cases, as Markdown, and as workflow commands of GitHub Actions. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from emulator.judging.advice.advice_findings import AdviceFinding, advice_findings, places_of
from emulator.judging.advice.advice_output import AdviceReport
from emulator.judging.advice.advice_text import change_words, summary_lines
from emulator.judging.advice.outcomes import PROMISES
from emulator.judging.markdown_summary import bounded, code, head_of
from emulator.judging.test_cases import Case, Result, Suite
from emulator.settings.properties_files import SettingsFile
from emulator.terminal import shown_plainly

SUITE: Final = "advise"
ROWS_MAX: Final = 60
ANNOTATIONS_MAX: Final = 10
"""GitHub shows no more errors of one step."""


def suite_of_advice(report: AdviceReport, wall_s: float) -> Suite:
    """A case for each promise, and one for whether every fault has a conclusive run."""
    missing = [one.fault.text for one in report.advice.summaries if not one.conclusive]
    bugs = [f"bug of faultline: {bug.fault}, seed {bug.seed}: {bug.error}" for bug, _ in report.bugs]
    result: Result = "error" if missing or bugs else "passed"
    trusted = Case("every fault has a conclusive run", result, "\n".join(bugs + missing))
    findings = advice_findings(report)
    cases = [_case(check, [one for one in findings if one.check == check]) for check in PROMISES]
    return Suite(SUITE, (trusted, *cases), wall_s)


def _case(check: str, findings: Sequence[AdviceFinding]) -> Case:
    name = f"{check}: {PROMISES[check]}"
    if not findings:
        return Case(name)
    return Case(name, "failure", "\n".join(line for one in findings for line in (*one.sentences, one.replay)))


def markdown_of_advice(report: AdviceReport, exhausted: str, exit_code: int) -> str:
    """The summary, a table of findings, and each finding's reason and command, folded."""
    return bounded(_blocks(report, exhausted, exit_code))


def _blocks(report: AdviceReport, exhausted: str, exit_code: int) -> Iterator[str]:
    findings = advice_findings(report)
    yield f"## {head_of(exit_code)}: settings on Kafka {code(report.base.version)}\n"
    lines = summary_lines(report.advice.summaries, report.recommendation, exhausted)
    yield "".join(f"- {code(line.strip())}\n" for line in lines)
    if not findings:
        return
    rows = "".join(
        f"| {code(one.check, cell=True)} | {len(one.faults)} of {one.of} | {code(one.faults[0], cell=True)} "
        f"| {code(change_words(one.change), cell=True)} |\n"
        for one in findings[:ROWS_MAX]
    )
    more = f"\nand {len(findings) - ROWS_MAX} more findings\n" if len(findings) > ROWS_MAX else ""
    yield f"| broken promise | faults | such as | change that ends it |\n|---|---|---|---|\n{rows}{more}"
    for one in findings[:ROWS_MAX]:
        lines = [*one.sentences, f"Replay: {one.replay}"]
        body = "".join(f"- {code(line)}\n" for line in lines)
        yield f"<details><summary>{one.check}: {len(one.faults)}</summary>\n\n{body}\n</details>\n"


def annotations(report: AdviceReport, files: Sequence[tuple[str, SettingsFile]]) -> list[str]:
    """Workflow commands: an error for each finding, at the first line of its change."""
    findings = advice_findings(report)
    lines = []
    for one in findings[:ANNOTATIONS_MAX]:
        place = places_of(one, files)[0]
        where = f"file={_property(place.path)},line={place.line}," if place.path else ""
        text = shown_plainly("\n".join([*one.sentences, f"Replay: {one.replay}"]))
        lines.append(f"::error {where}title={_property(f'{one.check}: {PROMISES[one.check]}')}::{_data(text)}")
    return lines


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
