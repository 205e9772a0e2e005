"""A real process dies between two of its storage operations, restarts, and all is well."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from emulator.judging.crash_testing.crash_plan import drawn
from tests.patience import PATIENCE_S
from tests.punctual import skip_late_test
from tests.system.conftest import ROOT
from verification import kill_anywhere

TRIES = 3
SEED = 27
"""Of leader-crash: broker-1, which is to lead, is killed before its next storage operation."""

WATCHED = """
import sys
from pathlib import Path
from emulator.judging.crash_testing.crash_process import tell, watch
from emulator.storage.disk import DiskFiles

files, order = DiskFiles(sys.argv[1]), Path(sys.argv[2])
watch(files, order)
files.append("log", b"a")
tell(order, 2)
for byte in b"bcd":
    files.append("log", bytes([byte]))
"""


def test_a_process_dies_before_the_configured_operation(tmp_path: Path) -> None:
    """And its next life does not: the order died with it."""
    words = [sys.executable, "-c", WATCHED, str(tmp_path / "data"), str(tmp_path / "order")]
    assert subprocess.run(words, cwd=ROOT, check=False, timeout=PATIENCE_S).returncode == -signal.SIGKILL
    assert (tmp_path / "data" / "log").read_bytes() == b"abc"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.network
def test_a_death_over_the_network(tmp_path: Path) -> None:
    """A run whose timers were late is unknown, so it is played again; but not for ever."""
    plan = drawn(SEED, ("leader-crash",))
    assert plan.victim.startswith("broker") and plan.operations >= 0
    words = ["--world", "network", "--runs", "1", "--first", str(SEED), "--scenario", "leader-crash"]
    result = tmp_path / "result.json"
    for _ in range(TRIES):
        code = kill_anywhere.main([*words, "--results", str(result)])
        summary = msgspec.json.decode(result.read_bytes())
        if code == 0:
            assert summary["good"] == 1 and summary["deaths"] >= 1
            return
        assert code == 3, summary
    skip_late_test()
