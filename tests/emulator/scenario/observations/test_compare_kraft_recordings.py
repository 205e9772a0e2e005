"""Parts of KRaft clusters' recordings that must match (tests/golden/README-kraft.md)."""

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import UnsetType

from emulator.scenario.observations.observation_model import KRAFT_FORMAT, Observations
from emulator.scenario.observations.recording_comparison import compare
from emulator.scenario.observations.recording_files import load

GOLDEN = Path(__file__).parents[3] / "golden"
FILES = sorted(path.relative_to(GOLDEN).as_posix() for path in GOLDEN.glob("kraft-*/*.json"))
Change = Callable[[Observations], None]


@cache
def recording(name: str) -> Observations:
    return load(GOLDEN / name)


def edited(name: str, change: Change) -> Observations:
    o = copy.deepcopy(recording(name))
    change(o)
    return o


def seen(o: Observations, kind: str) -> list[dict[str, Any]]:
    return [entry for entry in o.timeline if entry.get("saw") == kind]


def present(values: list[Any] | UnsetType) -> list[Any]:
    """A list that every recording of KRaft has."""
    assert not isinstance(values, UnsetType)
    return values


@pytest.mark.parametrize("name", FILES)
def test_a_recording_equals_itself(name: str) -> None:
    assert recording(name).format == KRAFT_FORMAT
    assert compare(recording(name), copy.deepcopy(recording(name))) == []


def every_epoch(o: Observations) -> None:
    for entry in seen(o, "quorum"):
        for key in ("epoch", "hw"):
            if key in entry:
                entry[key] += 7


def every_controller(o: Observations) -> None:
    for entry in seen(o, "metadata"):
        entry["controller"] = 5


def every_place(o: Observations) -> None:
    for entry in (*o.partition_states, *present(o.broker_registrations)):
        entry["offset"] += 100
        entry["epoch"] += 1
    for entry in present(o.broker_registrations):
        entry["broker_epoch"] += 100


def every_view(o: Observations) -> None:
    present(o.quorum_views).clear()
    present(o.controller_epochs).clear()
    o.views_by_broker.clear()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("change", [every_epoch, every_controller, every_place, every_view])
def test_races_and_places_in_the_log_need_not_match(name: str, change: Change) -> None:
    assert compare(edited(name, change), recording(name)) == []


def test_a_recording_whose_metadata_log_was_not_read_has_no_states_to_compare() -> None:
    """One of 64 has no states, registrations and epochs, though a leader made a topic."""
    name = "kraft-txn-late-write-hangs-tv2@4.4/1.json"
    unread = recording(name)
    assert not (unread.partition_states or present(unread.broker_registrations) or present(unread.controller_epochs))

    def read(o: Observations) -> None:
        source = recording("kraft-txn-timed-out-tv2@4.4/1.json")
        o.partition_states.extend(source.partition_states)
        present(o.broker_registrations).extend(present(source.broker_registrations))
        present(o.controller_epochs).extend(present(source.controller_epochs))

    assert compare(edited(name, read), unread) == []
    assert compare(unread, edited(name, read)) != []


def another_leader(o: Observations) -> None:
    entry = seen(o, "quorum")[0]
    entry["error"] = 0 if entry.get("error") else 6


def another_isr(o: Observations) -> None:
    next(entry for entry in seen(o, "metadata") if entry.get("isr"))["isr"].reverse()


def a_state_less(o: Observations) -> None:
    o.partition_states.pop()


def another_order(o: Observations) -> None:
    o.partition_states[-1]["isr"].reverse()


def another_partition_epoch(o: Observations) -> None:
    o.partition_states[-1]["partition_epoch"] += 1


def a_registration_more(o: Observations) -> None:
    entries = present(o.broker_registrations)
    entries.append(dict(entries[-1]))


def another_required_controller(o: Observations) -> None:
    for entry in seen(o, "active-controller"):
        entry["controller"] += 1


def another_record(o: Observations) -> None:
    next(iter(seen(o, "snapshot")[-1]["replicas"].values()))["log"][0][2] += "x"


NAME = "kraft-az-isolated-leader@3.9/1.json"


@pytest.mark.parametrize(
    "change",
    [
        another_leader, another_isr, a_state_less, another_order, another_partition_epoch, a_registration_more,
        another_required_controller, another_record,
    ],
)  # fmt: skip
def test_results_must_match(change: Change) -> None:
    assert compare(edited(NAME, change), recording(NAME))
    assert compare(recording(NAME), edited(NAME, change))


def test_a_changed_answer_of_the_quorum_is_one_line() -> None:
    (difference,) = compare(edited(NAME, another_leader), recording(NAME))
    assert "quorum as controller 0 sees it" in str(difference)


def test_brokers_that_start_together_register_in_any_order() -> None:
    def other_order(o: Observations) -> None:
        entries = present(o.broker_registrations)
        first, second = entries[0:2], entries[2:4]
        for one, other in zip(first, second, strict=True):
            one["offset"], other["offset"] = other["offset"], one["offset"]
        entries[0:4] = [*second, *first]

    assert compare(edited(NAME, other_order), recording(NAME)) == []


def test_recordings_of_other_nodes_are_of_another_cluster() -> None:
    combined = edited(NAME, lambda o: setattr(o, "nodes", "combined"))
    assert [d.where for d in compare(combined, recording(NAME))] == ["mode"]
