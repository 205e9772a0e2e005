"""Later settings of a live cluster that are not modelled.

Reported at once, audits are unknown.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from audit.expected import expected_of
from emulator.cluster.control_requests import AlterBroker, AlterTopic, CreateTopic, Machine
from emulator.cluster.setting_warnings import SettingWarnings
from emulator.machines.node.specs import RunSpec
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.settings.setting import BROKER, TOPIC
from tests.ids import brokers
from tests.live.conftest import Live

COMPACT = "not modelled: topic.cleanup.policy=compact (topic t) could change "


@pytest.fixture(scope="module")
def spec() -> RunSpec:
    return resolve(find_scenario("az-isolated-leader"), "2.6").spec


@pytest.mark.network
def test_what_is_given_to_a_live_cluster(up: Callable[..., Live]) -> None:
    live = up()
    output = live.did(CreateTopic("t", [list(brokers(0, 1))], settings={"cleanup.policy": "compact", "flush.ms": 9}))[
        "said"
    ]
    assert len(output) == 1 and output[0].startswith(COMPACT)
    assert "said" not in live.did(AlterTopic("t", {"min.insync.replicas": 2}))
    live.did(AlterTopic("t", {"retention.ms": 1}))
    live.did(AlterBroker(settings={"log.retention.ms": 2, "background.threads": 9}))
    live.did(Machine("stop", "broker-2"))
    live.did(Machine("start", "broker-2", settings={"log.retention.ms": 3}))
    reported = expected_of(live.directory).account
    assert {(one.name, one.value, one.where) for one in reported.not_modelled} >= {
        ("topic.cleanup.policy", "compact", "topic t"),
        ("topic.retention.ms", 1, "topic alter t"),
        ("log.retention.ms", 2, "broker alter all"),
    }
    assert any(one.value == 3 for one in reported.not_modelled)
    assert reported.doubts_about("lost-acknowledged", 60_000.0)


def test_each_thing_is_reported_of_the_run_once(spec: RunSpec, tmp_path: Path) -> None:
    reported = SettingWarnings(tmp_path, spec)
    for _ in range(2):
        result = reported.with_warnings({"topic": "t"}, TOPIC, {"cleanup.policy": "compact"}, "topic t")
        assert result["topic"] == "t" and len(result["said"]) == 1
    assert len(json.loads((tmp_path / "settings.json").read_text())["settings"]["not_modelled"]) == 1


def test_other_contents_of_settings_json_stay(spec: RunSpec, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"world": "network", "speed": 2, "settings": {"passed_on": ["x"]}}')
    SettingWarnings(tmp_path, spec).with_warnings({}, BROKER, {"log.retention.ms": 2}, "broker alter all")
    written = json.loads((tmp_path / "settings.json").read_text())
    assert (written["world"], written["speed"], written["settings"]["passed_on"]) == ("network", 2, ["x"])
    assert [one["name"] for one in written["settings"]["not_modelled"]] == ["log.retention.ms"]


@pytest.mark.parametrize("content", ["{", "[]", '{"settings": 1}'])
def test_an_unreadable_file_is_reported_and_stays(content: str, spec: RunSpec, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(content)
    warnings = SettingWarnings(tmp_path, spec)
    output = warnings.with_warnings({}, BROKER, {"log.retention.ms": 2}, "broker alter all")["said"]
    assert output[-1].startswith(f"warning: audits cannot read it: {file}: ")
    assert file.read_text() == content
