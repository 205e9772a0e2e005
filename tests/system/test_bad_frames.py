"""Bad frames cost their sender its connection, bad lines make a verdict unknown, no more."""

from __future__ import annotations

import errno
import shutil
import socket
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import pytest

from emulator.runs.directory import prepare
from emulator.topology import three_azs
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.ports import PortInUse
from emulator.worlds.network.spec import LOOPBACK
from protocol.framing import MAX_FRAME_BYTES
from tests.patience import PATIENCE_S
from tests.system.conftest import COMMAND, GOLDEN, ROOT, run_command
from tests.system.runs import audited, events_of, has_event, process_of, wait_until, was_late

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEADER = "az-isolated-leader"
FRAMES = {
    "truncated": struct.pack(">I", 100) + b"\x95\x00",
    "oversized": struct.pack(">I", MAX_FRAME_BYTES + 1),
    "not msgpack": struct.pack(">I", 3) + b"\xc1\xc1\xc1",
    "another protocol": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
}
BROKEN = ("{", '{"format":1,"event":"node_fell_over","node":"broker-0","incarnation":1,"seq":1,"at_ms":1.0}', '"text"')


def knock(port: int, data: bytes) -> bytes:
    """The bytes that come back until the node closes the connection.

    It may close before our end of the data.
    """
    with socket.create_connection((LOOPBACK, port), timeout=PATIENCE_S) as sock:
        sock.sendall(data)
        try:
            sock.shutdown(socket.SHUT_WR)
            return sock.recv(1)
        except OSError as error:
            assert error.errno in (errno.ECONNRESET, errno.ENOTCONN), error
            return b""


def played_under_bad_frames(run: Path) -> None:
    words = [*COMMAND, "run", "az-isolated-follower", "--audit", "none", "--out", str(run)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        try:
            wait_until(run.parent, lambda: has_event(run, "operation_ended", outcome="ok"))
            leader = process_of(run, "broker-0", psutil.Process(running.pid))
            [port] = {at.laddr.port for at in leader.net_connections("tcp") if at.status == psutil.CONN_LISTEN}
            for data in FRAMES.values():
                assert knock(port, data) == b""
            out, _ = running.communicate(timeout=PATIENCE_S)
        finally:
            running.kill()
    assert running.returncode == 0, out


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> dict[str, tuple[Path, dict[str, Any]]]:
    """{which: (its directory, its verdict)}, of one audit."""
    folder = tmp_path_factory.mktemp("runs")
    runs = {name: folder / name for name in ("frames", "clean", "broken", "empty")}
    played_under_bad_frames(runs["frames"])
    simulated = run_command("run", LEADER, "--world", "sim", "--out", runs["clean"])
    assert simulated.code == 0, str(simulated)
    shutil.copytree(runs["clean"], runs["broken"])
    with (runs["broken"] / "events" / "broker-0.1.jsonl").open("a") as file:
        file.writelines(f"{line}\n" for line in BROKEN)
    prepare(runs["empty"])
    (runs["empty"] / "events").mkdir()
    (runs["empty"] / "events" / "broker-0.1.jsonl").touch()
    verdicts = audited(spark, list(runs.values()), folder / "scratch")
    return {name: (run, verdict) for (name, run), verdict in zip(runs.items(), verdicts, strict=True)}


@pytest.mark.network
@pytest.mark.spark
def test_bad_frames_cost_their_sender_the_connection_and_affect_no_other(
    judged: dict[str, tuple[Path, dict[str, Any]]],
) -> None:
    run, verdict = judged["frames"]
    refused = [event["reason"] for event in events_of(run, "frame_refused") if event["node"] == "broker-0"]
    assert len(refused) == len(FRAMES), refused
    assert verdict["valid"] is True or was_late(run), verdict["unknown_because"]
    assert not any("died" in reason or "ended by itself" in reason for reason in verdict["unknown_because"])
    compared = run_command("compare", run, GOLDEN / "az-isolated-follower@2.6")
    assert compared.code == 0 or was_late(run), str(compared)


@pytest.mark.network
@pytest.mark.spark
def test_broken_lines_are_counted_kept_and_make_the_verdict_unknown(
    judged: dict[str, tuple[Path, dict[str, Any]]],
) -> None:
    assert judged["clean"][1]["valid"] is True, "the same run without them"
    run, verdict = judged["broken"]
    assert verdict["valid"] == "unknown"
    assert verdict["quarantine"]["lines"] == len(BROKEN)
    [reason] = verdict["unknown_because"]
    assert reason.startswith(f"{len(BROKEN)} lines are no events (") and reason.endswith("in quarantine.jsonl")
    kept = [msgspec.json.decode(line) for line in (run / "quarantine.jsonl").read_bytes().splitlines()]
    assert sorted(line["line"] for line in kept) == sorted(BROKEN)
    assert {line["file"] for line in kept} == {"broker-0.1.jsonl"}
    lost, clean = (judged[which][1]["checks"]["lost-acknowledged"] for which in ("broken", "clean"))
    assert lost == clean | {"reason": f"{reason}, and with it this might be no violation"}, "nothing lost"


@pytest.mark.network
@pytest.mark.spark
def test_a_run_without_events_is_unknown(judged: dict[str, tuple[Path, dict[str, Any]]]) -> None:
    _, verdict = judged["empty"]
    assert verdict["valid"] == "unknown"
    assert "the run has no events" in verdict["unknown_because"]


@pytest.mark.network
def test_a_port_in_use_is_one_clear_error(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=f"^port {port} for session-1 is in use or not allowed: "):
            Cluster(tmp_path, three_azs(), {}, ports={"session-1": port})
