"""The Spark server that commands share: started once, found again, ended when idle, private."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from audit import warm_spark
from audit.spark_java import SparkNotStarted
from audit.spark_keeper import SERVER_FILE, Server
from audit.warm_spark import AT_ONCE_MAX, hold, is_running, is_wanted, own_folder, running, server_of, stop, used
from tests.audit.trace import dual_leader
from tests.patience import PATIENCE_S

AT_ONCE_S = 0.2
COMMANDS = 64
NOT_OURS = """
import sys
from audit.spark_session import SparkFailed
from audit.warm_spark import remote_session
try:
    with remote_session(sys.argv[1]) as spark:
        print(spark.range(3).count())
except SparkFailed as failed:
    print(failed)
"""
USES = """
import sys
from pathlib import Path
from audit.spark_keeper import Launch
from audit.warm_spark import used
with used(Path(sys.argv[1]), Launch(idle_s=float(sys.argv[2]))) as server:
    print(server.java_pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A user's folder, whose servers end with the module."""
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("state")
        patch.setenv("XDG_STATE_HOME", str(place))
        patch.setenv(warm_spark.CHOICE, "warm")
        patch.delenv("CI", raising=False)
        yield place
        for folder, _ in running():
            stop(folder)


@pytest.fixture(scope="module")
def shared(home: Path) -> Server:
    """The server of this installation."""
    with used(own_folder()) as server:
        return server


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for a server of one test."""
    yield tmp_path
    stop(tmp_path)


def ends(pid: int) -> None:
    psutil.Process(pid).wait(PATIENCE_S) if psutil.pid_exists(pid) else None


def command(*words: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-m", "emulator", *words]
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


@pytest.mark.spark
def test_a_command_leaves_a_server_that_the_next_finds(shared: Server, tmp_path: Path) -> None:
    run = dual_leader().write(tmp_path)
    shown = json.loads(command("spark", "--json").stdout)
    assert [one["pid"] for one in shown] == [shared.java_pid]
    warm, cold = (json.loads(command("audit", str(run), "--json", *how).stdout) for how in ((), ("--cold",)))
    for verdict in (warm, cold):
        del verdict["measures"]["audit_s"]
    assert warm == cold
    counted = command("sql", str(run), "SELECT count(*) AS events FROM events WHERE event = 'role_changed'", "--json")
    assert json.loads(counted.stdout)[0]["events"] > 0
    assert [server for _, server in running()] == [shared]
    assert is_running()


@pytest.mark.spark
def test_only_its_user_can_reach_it(shared: Server) -> None:
    folder = own_folder()
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / SERVER_FILE).stat().st_mode) == 0o600
    java = psutil.Process(shared.java_pid)
    listening = {one.laddr.ip for one in java.net_connections() if one.status == psutil.CONN_LISTEN}
    assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}
    assert not any(shared.token in word for word in java.cmdline())
    refused = subprocess.run(
        [sys.executable, "-c", NOT_OURS, f"sc://localhost:{shared.port}/;token=another"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "UNAUTHENTICATED" in refused.stdout.upper(), refused


@pytest.mark.spark
def test_commands_of_one_moment_start_one_server(folder: Path) -> None:
    def use(_: int) -> int:
        with used(folder) as server:
            return server.java_pid

    with ThreadPoolExecutor(COMMANDS) as pool:
        assert len(set(pool.map(use, range(COMMANDS)))) == 1
    assert len([*folder.glob("turn-*")]) == AT_ONCE_MAX


@pytest.mark.spark
def test_it_ends_when_the_last_user_was_killed(folder: Path) -> None:
    words = [sys.executable, "-c", USES, str(folder), str(AT_ONCE_S)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout is not None
        java_pid = int(user.stdout.readline())
        server = server_of(folder)
        assert server is not None
        with pytest.raises(psutil.TimeoutExpired):
            psutil.Process(java_pid).wait(20 * AT_ONCE_S)
        user.kill()
    ends(server.keeper.pid)
    ends(java_pid)
    assert not (folder / SERVER_FILE).exists() and not (folder / "tmp").exists()


@pytest.mark.spark
@pytest.mark.parametrize("killed", ["keeper", "java"])
def test_after_a_kill_the_next_command_starts_another(killed: str, folder: Path) -> None:
    with used(folder) as server:
        os.kill(server.keeper.pid if killed == "keeper" else server.java_pid, signal.SIGKILL)
        ends(server.java_pid)
        ends(server.keeper.pid)
        assert server_of(folder) is None
    with used(folder) as another:
        assert another.java_pid != server.java_pid
    assert stop(folder) and not stop(folder)
    assert not psutil.pid_exists(another.java_pid)


@pytest.mark.spark
def test_the_session_of_the_tests_ends_it(home: Path, shared: Server) -> None:
    with ExitStack() as stack:
        hold(stack)
        assert server_of(own_folder()) == shared
    ends(shared.keeper.pid)
    ends(shared.java_pid)
    assert not running()


def test_a_server_that_does_not_start_says_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    problem = r"Spark's server did not start \(code 1\)\. It printed nothing\."
    with pytest.raises(SparkNotStarted, match=problem), used(folder):
        pass


@pytest.mark.parametrize(
    "text", ["", "{}", '{"keeper": 1}', "[" * 10_000, "\xff"], ids=["empty", "object", "number", "deep", "no UTF-8"]
)
def test_a_broken_file_is_no_server(text: str, folder: Path) -> None:
    (folder / SERVER_FILE).write_text(text, encoding="latin-1")
    assert server_of(folder) is None


def test_the_environment_chooses() -> None:
    assert is_wanted({}) and is_wanted({warm_spark.CHOICE: "warm"}) and not is_wanted({warm_spark.CHOICE: "cold"})
    with pytest.raises(SparkNotStarted, match="FAULTLINE_SPARK=hot: no such choice; expected warm or cold"):
        is_wanted({warm_spark.CHOICE: "hot"})
