"""The recording of real Kafka that a run equals, and the versions that have recordings."""

from functools import lru_cache
from glob import escape
from pathlib import Path

from emulator.packaged import GOLDEN
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import recordings_of
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.observations.races import nearest_with_races
from emulator.scenario.observations.recording_files import load
from emulator.scenario.observations.recording_parsing import plain
from emulator.scenario.recorded import scenario_of_recording
from emulator.scenario.scenario_model import Scenario

LOADED_MAX = 64


def equal_recording(scenario: Scenario, version: str, observations: Observations) -> str | None:
    """The recording that the run equals; "": it equals none; None: there are no recordings."""
    recordings = {f"{path.parent.name}/{path.name}": _loaded(path) for path in recordings_of(scenario.id, version)}
    if not recordings:
        return None
    match = nearest_with_races(plain(observations), recordings, scenario.races)
    if not match.equal:
        return ""
    return match.recording + "".join(f", by race {race.name}" for race in match.races)


def recorded_versions(scenario_id: str, folder: Path = GOLDEN) -> list[str]:
    """Versions that have a recording of the scenario, oldest first."""
    found = (path.name.rpartition("@")[2] for path in folder.glob(f"{escape(scenario_id)}@*"))
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def recorded_as_played(resolved: Resolved) -> bool:
    """Whether a recording has the run's settings, so that the run should equal one."""
    paths = recordings_of(resolved.scenario.id, resolved.spec.kafka_version)
    return any(resolve(scenario_of_recording(_loaded(path))).spec == resolved.spec for path in paths)


@lru_cache(LOADED_MAX)
def _loaded(path: Path) -> Observations:
    return load(path)
