"""Which recording of real Kafka a run equals, and of which versions there are any."""

from functools import lru_cache
from glob import escape
from pathlib import Path

from emulator.packaged import GOLDEN
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.sources import recordings_of
from emulator.scenario.model import Scenario
from emulator.scenario.observations.files import load
from emulator.scenario.observations.model import Observations
from emulator.scenario.observations.races import nearest_with_races
from emulator.scenario.observations.reading import plain
from emulator.scenario.recorded import scenario_of_recording

LOADED_MAX = 64


def equal_recording(scenario: Scenario, version: str, observations: Observations) -> str | None:
    """Name of the recording that the run equals, "" if there are some and it equals none, None if there are none."""
    recordings = {f"{path.parent.name}/{path.name}": _loaded(path) for path in recordings_of(scenario.id, version)}
    if not recordings:
        return None
    match = nearest_with_races(plain(observations), recordings, scenario.races)
    if not match.equal:
        return ""
    return match.recording + "".join(f", by race {race.name}" for race in match.races)


def recorded_versions(scenario_id: str, folder: Path = GOLDEN) -> list[str]:
    """Versions of which there is a recording, oldest first."""
    found = (path.name.rpartition("@")[2] for path in folder.glob(f"{escape(scenario_id)}@*"))
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def recorded_as_played(resolved: Resolved) -> bool:
    """Whether some recording of the scenario was made with the run's settings, so that the run ought to equal one."""
    paths = recordings_of(resolved.scenario.id, resolved.spec.kafka_version)
    return any(resolve(scenario_of_recording(_loaded(path))).spec == resolved.spec for path in paths)


@lru_cache(LOADED_MAX)
def _loaded(path: Path) -> Observations:
    return load(path)
