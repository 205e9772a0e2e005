"""The worked examples of the how-tos are run as they stand in the documents."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cyclopts import App

from emulator.cli.commands.run_simulated import simulate_into
from emulator.judging.judged import play_and_judge
from emulator.runs.directory import prepare
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.scenario.load import ScenarioErrors, load_scenario
from protocol import versions
from protocol.gates import GATES, gates_for

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def blocks(document: str, language: str) -> list[str]:
    """The blocks of code in one language, in order; "" is output."""
    text = (DOCS / document).read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [block for of, block in found if of == language]


@pytest.mark.parametrize("version", ["2.6", "2.8"])
def test_the_scenario_of_the_how_to_is_valid_with_every_seed(version: str) -> None:
    """Semantics 4.2: a dead follower leaves the ISR at the cost of one leader epoch."""
    example, *_ = blocks("how-to-add-a-scenario.md", "yaml")
    scenario = load_scenario(example, "follower-killed.yaml")
    for seed in range(1, 6):
        verdict = play_and_judge(resolve(scenario, version), seed, run="how-to").verdict
        assert [held.text for held in verdict.expectations if held.held is not True] == []
        assert verdict.exit_code == 0, verdict


def test_the_mistake_of_the_how_to_is_named_as_the_page_does() -> None:
    example, *_ = blocks("how-to-add-a-scenario.md", "yaml")
    [promised] = re.findall(
        r"^(scenarios/follower-killed.yaml:\d.*)$", "".join(blocks("how-to-add-a-scenario.md", "")), re.MULTILINE
    )
    with pytest.raises(ScenarioErrors) as raised:
        load_scenario(example.replace("- kill: 1", "- kil: 1"), "scenarios/follower-killed.yaml")
    assert str(raised.value) == promised


def test_the_violation_that_the_how_to_expects_is_read() -> None:
    example, violation = blocks("how-to-add-a-scenario.md", "yaml")
    [expected] = load_scenario(example + violation, "follower-killed.yaml").expects_violations
    assert expected.check == "lost-acknowledged"


def gates_from(source: str) -> ModuleType:
    """A module with another table of gates."""
    module = ModuleType("gates_of_the_how_to")
    exec(compile(source, "gates", "exec", dont_inherit=True), module.__dict__)
    return module


def test_the_gate_of_the_how_to_is_added_by_its_lines() -> None:
    """Without the lines there is no such gate; with them it has both sides of its boundary."""
    lines, *_ = blocks("how-to-add-a-gate.md", "python")
    [name] = re.findall(r"^    (\w+): Annotated", lines, re.MULTILINE)
    before, after = (ROOT / "protocol" / "gates.py").read_text(encoding="utf-8").split(lines)
    assert name not in gates_from(before + after).GATES
    added = gates_from(before + lines + after)
    assert [getattr(added.gates_for(version), name) for version in ("2.0.0", "2.0.1")] == [True, False]
    [promised] = [output for output in blocks("how-to-add-a-gate.md", "") if output.startswith("ValueError")]
    with pytest.raises(ValueError, match="gate boundary") as raised:
        gates_from(before + lines.replace("2.0.0", "2.0") + after)
    assert f"ValueError: {raised.value}\n" == promised


def test_the_other_steps_of_that_how_to_are_in_the_files_that_it_names() -> None:
    _, use, probe = blocks("how-to-add-a-gate.md", "python")
    [rule] = [output for output in blocks("how-to-add-a-gate.md", "") if output.startswith("|")]
    [test_file] = re.findall(r"`(tests/\S+)`", rule)
    assert use in (ROOT / "emulator/machines/broker/group_coordinator.py").read_text(encoding="utf-8")
    assert rule in (DOCS / "semantics.md").read_text(encoding="utf-8")
    assert probe in (ROOT / test_file).read_text(encoding="utf-8")


@pytest.fixture
def ladder() -> Iterator[None]:
    """The ladder and what was remembered of it, as before."""
    before = versions.VERSIONS, versions.KRAFT_LADDER
    versions._place.cache_clear()
    yield
    versions.VERSIONS, versions.KRAFT_LADDER = before
    versions._place.cache_clear()
    gates_for.cache_clear()


def test_a_new_step_of_the_ladder_does_as_the_one_before(ladder: None) -> None:
    step, changed, default = blocks("how-to-add-a-version.md", "python")
    exec(compile(step, "step", "exec"), {})
    newest, before = gates_for("4.5"), gates_for("4.4")
    assert {name: getattr(newest, name) for name in GATES} == {name: getattr(before, name) for name in GATES}
    names_made: dict[str, Any] = {}
    exec(compile(default, "default", "exec"), names_made)
    assert [names_made["idempotence"].default_in(version) for version in ("2.8", "3.0")] == [False, True]
    exec(compile(changed, "changed", "exec"), names_made)
    assert set(names_made["changed"]("4.4", "4.5")) == set()


def test_the_new_version_plays_a_scenario(ladder: None) -> None:
    step, *_ = blocks("how-to-add-a-version.md", "python")
    exec(compile(step, "step", "exec"), {})
    scenario = find_scenario("kraft-orderly-shutdown")
    verdict = play_and_judge(resolve(scenario, "4.5"), 1, run="how-to").verdict
    assert verdict.exit_code == 0, verdict


def test_what_changed_is_printed_as_in_the_how_to(capsys: pytest.CaptureFixture[str]) -> None:
    _, changed, _ = blocks("how-to-add-a-version.md", "python")
    exec(compile(changed, "changed", "exec"), {})
    [promised] = [output for output in blocks("how-to-add-a-version.md", "") if output.startswith("{")]
    assert capsys.readouterr().out == promised


def test_the_command_of_the_how_to_does_what_its_test_expects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work, entry, own_tests = blocks("how-to-add-a-command.md", "python")
    module = ModuleType("emulator.cli.commands.event_kinds")
    exec(compile(work, "work", "exec"), vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names: dict[str, Any] = {**vars(module), "json": json}
    exec(compile(own_tests, "own tests", "exec"), names)
    run = tmp_path / "run"
    prepare(run)
    simulate_into(run, resolve(load_scenario(blocks("how-to-add-a-scenario.md", "yaml")[0], "it"), "2.8"), 1)
    names["test_every_event_has_a_kind"](run, capsys)
    names["test_a_directory_without_events_is_unusable"](tmp_path / "nowhere", capsys)
    app = App(name="faultline", result_action="return_value")
    exec(compile(entry, "entry", "exec"), {"app": app, "Path": Path})
    assert app(["kinds", str(run)]) == 0
    assert "node_started" in capsys.readouterr().out


def test_a_new_command_touches_three_files() -> None:
    text = (DOCS / "how-to-add-a-command.md").read_text(encoding="utf-8")
    files = re.findall(r"^\| `([\w./]+\.\w+)`", text.partition("## 1.")[0], re.MULTILINE)
    assert 1 <= len(files) <= 3
    for module in ("emulator/cli/play_options.py", "emulator/cli/cluster_options.py", "emulator/cli/app.py"):
        assert module in text and (DOCS.parent / module).exists()
