"""Any file that `scenarios check` accepts ends with 0 to 3.

A refusal has a line and a column.
"""

from pathlib import Path

import pytest

from emulator.cli.commands.scenarios import faults_of
from emulator.runs import simulated
from emulator.scenario.expectations import SUBJECTS
from emulator.scenario.load import KEYS as FILE_KEYS
from emulator.scenario.verbs import VERBS
from tests.generated_inputs import tallied
from tests.generated_scenarios import GOOD
from tests.input_outcomes import ENDINGS, REFUSED, outcome

CASES = 400
"""Each time; `python -m tests.generated_inputs` plays as many as wanted."""
RUN_MS_MAX = 60_000.0
HEAD = """id: x
title: x
kafka: [2.8]
topology: {brokers: 2, sessions: 1, clients: 2, azs: 2}
steps:
  - start: 0
  - start: 1
  - create-topic: {topic: t, assignment: [0, 1]}
"""


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "MAX_MS", RUN_MS_MAX)


def test_generated_files_are_refused_with_a_place_or_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = tallied("scenarios", range(CASES), tmp_path / "work")
    assert CASES - found[REFUSED] > CASES / 10 and found[0]


def test_each_key_of_the_grammar_has_a_usable_value_in_the_generator() -> None:
    keys = {key for verb in VERBS.values() for key in verb.keys} | set(FILE_KEYS)
    keys |= {key for subject in SUBJECTS.values() for key in subject}
    assert keys <= set(GOOD)


@pytest.mark.parametrize(
    "step",
    [
        "produce: {client: client-0, values: [a], acks: all, retries: 2147483647}",
        "produce: {client: client-0, values: [a], acks: all, timeout_ms: 2147483647}",
        "fetch: {broker: 0, offset: 4611686018427387904}",
        "commit: {group: " + "g" * 255 + ", limit_s: 5, offset: 4611686018427387904, leader_epoch: 2147483647}",
        "delay: {az: az-0, delay_ms: 0, jitter_ms: 1, expects_traffic: false}",
        "bandwidth: {az: az-0, bytes_per_s: 1, expects_traffic: false}",
        "reset: {az: az-0, every_ms: 1, expects_traffic: false}",
        "library-produce: {values: [a], settings: {acks: all, message.timeout.ms: 1000, retries: 2147483647}}",
    ],
)
def test_values_at_their_bounds_are_played(step: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(f"{HEAD}  - {step}\n", tmp_path) in ENDINGS
    assert "not played" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("step", "column", "message"),
    [
        ("produce: {broker: 0, values: [a], acks: 1, timeout_ms: 2147483648}", 60,
         "expected timeout_ms as a whole number, 0 to 2147483647, got 2147483648"),
        ("produce: {broker: 0, values: [a], acks: 1, retries: 2147483647}", 57,
         "expected retries as a whole number, 0 to 10000, got 2147483647"),
        ("produce: {broker: 0, values: [], acks: 1}", 34, "a produce has 1 to 10000 values, got 0"),
        ("fetch: {broker: 0, offset: 4611686018427387905}", 32,
         "expected offset as a whole number, 0 to 4611686018427387904, got 4611686018427387905"),
        ("consume: ''", 14, "expected a group's name of 1 to 255 characters, got 0"),
        ("consume: " + "g" * 256, 14, "expected a group's name of 1 to 255 characters, got 256"),
        ("delay: {az: az-0, delay_ms: 0}", 33, "a delay needs milliseconds above 0"),
        ("loss: {az: az-0, share: 1}", 29, "a loss is a share of frames above 0 and below 1, not 1"),
        ("bandwidth: {az: az-0, bytes_per_s: 0}", 40, "a bandwidth is at least 1 byte a second, not 0"),
        ("reset: {az: az-0, every_ms: 0.5}", 33, "a reset is every 1 ms to a day, not 0.5 ms"),
        ("reset: {az: az-0, only: fetch}", 12, "a reset ends whole connections, not frames of Fetch; name a purpose"),
        ("cut: {link: [az-0, session]}", 10, "session-0 is on both sides of az-0 and session"),
        ("kill: session", 11, "unknown node 'session'; nearest: session-0"),
        ('snapshot: "\\ud800"', 15, "'\\ud800' is no text: it has half of a surrogate pair"),
        ("library-produce: {values: [a], settings: {queue.buffering.max.ms: 1}}", 47,
         "unknown setting 'queue.buffering.max.ms'; nearest: reconnect.backoff.max.ms"),
        ("library-produce: {values: [a], settings: {acks: some}}", 53,
         "acks: producer.acks: expected one of 0, 1, -1, all, got 'some'"),
        ("sleep: " + "9" * 400, 12, f"expected seconds as a number, got '{'9' * 76}..."),
        ("wait: {until: new leader, limit_s: 1e400}", 40,
         "expected limit_s as a number, 0 to 2147483.647, got inf"),
    ],
)  # fmt: skip
def test_values_beyond_their_bounds_are_refused_at_their_place(
    step: str, column: int, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(f"{HEAD}  - {step}\n", encoding="utf-8")
    assert [(fault.line, fault.column, fault.message) for fault in faults_of(file)] == [(9, column, message)]


def test_settings_that_contradict_each_other_have_the_place_of_one_of_them(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(f"{HEAD}settings:\n  replica.fetch.wait.max.ms: 50000\n", encoding="utf-8")
    assert {(fault.line, fault.column) for fault in faults_of(file)} == {(10, 3)}


def test_bytes_that_are_no_text_have_a_place(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(b"id: x\ntitle: \xed\xa0\x80\n")
    assert [(fault.line, fault.column) for fault in faults_of(file)] == [(2, 8)]
