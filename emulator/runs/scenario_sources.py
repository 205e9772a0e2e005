"""Sources of scenarios: the catalogue, a YAML file, or the `do` entries of a recording."""

import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from multiprocessing import parent_process
from pathlib import Path

import msgspec

from emulator.old_names import OldName
from emulator.packaged import GOLDEN, SCENARIOS
from emulator.regular_files import other_than_regular
from emulator.runs.settings_files import anchored
from emulator.scenario.document import Problem, ScenarioErrors
from emulator.scenario.load import load_scenario
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.observations.recording_files import load
from emulator.scenario.observations.recording_parsing import Malformed
from emulator.scenario.parameters import UnusableParameter, with_parameters
from emulator.scenario.recorded import checked, scenario_of_recording
from emulator.scenario.scenario_model import Scenario
from emulator.scenario.yaml_places import line_of_step, names_a_block, place_of_problem

SCENARIO_BYTES_MAX = 1024 * 1024


class NoScenario(ValueError):
    """No scenario of that name; the message has the nearest."""


def catalogue() -> dict[str, Path]:
    """{scenario id: file}, sorted."""
    return {path.stem: path for path in sorted(SCENARIOS.glob("*.yaml"))}


def find_scenario(given: str, parameters: Sequence[str] = ()) -> Scenario:
    """The scenario of a catalogue id, a path to YAML, or a recording. `parameters`: `--param`.

    Parameters change its text. Raises NoScenario, ScenarioErrors, Malformed, UnusableParameter, ValueError.
    """
    path = _file_of(given)
    if what := other_than_regular(path):
        raise NoScenario(f"{given}: {what}; a scenario is a YAML file")
    if not path.is_file():
        close = get_close_matches(given, catalogue(), n=1)
        nearest = f"nearest: {close[0]}" if close else "`faultline scenarios` lists the catalogue"
        raise NoScenario(f"no scenario or file {given!r}; {nearest}")
    if path.suffix == ".json":
        if parameters:
            raise UnusableParameter(f"{parameters[0]}: a recording's script is as it was recorded; name a scenario")
        return _of_recording(load(path), str(path))
    if path.stat().st_size > SCENARIO_BYTES_MAX:
        raise ScenarioErrors(str(path), [Problem(1, 1, f"larger than {SCENARIO_BYTES_MAX} bytes")])
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        what = f"not UTF-8 text: byte 0x{error.object[error.start]:02x}, {error.reason}"
        raise ScenarioErrors(str(path), [Problem(line, column, what)]) from error
    scenario = load_scenario(with_parameters(text, parameters, _warn), str(path), _warn)
    return msgspec.structs.replace(scenario, settings_files=anchored(scenario.settings_files, path.parent))


def _warn(line: str) -> None:
    """A notice of an old name; worker processes, which read the same file again, give none."""
    if parent_process() is None:
        warnings.warn(OldName(line), stacklevel=3)


def place_of_step(given: str, number: int) -> str:
    """`FILE:LINE: ` of a step of the requested scenario; "" if it has none."""
    path = _file_of(given)
    if not number or path.suffix == ".json" or not path.is_file():
        return ""
    line = line_of_step(path.read_text(encoding="utf-8"), number)
    return f"{path}:{line}: " if line else ""


def place_in_file(given: str, message: str) -> str:
    """`FILE:LINE:COLUMN: ` of a message about settings of the requested scenario.

    "": the settings are not the file's.
    """
    path = _file_of(given)
    if not names_a_block(message) or not path.is_file():
        return ""
    if path.suffix == ".json":
        return f"{path}: "
    line, column = place_of_problem(path.read_text(encoding="utf-8"), message)
    return f"{path}:{line}:{column}: "


def _file_of(given: str) -> Path:
    named = catalogue().get(given)
    return recording_named(Path(given)) if named is None else named


def _of_recording(recording: Observations, name: str) -> Scenario:
    """Scenario of a recording's script, with the catalogue's races for its id. Raises Malformed."""
    try:
        found = scenario_of_recording(recording)
    except ValueError as error:  # Malformed, or what a setting or version raises, which know no file
        raise Malformed(f"{name}: {error}") from error
    scenario = checked(found, name)
    named = catalogue().get(scenario.id)
    races = load_scenario(named.read_text(encoding="utf-8"), str(named)).races if named is not None else ()
    return msgspec.structs.replace(scenario, races=races)


def recording_named(given: Path) -> Path:
    """Path of a recording: a shipped one by its name, any other by its path.

    Names: `ID@VERSION/1.json`, or `ID@VERSION` for all of it.
    """
    named = GOLDEN / given
    is_name = "@" in next(iter(given.parts), "")
    return named if is_name and not given.exists() and named.exists() else given


def nearest_recordings(given: Path) -> str:
    """The `ID@VERSION` with the most similar name; "" if none is similar."""
    names = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir()) if GOLDEN.is_dir() else []
    return next(iter(get_close_matches(next(iter(given.parts), ""), names, n=1)), "")


def recordings_of(scenario_id: str, version: str, folder: Path = GOLDEN) -> list[Path]:
    """Recordings of real Kafka for the scenario, if there are any."""
    return sorted((folder / f"{scenario_id}@{version}").glob("*.json"))
