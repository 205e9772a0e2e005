"""Files that cannot be read or written: one line that names the file, and code 2.

The code is 3 where the machine lacks room.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.system.conftest import COMMAND, ROOT

pytestmark = pytest.mark.slow

LEADER = "az-isolated-leader"
BOUND_BYTES = 16_384
"""Size limit of every file, as on a disk that fills up.

A larger file is cut off with an error of the operating system.
"""
UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Root may read everything; so it gives that right up."""

EACH = """
import contextlib, io, json, sys
from emulator.cli.app import main
told = []
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as end:
            told.append((end.code, out.getvalue(), err.getvalue()))
print(json.dumps(told))
"""

CLOSED = [
    ("settings.json", ("log", "--as-kafka", "broker-0", "--run", "RUN"),
     "faultline log: FILE: cannot be read: Permission denied"),
    ("scenario.yaml", ("sim", "FILE"), "faultline: FILE: Permission denied"),
    ("scenario.yaml", ("run", "FILE", "--world", "sim"), "faultline: FILE: Permission denied"),
    ("scenario.yaml", ("compare", "RUN", f"tests/golden/{LEADER}@2.6"),
     "faultline compare: FILE: cannot be read: Permission denied"),
    ("verdict.json", ("report", "RUN"), "faultline report: FILE: cannot be read: Permission denied"),
    ("events", ("explain", "RUN", "c"), "faultline: FILE: Permission denied"),
    ("events", ("compare", "RUN", "FILE"), "faultline compare: FILE: cannot be read: Permission denied"),
    ("events/broker-0.1.jsonl", ("sql", "RUN", "select 1 a"),
     "faultline sql: FILE: cannot be read: Permission denied"),
    ("own.py", ("audit", "RUN", "--check", "FILE"), "faultline audit: --check FILE: FILE: Permission denied"),
    ("events", ("sim", LEADER, "--seeds", "1", "--golden", "FILE"), f"faultline: FILE/{LEADER}@2.6: Permission denied"),
]  # fmt: skip
"""(what is closed, a command that needs it, what it says)"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated run. Each test has a copy of its own (`copy`)."""
    directory = tmp_path_factory.mktemp("unusable") / "run"
    subprocess.run([*COMMAND, "run", LEADER, "--world", "sim", "--out", directory], cwd=ROOT, check=True)
    return directory


def ended(
    given: list[tuple[str, ...]], cwd: Path, before: Callable[[], None] | None = None
) -> list[tuple[int, str, str]]:
    """(exit code, standard output, standard error) of each command.

    All run in one process that may not read everything.
    """
    rights = UNPRIVILEGED if os.geteuid() == 0 else ()
    done = subprocess.run(
        [*rights, sys.executable, "-c", EACH, json.dumps(given)], cwd=cwd, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, preexec_fn=before, check=True,
    )  # fmt: skip
    return [tuple(one) for one in json.loads(done.stdout)]


def bounded() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (BOUND_BYTES, BOUND_BYTES))


needs_rights_to_give_up = pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root reads everything, and there is no setpriv"
)


@needs_rights_to_give_up
def test_what_may_not_be_read_is_named(run: Path, tmp_path: Path) -> None:
    given, expected, closed = [], [], []
    for number, (file, words, message) in enumerate(CLOSED):
        copy = Path(shutil.copytree(run, tmp_path / str(number)))
        (copy / "own.py").touch()
        closed.append(copy / file)
        given.append(tuple(word.replace("FILE", str(copy / file)).replace("RUN", str(copy)) for word in words))
        expected.append((2, "", message.replace("FILE", str(copy / file)) + "\n"))
        closed[-1].chmod(0)
    try:
        assert ended(given, ROOT) == expected
    finally:
        for path in closed:
            path.chmod(0o700)


@needs_rights_to_give_up
def test_what_may_not_be_written_is_named(tmp_path: Path) -> None:
    place = tmp_path / "closed" / "new"
    place.parent.mkdir(mode=0o500)
    given: list[tuple[str, ...]] = [
        ("run", LEADER, "--world", "sim", "--out", str(place)),
        ("run", LEADER, "--out", str(place)),
        ("sim", LEADER, "--seeds", "1", "--out", str(place)),
        ("sim", LEADER, "--seeds", "1", "--junit", str(place)),
        ("up", "--out", str(place)),
    ]
    output = [
        (2, "", f"faultline {words[0]}: {words[-2]} {place}: {place.parent} is not writable\n") for words in given
    ]
    assert ended(given, ROOT) == output


def test_a_file_that_finds_no_room_is_named_and_an_older_one_stays(run: Path, tmp_path: Path) -> None:
    place, copy = tmp_path / "new", Path(shutil.copytree(run, tmp_path / "run"))
    report = copy / "report.html"
    report.write_text("older")
    given: list[tuple[str, ...]] = [
        ("run", LEADER, "--world", "sim", "--out", str(place)),
        ("sim", LEADER, "--seeds", "1", "--out", f"{place}-sim"),
        ("report", str(copy)),
    ]
    played, seeds, reported = ended(given, ROOT, bounded)
    assert played[:2] == (3, "")
    assert re.fullmatch(rf"faultline: {place}/events/[a-z0-9.-]+: File too large\n", played[2])
    assert seeds == (3, "", f"faultline: {place}-sim/1/observations.json: File too large\n")
    assert reported == (3, "", f"faultline report: {report}: cannot be written: File too large\n")
    assert report.read_text() == "older"
