"""Place of a refused setting: in the scenario's file, or an option."""

from pathlib import Path

import pytest

from emulator.packaged import GOLDEN
from emulator.runs.resolve_named import resolve_named
from emulator.settings.setting_registry import UnusableSetting

SCENARIO = "id: x\ntitle: x\nkafka: [2.8]\nsettings: {replica.fetch.wait.max.ms: 20000, SECOND}\nsteps:\n  - start: 0\n"
RULE = "replica.fetch.wait.max.ms=20000 must not be more than replica.lag.time.max.ms=10000"


def test_a_rule_that_two_settings_of_a_file_break_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(SCENARIO.replace("SECOND", "replica.lag.time.max.ms: 10000"), encoding="utf-8")
    with pytest.raises(UnusableSetting) as raised:
        resolve_named(str(file))
    assert str(raised.value) == f"{file}:4:12: settings: {RULE}"


def test_a_rule_that_a_recording_breaks_names_its_file(tmp_path: Path) -> None:
    file = tmp_path / "1.json"
    recording = (GOLDEN / "az-isolated-leader@2.8" / "1.json").read_text(encoding="utf-8")
    given = '"settings": {"replica.fetch.wait.max.ms": 50000, "replica.socket.timeout.ms": 60000, '
    file.write_text(recording.replace('"settings": {', given, 1), encoding="utf-8")
    with pytest.raises(UnusableSetting) as raised:
        resolve_named(str(file))
    assert str(raised.value).startswith(f"{file}: settings: replica.fetch.wait.max.ms=50000 must not be more than")


def test_a_rule_that_the_command_line_breaks_names_the_option() -> None:
    given = {"replica.fetch.wait.max.ms": 20000, "replica.lag.time.max.ms": 10000}
    with pytest.raises(UnusableSetting) as raised:
        resolve_named("az-isolated-leader", "2.8", given)
    assert str(raised.value) == f"--set: {RULE}"


@pytest.mark.parametrize(
    ("settings", "step", "place"),
    [
        ("settings: {topic.segment.ms: 0}", "sleep: 1", "4:12: settings"),
        ("settings: {}", "create-topic: {topic: u, assignment: [[0]], settings: {segment.ms: 0}}", "8:60: topic u"),
        ("settings: {}", "alter-topic: {topic: t, settings: {segment.ms: 0}}", "8:40: alter-topic t"),
    ],
)  # fmt: skip
def test_a_value_that_this_version_refuses_names_its_line(tmp_path: Path, settings: str, step: str, place: str) -> None:
    """From 2.0 on, segment.ms is at least 1."""
    text = (
        f"id: x\ntitle: x\nkafka: [1.1, 2.8]\n{settings}\nsteps:\n  - start: 0\n"
        f"  - create-topic: {{topic: t, assignment: [[0]]}}\n  - {step}\n"
    )
    file = tmp_path / "x.yaml"
    file.write_text(text, encoding="utf-8")
    resolve_named(str(file), "1.1")
    with pytest.raises(UnusableSetting) as raised:
        resolve_named(str(file), "2.8")
    wrong = "topic.segment.ms: expected a whole number of ms, at least 1, got 0"
    assert str(raised.value) == f"{file}:{place}: {wrong}"
