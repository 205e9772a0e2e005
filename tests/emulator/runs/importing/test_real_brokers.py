"""Imports of real brokers' files against the truth about each run."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from emulator.runs.importing.import_record import read_record
from emulator.runs.replica_files import side_by_side
from emulator.runs.run_events import read
from tests.real_logs import RUNS, truth_of

OF_ROLES = tuple(run for run in RUNS if "0.10.2" not in run)
KRAFT = tuple(run for run in RUNS if run.startswith("kraft"))
COLLECTED_LATER = "kraft-last-replica-standing@4.4"
"""Its truth has the logs before the last record was sent, and its files have that record."""
Imported = Callable[[str], Path]


def events_of(run: Path, name: str) -> list[dict[str, Any]]:
    return sorted(read(run, (name,)), key=lambda event: (event["wall_ms"], event["node"]))


def clock(event: dict[str, Any]) -> str:
    at = datetime.fromtimestamp(event["wall_ms"] / 1000, UTC)
    return f"{at:%H:%M:%S},{at.microsecond // 1000:03d}"


def broker(event: dict[str, Any]) -> int:
    return int(event["node"].removeprefix("broker-"))


@pytest.mark.parametrize("name", RUNS)
def test_the_lines_are_read_whole(name: str, imported: Imported) -> None:
    record = read_record(imported(name))
    assert (record.gaps, record.problems, record.unread, record.clocks) == ([], [], [], [])


@pytest.mark.parametrize("name", OF_ROLES)
def test_roles_are_those_of_the_brokers(name: str, imported: Imported, real_logs: Path) -> None:
    found = [
        {
            "clock": clock(event), "broker": broker(event), "role": event["role"],
            "leader_epoch": event["leader_epoch"], "log_end": event["log_end"],
            "high_watermark": event["high_watermark"],
        }
        for event in events_of(imported(name), "role_changed")
    ]  # fmt: skip
    truth = [
        {field: value for field, value in change.items() if field != "partition_epoch"}
        for change in truth_of(real_logs / name)["role_changes"]
    ]
    assert found == truth


def test_a_controllers_orders_stand_for_roles_that_brokers_do_not_log(imported: Imported, real_logs: Path) -> None:
    name = "incident-unclean-restart@0.10.2"
    roles = events_of(imported(name), "role_changed")
    states = truth_of(real_logs / name)["partition_states"]
    led = {(event["leader_epoch"], broker(event)) for event in roles if event["role"] == "leader"}
    assert led == {(state["leader_epoch"], state["leader"]) for state in states if state["leader"] >= 0}


@pytest.mark.parametrize("name", OF_ROLES)
def test_truncations_are_those_of_the_brokers(name: str, imported: Imported, real_logs: Path) -> None:
    found = [
        {"clock": clock(event), "broker": broker(event), "to": event["to"], "effective": event["effective"]}
        for event in events_of(imported(name), "log_truncated")
        if event["topic"] != "__cluster_metadata"
    ]
    assert found == truth_of(real_logs / name)["truncations"]


def test_a_log_of_0_10_2_is_truncated_out_of_range(imported: Imported) -> None:
    """The case study's loss: broker 1 had seven records, and its new leader none."""
    cuts = events_of(imported("incident-unclean-restart@0.10.2"), "log_truncated")
    assert [(event["node"], event["to"], event["log_end"], event["effective"]) for event in cuts][-1] == (
        "broker-1", 0, 7, True,
    )  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_requested_isrs_are_those_of_the_leaders(name: str, imported: Imported, real_logs: Path) -> None:
    found = [
        {"clock": clock(event), "broker": broker(event), "was": event["was"], "now": event["now"]}
        for event in events_of(imported(name), "isr_change_asked")
        if event["change"] == "shrink"
    ]
    assert found == truth_of(real_logs / name)["isr_changes"]


@pytest.mark.parametrize("name", KRAFT)
def test_committed_states_are_those_of_the_metadata_log(name: str, imported: Imported, real_logs: Path) -> None:
    lists = ("isr", "elr", "last_known_elr")
    found = [
        {field: event[field] for field in truth}
        | {field: [int(one) for one in event[field].split(",") if one] for field in lists}
        for event, truth in zip(
            events_of(imported(name), "partition_state_committed"),
            truth_of(real_logs / name)["partition_states"],
            strict=True,
        )
    ]
    assert found == truth_of(real_logs / name)["partition_states"]


@pytest.mark.parametrize("name", RUNS)
def test_final_logs_are_those_of_the_segments(name: str, imported: Imported, real_logs: Path) -> None:
    truth = truth_of(real_logs / name)["final_logs"]
    partition = "feeds-0" if "0.10.2" in name else "t-0"
    found = side_by_side(imported(name), next(iter(truth)), partition).replicas
    assert found.keys() == truth.keys()
    for node, replica in found.items():
        known = truth[node]["log"]
        log = replica.log[: len(known)] if name == COLLECTED_LATER else replica.log
        assert log == known, node


@pytest.mark.parametrize("name", RUNS)
def test_events_leave_the_logs_of_the_segments(name: str, imported: Imported) -> None:
    """Batches that no later cut reaches are the segment's content."""
    logs: dict[tuple[str, str], list[tuple[int, int]]] = {}
    kinds = ("batch_appended", "log_truncated", "log_loaded", "log_created")
    events = [event for event in read(imported(name), kinds) if event["topic"] != "__cluster_metadata"]
    for event in sorted(events, key=lambda event: (event["node"], event["incarnation"], event["seq"])):
        log = logs.setdefault((event["node"], f"{event['topic']}-{event['partition']}"), [])
        if event["event"] == "batch_appended":
            assert event["base_offset"] == (log[-1][0] + 1 if log else 0), event
            log.append((event["last_offset"], event["leader_epoch"]))
        else:
            end = int({"log_truncated": event.get("to"), "log_loaded": event.get("log_end")}.get(event["event"]) or 0)
            log[:] = [entry for entry in log if entry[0] < end]
    for (node, partition), log in logs.items():
        replica = side_by_side(imported(name), node, partition).replicas[node]
        assert [list(entry) for entry in log] == [[entry[0], entry[1]] for entry in replica.log]
