"""docs/report.svg: the picture of a report, from a simulated run, which is the same wherever it is drawn."""

from pathlib import Path
from tempfile import TemporaryDirectory

from audit.input import read_directory
from audit.report.picture import Picture
from audit.report.reading import read_timeline
from audit.report.timeline import Span
from emulator.cli.commands.run_simulated import simulate_into
from emulator.runs.directory import prepare
from emulator.runs.resolve import resolve
from emulator.runs.sources import find_scenario

SCENARIO, VERSION, SEED = "az-isolated-leader", "2.6", 1


def page(root: Path) -> str:
    style = (root / "audit" / "report" / "page.css").read_text(encoding="utf-8")
    with TemporaryDirectory() as scratch:
        run = Path(scratch) / "run"
        prepare(run)
        verdict = simulate_into(run, resolve(find_scenario(SCENARIO), VERSION), SEED).verdict
        timeline = read_timeline(read_directory(run))
    [topic_partition] = timeline.replicas
    dual = [
        Span(one["from_ms"], one["to_ms"], -1, one["text"]) for one in verdict.checks["dual-leader"].evidence
    ]
    return Picture(timeline, topic_partition, dual).alone(style)
