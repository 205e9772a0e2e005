"""Real brokers' folders as other operators would collect them: no fact becomes another."""

import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta, timezone
from pathlib import Path

import pytest

from emulator.runs.importing.import_record import read_record
from emulator.runs.importing.incident_run import read_incident
from emulator.runs.run_events import Line, read
from tests.emulator.runs.importing.conftest import import_folders
from tests.emulator.runs.importing.perturbed_folders import drawn, perturb
from tests.real_logs import RUNS

FIELDS = {
    "role_changed": ("node", "role", "leader_epoch", "log_end"),
    "log_truncated": ("node", "to", "effective"),
    "isr_change_asked": ("node", "was", "now"),
    "state_decided": ("node", "leader", "leader_epoch", "isr", "reason"),
    "partition_state_committed": ("leader", "leader_epoch", "isr", "partition_epoch"),
}
"""{event: what its own line says}; other fields come from lines that may be missing."""
WEAKER = {
    "cut-off": {"cut-off", "link-cut"},
    "cut-off-repeatedly": {"cut-off-repeatedly", "cut-off", "link-cut"},
    "quorum-lost": {"quorum-lost", "died"},
    "unsynced-lost": {"unsynced-lost", "died", "died-and-unclean-election", "unclean-election"},
    "died-and-unclean-election": {"died-and-unclean-election", "died", "unclean-election"},
}
"""{fault: those that a part of its lines may name}, beside UNNAMED."""
UNNAMED = {"none", "lost-contact"}


def facts(run: Path) -> Counter[tuple[object, ...]]:
    found: list[Line] = list(read(run, tuple(FIELDS)))
    return Counter(
        (one["event"], one["topic"], *(one[name] for name in FIELDS[one["event"]])) for one in found
    )


def check(seed: int, loses: bool, real_logs: Path, imported: Callable[[str], Path], folder: Path) -> None:
    generator = random.Random(seed)
    name = RUNS[seed % len(RUNS)]
    change = drawn(generator, loses=loses)
    left = perturb(real_logs / name, folder / "collected", change, generator)
    import_folders(folder / "run", folder / "collected", zone=timezone(timedelta(hours=change.zone_h)))
    whole, part = facts(imported(name)), facts(folder / "run")
    fault, found = read_incident(imported(name)).incident.fault, read_incident(folder / "run").incident.fault
    assert len(read_record(folder / "run").nodes) == len(left), change
    if loses:
        assert not part - whole, (name, change)
        assert found in WEAKER[fault] | UNNAMED, (name, change)
    else:
        assert part == whole, (name, change)
        assert found == fault, (name, change)


@pytest.mark.parametrize("seed", range(10))
def test_names_layouts_zones_and_clocks_change_no_fact(
    seed: int, real_logs: Path, imported: Callable[[str], Path], tmp_path: Path
) -> None:
    check(seed, False, real_logs, imported, tmp_path)


@pytest.mark.parametrize("seed", range(24))
def test_a_part_of_the_files_says_nothing_else(
    seed: int, real_logs: Path, imported: Callable[[str], Path], tmp_path: Path
) -> None:
    check(seed, True, real_logs, imported, tmp_path)
