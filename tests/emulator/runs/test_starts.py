"""Scenarios that restart brokers with another version or other settings (semantics 4.6)."""

import msgspec
import pytest

from emulator.judging.judged import play_and_judge
from emulator.runs.directory import settings_file_fields
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.starts import starts_in, versions_played
from emulator.runs.timeout_limits import timer_limit_ms
from emulator.scenario import scenario_model as m
from emulator.scenario.load import ScenarioErrors, load_scenario
from emulator.scenario.write import written
from emulator.settings.setting_registry import UnusableSetting
from protocol.events import EpochAnswered, IsrChangeRequested, LogTruncated, NodeStarted, RequestNotUnderstood

HEAD = """
id: small
title: brokers change
kafka: ["2.6"]
settings: {replica.lag.time.max.ms: 9000}
steps:
  - start: [0, 1, 2]
  - create-topic: {topic: t, assignment: [1, 0, 2]}
  - wait: {until: isr restored, called: all}
  - stop: 0
"""


def small(*steps: str) -> str:
    return HEAD + "".join(f"  - {step}\n" for step in steps)


def test_the_rolling_upgrade_loses_nothing_and_what_2_8_does_begins_with_its_protocol_version() -> None:
    resolved = resolve(find_scenario("rolling-upgrade"))
    run = play_and_judge(resolved, 3, run="r")
    assert run.verdict.valid is True, run.verdict
    spoken: dict[str, str] = {}
    ways: set[tuple[str, str]] = set()
    lives: dict[str, list[tuple[str, str]]] = {}
    for node, _, _, _, _, event in run.played.world.trace.entries:
        match event:
            case NodeStarted(kafka_version=binary, protocol_version=protocol) if binary:
                spoken[node] = protocol
                lives.setdefault(node, []).append((binary, protocol))
            case IsrChangeRequested(through=through):
                ways.add((spoken[node], through))
            case EpochAnswered(leader_epoch=epoch):
                assert spoken[node] == "0.11" and epoch == -1, "who speaks as 2.8 is told by its fetch"
            case RequestNotUnderstood():
                raise AssertionError(event)
    upgraded = [("0.11", "0.11"), ("2.8", "0.11"), ("2.8", "2.8")]
    assert lives == {f"broker-{number}": upgraded for number in range(3)}
    assert ways == {("0.11", "session"), ("2.8", "controller")}
    assert versions_played(resolved.spec, resolved.scenario.steps) == ("0.11", "2.8")


@pytest.mark.parametrize(("protocol", "own"), [("1.1", ["m1", "b1", "a2", "a3"]), ("2.0", None), ("2.8", None)])
def test_what_a_later_version_has_mended_is_mended_with_its_protocol_version(
    protocol: str, own: list[str] | None
) -> None:
    """The half of the upgrade that was left out, done to B when it returns.

    The very same faults do no harm.
    """
    scenario = find_scenario("upgrade-half-way")
    last = max(n for n, step in enumerate(scenario.steps) if isinstance(step, m.Start))
    raised = m.Start(node="broker-0", settings={"inter.broker.protocol.version": protocol})
    steps = (*scenario.steps[:last], raised, *scenario.steps[last + 1 :])
    run = play_and_judge(resolve(msgspec.structs.replace(scenario, steps=steps)), 1, run="r")
    end = next(e for e in reversed(run.observations.timeline) if e.get("saw") == "snapshot")["replicas"]
    logs = {node: [value for _, _, value in replica["log"]] for node, replica in end.items()}
    assert logs["broker-1"] == ["m1", "a1", "a2", "a3"]
    assert logs["broker-0"] == (own or logs["broker-1"])


@pytest.mark.parametrize("version", ["0.11", "1.1", "2.0", "2.3", "2.8"])
def test_an_upgrade_from_0_10_2_keeps_the_message_format_and_no_epoch_is_written(version: str) -> None:
    protocol = "inter.broker.protocol.version"
    old = f'settings: {{{protocol}: "0.10.2", log.message.format.version: "0.10.2", '
    text = small().replace('["2.6"]', '["0.10.2"]').replace("settings: {", old, 1).replace("  - stop: 0\n", "")
    text += "  - produce: {client: az-2, values: [a], acks: all}\n"
    for change in (f'version: "{version}"', f'settings: {{{protocol}: "{version}"}}'):
        for node in (1, 0, 2):
            text += f"  - stop: {node}\n  - start: {{node: {node}, {change}}}\n"
            text += "  - wait: {until: isr restored, called: back}\n"
    text += "  - produce: {client: az-2, values: [b], acks: all}\n  - sleep: 2\n  - snapshot: end\n"
    run = play_and_judge(resolve(load_scenario(text, "small.yaml")), 1, run="r")
    kept = ("held", "skipped")  # nobody reads
    assert {name: check.verdict for name, check in run.verdict.checks.items() if check.verdict not in kept} == {}
    end = next(e for e in reversed(run.observations.timeline) if e.get("saw") == "snapshot")["replicas"]
    for replica in end.values():
        assert ([value for _, _, value in replica["log"]], replica["leader_epochs"]) == (["a", "b"], [])
    cuts = [e[5] for e in run.played.world.trace.entries if isinstance(e[5], LogTruncated)]
    assert "high-watermark" in {cut.reason for cut in cuts}
    answers = [e[5] for e in run.played.world.trace.entries if isinstance(e[5], EpochAnswered)]
    assert bool(answers) == (version in ("0.11", "1.1", "2.0")), "from 2.1 who knows no epoch does not ask"
    # 0.11 tells its log end to who knows none (no_epochs_end_at_log_end).
    assert version == "0.11" or {answer.offset for answer in answers} <= {-1}


def test_a_broker_that_speaks_too_new_stays_out_of_sync() -> None:
    """A user's mistake: the default inter.broker.protocol.version of the first upgraded broker."""
    back = "wait: {until: isr restored, called: back, limit_s: 20, may_time_out: true}"
    text = small('start: {node: 0, kafka_version: "2.8"}', back, "record: [partition-state]")
    run = play_and_judge(resolve(load_scenario(text, "small.yaml")), 1, run="r")
    refused = [e[5] for e in run.played.world.trace.entries if isinstance(e[5], RequestNotUnderstood)]
    assert {(event.peer, event.api, event.request_version) for event in refused} == {("broker-0", "Fetch", 12)}
    assert 0 not in run.observations.partition_states[-1]["isr"]


def test_settings_of_a_start_are_in_force_and_reported() -> None:
    text = small("start: {node: 0, settings: {replica.lag.time.max.ms: 800, min.insync.replicas: null}}")
    scenario = load_scenario(text, "small.yaml")
    resolved = resolve(scenario)
    assert timer_limit_ms(resolved) == 80.0
    (start,) = settings_file_fields(resolved)["starts"]
    assert (start["node"], start["kafka.version"]) == ("broker-0", "2.6")
    run = play_and_judge(resolved, 1, run="r")
    assert run.played.world.nodes["broker-0"].machine.context.settings.replica_lag_time_max_ms == 800  # type: ignore[union-attr]
    assert run.played.world.nodes["broker-1"].machine.context.settings.replica_lag_time_max_ms == 9000  # type: ignore[union-attr]


def test_it_is_written_as_it_is_read() -> None:
    text = small('start: {node: 0, kafka_version: "2.8", settings: {inter.broker.protocol.version: null}}')
    scenario = load_scenario(text, "small.yaml")
    assert load_scenario(written(scenario), "small.yaml").steps == scenario.steps


def test_of_an_az_only_brokers_are_changed() -> None:
    scenario = load_scenario(small("stop: az-1", 'start: {node: az-1, kafka_version: "2.7"}'), "small.yaml")
    (last,) = scenario.steps[-1:]
    assert {start.node: start.version for start in starts_in([last])}["broker-1"] == "2.7"
    assert {start.version for start in starts_in([last]) if start.node != "broker-1"} <= {""}


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ('start: {node: 0, kafka_version: "5.0"}', "unknown Kafka version '5.0'"),
        ("start: {node: 0, settings: {replica.lag.max.time.ms: 1}}", "nearest: replica.lag.time.max.ms"),
        ("start: {node: 0, settings: {producer.acks: all}}", "not one broker's"),
        ('start: {node: client-0, kafka_version: "2.8"}', "client-0 is no broker"),
    ],
)
def test_mistakes_are_named_at_load(step: str, problem: str) -> None:
    with pytest.raises(ScenarioErrors, match=problem):
        load_scenario(small(step), "small.yaml")


def test_what_makes_no_sense_is_refused_before_anything_is_played_with_its_step() -> None:
    scenario = load_scenario(small("start: {node: 0, settings: {inter.broker.protocol.version: 2.7}}"), "small.yaml")
    with pytest.raises(UnusableSetting, match=r"step 5, start: broker-0: .*2\.7 is newer than the binary 2\.6"):
        resolve(scenario)
