"""Writes a run's report.html."""

from __future__ import annotations

from pathlib import Path

from audit.input import AuditInputError, read_directory
from audit.report.about import about_run
from audit.report.claims import Claims
from audit.report.moments import moments
from audit.report.report_input import timeline_of
from audit.report.report_messages import read_messages
from audit.report.report_page import render
from audit.report.report_records import kept_events
from emulator.regular_files import read_regular, reason, write_whole
from emulator.runs.verdict_file import Verdict, from_json
from protocol.undecodable import UNDECODABLE, why


def write_report(run: Path, verdict: Verdict | None = None, home: Path | None = None) -> Path:
    """Write RUN/report.html (HOME/report.html for a copy) atomically. Returns its path.

    `verdict` None: from RUN/verdict.json.

    Raises:
        AuditInputError: not a run, or it has no verdict yet.
    """
    directory = read_directory(run)
    verdict = verdict or verdict_of(run)
    path = (home or run) / "report.html"
    events, complete = kept_events(directory)
    timeline = timeline_of(events, complete=complete)
    messages = read_messages(directory, moments(timeline), timeline.end_ms)
    page = render(verdict, timeline, about_run(run), messages, Claims(events, run))
    write_whole(path, page.encode("utf-8", "replace"))
    return path


def verdict_of(run: Path) -> Verdict:
    """The verdict in RUN/verdict.json. Raises AuditInputError."""
    path = run / "verdict.json"
    try:
        return from_json(read_regular(path))
    except FileNotFoundError:
        raise AuditInputError(f"{run}: has no verdict.json yet; audit it first: faultline audit {run}") from None
    except OSError as error:
        raise AuditInputError(f"{path}: cannot be read: {reason(error)}") from error
    except UNDECODABLE as error:
        raise AuditInputError(f"{path}: cannot be read as a verdict: {why(error)}") from error
