"""Incidents of real brokers: the fault, the records at stake, and a replay."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.cli.commands.run_simulated import simulate_into
from emulator.runs.directory import prepare
from emulator.runs.importing.clients_file import Sent
from emulator.runs.importing.incident_run import page_of, read_incident, recovered, scenario_of, write_page
from emulator.runs.replica_files import side_by_side
from emulator.runs.resolve import Resolved
from emulator.runs.resolve_named import resolve_named
from tests.emulator.runs.importing.conftest import import_folders
from tests.real_logs import RUNS, truth_of

SEEDS = 6
"""Seeds of which one leaves the real brokers' logs: a cut and a record's end are a race."""

Imported = Callable[[str], Path]


def partition_of(name: str) -> str:
    return "feeds-0" if "0.10.2" in name else "t-0"


def fault_of(truth: dict[str, Any]) -> str:
    """The fault that was made, by the names of `incident.FAULTS`."""
    done = [fault["do"] for fault in truth["faults"]]
    killed = [fault for fault in truth["faults"] if fault["do"] == "kill"]
    if done.count("cut"):
        return "cut-off-repeatedly" if done.count("cut") > 1 else "cut-off"
    if sum("controller" in fault for fault in killed) > 1:
        return "quorum-lost"
    if "lose-unsynced" in done:
        return "unsynced-lost"
    assert killed
    return "died-and-unclean-election"


@pytest.mark.parametrize("name", RUNS)
def test_the_fault_that_was_made_is_named(name: str, imported: Imported, real_logs: Path) -> None:
    incident = read_incident(imported(name)).incident
    truth = truth_of(real_logs / name)
    assert incident.fault == fault_of(truth), incident.lines
    if incident.fault.startswith("cut-off"):
        assert "broker-0" in incident.what
        cut = next(fault["t"] for fault in truth["faults"] if fault["do"] == "cut")
        healed = max(fault["t"] for fault in truth["faults"] if fault["do"] == "heal")
        assert incident.since_ms is not None and incident.until_ms is not None
        assert abs((incident.until_ms - incident.since_ms) / 1000 - (healed - cut)) < 8


def sent_of(truth: dict[str, Any], topic: str) -> Iterator[Sent]:
    """The application's own sends, as `--clients` would have them."""
    for line, one in enumerate(truth["produced"], start=1):
        yield Sent(
            line, None, topic, 0, one["offset"], one["acks"], one["value"].encode(),
            "ok" if one["error"] == 0 else "unknown", max(one["error"], 0), "", one["broker"],
        )  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_the_lost_records_are_those_that_the_last_leader_lacks(name: str, real_logs: Path, tmp_path: Path) -> None:
    truth = truth_of(real_logs / name)
    import_folders(tmp_path / "run", real_logs / name, sent=sent_of(truth, partition_of(name).rpartition("-")[0]))
    leader = next(state["leader"] for state in reversed(truth["partition_states"]) if state["leader"] >= 0)
    found = side_by_side(tmp_path / "run", f"broker-{leader}", partition_of(name)).replicas[f"broker-{leader}"]
    kept = {entry[2] for entry in found.log}
    acknowledged = [one["value"] for one in truth["produced"] if one["error"] == 0]
    lost = [one.value for one in read_incident(tmp_path / "run").incident.lost]
    assert lost == [value for value in acknowledged if value not in kept]


def test_a_copy_of_the_cut_off_leader_has_the_records_that_it_truncated(imported: Imported) -> None:
    run = imported("az-isolated-leader@3.9")
    rows = [msgspec.json.decode(line) for line in recovered(run, read_incident(run).incident)]
    assert [(row["offset"], row["leader_epoch"], row["value"]) for row in rows] == [
        (2, 0, "c"), (3, 0, "d"), (4, 0, "e"), (5, 0, "x"),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RUNS if "flapping" not in name])  # which takes the longest
def test_the_incident_played_again_leaves_the_same_logs(name: str, imported: Imported, tmp_path: Path) -> None:
    run = imported(name)
    scenario = tmp_path / "again.yaml"
    scenario.write_text(scenario_of(run, read_incident(run)))
    real, resolved = logs(run, name), resolve_named(str(scenario))
    assert any(logs(played(resolved, seed, tmp_path), name) == real for seed in range(1, SEEDS + 1))


def played(resolved: Resolved, seed: int, folder: Path) -> Path:
    directory = folder / f"seed-{seed}"
    prepare(directory)
    simulate_into(directory, resolved, seed)
    return directory


def logs(run: Path, name: str) -> dict[str, list[tuple[object, object]]]:
    """{broker: [leader epoch and value of each record]}"""
    replicas = side_by_side(run, "broker-0", partition_of(name)).replicas
    return {node: [(entry[1], entry[2]) for entry in replica.log] for node, replica in replicas.items()}


def test_the_page_links_the_report_that_is_there(imported: Imported, tmp_path: Path) -> None:
    found = read_incident(imported("az-isolated-leader@3.9"))
    assert 'href="report.html"' in page_of("run", found, has_report=True)
    assert "report.html" not in page_of("run", found)


def test_the_page_escapes_what_comes_from_files(imported: Imported) -> None:
    run = imported("az-isolated-leader@3.9")
    found = read_incident(run)
    assert "Content-Security-Policy" in write_page(run, found).read_text()
    found.record.gaps.append("<script>alert(1)</script>")
    assert "<script>alert" not in page_of("run", found)
