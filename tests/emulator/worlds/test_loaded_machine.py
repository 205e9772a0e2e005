"""Slow starts in the simulated world, as on the machine that recorded 3.9."""

from typing import Any

import pytest
from msgspec.structs import replace

from emulator.packaged import GOLDEN
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.simulated import play
from emulator.worlds.simulated.latencies import CALM, Latencies


def trace(folder: str, latencies: Latencies | None = None, *, wire_events: bool = False) -> list[dict[str, Any]]:
    resolved = resolve(find_scenario(str(GOLDEN / folder / "1.json")), None, {})
    world = play(resolved, 1, latencies=latencies, wire_events=wire_events).world
    return [world.trace.line(entry, "", 0.0) for entry in world.trace.entries]


@pytest.mark.parametrize(
    ("folder", "least_ms", "most_ms"),
    [("random-9021@2.8", 900, 3_000), ("min-insync@3.9", 900, 3_000), ("random-9123@3.9", 3_000, 15_000)],
)
def test_brokers_of_random_schedules_from_3_0_on_start_slowly(folder: str, least_ms: float, most_ms: float) -> None:
    lines = trace(folder)
    begun_ms = next(line["at_ms"] for line in lines if line["event"] == "scenario_step")
    first_ms = next(line["at_ms"] for line in lines if line["node"].startswith("broker-"))
    assert least_ms <= first_ms - begun_ms <= most_ms


def test_the_fetch_after_a_first_append_comes_late() -> None:
    """A cut may come between, as recorded in random-9123@3.9."""
    lines = trace("min-insync@3.9", replace(CALM, first_append_ms=(300.0, 300.0)), wire_events=True)
    follower = [line for line in lines if line["node"] == "broker-1"]
    appended_ms = next(line["at_ms"] for line in follower if line["event"] == "batch_appended")
    fetches_ms = [
        line["at_ms"]
        for line in lines
        if line["event"] == "frame_received" and line["node"] == "broker-0" and line["peer"] == "broker-1"
        and line["api"] == "Fetch" and line["at_ms"] > appended_ms
    ]  # fmt: skip
    assert 300.0 <= fetches_ms[0] - appended_ms < 310.0
    assert fetches_ms[1] - fetches_ms[0] < 1_000.0, "the next one comes as always"
