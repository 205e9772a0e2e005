"""docs/how-to-add-a-check.md, followed to the letter in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "how-to-add-a-check.md"
COPIED = (
    *("protocol", "controller", "emulator", "audit", "faultline", "pyspark_faultline"),
    *("benchmarks", "verification", "scenarios", "tests"),
)  # fmt: skip
LEFT_OUT = ("golden", "results", "__pycache__", "*.so")
STEP = re.compile(
    r"^(?P<what>New file|Append to|Insert into) `(?P<file>[^`]+)`(?:, after the line with `(?P<after>[^\n]+)`)?:\n\n"
    r"```(?:python|text)\n(?P<code>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
MUTANT = """
from emulator.judging.judged import play_and_judge
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from verification.mutants.mutant import applied
from verification.mutants.table import MUTANTS

mutant = MUTANTS["cuts-its-committed"]
resolved = resolve(find_scenario(mutant.scenario), mutant.version)
print(play_and_judge(resolved, mutant.seed, run="right").verdict.checks[mutant.check].verdict)
with applied(mutant):
    print(play_and_judge(resolved, mutant.seed, run="wrong").verdict.checks[mutant.check].verdict)
"""


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which the page's steps have been done."""
    copy: Path = tmp_path_factory.mktemp("how-to")
    for name in COPIED:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for step in STEP.finditer(DOCUMENT.read_text(encoding="utf-8")):
        file, code = copy / step["file"], step["code"]
        if step["what"] == "New file":
            assert not file.exists(), file
            file.write_text(code, encoding="utf-8")
            continue
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        if step["what"] == "Append to":
            lines += ["\n\n", code]
        else:
            [place] = [number for number, line in enumerate(lines, 1) if step["after"] in line]
            lines.insert(place, code)
        file.write_text("".join(lines), encoding="utf-8")
    return copy


def output(copy: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=1_200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_three_files_beside_the_tests_make_a_check() -> None:
    files = [step["file"] for step in STEP.finditer(DOCUMENT.read_text(encoding="utf-8"))]
    makers = [file for file in files if not file.startswith(("tests/", "verification/mutants/"))]
    assert len(makers) == 3
    assert len(files) == 5


def test_spark_and_the_oracle_reject_and_accept_what_the_page_does(followed: Path) -> None:
    tests = ("tests/audit/test_spark_cases.py", "tests/emulator/judging/oracle/test_oracle_cases.py")
    results = output(followed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "committed-cut:", *tests)
    assert re.search(r"^\d+ passed", results, re.MULTILINE)


def test_the_pages_mutant_is_rejected_and_the_right_machine_accepted(followed: Path) -> None:
    assert output(followed, "-c", MUTANT).split() == ["held", "violated"]
