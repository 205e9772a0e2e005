"""A scenario's settings of clients reach the steps that use one."""

from typing import Any

import pytest

from emulator.runs.resolve import resolve
from emulator.scenario import scenario_model as m
from emulator.scenario.load import load_scenario
from emulator.scenario.write import written
from emulator.settings.setting_registry import UnusableSetting
from tests.simulated.cluster import Cluster

HEAD = """
id: x
title: x
kafka: [2.8]
settings:
  producer.linger.ms: 7
  producer.acks: "0"
  consumer.auto.offset.reset: earliest
  consumer.enable.auto.commit: false
steps:
  - create-topic: {topic: t, assignment: [0, 1, 2]}
"""


def step_of(line: str, **overrides: object) -> m.AnyStep:
    scenario = load_scenario(f"{HEAD}  - {line}\n", "x.yaml")
    return resolve(scenario, None, overrides).scenario.steps[-1]


def settings_of(line: str, **overrides: object) -> object:
    step = step_of(line, **overrides)
    assert isinstance(step, m.Produce | m.Consume | m.Commit | m.LookCommitted), step
    return step.settings


OF_CONSUMERS = {"auto.offset.reset": "earliest", "enable.auto.commit": False}


def test_consumers_have_those_of_consumers_unless_they_override_them() -> None:
    for line in ("consume: g", "commit: {group: g, offset: 1}", "committed: g"):
        assert settings_of(line) == OF_CONSUMERS
    own = settings_of("consume: {group: g, settings: {auto.offset.reset: none, fetch.max.wait.ms: 9}}")
    assert own == {"auto.offset.reset": "none", "enable.auto.commit": False, "fetch.max.wait.ms": 9}


def test_producers_have_those_of_producers_but_for_the_steps_own() -> None:
    assert settings_of("produce: {client: az-1, values: [a], acks: all}") == {"linger.ms": 7}
    assert settings_of("produce: {client: az-1, values: [a], acks: all, settings: {linger.ms: 1}}") == {"linger.ms": 1}
    assert settings_of("produce: {broker: 1, values: [a], acks: all}") == {}
    assert settings_of("produce: {broker: 1, client: az-1, values: [a], acks: all}") == {}


def test_a_produce_that_is_idempotent_stays_so() -> None:
    off = {"producer.enable.idempotence": False}
    line = "produce: {client: az-1, values: [a], acks: all, retries: 1, idempotent: true}"
    assert settings_of(line, **off) == {"linger.ms": 7}
    assert settings_of("produce: {client: az-1, values: [a], acks: all}", **off) == {
        "linger.ms": 7,
        "enable.idempotence": False,
    }


def test_steps_within_steps_too() -> None:
    background = step_of("{background: b, consume: g}")
    assert isinstance(background, m.Background)
    assert background.step == m.Consume(group="g", settings=OF_CONSUMERS)
    repeat = step_of("repeat: {times: 2, steps: [{consume: g}]}")
    assert isinstance(repeat, m.Repeat)
    assert repeat.steps == (m.Consume(group="g", settings=OF_CONSUMERS),)


def test_one_that_is_set_for_a_run_counts() -> None:
    settings = settings_of("consume: g", **{"consumer.auto.offset.reset": "latest"})
    assert settings == OF_CONSUMERS | {"auto.offset.reset": "latest"}


def test_one_that_the_version_does_not_have_is_refused() -> None:
    scenario = load_scenario(f"{HEAD}  - consume: g\n", "x.yaml")
    with pytest.raises(UnusableSetting, match=r"consumer\.default\.api\.timeout\.ms is not a setting of Kafka 1\.1"):
        resolve(scenario, "1.1", {"consumer.default.api.timeout.ms": 1000})


def test_it_decides_what_a_consumer_reads() -> None:
    script = """
  - start: 2
  - start: 0
  - start: 1
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [a], acks: all}
  - consume: g
"""
    for policy, values in (("earliest", ["a"]), ("latest", [])):
        given: dict[str, Any] = {"consumer.auto.offset.reset": policy, "offsets.topic.num.partitions": 1}
        cluster = Cluster(script, **given)
        cluster.run()
        (read,) = [e for e in cluster.player.timeline.entries if e.get("saw") == "consume"]
        assert [record[-1] for record in read["records"]] == values


def test_a_workload_without_producers_is_given_nothing_of_theirs_so_that_what_is_written_of_it_is_read_again() -> None:
    step = step_of("workload: {name: w, producers: false, group: g}")
    assert isinstance(step, m.Workload)
    assert (step.settings, step.consumer_settings) == ({}, OF_CONSUMERS)


def test_a_resolved_transactional_produce_is_read_back() -> None:
    """Producers of 2.8 are not idempotent by default; one with transactions is."""
    step = "produce: {client: az-0, transactional_id: p, values: [a, b], acks: all}"
    scenario = load_scenario(f"{HEAD}  - {step}\n", "x.yaml")
    resolved = resolve(scenario, None, {}).scenario
    assert load_scenario(written(resolved), "scenario.yaml").steps == resolved.steps
