"""Functions of the commands `audit` and `report`. Each prints and returns an exit code.

Unusable input prints one sentence on standard error and returns code 2, never a traceback.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from audit.input import AuditInputError, RunDirectory, UnusableRun, look_for_runs, require_writable
from audit.java import NoJavaError, is_local, is_remote
from audit.spark_java import SparkNotStarted, tuning_for
from audit.spark_keeper import Launch
from audit.spark_session import DEFAULT_MASTER, SparkFailed
from audit.warm_spark import is_wanted, own_session, remote_session, warm_session
from emulator.judging.ci_reports import NO_REPORTS, CiReports
from emulator.regular_files import reason
from emulator.run_layout import shown
from emulator.runs.scratch import scratch
from emulator.runs.verdict_file import (
    EXIT_BROKEN,
    EXIT_UNKNOWN,
    EXIT_UNUSABLE,
    EXIT_VALID,
    RANKS,
    USUAL,
    Valid,
    Verdict,
    evidence_text,
    exit_code,
    promises_text,
    rank_of,
    to_json,
    usual_text,
)
from emulator.scenario.expectation_text import saw_words
from emulator.settings.account import lines as settings_lines
from emulator.toplevel_errors import LACKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.expected import Expected

EVIDENCE_SHOWN_MAX = 5
REPORTS_UNASKED_MAX = 20
"""Maximum of runs that get a page by default.

Users read at most so many pages one by one. A page takes a tenth of a second and a megabyte; `faultline report RUN`
writes it at any time.
"""


def audit_command(
    runs: Sequence[str],
    master: str = DEFAULT_MASTER,
    out: Path | None = None,
    json: bool = False,
    homes: Mapping[Path, Path] | None = None,
    ci_reports: CiReports = NO_REPORTS,
    own: Sequence[Path] = (),
    reports: bool | None = None,
    verbose: bool = False,
    unusable: Sequence[UnusableRun] = (),
    cold: bool = False,
) -> int:
    """`faultline audit RUN...`: writes verdict.json and report.html into each run.

    A run that cannot be audited does not end the audit of the others. Its name is printed, its verdict is *unknown* in
    the output and in files for machines, and the exit code is 2.

    `reports`: whether to write report.html; None: only for at most REPORTS_UNASKED_MAX runs. Of more runs only those
    that are not as expected are printed in full.
    `homes`: {copy of a run: directory for its verdict and report}. `ci_reports`: files with all verdicts.
    `own`: files with custom checks (audit.checks.own). `unusable`: further runs, which cannot be audited.
    `master`, `cold`: as `spark_of` takes them.
    """
    from audit.audited_run import audit_runs
    from audit.checks.own import all_checks
    from audit.derived_tables import SMALL_MAX_BYTES
    from audit.export import export
    from audit.tuning import SMALL

    bad = list(unusable)
    try:
        checks = all_checks(own)
        directories, expected = _prepared(runs, homes or {}, bad)
        if not directories:
            return _named("audit", bad)
        paths = [run.path for run in directories]
        size_bytes = sum(run.size_bytes for run in directories)
        few = len(paths) <= REPORTS_UNASKED_MAX
        wanted = few if reports is None else reports
        settings = SMALL if size_bytes <= SMALL_MAX_BYTES else None
        with _progress(len(paths)), spark_of(master, size_bytes, settings, shared=not cold) as (spark, place):
            verdicts = audit_runs(spark, paths, expected=expected.__getitem__, scratch=str(place), checks=checks)
            for run, verdict in zip(paths, verdicts, strict=True):
                bad += _kept(run, verdict, (homes or {}).get(run, run), report=wanted)
            if out is not None:
                export(spark, directories, verdicts, out)
    except SparkFailed as error:
        return _unknown(f"faultline audit: {error}")
    except (AuditInputError, SparkNotStarted, NoJavaError) as error:
        return _unusable(f"faultline audit: {error}")
    code_of_bad = _named("audit", bad)
    verdicts_of_all = [*verdicts, *map(_not_judged, bad)]
    ci_reports.write([msgspec.to_builtins(verdict) for verdict in verdicts_of_all])
    if json:
        print_json(verdicts_of_all)
    else:
        for run, verdict in zip(paths, verdicts, strict=True):
            if not few and verdict.valid is True:
                continue
            _print_verdict(verdict, verbose=verbose)
            if wanted:
                print(f"report: {shown((homes or {}).get(run, run) / 'report.html')}")
        for verdict in verdicts_of_all[len(verdicts) :]:
            _print_verdict(verdict, verbose=verbose)
        if not few:
            print(summary(verdicts_of_all))
    return worst_code([exit_code(verdict.valid for verdict in verdicts), code_of_bad])


def _prepared(
    runs: Sequence[str], homes: Mapping[Path, Path], bad: list[UnusableRun]
) -> tuple[list[RunDirectory], dict[Path, Expected]]:
    """Return the runs that can be audited, and the expectations of each.

    The others are added to `bad`. Raises AuditInputError."""
    from audit.expected import expected_of

    if not runs and bad:
        return [], {}
    found, unusable = look_for_runs(runs)
    bad += unusable
    usable, expected = [], {}
    for run in found:
        try:
            require_writable(homes.get(run.path, run.path))
            expected[run.path] = expected_of(run.path)
            usable.append(run)
        except AuditInputError as error:
            bad.append(UnusableRun(run.name, str(error)))
    return usable, expected


def _kept(run: Path, verdict: Verdict, home: Path, *, report: bool) -> list[UnusableRun]:
    """Write a run's verdict and report. Returns the run if they could not be written."""
    from audit.audited_run import write_verdict
    from audit.report import write_report

    try:
        write_verdict(verdict, home)
        if report:
            write_report(run, verdict, home)
    except (AuditInputError, OSError) as error:
        return [_failed(run.name, home, error)]
    return []


def _failed(name: str, home: Path, error: AuditInputError | OSError) -> UnusableRun:
    """A run whose results could not be written below `home`.

    The exit code is 3 if the machine lacks a resource, such as room on the disk, else 2.
    """
    if isinstance(error, AuditInputError):
        return UnusableRun(name, str(error))
    code = EXIT_UNKNOWN if error.errno in LACKING else EXIT_UNUSABLE
    return UnusableRun(name, f"{error.filename or home}: cannot be written: {reason(error)}", code)


def _not_judged(run: UnusableRun) -> Verdict:
    """The verdict of a run that cannot be audited, for lists of verdicts."""
    why = f"it was not judged: {run.why}"
    return Verdict(run.name, "", "network", "unknown", [], [], {}, {}, unknown_because=[why])


def _named(command: str, bad: Sequence[UnusableRun]) -> int:
    """Name the runs on standard error; returns their exit code."""
    for one in bad:
        print(f"faultline {command}: {one.why}", file=sys.stderr)
    return worst_code([one.code for one in bad])


def worst_code(codes: Sequence[int]) -> int:
    """Exit code of several runs: unusable input first, then broken, then unknown."""
    return next((code for code in (EXIT_UNUSABLE, EXIT_BROKEN, EXIT_UNKNOWN) if code in codes), EXIT_VALID)


def report_command(run: str, json: bool = False) -> int:
    """`faultline report RUN`: (re)writes report.html from verdict.json and the events.

    Needs no Java. `json`: prints `run`, `report` (its path) and `valid` of verdict.json; a list for several runs."""
    from audit.report import verdict_of, write_report

    try:
        directories, bad = look_for_runs([run])
    except AuditInputError as error:
        return _unusable(f"faultline report: {error}")
    several = len(directories) + len(bad) > 1
    written = []
    for directory in directories:
        try:
            verdict = verdict_of(directory.path)
            path = write_report(directory.path, verdict)
        except (AuditInputError, OSError) as error:
            bad.append(_failed(directory.name, directory.path, error))
            continue
        written.append({"run": verdict.run, "report": str(path), "valid": verdict.valid})
        if not json:
            print(path)
    code = _named("report", bad)
    if json and written:
        print(msgspec.json.encode(written if several else written[0]).decode())
    return code


def print_json(verdicts: Sequence[Verdict]) -> None:
    """Print one verdict as an object, several as a list."""
    if len(verdicts) == 1:
        sys.stdout.write(to_json(verdicts[0]).decode())
    else:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(list(verdicts)), indent=2).decode() + "\n")


def verdict_text(verdict: Verdict, *, verbose: bool = False) -> str:
    """The verdict for a terminal, broken promises first.

    `verbose`: name checks that held or were skipped.
    """
    head = {True: "as expected", False: "NOT as expected", "unknown": "UNKNOWN"}[verdict.valid]
    if not verdict.scenario and verdict.valid != "unknown":  # a live cluster, without expectations
        broken = [name for name, check in verdict.checks.items() if check.verdict == "violated"]
        head = f"violated: {', '.join(broken)}" if broken else "every check held"
    lines = [f"{verdict.run}: {head}"]
    lines += [f"  unknown because {reason}" for reason in verdict.unknown_because]
    if verdict.vouched_by:
        lines.append(f"  timers were late, which changed nothing: vouched for by {verdict.vouched_by}")
    lines += [f"  settings: {line}" for line in settings_lines(verdict.settings)]
    for one in sorted(verdict.expectations, key=lambda one: one.held is True):
        mark = {True: "held", False: "BROKEN", "unknown": "unknown"}[one.held]
        seen = "" if one.held is True else f" ({saw_words(one.held, one.seen)})"
        lines.append(f"  {mark:<8}{one.text}{seen}")
    ranks = {name: rank_of(check.verdict, expected=check.expected) for name, check in verdict.checks.items()}
    named = [name for name, rank in ranks.items() if verbose or rank not in USUAL]
    width = _name_width(named)
    for name in sorted(named, key=lambda name: RANKS.index(ranks[name])):
        check = verdict.checks[name]
        expected = " (expected)" if check.expected else ""
        by_acks = ", ".join(
            [*(f"acks={acks}: {count}" for acks, count in check.by_acks.items()), *promises_text(check)]
        )
        count = f" {check.count}" + (f" ({by_acks})" if by_acks else "") if check.count else ""
        reason = f": {check.reason}" if check.reason else ""
        judged = f" of {check.judged} {check.subject}" if check.verdict in ("held", "violated") else ""
        lines.append(f"  {name:<{width}}{check.verdict}{count}{judged}{expected}{reason}")
        lines += [f"    {evidence_text(one)}" for one in check.evidence[:EVIDENCE_SHOWN_MAX]]
        if check.count > EVIDENCE_SHOWN_MAX:
            lines.append(f"    and {check.count - EVIDENCE_SHOWN_MAX} more")
    if usual := usual_text(Counter(ranks.values()), verbose=verbose):
        lines.append(f"  {usual}")
    return "\n".join(lines)


def summary(verdicts: Sequence[Verdict]) -> str:
    """Counts of verdicts, and of each check the runs in which it was violated or unknown."""
    count = Counter(verdict.valid for verdict in verdicts)
    words: dict[Valid, str] = {True: "as expected", False: "NOT as expected", "unknown": "UNKNOWN"}
    lines = [f"{len(verdicts)} runs: " + ", ".join(f"{count[valid]} {word}" for valid, word in words.items())]
    names = dict.fromkeys(name for verdict in verdicts for name in verdict.checks)
    width = _name_width(names)
    for name in names:
        screen = Counter(verdict.checks[name].verdict for verdict in verdicts if name in verdict.checks)
        some = ", ".join(f"{what} in {screen[what]}" for what in ("violated", "unknown") if screen[what])
        lines += [f"  {name:<{width}}{some}"] if some else []
    return "\n".join(lines)


def _name_width(checks: Iterable[str]) -> int:
    return max(map(len, checks), default=0) + 2


def _print_verdict(verdict: Verdict, *, verbose: bool) -> None:
    """Print in colours on a terminal, with an indent for wrapped lines."""
    text = verdict_text(verdict, verbose=verbose)
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.padding import Padding
    from rich.text import Text

    from emulator.screen import Screen

    console = Screen(highlight=False)
    for line in text.splitlines():
        words = line.lstrip()
        coloured = Text(words)
        coloured.highlight_regex(r"(?<!\S)violated(?= \d)", "bold red")
        coloured.highlight_regex(r"(?<!\S)held\b", "green")
        coloured.highlight_regex(r"(?<!\S)unknown\b", "yellow")
        console.print(Padding(coloured, (0, 0, 0, len(line) - len(words))))


@contextmanager
def _progress(count: int) -> Iterator[None]:
    """Show a line of progress on a terminal; nothing in a pipe."""
    from emulator.screen import Screen

    screen = Screen(stderr=True, highlight=False)
    if not screen.is_terminal:
        yield
        return
    with screen.status(f"Spark judges {count} run{'' if count == 1 else 's'}"):
        yield


@contextmanager
def spark_of(
    master: str,
    event_bytes: int,
    settings: Mapping[str, str] | None = None,
    *,
    shared: bool = False,
    lasting: bool = False,
) -> Iterator[tuple[SparkSession, Path]]:
    """A Spark session for that amount of events, and a directory for large data.

    `master`: Spark's, or the URL of a Spark Connect server, sc://HOST:PORT. `settings`: Spark settings, which take
    precedence. `shared`: in the server that all commands of the user share, if this machine's cores and an ordinary
    Java suffice. `lasting`: for a prompt.
    """
    with scratch() as directory:
        if is_remote(master):
            with remote_session(master, settings) as spark:
                yield spark, directory
            return
        if shared and master == DEFAULT_MASTER and tuning_for(event_bytes) == "quick" and is_wanted(os.environ):
            with warm_session(settings, lasting=lasting) as spark:
                yield spark, directory
            return
        own = directory / "scratch"
        own.mkdir()
        launch = Launch(
            master=master, tuning=tuning_for(event_bytes), settings={**(settings or {})}, idle_s=0.0,
            at_once=is_local(master),
        )  # fmt: skip
        with own_session(directory / "spark", launch) as spark:
            yield spark, own


def _unknown(text: str) -> int:
    """Report that the evidence could not be read; returns the exit code."""
    print(text, file=sys.stderr)
    return EXIT_UNKNOWN


def _unusable(text: str) -> int:
    print(text, file=sys.stderr)
    return EXIT_UNUSABLE
