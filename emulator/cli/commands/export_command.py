"""`faultline export RUN`: a run for Prometheus, OpenTelemetry or a browser."""

import sys
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.exit_codes import HELD
from emulator.runs.finished import NoRun
from emulator.runs.run_events import NoEvents
from emulator.runs.tracing.operation_spans import TooManyPending
from emulator.runs.tracing.trace_faults import TooManyFaults

EVERY_MS = 1_000.0
EVERY_MS_OF_PAGE = 200.0
"""As often as the live page has a new state."""
EVERY_MS_MIN = 1.0
EVERY_MS_MAX = 86_400_000.0
Flag = Annotated[bool, Parameter(negative=())]


@reports_errors("export", NoEvents, NoRun, TooManyPending, TooManyFaults)
def export_command(
    run_directory: Path,
    /,
    *,
    openmetrics: Flag = False,
    rule_tests: Flag = False,
    otlp: Flag = False,
    page: Flag = False,
    every_ms: float | None = None,
    out: Path | None = None,
) -> int:
    """Export a run in one of four formats.

    Parameters
    ----------
    run_directory
        A run's directory.
    openmetrics
        Metrics with timestamps, for `promtool tsdb create-blocks-from openmetrics`.
    rule_tests
        The same metrics as `input_series` of a file for `promtool test rules`.
    otlp
        Traces as OTLP/JSON: a span for each operation of a client, and for each attempt.
    page
        The live page with the run as a recording: one HTML file that needs no server.
    every_ms
        Interval of metrics or states in scenario time, in milliseconds; by default 1000,
        of the page 200.
    out
        File to write; by default standard output.
    """
    formats = {"--openmetrics": openmetrics, "--rule-tests": rule_tests, "--otlp": otlp, "--page": page}
    chosen = [name for name, on in formats.items() if on]
    if len(chosen) != 1:
        what = " and ".join(chosen) or "no format"
        raise CommandFailed(f"{what} given; choose one of {', '.join(formats)}")
    if every_ms is None:
        every_ms = EVERY_MS_OF_PAGE if page else EVERY_MS
    if not EVERY_MS_MIN <= every_ms <= EVERY_MS_MAX:
        raise CommandFailed(f"--every-ms {every_ms:g}: out of range; give {EVERY_MS_MIN:g} to {EVERY_MS_MAX:g}")
    if page:
        _write(_page(run_directory, every_ms), out)
    else:
        _write(_traces(run_directory) if otlp else _metrics(run_directory, every_ms, rule_tests=rule_tests), out)
    return HELD


def _traces(run: Path) -> Iterator[str]:
    from emulator.runs.tracing.otlp_json import otlp_json

    return otlp_json(run)


def _page(run: Path, every_ms: float) -> Iterator[str]:
    from emulator.cluster.page.run_recording import TooLong, run_page

    try:
        return iter([run_page(run, every_ms)])
    except TooLong as error:
        raise CommandFailed(error) from error


def _metrics(run: Path, every_ms: float, *, rule_tests: bool) -> Iterator[str]:
    from emulator.cluster.metrics.run_series import RunSeries, TooManyPoints

    try:
        series = RunSeries(run, every_ms)
    except TooManyPoints as error:
        raise CommandFailed(error) from error
    if not rule_tests:
        return series.openmetrics()
    from ruamel.yaml import YAML

    text = StringIO()
    yaml = YAML()
    yaml.width = sys.maxsize  # a folded series is hard to edit
    yaml.dump(series.rule_tests(), text)
    return iter([text.getvalue()])


def _write(parts: Iterable[str], out: Path | None) -> None:
    """Write to standard output, or to a file that appears when it is whole."""
    if out is None:
        for part in parts:
            sys.stdout.write(part)
        return
    if out.is_dir():
        raise CommandFailed(f"{out}: is a directory; name a file")
    partial = out.with_name(f"{out.name}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(parts)
        partial.replace(out)
    except OSError as error:
        raise CommandFailed(f"{error.filename or out}: {error.strerror}; choose another --out") from error
    finally:
        partial.unlink(missing_ok=True)
