"""Faults that the emulator makes, named again from its brokers' own lines and disks."""

from pathlib import Path

import pytest

from emulator.runs.importing.incident import Incident
from emulator.runs.importing.incident_run import read_incident, scenario_of
from verification.import_round_trip import collect_as_operator, import_collected, simulate

SESSION_LOST = """
id: session-lost
title: A broker loses its session, and reaches its peers
kafka: ["2.8"]
settings: {auto.create.topics.enable: false, auto.leader.rebalance.enable: false, zookeeper.session.timeout.ms: 6000}
steps:
  - start: 0
  - start: 1
  - start: 2
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - wait: a leader
  - sleep: 3
  - cut: {link: [1, session]}
  - sleep: 50
  - heal: {link: [1, session]}
  - sleep: 10
"""


def incident_of(scenario: str, version: str, folder: Path) -> Incident:
    """The incident of the run's lines, as an operator would collect them."""
    played = simulate(scenario, folder / "run", version)
    collect_as_operator(folder / "run", folder / "collected")
    import_collected(folder / "collected", folder / "imported", played)
    return read_incident(folder / "imported").incident


@pytest.mark.parametrize(
    ("scenario", "version", "fault", "node"),
    [
        ("az-isolated-leader", "0.10.2", "cut-off", "broker-0"),
        ("az-isolated-leader", "1.1", "cut-off", "broker-0"),
        ("az-isolated-follower", "2.8", "cut-off", "broker-0"),
        ("az-isolated-controller", "2.8", "cut-off", "broker-2"),
        ("controller-paused", "3.9", "paused", "broker-2"),
        ("min-insync", "2.8", "paused", "broker-2"),
        ("controlled-shutdown", "3.9", "stopped", "broker-0"),
        ("rolling-restart", "2.8", "stopped", "broker-0, broker-1, broker-2"),
        ("leader-crash", "2.8", "died", "broker-0"),
        ("link-follower-leader", "0.10.2", "link-cut", "broker-1 did not reach broker-0"),
        ("unclean-election", "2.8", "died-and-unclean-election", "broker-1, broker-0"),
        ("clean-election-waits", "2.8", "died", "broker-1, broker-0"),
        ("log-dir-fails", "2.8", "disk-failed", "broker-0"),
        ("kraft-az-isolated-leader", "3.9", "cut-off", "broker-0"),
        ("kraft-az-isolated-controller", "3.9", "cut-off", "broker-2"),
        ("kraft-every-az-isolated", "3.9", "cut-off", "controller-1000, controller-1001, controller-1002"),
        ("kraft-leader-paused", "3.9", "paused", "broker-0"),
        ("kraft-link-follower-leader", "4.4", "link-cut", "broker-1 did not reach broker-0"),
        ("kraft-restart-after-stop", "4.4", "stopped", "broker-2"),
        ("kraft-last-replica-standing", "4.4", "unsynced-lost", "broker-0"),
        ("kraft-controller-quorum-lost", "3.9", "quorum-lost", "controller-1000, controller-1002"),
    ],
)
def test_the_fault_that_was_made_is_named(scenario: str, version: str, fault: str, node: str, tmp_path: Path) -> None:
    incident = incident_of(scenario, version, tmp_path)
    assert incident.fault == fault, incident.lines
    assert node in incident.what


def test_a_lost_session_differs_from_a_cut(tmp_path: Path) -> None:
    scenario = tmp_path / "session-lost.yaml"
    scenario.write_text(SESSION_LOST)
    incident = incident_of(str(scenario), "2.8", tmp_path)
    assert incident.fault == "session-lost", incident.lines
    assert "broker-1" in incident.what


def test_a_shutdown_is_played_again(tmp_path: Path) -> None:
    incident_of("controlled-shutdown", "3.9", tmp_path)
    text = scenario_of(tmp_path / "imported", read_incident(tmp_path / "imported"))
    steps = [line.strip() for line in text.splitlines() if line.strip() in ("- stop: 0", "- start: 0")]
    assert steps == ["- start: 0", "- stop: 0", "- start: 0"]


def test_lines_without_a_fault_name_none(tmp_path: Path) -> None:
    """A pause of a controller that does not lead leaves no line."""
    incident = incident_of("kraft-controller-paused", "4.4", tmp_path)
    assert (incident.fault, incident.others) == ("none", [])
