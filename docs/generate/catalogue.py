"""docs/catalogue.md, from scenarios/*.yaml: actions, expectations and article of each."""

from pathlib import Path

from docs.generate.markdown_tables import cell, notice, table
from emulator.scenario.load import load_scenario
from emulator.scenario.scenario_model import Scenario

_HEAD = """# Catalogue

Every scenario of `scenarios/`. `faultline run ID` plays one with real processes, `faultline run ID --world
sim` in the simulated world. `faultline compare RUN ID@VERSION` compares a run with recordings of real brokers.

Some scenarios come from an article. Where the article contradicts Kafka, Kafka's behaviour is expected, and the
article's claim is a note.
"""


def page(root: Path) -> str:
    paths = sorted((root / "scenarios").glob("*.yaml"))
    scenarios = {path: load_scenario(path.read_text(encoding="utf-8"), path.name) for path in paths}
    listed = [
        (f"[{scenario.id}](#{scenario.id})", " ".join(scenario.kafka), _recordings(root, scenario.id), scenario.title)
        for scenario in scenarios.values()
    ]
    parts = [notice("scenarios/*.yaml"), _HEAD, table(("scenario", "Kafka", "recordings", "what happens"), listed)]
    for path, scenario in scenarios.items():
        parts.append(_scenario(path, scenario))
    return "\n".join(parts)


def _recordings(root: Path, scenario_id: str) -> str:
    found = sorted((root / "tests" / "golden").glob(f"{scenario_id}@*"), key=lambda path: path.name)
    return ", ".join(f"{path.name.partition('@')[2]} ({len(list(path.glob('*.json')))})" for path in found) or "none"


def _scenario(path: Path, scenario: Scenario) -> str:
    parts = [f"## {scenario.id}\n", f"**{scenario.title}.**\n", f"{_comment(path)}\n"]
    if scenario.article:
        parts.append(f"*The article:* {cell(scenario.article)}\n")
    parts.append("Expected of Kafka:\n")
    for expectation in scenario.expectations:
        parts.append(f"- {expectation.text}{_only(expectation.kafka)}")
    parts.append("")
    if scenario.expects_violations:
        parts.append("Expected violations:\n")
        for violation in scenario.expects_violations:
            check = f"[{violation.check}](checks.md#{violation.check})"
            parts.append(f"- {check}{_only(violation.kafka)}: {cell(violation.because)}")
        parts.append("")
    if scenario.expects_exits:
        parts.append("Expected exits:\n")
        for ends in scenario.expects_exits:
            only = f" ({', '.join(ends.kafka)})" if ends.kafka else ""
            parts.append(f"- {ends.node}{only}: {cell(ends.because)}")
        parts.append("")
    if scenario.races:
        parts.append("Races without a recording:\n")
        parts += [f"- {race.name} ({race.rule})" for race in scenario.races]
        parts.append("")
    return "\n".join(parts)


def _only(versions: tuple[str, ...]) -> str:
    """Note on a statement for some versions of Kafka; "" for all."""
    return f" ({', '.join(versions)} only)" if versions else ""


def _comment(path: Path) -> str:
    """The comment that a scenario's file begins with."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# ").strip())
    return " ".join(lines)
