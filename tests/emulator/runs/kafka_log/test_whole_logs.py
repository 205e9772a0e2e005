"""Whole logs of simulated runs, against the lines of real brokers (semantics 9).

The dual leader's log is in the layout of four eras; a reader of logs finds the same in those of other runs.

`expected/az-isolated-leader@VERSION.log` has the lines of the three brokers one after the other, without their clock.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from emulator.cli.commands.run_simulated import simulate_into
from emulator.runs.directory import prepare
from emulator.runs.kafka_lines import kafka_lines
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario, recordings_of
from emulator.scenario.observations.recording_files import load
from tests.emulator.runs.kafka_log.log_reader import BROKERS, read_log, recorded, simulated_logs

EXPECTED = Path(__file__).parent / "expected"
LAYOUT = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] [A-Z]+ .+ \([\w.$]+\)")
VERSIONS = ("0.10.2", "1.1", "2.6", "2.8")
SEEDS = (1, 2, 3)
SEED_OF = {"0.10.2": 8, "1.1": 2, "2.6": 2, "2.8": 1}
"""The seed of the expected lines: races have other outcomes with other seeds."""

RECORDED = (
    *(("az-isolated-leader", version) for version in VERSIONS),
    ("az-isolated-controller", "2.6"),
    ("az-isolated-leader-and-controller", "1.1"),
    ("incident-unclean-restart", "0.10.2"),
    ("kip101-case1", "0.10.2"),
    ("kip101-case1", "2.8"),
    ("kip101-case2", "2.8"),
    ("link-follower-leader", "1.1"),
    ("power-loss-before-sync", "0.10.2"),
    ("unclean-alternating", "1.1"),
    ("unclean-alternating", "2.8"),
    ("unclean-election", "0.10.2"),
    ("kraft-unclean-election", "3.9"),
)


@cache
def dual_leader(version: str) -> dict[int, list[str]]:
    return simulated_logs("az-isolated-leader", version, SEED_OF[version])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_whole_log_of_the_dual_leader(version: str) -> None:
    lines = []
    for broker, written in dual_leader(version).items():
        lines += [f"# broker-{broker}", *(line.partition("] ")[2] for line in written)]
    assert lines == (EXPECTED / f"az-isolated-leader@{version}.log").read_text(encoding="utf-8").splitlines()


KRAFT_NODES = ("broker-0", "broker-1", "controller-0", "controller-2")


@pytest.mark.parametrize(("version", "seed"), [("3.9", 2), ("4.4", 1)])
def test_logs_of_brokers_and_controllers_of_kraft(version: str, seed: int, tmp_path: Path) -> None:
    """Each line has the form of one in a log of 3.9.2 or 4.4.0, names and numbers apart."""
    run = tmp_path / "run"
    prepare(run)
    simulate_into(run, resolve(find_scenario("kraft-az-isolated-leader-and-controller"), version), seed)
    lines = []
    for node in KRAFT_NODES:
        lines += [f"# {node}", *(str(line).partition("] ")[2] for line in kafka_lines(run, node))]
    path = EXPECTED / f"kraft-az-isolated-leader-and-controller@{version}.log"
    assert lines == path.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_line_has_log4js_layout_and_clocks_do_not_go_back(version: str) -> None:
    for lines in dual_leader(version).values():
        assert all(LAYOUT.fullmatch(line) for line in lines)
        clocks = [line[:25] for line in lines]
        assert clocks == sorted(clocks)


@pytest.mark.parametrize(("scenario", "version"), RECORDED)
def test_a_reader_finds_what_real_brokers_wrote(scenario: str, version: str) -> None:
    """Every truncation, also an empty one; every role, from 2.6 on; every ISR change up to 2.7.

    A recording is one outcome of its races, so one of a few seeds has to have it.
    """
    recordings = [load(path) for path in recordings_of(scenario, version)]
    real = [{broker: recorded(recording, broker) for broker in BROKERS} for recording in recordings]
    found = []
    for seed in SEEDS:
        logs = simulated_logs(scenario, version, seed).values()
        found = [read_log(lines, previous=not scenario.startswith("kraft")) for lines in logs]
        if any(found == list(one.values()) for one in real):
            return
    assert found == list(real[0].values())
