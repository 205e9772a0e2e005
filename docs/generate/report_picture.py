"""docs/report.svg, docs/tutorial-kip101.svg: reproducible pictures of simulated reports."""

from pathlib import Path
from tempfile import TemporaryDirectory

from audit.input import read_directory
from audit.report.report_input import read_timeline
from audit.report.report_svg import Picture
from audit.report.report_timeline import Span
from emulator.cli.commands.run_simulated import judge_into
from emulator.cluster.page.static_files import colours
from emulator.runs.directory import prepare
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario

SEED = 1


def page(root: Path) -> str:
    return _picture(root, "az-isolated-leader", "2.6")


def lost(root: Path) -> str:
    return _picture(root, "kip101-case1", "0.10.2")


def _picture(root: Path, scenario: str, version: str) -> str:
    report = root / "audit" / "report"
    style = colours() + (report / "picture.css").read_text(encoding="utf-8")
    with TemporaryDirectory() as scratch:
        run = Path(scratch) / "run"
        prepare(run)
        verdict = judge_into(run, resolve(find_scenario(scenario), version), SEED).verdict
        timeline = read_timeline(read_directory(run))
    [topic_partition] = timeline.replicas
    dual = [
        Span(one["from_ms"], one["to_ms"], -1, one["text"]) for one in verdict.checks["dual-leader"].evidence
    ]
    return Picture(timeline, topic_partition, dual).alone(style)
