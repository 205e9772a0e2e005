"""Bad input: one line that names the place and the nearest valid thing, the right exit code, nothing lost."""

from __future__ import annotations

import errno
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from emulator.runs.directory import prepare
from emulator.topology import three_azs
from emulator.world.network.cluster import Cluster
from emulator.world.network.ports import PortInUse
from emulator.world.network.spec import LOOPBACK
from protocol.framing import MAX_FRAME_BYTES
from tests.system.conftest import COMMAND, GOLDEN, ROOT, Faultline, run_command
from tests.system.runs import events_of, process_of, said, wait_until, was_late

HEAD = "id: x\ntitle: x\nkafka: [2.6]\nsteps:\n  - start: 0\n  - create-topic: {topic: t, assignment: [0]}\n"
FILES = {
    "verb.yaml": HEAD + "  - strat: 2\n",
    "node.yaml": HEAD + "  - start: broker-7\n",
    "value.yaml": HEAD + "  - produce: {broker: 0, values: [a], acks: al}\n",
    "key.yaml": HEAD + "  - produce: {broker: 0, value: [a], acks: all}\n",
    "condition.yaml": HEAD + "  - wait: new leadr\n",
    "contradicting.yaml": HEAD + "settings: {replica.fetch.wait.max.ms: 50000, replica.lag.time.max.ms: 60000}\n",
    "setting.yaml": HEAD + "settings: {replica.lag.time.max: 1}\n",
    "server.properties": "num.io.threads=4\nlog.retention.hour=1\n",
    "idempotent.properties": "enable.idempotence=true\nacks=1\n",
    "client.properties": "security.protocol=SSL\n",
    "broken.yaml": HEAD + "  - produce: {broker: 0\n",
    "full/something": "",
    "observed/observations.json": '{"scenario": 1}',
    "torn/observations.json": '{"format": 2, "scen',
    "no-run/readme.txt": "",
}
VERSIONS = "0.8.2, 0.10.2, 0.11, 1.0, 1.1, 2.0.0, 2.0.1, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8"
LEADER = "az-isolated-leader"

RUN_CASES = [
    ((LEADER, "--set", "replica.lag.time.max=1"),
     "unknown setting 'replica.lag.time.max'; nearest: replica.lag.time.max.ms"),
    ((LEADER, "--seed", "-1"), "--seed -1: from 0 to 9223372036854775807"),
    ((LEADER, "--world", "sim", "--engine", "process", "--speed", "5"),
     "--engine, --speed: nothing to a simulated run; leave it out, or give --world network"),
    ((LEADER, "--set", "replica.lag.time.max.ms"), "'replica.lag.time.max.ms': expected name=value"),
    ((LEADER, "--set", "replica.lag.time.max.ms=soon"),
     "replica.lag.time.max.ms: expected a whole number of ms, got 'soon'"),
    ((LEADER, "--set", "acks=all"), "unknown setting 'acks': it is a producer's; write producer.acks"),
    ((LEADER, "--set", "replica.lag.time.max.ms=100"),
     "--set: replica.fetch.wait.max.ms=500 must not be more than replica.lag.time.max.ms=100"),
    ((LEADER, "--settings", "DIR/nowhere.properties"),
     "--settings DIR/nowhere.properties: cannot be read: No such file or directory"),
    ((LEADER, "--settings", "DIR/server.properties"),
     "DIR/server.properties:2: unknown setting 'log.retention.hour'; nearest: log.retention.hours"),
    ((LEADER, "--settings", "producer:DIR/idempotent.properties"),
     "DIR/idempotent.properties:2 and DIR/idempotent.properties:1: enable.idempotence=true needs acks=all"),
    ((LEADER, "--settings", "DIR/client.properties"), "DIR/client.properties: its settings may be a producer's or a "
     "consumer's; say which: producer:DIR/client.properties or consumer:DIR/client.properties"),
    ((LEADER, "--set", "inter.broker.protocol.version=2.8"),
     "inter.broker.protocol.version 2.8 is newer than the binary 2.6"),
    ((LEADER, "--kafka-version", "2.66"), f"unknown Kafka version '2.66'; one of: {VERSIONS}"),
    (("az-isolated-leadr",), "no scenario or file 'az-isolated-leadr'; nearest: az-isolated-leader"),
    ((LEADER, "--speed", "0"), "--speed 0: from 0.1 to 100"),
    ((LEADER, "--speed", "1000"), "--speed 1000: from 0.1 to 100"),
    ((LEADER, "--out", "DIR/full"), "DIR/full: is not empty; a run is written to a directory of its own"),
    ((LEADER, "--world", "sim", "--out", "DIR/full"),
     "DIR/full: is not empty; a run is written to a directory of its own"),
    (("DIR/verb.yaml",), "DIR/verb.yaml:7:5: unknown verb 'strat'; nearest: start"),
    (("DIR/node.yaml",), "DIR/node.yaml:7:12: unknown node 'broker-7'; nearest: broker-2"),
    (("DIR/value.yaml",), "DIR/value.yaml:7:45: unknown acks 'al'; nearest: all"),
    (("DIR/setting.yaml",),
     "DIR/setting.yaml:7:12: unknown setting 'replica.lag.time.max'; nearest: replica.lag.time.max.ms"),
    (("DIR/condition.yaml",), "DIR/condition.yaml:7:11: unknown condition 'new leadr'; nearest: new leader"),
]  # fmt: skip
CASES = [
    *((("run", *words), f"faultline run: {message}") for words, message in RUN_CASES),
    (("scenarios", "check", "DIR/verb.yaml"), "faultline: DIR/verb.yaml:7:5: unknown verb 'strat'; nearest: start"),
    (("scenarios", "show", "az-isolated-leadr"),
     "faultline: no scenario or file 'az-isolated-leadr'; nearest: az-isolated-leader"),
    (("scenarios", "check", "DIR/contradicting.yaml"), "faultline: DIR/contradicting.yaml: on Kafka 2.6: settings: "
     "replica.fetch.wait.max.ms=50000 must not be more than replica.socket.timeout.ms=30000"),
    (("sim", LEADER, "--settings", "DIR/server.properties"), "faultline sim: "
     "DIR/server.properties:2: unknown setting 'log.retention.hour'; nearest: log.retention.hours"),
    (("settings", "log.retention.hour"),
     "faultline settings: unknown setting 'log.retention.hour'; nearest: log.retention.hours"),
    (("settings", "DIR/server.properties"), "faultline settings: "
     "DIR/server.properties:2: unknown setting 'log.retention.hour'; nearest: log.retention.hours"),
    (("sim", LEADER, "--seeds", "9..1"), "faultline sim: --seeds 9..1: the last is before the first"),
    (("sim", LEADER, "--seeds", "1..2", "--out", "DIR/full"),
     "faultline sim: DIR/full: is not empty; a run is written to a directory of its own"),
    (("sim", LEADER, "--seeds", "all"), "faultline sim: --seeds all: expected A..B, such as 1..200"),
    (("compare", "DIR/observed", GOLDEN / f"{LEADER}@2.6"),
     "faultline compare: DIR/observed/observations.json: format: expected 2, got 'nothing'"),
    (("compare", "DIR/nowhere", GOLDEN / f"{LEADER}@2.6"), "faultline compare: DIR/nowhere: no such file"),
    (("compare", GOLDEN / f"{LEADER}@2.6" / "1.json", GOLDEN / "az-isolated-leder@2.6"),
     f"faultline compare: {GOLDEN}/az-isolated-leder@2.6: no such file; nearest: {GOLDEN}/{LEADER}@2.6"),
    (("audit", "DIR/no-run"), "DIR/no-run: not a run, it has no folder events"),
    (("audit", "DIR/no-rum"), "DIR/no-rum: no such directory; nearest: DIR/no-run"),
    (("report", "DIR/no-run"), "DIR/no-run: not a run, it has no folder events"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has FILES; `DIR` stands for it."""
    directory = tmp_path_factory.mktemp("bad")
    for name, text in FILES.items():
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return directory


@pytest.mark.parametrize(("words", "message"), CASES, ids=[" ".join(map(str, words))[-60:] for words, _ in CASES])
def test_bad_input_is_one_line_and_code_2(
    faultline: Faultline, folder: Path, words: tuple[object, ...], message: str
) -> None:
    before = sorted(ROOT.iterdir())
    ended = faultline(*(str(word).replace("DIR", str(folder)) for word in words))
    assert (ended.code, ended.out) == (2, ""), str(ended)
    assert ended.err == message.replace("DIR", str(folder)) + "\n"
    assert sorted(ROOT.iterdir()) == before, "nothing was begun"


@pytest.mark.parametrize("name", ["torn/observations.json", "broken.yaml", "key.yaml"])
def test_what_is_broken_in_the_middle_names_the_place(faultline: Faultline, folder: Path, name: str) -> None:
    path = folder / name
    words = ("run", path) if path.suffix == ".yaml" else ("compare", path, GOLDEN / f"{LEADER}@2.6")
    ended = faultline(*words)
    assert (ended.code, ended.out) == (2, ""), str(ended)
    assert ended.err.startswith(f"faultline {words[0]}: {path}:")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("frobnicate",), 'Unknown command "frobnicate". Available commands: '),
        (("run",), 'Command "run" parameter SCENARIO requires an argument.'),
        (("run", LEADER, "--world", "simm"), 'Invalid value "simm" for --world. Choose from: "network", "sim".'),
        (("run", LEADER, "--nonsense"), "Unknown option: --nonsense."),
        (("run", LEADER, "--seed", "y"), 'Invalid value for --seed: unable to convert "y" into int.'),
    ],
)
def test_words_that_are_no_command_end_with_2(faultline: Faultline, words: tuple[str, ...], message: str) -> None:
    ended = faultline(*words)
    assert (ended.code, ended.out) == (2, ""), str(ended)
    assert ended.err.startswith(f"faultline: {message}") and ended.err.count("\n") == 1


@pytest.mark.network
def test_a_port_in_use_is_one_clear_error(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=f"^port {port} for session-1 is in use or not allowed: "):
            Cluster(tmp_path, three_azs(), {}, ports={"session-1": port})


# --- frames and events, in one audit ---

FRAMES = {
    "truncated": struct.pack(">I", 100) + b"\x95\x00",
    "oversized": struct.pack(">I", MAX_FRAME_BYTES + 1),
    "not msgpack": struct.pack(">I", 3) + b"\xc1\xc1\xc1",
    "another protocol": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
}
BROKEN = ("{", '{"format":1,"event":"node_fell_over","node":"broker-0","incarnation":1,"seq":1,"at_ms":1.0}', '"text"')


def knock(port: int, data: bytes) -> bytes:
    """What comes back until the node has closed the connection: it may do so before we have said that we are done."""
    with socket.create_connection((LOOPBACK, port), timeout=10) as sock:
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
            wait_until(run.parent, lambda: said(run, "operation_ended", outcome="ok"))
            leader = process_of(run, "broker-0", psutil.Process(running.pid))
            [port] = {at.laddr.port for at in leader.net_connections("tcp") if at.status == psutil.CONN_LISTEN}
            for data in FRAMES.values():
                assert knock(port, data) == b""
            out, _ = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 0, out


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Path, dict[str, Any]]]]:
    """{which: (its directory, its verdict)}, of one `faultline audit`."""
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
    ended = run_command("audit", *runs.values(), "--json")
    assert ended.code == 3, str(ended)
    verdicts = msgspec.json.decode(ended.out)
    yield {name: (run, verdict) for (name, run), verdict in zip(runs.items(), verdicts, strict=True)}


@pytest.mark.network
@pytest.mark.spark
def test_bad_frames_cost_their_sender_the_connection_and_nobody_else_anything(
    audited: dict[str, tuple[Path, dict[str, Any]]],
) -> None:
    run, verdict = audited["frames"]
    refused = [event["reason"] for event in events_of(run, "frame_refused") if event["node"] == "broker-0"]
    assert len(refused) == len(FRAMES), refused
    assert verdict["valid"] is True or was_late(run), verdict["unknown_because"]
    assert not any("died" in reason or "ended by itself" in reason for reason in verdict["unknown_because"])
    compared = run_command("compare", run, GOLDEN / "az-isolated-follower@2.6")
    assert compared.code == 0 or was_late(run), str(compared)


@pytest.mark.network
@pytest.mark.spark
def test_broken_lines_are_counted_kept_and_make_the_verdict_unknown(
    audited: dict[str, tuple[Path, dict[str, Any]]],
) -> None:
    assert audited["clean"][1]["valid"] is True, "the same run without them"
    run, verdict = audited["broken"]
    assert verdict["valid"] == "unknown"
    assert verdict["quarantine"]["lines"] == len(BROKEN)
    [reason] = verdict["unknown_because"]
    assert reason.startswith(f"{len(BROKEN)} lines are no events (") and reason.endswith("in quarantine.jsonl")
    kept = [msgspec.json.decode(line) for line in (run / "quarantine.jsonl").read_bytes().splitlines()]
    assert sorted(line["line"] for line in kept) == sorted(BROKEN)
    assert {line["file"] for line in kept} == {"broker-0.1.jsonl"}
    assert verdict["checks"]["lost-acknowledged"] == audited["clean"][1]["checks"]["lost-acknowledged"], "nothing lost"


@pytest.mark.network
@pytest.mark.spark
def test_a_run_without_events_is_unknown(audited: dict[str, tuple[Path, dict[str, Any]]]) -> None:
    _, verdict = audited["empty"]
    assert verdict["valid"] == "unknown"
    assert "the run has no events" in verdict["unknown_because"]
