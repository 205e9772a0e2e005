"""Bad input: one line with the place and the nearest valid thing, the right exit code.

No loss.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.conftest import GOLDEN, Faultline

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
VERSIONS = "0.8.2, 0.10.2, 0.11, 1.0, 1.1, 2.0.0, 2.0.1, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 3.0, "
VERSIONS += "3.1, 3.2, 3.3, 3.4, 3.5, 3.6, 3.7, 3.8, 3.9, 4.0, 4.1, 4.2, 4.3, 4.4"
LEADER = "az-isolated-leader"

RUN_CASES = [
    ((LEADER, "--set", "replica.lag.time.max=1"),
     "unknown setting 'replica.lag.time.max'; nearest: replica.lag.time.max.ms"),
    ((LEADER, "--seed", "-1"), "--seed -1: from 0 to 9223372036854775807"),
    ((LEADER, "--world", "sim", "--engine", "process", "--speed", "5"),
     "--engine, --speed: no effect on a simulated run; leave it out, or give --world network"),
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
     "consumer's; give producer:DIR/client.properties or consumer:DIR/client.properties"),
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
    (("scenarios", "check", "DIR/verb.yaml"), "DIR/verb.yaml:7:5: unknown verb 'strat'; nearest: start"),
    (("scenarios", "show", "az-isolated-leadr"),
     "faultline: no scenario or file 'az-isolated-leadr'; nearest: az-isolated-leader"),
    (("scenarios", "check", "DIR/contradicting.yaml"), "DIR/contradicting.yaml:7:12: on Kafka 2.6: settings: "
     "replica.fetch.wait.max.ms=50000 must not be more than replica.socket.timeout.ms=30000"),
    (("sim", LEADER, "--settings", "DIR/server.properties"), "faultline sim: "
     "DIR/server.properties:2: unknown setting 'log.retention.hour'; nearest: log.retention.hours"),
    (("settings", "log.retention.hour"),
     "faultline settings: unknown setting 'log.retention.hour'; nearest: log.retention.hours"),
    (("settings", "DIR/server.properties"), "faultline settings: "
     "DIR/server.properties:2: unknown setting 'log.retention.hour'; nearest: log.retention.hours"),
    (("sim", LEADER, "--seeds", "9..1"), "faultline sim: --seeds 9..1: the last is before the first"),
    (("sim", LEADER, "--seeds", "1..9999999"), "faultline sim: --seeds 1..9999999: more than 1000000 seeds"),
    (("sim", LEADER, "--set", "nonsense"), "faultline sim: 'nonsense': expected name=value"),
    (("sim", LEADER, "--seeds", "1..2", "--out", "DIR/full"),
     "faultline sim: DIR/full: is not empty; a run is written to a directory of its own"),
    (("sim", LEADER, "--seeds", "all"), "faultline sim: --seeds all: expected A..B, such as 1..200"),
    (("compare", "DIR/observed", GOLDEN / f"{LEADER}@2.6"),
     "faultline compare: DIR/observed/observations.json: format: expected 2 or 3, got 'nothing'"),
    (("compare", "DIR/nowhere", GOLDEN / f"{LEADER}@2.6"), "faultline compare: DIR/nowhere: no such file"),
    (("compare", GOLDEN / f"{LEADER}@2.6" / "1.json", GOLDEN / "az-isolated-leder@2.6"),
     f"faultline compare: {GOLDEN}/az-isolated-leder@2.6: no such file; nearest: {GOLDEN}/{LEADER}@2.6"),
    (("audit", "DIR/no-run"), "faultline audit: DIR/no-run: not a run, it has no folder events"),
    (("audit", "DIR/no-rum"), "faultline audit: DIR/no-rum: no such directory; nearest: DIR/no-run"),
    (("report", "DIR/no-run"), "faultline report: DIR/no-run: not a run, it has no folder events"),
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
    faultline_here: Faultline, folder: Path, tmp_path: Path, words: tuple[object, ...], message: str
) -> None:
    ended = faultline_here(*(str(word).replace("DIR", str(folder)) for word in words))
    assert (ended.code, ended.out) == (2, ""), str(ended)
    assert ended.err == message.replace("DIR", str(folder)) + "\n"
    assert not list(tmp_path.iterdir()), "nothing was begun"


@pytest.mark.parametrize("name", ["torn/observations.json", "broken.yaml", "key.yaml"])
def test_what_is_broken_in_the_middle_names_the_place(faultline_here: Faultline, folder: Path, name: str) -> None:
    path = folder / name
    words = ("run", path) if path.suffix == ".yaml" else ("compare", path, GOLDEN / f"{LEADER}@2.6")
    ended = faultline_here(*words)
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
def test_words_that_are_no_command_end_with_2(faultline_here: Faultline, words: tuple[str, ...], message: str) -> None:
    ended = faultline_here(*words)
    assert (ended.code, ended.out) == (2, ""), str(ended)
    assert ended.err.startswith(f"faultline: {message}") and ended.err.count("\n") == 1
