"""`faultline compare RUN GOLDEN...`: differences between a run and the nearest recording.

Exit code 0: the run equals a recording, or does so by a race that its scenario names. 1: it differs from all.
2: something given cannot be used (no such file, not observations, a scenario with an error in it); the run is still
compared with the other recordings.
"""

import sys
from pathlib import Path

import msgspec

from emulator.cli.commands.command_errors import reports_errors
from emulator.packaged import GOLDEN
from emulator.regular_files import read_regular, reason
from emulator.runs.scenario_sources import SCENARIO_BYTES_MAX, nearest_recordings, recording_named
from emulator.scenario.load import ScenarioErrors, load_scenario
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.observations.races import Match, Race, nearest_with_races
from emulator.scenario.observations.recording_files import load, recording_files, run_file
from emulator.scenario.observations.recording_parsing import Malformed

EQUAL, DIFFERS, UNUSABLE = 0, 1, 2


@reports_errors("compare", Malformed, ScenarioErrors)
def compare_command(run_directory: Path, goldens: list[Path], /, *, json: bool = False) -> int:
    """Print the outcome to stdout, errors to stderr; returns the exit code.

    Parameters
    ----------
    run_directory
        A run's directory, or an observations.json.
    goldens
        Recordings by name, ID@VERSION, or by path: files, or folders of them.
    json
        Print the differences as JSON.
    """
    observed_file = run_file(run_directory)
    observed = load(observed_file)
    recordings, unreadable = _recordings(goldens)
    if not recordings:
        raise Malformed("\nfaultline compare: ".join(unreadable))
    races = _races(observed_file.parent / "scenario.yaml")
    for why in unreadable:
        print(f"faultline compare: {why}", file=sys.stderr)
    match = nearest_with_races(observed, recordings, races)
    if json:
        print(msgspec.json.encode(_as_json(run_directory, match)).decode())
    else:
        print("\n".join(_as_text(run_directory, match, len(recordings))))
    return UNUSABLE if unreadable else EQUAL if match.equal else DIFFERS


def _recordings(goldens: list[Path]) -> tuple[dict[str, Observations], list[str]]:
    """Return {name: recording}, and what is wrong with each of the others.

    Recordings that were named have their names, the others their paths. Raises Malformed: none was given."""
    found: dict[str, Observations] = {}
    unreadable: list[str] = []
    for given in goldens:
        try:
            path = recording_named(given)
            nearest = "" if path.is_absolute() or path.exists() else nearest_recordings(path)
            if nearest:
                raise Malformed(f"{path}: no such file or recording; nearest: {nearest}")
            files = recording_files([path])
        except Malformed as error:
            unreadable.append(str(error))
            continue
        for file in files:
            name = str(file if path == given else file.relative_to(GOLDEN))
            try:
                found[name] = load(file)
            except Malformed as error:
                unreadable.append(str(error))
    if not goldens:
        raise Malformed("no recording given")
    return found, unreadable


def _races(scenario_file: Path) -> tuple[Race, ...]:
    """Races of the scenario that was played; without its scenario, none.

    Raises Malformed.
    """
    try:
        text = read_regular(scenario_file, SCENARIO_BYTES_MAX, follow=True).decode("utf-8")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise Malformed(f"{scenario_file}: cannot be read: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise Malformed(f"{scenario_file}: not UTF-8 text: {error}") from error
    return load_scenario(text, str(scenario_file)).races


def _as_text(run: Path, match: Match, compared: int) -> list[str]:
    if match.equal:
        by = "".join(f", by race {race.name} ({race.rule})" for race in match.races)
        return [f"{run} equals {match.recording}{by}"]
    of = f", the nearest of {compared}" if compared > 1 else ""
    count = len(match.differences)
    head = f"{run} differs from {match.recording}{of}: {count} difference{'s' if count > 1 else ''}"
    return [head, *(f"  {difference}" for difference in match.differences)]


def _as_json(run: Path, match: Match) -> dict[str, object]:
    return {
        "run": str(run),
        "equal": match.equal,
        "recording": match.recording,
        "races": [{"name": race.name, "rule": race.rule} for race in match.races],
        "differences": [difference.as_json() for difference in match.differences],
    }
