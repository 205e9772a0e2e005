"""The directory of a simulated run, for tests of exports."""

from pathlib import Path

from emulator.cli.commands.run_simulated import simulate_into
from emulator.runs.directory import prepare
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario


def simulated(scenario: str, directory: Path, version: str | None = None) -> Path:
    """Play seed 1 of a scenario into a directory."""
    resolved = resolve(find_scenario(scenario), version)
    prepare(directory)
    simulate_into(directory, resolved, 1)
    return directory
