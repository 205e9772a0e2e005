"""No process, port or cluster.json outlives a cluster, however it begins or ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest

from emulator.cluster.cluster_registry import CLUSTER_FILE, Found, registered
from emulator.cluster.control_requests import LinkFault, Machine
from emulator.cluster.specification import read_specification
from emulator.faults.link_words import parse
from tests.live.conftest import Live
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network

COMMAND = (sys.executable, "-m", "emulator")


class Ran(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str


def faultline(*words: str, limit_s: float = PATIENCE_S) -> Ran:
    done = subprocess.run(
        [*COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s, check=False
    )
    assert "Traceback" not in done.stdout + done.stderr, done
    return Ran(done.returncode, done.stdout, done.stderr)


def test_a_broker_that_ends_at_its_start_is_not_waited_for(home: Path) -> None:
    """It waits 1 ms for a session service, which has yet to elect its leader."""
    up = faultline("up", "--set", "zookeeper.connection.timeout.ms=1")
    assert up.code == 2
    assert "has ended: no session service within 1 ms (zookeeper.connection.timeout.ms)" in up.err
    assert not [*home.rglob(CLUSTER_FILE)]


def test_the_commands_from_up_to_down(home: Path) -> None:
    (home / "server.properties").write_text(
        "num.network.threads=5\nlog.retention.hours=24\nlisteners=PLAINTEXT://:9092\n"
    )
    (home / "producer.properties").write_text("acks=1\nlinger.ms=3\nclient.id=me\n")
    (home / "topic.properties").write_text("min.insync.replicas=2\nfile.delete.delay.ms=9\n")
    files = [word for kind in ("server", "producer", "topic") for word in ("--settings", f"{kind}.properties")]
    once = ("--set", "zookeeper.session.timeout.ms=60000")
    up = faultline("up", "--json", "--speed", "5", "--name", "mine", *once, *files)
    assert up.code == 0, up
    reported = msgspec.json.decode(up.out)["settings"]
    assert [one["name"] for one in reported["not_modelled"]] == ["log.retention.hours"]
    assert [one["name"] for one in reported["set_here"]] == ["listeners"]
    assert {"num.network.threads", "producer.client.id"} <= set(reported["without_bearing"])
    assert {one["value"] for one in reported["in_force"]} == {20_000}
    assert "warning: zookeeper.session.timeout.ms=60000 is in force as 20000" in up.err
    live = Live(_found(Path(msgspec.json.decode(up.out)["run"])))
    spec = read_specification(live.directory)
    assert spec.topics == {"min.insync.replicas": 2} and spec.producers == {"acks": "1", "linger.ms": 3}
    ports = live.ports()
    assert len(ports) >= 10  # nine nodes and the control server
    assert faultline("topic", "create", "t", "--assignment", "0,1,2").code == 0
    assert faultline("produce", "t", "a", "b", "--acks", "all").out.splitlines() == [
        "a: acknowledged by broker-0 at offset 0",
        "b: acknowledged by broker-0 at offset 1",
    ]
    cut = faultline("cut", "broker-0", "->", "broker-1", "--only", "fetch", "--json")
    assert cut.code == 0, cut
    (applied,) = msgspec.json.decode(cut.out)["applied"]
    assert applied["rule"].startswith("cut broker-0 -> broker-1 (frames of Fetch")
    held = faultline("hold", "opened_by", "client-0", "to", "broker-2")
    assert held.code == 0 and "still in force" in held.out and "in force after" in held.out
    assert faultline("release").out.startswith("rule-2: healed after ")
    assert faultline("heal", "broker-1", "broker-0").code == 0
    assert faultline("heal").out == "nothing was in force\n"
    status = msgspec.json.decode(faultline("status", "--json").out)
    assert {node["alive"] for node in status["nodes"].values()} == {True}
    assert set(status) >= {"nodes", "partitions", "faults"}
    assert faultline("consume", "t").out.splitlines()[:2] == ["0\t0\ta", "1\t0\tb"]
    log = faultline("log", "broker-0", "t-0", "--json")
    assert log.code == 0 and len(msgspec.json.decode(log.out)["replicas"]) == 3

    unusable = {
        ("cut", "az-0", "--onyl", "fetch"): "did you mean --only?",
        ("heal", "az-1"): "no rule on az-1 is in force",
        ("kill", "brokre-0"): "did you mean broker-0?",
        ("produce", "tt", "x"): "did you mean t?",
        ("produce", "t", "x", "--acks", "2"): "one of 0, 1, -1, all",
        ("topic", "create", "t", "--assignment", "0,1"): "topic t exists already",
        ("status", "--cluster", "mien"): "nearest: mine",
        ("up", "--name", "mine"): "cluster mine: already runs",
        ("up", "three-as"): "nearest: three-az",
        ("up", "--set", "zookeeper.session.timeout=1"): "nearest: zookeeper.session.timeout.ms",
        ("up", "--settings", "none.properties"): "--settings none.properties: cannot be read",
        ("topic", "create", "u", "--settings", "producer.properties"): "no topic setting in it",
        ("workload", "start", "t", "--set", "foo=1"): "'foo' is not a setting of a producer",
        ("workload", "start", "t", "--rate", "0"): "0 records per second; allowed are more than 0",
        ("workload", "start", "t", "--set", "linger.ms=soon"): "producer.linger.ms: expected a whole number of ms",
    }
    for words, why in unusable.items():
        ran = faultline(*words)
        assert ran.code == 2 and why in ran.err and len(ran.err.splitlines()) == 1, (words, ran)

    # Nothing of what was refused has begun, not even to end at once.
    assert msgspec.json.decode(faultline("workload", "status", "--json").out)["clients"] == {}

    live.look()
    assert faultline("down").code == 0
    live.assert_nothing_left(ports)
    assert (again := faultline("down")).code == 0 and again.out == "no cluster runs\n"
    assert faultline("status").code == 2


def _found(directory: Path) -> Found:
    found = registered(directory)
    assert found is not None and found.running
    return found


def test_two_clusters_stand_side_by_side(up: Callable[..., Live]) -> None:
    one, two = up("one"), up("two")
    assert not set(one.ports()) & set(two.ports())
    which = faultline("status")
    assert which.code == 2 and "several clusters run: one, two; choose one with --cluster NAME" in which.err
    assert faultline("cut", "az-0", "--cluster", "two").code == 0
    assert one.status()["faults"] == [] and len(two.status()["faults"]) == 1
    ports = one.ports()
    assert faultline("down", "--cluster", "one").code == 0
    one.assert_nothing_left(ports)
    assert two.status()["cluster"]["ready"] is True or two.status()["cluster"]["lacking"]
    assert faultline("down", "--all").code == 0


def test_down_cleans_up_after_a_supervisor_that_was_killed(up: Callable[..., Live]) -> None:
    live = up()
    live.did(Machine("pause", "broker-0"))
    live.did(LinkFault(parse(["cut", "az-1"])))
    live.look()
    ports = live.ports()
    live.supervisor.kill()
    psutil.wait_procs([live.supervisor], 5.0)
    assert (live.directory / CLUSTER_FILE).exists()
    assert faultline("status").code == 2
    down = faultline("down")
    assert down.code == 0 and "had been killed; cleaned up" in down.out
    live.assert_nothing_left(ports)


def test_down_ends_a_cluster_that_does_not_answer(up: Callable[..., Live], monkeypatch: pytest.MonkeyPatch) -> None:
    live = up()
    live.look()
    ports = live.ports()
    live.supervisor.send_signal(signal.SIGSTOP)
    status = faultline("status")
    assert status.code == 3 and "did not answer within" in status.err
    for limit in ("OWN_TIME_S", "TERM_TIME_S"):
        monkeypatch.setattr(f"emulator.cluster.ending.{limit}", 0.2)
    assert live.down().how == "killed"
    live.assert_nothing_left(ports)


def test_sigterm_is_down(up: Callable[..., Live]) -> None:
    live = up()
    live.look()
    ports = live.ports()
    live.supervisor.terminate()
    psutil.wait_procs([live.supervisor], 10.0)
    live.assert_nothing_left(ports)
    assert {e["event"] for e in live.events("broker-0", 1)} >= {"node_stopped"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("when", ["before the control server is open", "before it is ready"])
def test_an_up_that_is_interrupted_leaves_nothing(home: Path, number: int, when: str) -> None:
    process = subprocess.Popen(
        [*COMMAND, "up", "--out", "run"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        me = psutil.Process(process.pid)
        family: set[psutil.Process] = set()
        mark = Path("run") / (CLUSTER_FILE if when == "before it is ready" else "supervisor.log")
        while not mark.exists():
            assert process.poll() is None
        while not family:
            family |= set(me.children(recursive=True))
        os.kill(process.pid, number)
        family |= {one for one in family if one.is_running() for one in one.children(recursive=True)}
        _, err = process.communicate(timeout=PATIENCE_S)
        if number == signal.SIGINT:
            assert process.returncode == 130 and b"interrupted" in err
        _, left = psutil.wait_procs(family, 15.0)
        assert not left
        assert not (Path("run") / CLUSTER_FILE).exists()
    finally:
        process.kill()
        process.wait()
