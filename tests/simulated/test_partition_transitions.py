"""A partition's fields change by its own transitions only; another setter is found."""

import sys
from pathlib import Path

import pytest

from emulator.machines.broker import partition as kafka_ports
from emulator.machines.broker.partition import Partition
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.simulated import play

PLAYED = (
    "az-isolated-leader", "brokers-altered", "kafka-9307", "log-dir-fails", "partitions-move", "topic-recreated",
)  # fmt: skip
"""Together they cover elections, both kinds of ISR change, settings, moves, deletions.
Also failed directories.
"""


@pytest.mark.parametrize("scenario", PLAYED)
def test_no_other_code_sets_a_partitions_fields(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path(kafka_ports.__file__).name
    outside: set[tuple[str, str]] = set()
    changed = 0

    def noted(partition: Partition, name: str, value: object) -> None:
        nonlocal changed
        changed += 1
        setter = Path(sys._getframe(1).f_code.co_filename).name
        if setter != own:
            outside.add((setter, name))
        object.__setattr__(partition, name, value)

    monkeypatch.setattr(Partition, "__setattr__", noted)
    for version in (find_scenario(scenario).kafka[0], find_scenario(scenario).kafka[-1]):
        play(resolve(find_scenario(scenario), version), seed=1)
    assert changed and outside == set()
