"""Every old name of the table is accepted on its surfaces, with one notice of the new name."""

import json
import warnings
from typing import Any

import pytest
import trio

from emulator.cli.app import app
from emulator.cli.old_arguments import current_arguments
from emulator.cluster.control_requests import Answer
from emulator.cluster.http.replying import reply_to
from emulator.cluster.http.request_parsing import read_request
from emulator.old_names import RENAMED, OldName, Renamed, as_recorded
from emulator.packaged import SCENARIOS
from emulator.scenario.load import load_scenario
from emulator.scenario.parameters import with_parameters
from emulator.scenario.verbs import VERBS
from emulator.scenario.write import written
from faultline.async_cluster import AsyncCluster

HEAD = "id: it\ntitle: t\nsettings: {log.dirs: 'd0,d1'}\nsteps:\n  - start: [0, 1, 2]\n"
TOPIC = "  - create-topic: {topic: t, assignment: [0, 1, 2]}\n"
STEPS = {
    ("pause", ""): "pause: 3",
    ("pause-node", ""): "pause-node: 1",
    ("resume-node", ""): "pause-node: 1\n  - resume-node: 1",
    ("rate", "loss"): "loss: {az: 0, rate: 0.5}",
    ("takes_ms", "slow-disk"): "slow-disk: {node: 0, takes_ms: 3}",
    ("dir", "disk-full"): "disk-full: {node: 0, dir: d1}",
    ("dir", "disk-error"): "disk-error: {node: 0, dir: d1}",
    ("dir", "lose-disk"): "kill: 0\n  - lose-disk: {node: 0, dir: d1}",
    ("version", "start"): 'kill: 0\n  - start: {node: 0, version: "2.8"}',
    ("configs", "create-topic"): "create-topic: {topic: u, assignment: [0], configs: {flush.messages: 3}}",
    ("configs", "alter-topic"): "alter-topic: {topic: t, configs: {flush.messages: 3}}",
    ("configs", "alter-broker"): "alter-broker: {broker: 0, configs: {log.retention.ms: 3}}",
}
"""{(old name, verb of the key): steps that use it}."""
COMMANDS = {
    "release": ["release", "az-0"],
    "purposes": ["cut", "az-0", "--purposes", "fetcher"],
    "dir": ["disk-full", "broker-0", "--dir=d0"],
    "takes_ms": ["slow-disk", "broker-0", "--takes-ms", "3"],
    "keep": ["power-loss", "broker-0", "--keep", "3"],
    "unset": ["start", "broker-0", "--unset", "log.dirs"],
    "from_offset": ["consume", "t", "--from-offset", "3"],
    "max": ["consume", "t", "--max", "3"],
}
BODIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "purposes": ("POST", "/v1/faults", {"fault": "hold", "places": ["x"], "only": ["Fetch"], "purposes": ["session"]}),
    "dir": ("POST", "/v1/nodes/broker-0/disk-full", {"dir": "d0"}),
    "takes_ms": ("POST", "/v1/nodes/broker-0/slow-disk", {"takes_ms": 3}),
    "version": ("POST", "/v1/nodes/broker-0/start", {"version": "2.8"}),
    "removed": ("PATCH", "/v1/topics/t", {"removed": ["flush.messages"]}),
    "targets": ("POST", "/v1/reassignments", {"targets": {"t-0": [1]}}),
    "rate_per_s": ("POST", "/v1/workloads", {"name": "w", "topic": "t", "rate_per_s": 5}),
}


def of(surface: str) -> list[Renamed]:
    return [one for one in RENAMED if surface in one.surfaces]


def noticed(text: str) -> list[str]:
    lines: list[str] = []
    load_scenario(text, "it.yaml", lines.append)
    return lines


@pytest.mark.parametrize(("one", "verb"), [(one, verb) for one in of("scenario") for verb in one.of or ("",)])
def test_a_scenario_with_an_old_name_means_the_same_and_is_noticed_once(one: Renamed, verb: str) -> None:
    steps = STEPS[one.old, verb]
    text = f"{HEAD}{TOPIC}  - {steps}\n  - repeat: {{times: 2, steps: [heal]}}\n"
    lines = [line for line in noticed(text) if f"'{one.old}' is the old name of '{one.name}'" in line]
    (line,) = lines
    assert line.startswith("it.yaml:")
    scenario = load_scenario(text, "it.yaml")
    assert noticed(written(scenario)) == []
    assert load_scenario(written(scenario), "it.yaml") == scenario


def test_an_old_name_is_noticed_once_a_file_and_also_within_repeats() -> None:
    text = f"{HEAD}  - repeat: {{times: 2, steps: [pause: 1, {{pause: 2}}]}}\n  - pause: 3\n"
    (line,) = noticed(text)
    assert line.startswith("it.yaml:6:32: 'pause' is the old name of 'sleep'; write 'sleep', or 'pause: broker-N'")


def test_pause_with_nodes_is_no_old_name() -> None:
    assert noticed(f"{HEAD}  - pause: broker-1\n  - resume: 1\n  - pause: [0, 1]\n  - resume: [0, 1]\n") == []


def test_an_old_key_beside_the_new_one_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown key 'rate' in loss"):
        load_scenario(f"{HEAD}  - loss: {{az: 0, rate: 0.5, share: 0.5}}\n", "it.yaml")


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_scenario_has_no_old_name(path: Any) -> None:
    lines: list[str] = []
    load_scenario(path.read_text(encoding="utf-8"), path.name, lines.append)
    assert lines == []


@pytest.mark.parametrize(
    ("word", "expected"),
    [("pause=7", "sleep: 7"), ("pause#1=7", "sleep: 7"), ("loss.rate=0.1", "share: 0.1"), ("sleep.at_s=4", "at_s: 4")],
)
def test_a_parameter_with_an_old_name_finds_old_and_new_ones(word: str, expected: str) -> None:
    for verb, key in (("sleep", "share"), ("pause", "rate")):
        lines: list[str] = []
        text = with_parameters(f"{HEAD}  - {verb}: 3\n  - loss: {{az: 0, {key}: 0.5}}\n", [word], lines.append)
        assert len(lines) == (0 if word.startswith("sleep") else 1)
        assert expected.split(": ")[1] in text
        load_scenario(text, "it.yaml")


@pytest.mark.parametrize("one", of("command"), ids=lambda one: one.old)
def test_a_command_line_with_an_old_name_is_read_with_a_notice(one: Renamed) -> None:
    with pytest.warns(OldName, match="is the old name of"):
        words = current_arguments(COMMANDS[one.old])
    app.parse_args(words, exit_on_error=False, print_error=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert current_arguments(words) == words


@pytest.mark.parametrize("one", of("http"), ids=lambda one: one.old)
def test_a_body_with_an_old_name_is_read_and_answered_with_a_header(one: Renamed) -> None:
    method, path, body = BODIES[one.old]
    old = read_request(method, path, json.dumps(body).encode())
    now = {key: value for key, value in body.items() if key != one.old}
    value = body[one.old]
    now[one.name] = [*now[one.name], *value] if one.name in now else value
    new = read_request(method, path, json.dumps(now).encode())
    assert (old.ask, new.notices) == (new.ask, ())
    (line,) = old.notices
    assert f"'{one.old}' is the old name of '{one.name}'" in line
    assert dict(reply_to(old.route, Answer(), old.notices).headers)["warning"] == f'299 faultline "{line}"'


@pytest.mark.parametrize("one", of("python"), ids=lambda one: one.old)
def test_a_method_takes_an_old_keyword_with_a_warning(one: Renamed, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    async def do(_self: AsyncCluster, what: Any) -> dict[str, Any]:
        sent.append(what)
        return {"applied": [{"id": "rule-1"}]}

    monkeypatch.setattr(AsyncCluster, "_do", do)
    (verb,) = one.of
    method = getattr(AsyncCluster(), verb.replace("-", "_"))
    with pytest.warns(OldName, match=f"{verb}: '{one.old}' is the old name of '{one.name}'"):
        trio.run(lambda: method("broker-0", **{one.old: 3.0}))
    trio.run(lambda: method("broker-0", **{one.name: 3.0}))
    assert sent[0] == sent[1]


def test_recordings_keep_the_old_names() -> None:
    assert (as_recorded("pause"), as_recorded("kill"), as_recorded("loss", "share")) == ("pause-node", "kill", "rate")
    assert all(verb in VERBS for one in of("scenario") for verb in one.of or (one.name,))
