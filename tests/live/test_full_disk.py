"""A disk that is filled on purpose, with real processes: as in the simulated world
(tests/emulator/machines/node/test_broker_node.py)."""

from pathlib import Path

import pytest

from emulator.judging.findings import Note
from emulator.judging.health import unexpected_deaths
from emulator.runs.network_run import play_network
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.scenario.expect import judge
from emulator.scenario.load import load_scenario
from emulator.scenario.observations.recording_parsing import plain

SCRIPT = """
id: full-disk
title: A full disk
kafka: [2.6]
steps:
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [[0, 1, 2]]}
  - produce: {broker: 0, values: [a, b], acks: all}
  - disk-full: 0
  - produce: {broker: 0, values: [c], acks: 1}
  - wait: new leader
  - start: 0
  - wait: isr restored
  - snapshot: end
"""


@pytest.mark.network
@pytest.mark.trio
async def test_the_next_write_ends_the_broker_and_its_next_life_has_room(tmp_path: Path) -> None:
    resolved = resolve(load_scenario(SCRIPT, "full-disk"))
    played = await play_network(resolved, tmp_path / "run", seed=1, speed=5.0)
    (end,) = [end for end in played.exits if end.node == "broker-0"]
    assert (end.incarnation, end.code) == (1, 1)
    entries = played.player.timeline.entries
    attempts = [(entry["value"], entry["error"]) for entry in entries if entry.get("saw") == "attempt"]
    assert [value for value, error in attempts if error == 0] == ["a", "b"]
    (snapshot,) = [entry for entry in entries if entry.get("saw") == "snapshot"]
    assert {tuple(r[2] for r in one["log"]) for one in snapshot["replicas"].values()} == {("a", "b")}


@pytest.mark.network
@pytest.mark.trio
async def test_one_of_two_log_directories_fails_as_in_the_simulated_world(tmp_path: Path) -> None:
    """Both worlds by one scenario (KIP-112)."""
    resolved = resolve(find_scenario("log-dir-fails"), "2.6")
    played = await play_network(resolved, tmp_path / "run", seed=1, speed=5.0)
    assert [(end.node, end.incarnation) for end in played.exits if not end.expected] == []
    judged = judge(resolved.scenario, plain(played.observations), {})
    assert [one["text"] for one in judged if one["held"] is not True] == []
    assert sorted(path.name for path in (tmp_path / "run" / "data" / "broker-0").iterdir()) == ["d0", "d1"]


def test_a_death_by_a_full_disk_is_no_surprise_though_unrequested() -> None:
    def note(at_ms: float, event: str, node: str, **fields: object) -> Note:
        return Note(event=event, node=node, incarnation=1, seq=1, at_ms=at_ms, **fields)  # type: ignore[arg-type]

    begun = [note(0, "node_started", "broker-0")]
    filled = [note(1, "machine_fault", "injector", what="disk-full", target="broker-0")]
    stopped = [note(2, "node_stopped", "broker-0", code=1, reason="log directory failed")]
    died = [note(3, "machine_fault", "injector", what="died", target="broker-0")]
    assert unexpected_deaths([*begun, *filled, *stopped, *died]) == []
    assert len(unexpected_deaths([*begun, *stopped, *died])) == 1
