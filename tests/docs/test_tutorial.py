"""The tutorial, followed word by word: its commands print the text that it shows.

Lines that it leaves out are excepted.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from emulator.cli.app import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"
_CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
LEFT_OUT = "..."
CODE = "echo $?"


class Typed(NamedTuple):
    """One command, and the lines shown after it."""

    command: str
    shown: list[str]


def typed(page: str) -> list[Typed]:
    found: list[Typed] = []
    for block in _CONSOLE.findall(page):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Typed(line.removeprefix("$ "), []))
            else:
                found[-1].shown.append(line)
    return found


def not_printed(shown: list[str], printed: list[str]) -> str:
    """The first line shown that is not where it should be; "" if all are."""
    place, anywhere = 0, False
    for line in shown:
        if line == LEFT_OUT:
            anywhere = True
            continue
        within = printed[place:] if anywhere else printed[place : place + 1]
        if line not in within:
            return line
        place += within.index(line) + 1
        anywhere = False
    return "" if anywhere or place == len(printed) else f"and then: {printed[place]}"


def code_shown(after: list[Typed]) -> int:
    """The command's exit code on the page.

    The output of `echo $?` behind it, or nothing where it is 0.
    """
    return int("\n".join(after[0].shown)) if after and after[0].command == CODE else 0


def test_every_command_prints_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lessons = typed(TUTORIAL.read_text(encoding="utf-8"))
    assert len(lessons) > 10
    for number, (command, shown) in enumerate(lessons):
        if command == CODE:
            continue
        program, *arguments = shlex.split(command)
        assert program == "faultline", command
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = capsys.readouterr().out.splitlines()
        assert ended.value.code == code_shown(lessons[number + 1 :]), command
        assert not (line := not_printed(shown, printed)), f"{command}\n{line}\nis not what it printed:\n" + "\n".join(
            printed
        )


def test_an_exit_code_is_shown_where_it_is_not_0() -> None:
    page = "```console\n$ faultline a\nx\n$ echo $?\n1\n$ faultline b\ny\n```\n"
    lessons = typed(page)
    assert [code_shown(lessons[number + 1 :]) for number in (0, 2)] == [1, 0]


@pytest.mark.parametrize(
    ("shown", "wrong"),
    [
        (["a", "b", "c"], ""),
        (["...", "b", "..."], ""),
        (["a", "...", "c"], ""),
        (["..."], ""),
        (["b", "..."], "b"),
        (["a", "..."], ""),
        (["...", "b"], "and then: c"),
        (["...", "c", "...", "b", "..."], "b"),
        (["a", "c", "..."], "c"),
    ],
)
def test_a_line_that_is_not_there_is_found(shown: list[str], wrong: str) -> None:
    assert not_printed(shown, ["a", "b", "c"]) == wrong
