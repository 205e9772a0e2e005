"""`faultline scenarios`: the catalogue, one scenario, or the errors of a file."""

import sys
from pathlib import Path

import msgspec
from rich.table import Table

from emulator.commands.unusable import UNUSABLE_SCENARIO
from emulator.exit_codes import HELD, UNUSABLE
from emulator.runs.resolve import resolve
from emulator.runs.sources import catalogue, find_scenario, recordings_of
from emulator.scenario.model import Scenario
from emulator.scenario.write import written
from emulator.screen import Screen
from emulator.settings.files import UnusableFile
from emulator.settings.registry import UnusableSetting
from protocol.versions import UnusableProtocolVersion


def list_command(json: bool) -> int:
    """Id, title, versions (the default first) and how many recordings of real Kafka there are."""
    found: list[Scenario] = []
    for scenario_id in catalogue():
        scenario = _load(scenario_id)
        if scenario is None:
            return UNUSABLE
        found.append(scenario)
    if json:
        print(msgspec.json.encode([{"id": s.id, "title": s.title, "kafka": s.kafka} for s in found]).decode())
        return HELD
    table = Table(box=None, pad_edge=False)
    for heading in ("scenario", "Kafka", "recorded", "what happens"):
        table.add_column(heading, no_wrap=heading != "what happens")
    for scenario in found:
        recorded = sum(len(recordings_of(scenario.id, version)) for version in scenario.kafka)
        table.add_row(scenario.id, " ".join(scenario.kafka), str(recorded), scenario.title)
    Screen(soft_wrap=not sys.stdout.isatty()).print(table)
    return HELD


def show_command(given: str) -> int:
    """The scenario as YAML."""
    scenario = _load(given)
    if scenario is None:
        return UNUSABLE
    print(written(scenario), end="")
    return HELD


def check_command(files: list[Path]) -> int:
    """One line per error, with file, line and column; settings are checked on every version of the scenario."""
    usable = [_is_usable(path) for path in files]
    for path, good in zip(files, usable, strict=True):
        if good:
            print(f"{path}: usable")
    return HELD if all(usable) else UNUSABLE


def _is_usable(path: Path) -> bool:
    scenario = _load(str(path))
    if scenario is None:
        return False
    for version in scenario.kafka:
        try:
            resolve(scenario, version)
        except (UnusableSetting, UnusableFile, UnusableProtocolVersion) as error:
            print(f"faultline: {path}: on Kafka {version}: {error}", file=sys.stderr)
            return False
    return True


def _load(given: str) -> Scenario | None:
    try:
        return find_scenario(given)
    except UNUSABLE_SCENARIO as error:
        print(f"faultline: {error}", file=sys.stderr)
        return None
