"""docs/how-to-add-a-link-fault.md, followed in a copy of the packages."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_how_to import blocks

ROOT = Path(__file__).parents[2]
DOCUMENT = "how-to-add-a-link-fault.md"
PACKAGES = ("emulator", "protocol", "controller", "audit", "faultline")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages after the changes of the document."""
    folder = tmp_path_factory.mktemp("how-to")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for block in blocks(DOCUMENT, "diff"):
        name, _, changes = block.removeprefix("--- ").partition("\n")
        for change in changes.split("@@\n"):
            _change(folder / name, change.splitlines())
    (folder / "paced.yaml").write_text("".join(blocks(DOCUMENT, "yaml")), encoding="utf-8")
    return folder


def _change(path: Path, lines: list[str]) -> None:
    before = "".join(f"{line[1:]}\n" for line in lines if line[:1] in "- ")
    after = "".join(f"{line[1:]}\n" for line in lines if line[:1] in "+ ")
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, (path, before)
    path.write_text(text.replace(before, after), encoding="utf-8")


def python(folder: Path, *arguments: str) -> str:
    """Output of a program over the copy, which must succeed."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_at_most_three_files_of_code_change() -> None:
    assert len({block.partition("\n")[0] for block in blocks(DOCUMENT, "diff")}) <= 3


def test_its_program_holds(copy: Path) -> None:
    [program] = blocks(DOCUMENT, "python")
    python(copy, "-c", program)


def test_its_commands_work(copy: Path) -> None:
    lines = "".join(blocks(DOCUMENT, "")).splitlines()
    commands = [line.split()[2:] for line in lines if line.startswith("$ faultline")]
    shown, _checked = [python(copy, "-m", "emulator", *command) for command in commands]
    assert "Keep the frames of each connection apart." in shown and "az-0 100ms" in shown


def test_its_scenario_holds(copy: Path) -> None:
    python(copy, "-m", "emulator", "run", "paced.yaml", "--world", "sim")
