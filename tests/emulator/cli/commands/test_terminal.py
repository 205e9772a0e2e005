"""Foreign text does nothing to the terminal on which it is shown."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.screen import Screen, for_lines
from emulator.terminal import shown_plainly, shown_streams

pytestmark = pytest.mark.slow

COMMAND = (sys.executable, "-m", "emulator")
ESCAPES = "\x1b]0;owned\x07 \x1b[2J \x9b31m \x7f \u202e \udcff"
HARMLESS = "\\u001b]0;owned\\u0007 \\u001b[2J \\u009b31m \\u007f \\u202e \\udcff"
SCENARIO = """
id: escapes
title: "{title}"
kafka: [2.6]
steps:
  - start: 0
"""


def test_control_characters_are_written_out_and_text_is_left_alone() -> None:
    assert shown_plainly(ESCAPES) == HARMLESS
    assert shown_plainly("über → 水 👍\n\tend") == "über → 水 👍\n\tend"


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert all(char in "\n\t" or char.isprintable() or ord(char) >= 0xA0 for char in shown_plainly(text))


def test_what_is_printed_and_what_a_console_prints_are_held_back(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_streams():
        print(ESCAPES)
        print(ESCAPES, file=sys.stderr)
        Screen(highlight=False, width=200).print(ESCAPES, markup=False)
    out, err = capsys.readouterr()
    reported, by_console = out.splitlines()
    assert reported == HARMLESS
    assert by_console == HARMLESS.replace("\\u0007", ""), "rich leaves a bell out"
    assert err == f"{HARMLESS}\n"


def test_a_consoles_own_colours_arrive() -> None:
    reported = io.StringIO()
    Screen(file=reported, force_terminal=True, color_system="standard", width=80).print("[red]a[/] \x1b[31mb")
    assert reported.getvalue().startswith("\x1b[31ma\x1b[0m \\u001b")


@pytest.mark.parametrize("title", ["[/nope]", "[bold]x[/bold]", r"\e]0;owned\a", "[link=http://x]y"])
def test_a_scenarios_title_is_shown_as_it_is(tmp_path: Path, title: str) -> None:
    file = tmp_path / "escapes.yaml"
    file.write_text(SCENARIO.format(title=title), encoding="utf-8")
    words = ["run", str(file), "--world", "sim", "--out", str(tmp_path / "run")]
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done
    assert "\x1b" not in done.stdout + done.stderr
    assert title.replace(r"\e", "\\u001b").replace(r"\a", "") in done.stdout.replace("\\u0007", "")


@pytest.mark.parametrize("words", [("doctor",), ("scenarios",)])
def test_an_ascii_terminal_gets_ascii(words: tuple[str, ...]) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": os.environ["PATH"]}
    done = subprocess.run([*COMMAND, *words], capture_output=True, env=plain, check=False)
    assert done.returncode == 0 and done.stdout.isascii(), done
    assert b"\\u" not in done.stdout and not done.stderr


@pytest.mark.parametrize("stderr", [False, True])
def test_lines_stay_whole_in_a_pipe(stderr: bool, capsys: pytest.CaptureFixture[str]) -> None:
    for_lines(stderr=stderr).print("[bold]word[/] " * 40)
    assert "".join(capsys.readouterr()).count("\n") == 1
