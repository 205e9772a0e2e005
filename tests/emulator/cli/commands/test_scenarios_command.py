"""`faultline scenarios`: names are never cut off, and an error begins with its place."""

import io
import json
from pathlib import Path

import pytest

from emulator.cli.commands.control_calls import PIPE_WIDTH
from emulator.cli.commands.scenarios import check_command, print_list, show_command
from emulator.runs.scenario_sources import catalogue, find_scenario
from emulator.scenario.load import load_scenario
from emulator.scenario.scenario_model import Scenario
from emulator.screen import Screen

WRONG = """
id: wrong
title: wrong
steps:
  - start: 0
  - strat: 1
  - start: 9
"""


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return [find_scenario(scenario_id) for scenario_id in catalogue()]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_a_terminal_of_any_width_shows_every_id_and_title_whole(scenarios: list[Scenario], width: int) -> None:
    screen = Screen(file=io.StringIO(), width=width)
    print_list(screen, scenarios)
    lines = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert all(len(line) <= width for line in lines)
    words = " ".join(lines).split()
    for scenario in scenarios:
        assert scenario.id in words
    reported, wanted = iter(words), [word for scenario in scenarios for word in (scenario.id, *scenario.title.split())]
    assert all(word in reported for word in wanted), "in this order"


def test_in_a_pipe_it_is_a_line_each(scenarios: list[Scenario]) -> None:
    screen = Screen(file=io.StringIO(), width=PIPE_WIDTH)
    print_list(screen, scenarios)
    lines = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert [line.split()[0] for line in lines[1:]] == [scenario.id for scenario in scenarios]
    assert all(line.rstrip().endswith(one.title) for line, one in zip(lines[1:], scenarios, strict=True))


def test_every_fault_begins_with_file_line_and_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(WRONG, encoding="utf-8")
    assert check_command([path]) == 2
    places = [line.split(" ")[0] for line in capsys.readouterr().err.splitlines()]
    assert places == [f"{path}:6:5:", f"{path}:7:12:"]
    assert check_command([path, Path("az-isolated-leader")], json=True) == 2
    wrong, right = json.loads(capsys.readouterr().out)
    assert [f"{fault['file']}:{fault['line']}:{fault['column']}:" for fault in wrong["faults"]] == places
    assert right == {"file": "az-isolated-leader", "usable": True, "faults": [], "warnings": []}


def test_a_scenario_as_json_is_the_one_as_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_command("az-isolated-leader") == 0
    text = capsys.readouterr().out
    assert show_command("az-isolated-leader", json=True) == 0
    shown = capsys.readouterr().out
    assert load_scenario(shown, "json") == load_scenario(text, "yaml")
