"""Draws played: a row has the run and its result, and its command plays it again."""

import shlex
from pathlib import Path

import pytest

from emulator.cli.app import app
from emulator.judging.campaigns.campaign_runs import (
    CampaignOptions,
    CampaignWorker,
    Cells,
    about_of,
    notes_of,
    play_runs,
)
from emulator.judging.campaigns.row import Row
from emulator.judging.campaigns.space import Axis, Space
from emulator.runs.verdict_file import from_json

SPACE = Space(
    scenario="az-isolated-leader",
    axes=(
        Axis("version", "kafka_version", ("2.6", "2.8")),
        Axis("setting", "zookeeper.session.timeout.ms", ("6000", "9000")),
    ),
    seeds=2,
)


def row_of(number: int, space: Space = SPACE) -> Row:
    return CampaignWorker(CampaignOptions(space)).play(number)


def test_a_row_has_the_run_and_its_outcome() -> None:
    row = row_of(7)
    assert (row.scenario, row.kafka_version, row.number, row.cell, row.seed) == ("az-isolated-leader", "2.8", 7, 3, 2)
    assert (row.settings, row.parameters) == ({"zookeeper.session.timeout.ms": "9000"}, {})
    assert row.faults == ("cut az-0",)
    assert (row.lost, row.duplicated, row.diverged, row.judged) == (4, 0, 0, True)
    assert {one.check: one.verdict for one in row.checks}["lost-acknowledged"] == "violated"
    assert row.time_to_new_leader_ms is not None and row.time_to_new_leader_ms > 6000
    assert row.recording == "" and row.differences == (), "of other settings than were recorded nothing is compared"


def test_a_space_of_one_cell_is_what_sim_plays() -> None:
    """So its runs are held against recordings."""
    row = row_of(2, Space(scenario="az-isolated-leader", seeds=5))
    assert row.recording == "az-isolated-leader@2.6/1.json"
    assert row.seed == 3


def test_each_version_has_its_metadata_mode_unless_one_is_requested() -> None:
    versions = Axis("version", "kafka_version", ("2.8", "3.8", "4.4"))
    space = Space(scenario="az-isolated-leader", axes=(versions,))
    cells = Cells(CampaignOptions(space))
    kraft = "kraft-az-isolated-leader"
    assert [cells.named(space.draw(cell)) for cell in range(3)] == [
        ("az-isolated-leader", "2.8"), (kraft, "3.8"), (kraft, "4.4"),
    ]  # fmt: skip
    assert notes_of(space) == (f"{kraft} is played: the form of az-isolated-leader in KRaft mode",)
    zookeeper = Space(scenario="az-isolated-leader", kafka_version="3.8", metadata="zookeeper")
    assert Cells(CampaignOptions(zookeeper)).named(zookeeper.draw(0)) == ("az-isolated-leader", "3.8")
    assert "--metadata zookeeper" in zookeeper.replay(zookeeper.draw(0))
    assert about_of("sim", zookeeper).scenario_digest != about_of("sim", space).scenario_digest


def test_the_command_of_a_row_plays_the_same_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = Space(
        scenario="az-isolated-leader",
        axes=(Axis("setting", "min.insync.replicas", ("2",)), Axis("parameter", "cut.at_s", ("15",))),
        kafka_version="2.8",
    )
    row = row_of(0, space)
    command = shlex.split(row.replay)
    assert command[:3] == ["faultline", "run", "az-isolated-leader"]
    app([*command[1:], "--out", str(tmp_path / "again"), "--json"], result_action="return_value")
    verdict = from_json(capsys.readouterr().out.encode())
    assert {name: check.count for name, check in verdict.checks.items()} == {c.check: c.count for c in row.checks}
    assert verdict.measures["time_to_new_leader_ms"] == row.time_to_new_leader_ms


def test_a_run_that_is_not_played_to_its_end_is_a_row(tmp_path: Path) -> None:
    """And nothing is said of what it lost."""
    file = tmp_path / "it.yaml"
    file.write_text("id: it\ntitle: t\nsteps:\n  - start: 2\n  - start: 1\n  - kill: 1\n  - fetch: {broker: 1}\n")
    row = row_of(0, Space(scenario=str(file)))
    assert not row.judged and row.lost is None and row.valid == "unknown"
    assert row.error.startswith(f"{file}:"), row.error


def test_settings_that_do_not_go_together_are_a_row_of_their_scenario_and_version(tmp_path: Path) -> None:
    """As any other of the campaign: otherwise the sweep would be of two scenarios and versions."""
    file = tmp_path / "it.yaml"
    file.write_text("id: it\ntitle: t\nkafka: [2.6]\nsteps:\n  - start: 2\n")
    impossible = (Axis("setting", "replica.fetch.wait.max.ms", ("1e9",)),)
    for given, found in ((None, "2.6"), ("2.8.0", "2.8")):
        row = row_of(0, Space(scenario=str(file), axes=impossible, kafka_version=given))
        assert "replica.fetch.wait.max.ms" in row.error and not row.judged
        assert (row.scenario, row.kafka_version) == ("it", found)
    row = row_of(0, Space(scenario=str(file), parameters=("start=unknown",)))
    assert (row.scenario, row.kafka_version, row.judged) == ("it", "2.6", False)


def test_rows_of_all_processes_are_those_of_one() -> None:
    requested = CampaignOptions(Space(scenario="az-isolated-follower", axes=SPACE.axes, seeds=1))
    here = {row.number: row.outcome for row in play_runs(requested, range(4), processes=1)}
    there = {row.number: row.outcome for row in play_runs(requested, range(4), processes=2)}
    assert here == there and len(here) == 4


def test_a_campaign_has_the_digest_of_its_first_scenario(tmp_path: Path) -> None:
    file = tmp_path / "it.yaml"
    file.write_text("id: it\ntitle: t\nsteps:\n  - sleep: 1\n")
    before = about_of("sim", Space(scenario=str(file)))
    file.write_text("id: it\ntitle: t\nsteps:\n  - sleep: 2\n")
    assert before.scenario_digest != about_of("sim", Space(scenario=str(file))).scenario_digest
