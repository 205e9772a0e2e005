"""Generated command lines and changed files: every command ends with 0 to 3, and 2 says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generated_command_lines import command_apps, command_line, commands
from tests.generated_inputs import tallied
from tests.mutated_files import READS

pytestmark = pytest.mark.slow

CASES = 240
PART = 80


@pytest.mark.parametrize("first", range(0, CASES, PART))
@pytest.mark.parametrize("kind", ["commands", "files"])
def test_generated_inputs_end_with_0_to_3(
    kind: str, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(tallied(kind, range(first, first + PART), tmp_path / "work")) >= {0, 2}


def test_a_few_of_the_lines_as_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert tallied("processes", range(30), tmp_path / "work")[2]


def test_every_command_and_option_has_its_turn() -> None:
    assert set(commands()) == {" ".join(words) for words, _ in command_apps()}
    used: dict[str, set[str]] = {name: set() for name in commands()}
    for number in range(10_000):
        words = command_line(number)
        name = " ".join(words[:2]) if " ".join(words[:2]) in used else words[0]
        used[name] |= {word.partition("=")[0] for word in words}
    for name, options in commands().items():
        for option in options:
            assert not option.names or used[name] & set(option.names), (name, option.names)


def test_every_type_of_file_is_read_by_a_command_that_is_there() -> None:
    assert {read.words.split()[0] for read in READS} <= {name.split()[0] for name in commands()}
