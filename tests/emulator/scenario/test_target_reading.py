"""Targets in scenario files: refused with their place, or read and written as the same."""

import pytest

from emulator.scenario.load import ScenarioErrors, load_scenario
from emulator.scenario.write import written

HEAD = """id: x
title: x
kafka: [2.8]
topology: {brokers: 3%s}
steps:
  - start: [0, 1, 2]
  - create-topic: {topic: orders, assignment: [[0, 1, 2], [1, 2, 0]]}
"""


def problems(step: str, more: str = "") -> list[str]:
    try:
        load_scenario(HEAD % more + f"  - {step}\n", "x.yaml")
    except ScenarioErrors as errors:
        return str(errors).splitlines()
    return []


@pytest.mark.parametrize(
    ("step", "column", "why"),
    [
        ("kill: leader of order-0", 11, "'leader of order-0': no step before creates topic 'order'; nearest: orders"),
        ("kill: leader of orders-2", 11,
         "'leader of orders-2': orders has 2 partitions; expected a number from 0 to 1"),
        ("stop: leader of orders", 11,
         "'leader of orders': names no partition; write leader of TOPIC-N, such as leader of t-0"),
        ("cut: {link: [leader of x-0, session]}", 18,
         "'leader of x-0': no step before creates topic 'x'; one of: orders"),
        ("cut: {link: [active controller, active controller]}", 10,
         "broker-0 is on both sides of broker-0 and broker-0"),
        ("start: {node: leader of orders-0, kafka_version: 2.6}", 12,
         "leader of orders-0: a start with kafka_version or settings needs a broker's name"),
        ("alter-broker: {broker: leader of order-0, remove: num.io.threads}", 28,
         "'leader of order-0': no step before creates topic 'order'; nearest: orders"),
        ("fetch: leader of orders-9", 12,
         "'leader of orders-9': orders has 2 partitions; expected a number from 0 to 1"),
        ("wait: {until: order every ISR full}", 19, "unknown topic or partition 'order'; nearest: orders"),
    ],
)  # fmt: skip
def test_what_is_wrong_has_a_place(step: str, column: int, why: str) -> None:
    assert problems(step) == [f"x.yaml:8:{column}: {why}"]


@pytest.mark.parametrize("step", ["lose-disk: active controller", "metadata: active-controller"])
def test_a_dedicated_controller_is_no_broker(step: str) -> None:
    (problem,) = problems(step, ", controllers: 1")
    assert problem.endswith("active controller: controller-0 is no broker; name a broker")


@pytest.mark.parametrize(
    "step",
    [
        *(f"{verb}: {node}" for verb in ("kill", "stop", "pause", "power-loss", "disk-full", "disk-error",
          "slow-disk", "start", "lose-disk", "resume") for node in ("leader of orders-1", "active controller")),
        "kill: [leader:orders-0, active-controller, 2]",
        "lose-unsynced: {node: leader of orders-0, batches_kept: 1}",
        "clock-jump: {node: leader of orders-0, jump_ms: 5}",
        "delay: {opened_by: active controller, to: leader of orders-0, delay_ms: 5}",
        "cut: {from: leader of orders-0, to: az-1}",
        "heal: {link: [leader of orders-0, session]}",
        "{kill: leader of orders-0, background: k}",
        "repeat: {times: 2, steps: [{kill: leader of orders-0}]}",
        "produce: {broker: leader of orders-0, values: [a], acks: 1}",
        "fetch: {broker: leader of orders-0, offset: 0}",
        "list-offsets: active controller",
        "alter-broker: {broker: leader of orders-0, configs: {num.io.threads: 9}}",
        "wait: {until: orders-1 every ISR full}",
        "wait: {until: orders every isr full}",
        "wait: {until: {not: orders every isr full}, limit_s: 1}",
        "create-topic: {topic: orders, assignment: [0], may_fail: true}",
        "elect-controller: {may_fail: true}",
    ],
)
def test_read_and_written(step: str) -> None:
    scenario = load_scenario(HEAD % "" + f"  - {step}\n", "x.yaml")
    assert load_scenario(written(scenario), "written") == scenario


def test_nothing_is_known_of_nodes_that_a_target_may_have_ended() -> None:
    steps = "kill: leader of orders-0\n  - kill: leader of orders-0\n  - start: 0\n  - stop: 1"
    assert problems(steps) == []
    early = HEAD.replace("  - start: [0, 1, 2]\n", "") % ""
    with pytest.raises(ScenarioErrors, match="leader of orders-0 means no node yet: no step before has started one"):
        load_scenario(early + "  - kill: leader of orders-0\n", "x.yaml")
