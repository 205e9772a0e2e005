"""Advice as SARIF: rules are promises, results findings at the lines of their change."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from emulator.check_table import ADVICE
from emulator.judging.advice.advice_findings import AdviceFinding, Place, advice_findings, places_of
from emulator.judging.advice.advice_output import AdviceReport
from emulator.judging.advice.outcomes import PROMISES
from emulator.judging.sarif import (
    RESULTS_MAX,
    ArtifactLocation,
    Driver,
    Invocation,
    Level,
    Location,
    LogicalLocation,
    Message,
    Notification,
    PhysicalLocation,
    Region,
    Result,
    Rule,
    Run,
    Tool,
    sarif_bytes,
)
from emulator.packaged import installed_version, repository
from emulator.settings.properties_files import SettingsFile
from emulator.terminal import shown_plainly

FINGERPRINT: Final = "faultline/v1"
FAULTS_MAX: Final = 20
"""Faults that the text of a result names; its properties have all."""


def sarif_of(report: AdviceReport, files: Sequence[tuple[str, SettingsFile]], exit_code: int, root: Path) -> bytes:
    """The SARIF document.

    `files`: (path, file) of the settings. `root`: paths below it become relative.
    """
    results = tuple(_result(one, places_of(one, files), root) for one in advice_findings(report))
    driver = Driver(
        name="faultline", version=installed_version(), information_uri=repository(), rules=tuple(map(_rule, PROMISES))
    )
    invocation = Invocation(
        execution_successful=not report.bugs,
        exit_code=exit_code,
        tool_configuration_notifications=tuple(_note("warning", text) for text in report.base.warnings),
        tool_execution_notifications=tuple(_notifications(report)),
    )
    about = {"kafka": report.base.version, "runs": len(report.advice.options.runs)}
    run = Run(tool=Tool(driver=driver), invocations=(invocation,), results=results[:RESULTS_MAX], properties=about)
    return sarif_bytes(run)


def _rule(check: str) -> Rule:
    promise = PROMISES[check]
    return Rule(
        id=check,
        name="".join(part.capitalize() for part in check.split("-")),
        short_description=Message(text=f"{promise[0].upper()}{promise[1:]}"),
        full_description=Message(text=f"Some faults of a cluster with these settings {ADVICE[check].verb}."),
        help=Message(text=f"`faultline checks show {check}` prints the definition of the check."),
        help_uri=f"{repository()}/blob/main/docs/checks.md#{check}",
        properties={"tags": ["kafka", "reads" if ADVICE[check].of_reads else "writes"]},
    )


def _result(finding: AdviceFinding, places: Sequence[Place], root: Path) -> Result:
    others = finding.faults[1:FAULTS_MAX]
    more = [f"Also: {'; '.join(others)}."] if others else []
    text = " ".join([*finding.sentences, *more, f"Replay: {finding.replay}"])
    about = (finding.check, finding.change, finding.pairs, sorted({place.path for place in places}))
    return Result(
        rule_id=finding.check,
        rule_index=list(PROMISES).index(finding.check),
        level="error",
        message=Message(text=shown_plainly(text)),
        locations=tuple(_location(place, root) for place in places),
        partial_fingerprints={FINGERPRINT: sha256(repr(about).encode()).hexdigest()[:32]},
        properties={"faults": list(finding.names), "replay": finding.replay, "change": list(finding.change or ())},
    )


def _location(place: Place, root: Path) -> Location:
    message = Message(text=f"change: {place.word}" if place.word else "no tried change ends it")
    if not place.path:
        logical = LogicalLocation(fully_qualified_name=place.word or "settings", kind="parameter")
        return Location(message=message, logical_locations=(logical,))
    physical = PhysicalLocation(
        artifact_location=ArtifactLocation(uri=_uri(place.path, root)), region=Region(start_line=place.line)
    )
    return Location(message=message, physical_location=physical)


def _uri(path: str, root: Path) -> str:
    whole = (root / path).resolve()
    if whole.is_relative_to(root.resolve()):
        return quote(whole.relative_to(root.resolve()).as_posix())
    return whole.as_uri()


def _notifications(report: AdviceReport) -> Iterator[Notification]:
    for bug, replay in report.bugs:
        yield _note("error", f"bug of faultline: {bug.fault}, seed {bug.seed}: {bug.error}; replay: {replay}")
    for one in report.advice.summaries:
        missing = one.runs - one.conclusive
        if missing:
            yield _note("warning", f"{one.fault.text}: {missing} runs are inconclusive: {one.inconclusive}")


def _note(level: Level, text: str) -> Notification:
    return Notification(level=level, message=Message(text=shown_plainly(text)))
