"""Every program of the project, not only `faultline`, ends by `emulator.toplevel_errors`.

A bug is 70 with a traceback in a file, and nothing but a verdict is 1.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path
    for folder in ("audit", "benchmarks", "controller", "docs", "emulator", "protocol", "verification")
    for path in (ROOT / folder).rglob("*.py")
    if '\nif __name__ == "__main__":' in path.read_text(encoding="utf-8")
)
BROKEN = """
import runpy, sys
from pathlib import Path
def fails(self, *args, **kwargs):
    raise ValueError("made to fail")
Path.mkdir = Path.write_bytes = Path.write_text = fails
sys.argv = ["x", "DIRECTORY"]
runpy.run_module("benchmarks.synthetic_run", run_name="__main__")
"""


def test_there_are_programs() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in PROGRAMS}
    assert {"verification/seeds.py", "verification/soak/__main__.py", "audit/class_archive.py"} <= names


@pytest.mark.parametrize("path", PROGRAMS, ids=[path.relative_to(ROOT).as_posix() for path in PROGRAMS])
def test_a_program_ends_by_the_last_resort(path: Path) -> None:
    *body, last = ast.parse(path.read_text(encoding="utf-8")).body
    assert isinstance(last, ast.If)
    mains = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == "main"]
    nodes = [node for part in (last, *mains) for node in ast.walk(part)]
    called = [node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    assert "ended" in called, "sys.exit(ended(NAME, main))"


def test_a_bug_of_a_benchmark_is_70_and_its_traceback_is_in_a_file(tmp_path: Path) -> None:
    broken = BROKEN.replace("DIRECTORY", str(tmp_path / "run"))
    done = subprocess.run(
        [sys.executable, "-c", broken], cwd=ROOT, check=False, capture_output=True, encoding="utf-8",
        timeout=PATIENCE_S, env={"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 70, done
    [line] = done.stderr.splitlines()
    found = re.fullmatch(
        r"benchmarks\.synthetic_run: a bug of ours, ValueError: made to fail: its traceback is in (\S+); .*", line
    )
    assert found, line
    assert "made to fail" in Path(found[1]).read_text(encoding="utf-8")
