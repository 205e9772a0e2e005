"""The limit of lateness: a tenth of the shortest time-out among settings and steps."""

import pytest

from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.timeout_limits import timer_limit_ms
from emulator.scenario.load import load_scenario

HEAD = """
id: time-outs
title: how long all nodes wait
kafka: [2.8]
steps:
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
"""
SYNC_MS = 4_000
"""tickTime 1000 * syncLimit 4: the ensemble's own time-out, the shortest when no other is."""


@pytest.mark.parametrize(
    ("steps", "overrides", "shortest_ms"),
    [
        ("", {}, SYNC_MS),
        ("", {"replica.lag.time.max.ms": 2_500}, 2_500),
        ("", {"zookeeper.session.timeout.ms": 3_000, "replica.socket.timeout.ms": 2_000}, 2_000),
        ("", {"tickTime": 500}, SYNC_MS / 2),
        ("- produce: {broker: 0, values: [a], acks: all, timeout_ms: 1200}", {}, 1_200),
        ("- produce: {broker: 0, values: [a], acks: all}", {}, 1_500),
        ("- produce: {broker: 0, values: [a], acks: 1, timeout_ms: 1200}", {}, SYNC_MS),
        ("- produce: {broker: 0, values: [a], acks: 1, socket_timeout_s: 3}", {}, 3_000),
        ("- wait: {until: new leader, limit_s: 2}", {}, 2_000),
        ("- sleep: 0.5", {}, SYNC_MS),
        ("", {"offsets.commit.timeout.ms": 900}, 900),
        ("- commit: {group: g, offset: 1, limit_s: 2}", {}, 2_000),
        ("- committed: {group: g, limit_s: 2}", {}, 2_000),
        ("- consume: {group: g, limit_s: 2}", {}, 2_000),
        ("- consume: g", {}, SYNC_MS),
        ("- repeat: {times: 2, steps: [{produce: {broker: 0, values: [a], acks: all, timeout_ms: 700}}]}", {}, 700),
    ],
)
def test_the_limit_is_a_tenth_of_the_shortest_time_out(
    steps: str, overrides: dict[str, object], shortest_ms: float
) -> None:
    scenario = load_scenario(f"{HEAD}  {steps}\n", "time-outs.yaml")
    assert timer_limit_ms(resolve(scenario, None, overrides)) == pytest.approx(shortest_ms / 10)


def test_the_catalogue_waits_1500_ms_for_acks_all_by_default() -> None:
    assert timer_limit_ms(resolve(find_scenario("az-isolated-leader"))) == pytest.approx(150.0)
