"""Output paths of commands: an unusable one is refused before anything is played."""

from pathlib import Path
from typing import Any

import pytest

from emulator.cli.app import app
from emulator.cli.commands.place_arguments import UnusablePlace, check_places


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run az-isolated-leader --world sim --junit d", "run: --junit d: is a directory; give a file's name"),
        ("run az-isolated-leader --world sim --out f", "run: --out f: f is not a directory"),
        ("sim az-isolated-leader --markdown no/m.md", "sim: --markdown no/m.md: no folder no; make it"),
        ("sim az-isolated-leader --out f", "sim: --out f: f is not a directory"),
        ("sweep cap-choice --html d", "sweep: --html d: is a directory; give a file's name"),
        ("sweep cap-choice --csv f/t.csv", "sweep: --csv f/t.csv: f is not a directory"),
        ("sweep cap-choice --out f/c", "sweep: --out f/c: f is not a directory"),
        ("advise --html d", "advise: --html d: is a directory; give a file's name"),
        ("advise --out f", "advise: --out f: f is not a directory"),
        ("fuzz --out f", "fuzz: --out f: f is not a directory"),
        ("audit d --junit d", "audit: --junit d: is a directory; give a file's name"),
        ("up --out f", "up: --out f: f is not a directory"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_refused_at_once(
    words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    (tmp_path / "f").touch()
    code: Any = app(words.split(), result_action="return_value")
    reported = capsys.readouterr()
    assert (code, reported.out, reported.err) == (2, "", f"faultline {message}\n")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["d", "f"], "nothing was made"


def test_a_file_may_lie_in_the_folder_that_is_made(tmp_path: Path) -> None:
    out = tmp_path / "new" / "run"
    check_places({"--junit": out / "junit.xml", "--markdown": None}, out)
    with pytest.raises(UnusablePlace, match="no folder"):
        check_places({"--junit": out / "junit.xml"})
