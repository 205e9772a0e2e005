"""Plays a campaign: draws of a space to rows, on all cores.

A worker resolves a cell once for all its seeds, and reads the scenario's file once unless a parameter changes it.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from emulator.judging.campaigns.dataset import About
from emulator.judging.campaigns.row import Row
from emulator.judging.campaigns.rows import not_played, row_of
from emulator.judging.campaigns.space import Draw, Space
from emulator.judging.judged import JudgedRun, NotJudged, judge_seed
from emulator.judging.run_outcome import digest_of, outcome_of
from emulator.packaged import GOLDEN, installed_version
from emulator.runs.cores import Processes, on_all_cores
from emulator.runs.directory import write_observations, write_verdict
from emulator.runs.resolve import Resolved
from emulator.runs.resolve_named import find_in_mode, resolve_found
from emulator.runs.scenario_sources import place_of_step, recordings_of
from emulator.runs.settings_files import read_settings_files
from emulator.runs.simulated import collector_disabled
from emulator.scenario.observations.comparable import Comparable, comparable
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.observations.races import Recorded
from emulator.scenario.observations.recording_files import load
from emulator.scenario.scenario_model import Scenario
from emulator.scenario.write import written
from emulator.settings.properties_files import SettingsFile
from emulator.settings.setting import Value
from emulator.settings.setting_registry import parse_assignment
from protocol.versions import ladder_name

CELLS_CHECKED_MAX = 100
"""Maximum of cells that are checked one by one before the first run."""
DIFFERENCES_MAX = 5
"""Maximum of differences from the nearest recording in a row."""
SCENARIOS_KEPT = 8
"""Maximum of scenarios that a worker keeps, by their parameters."""


class CampaignOptions(msgspec.Struct, frozen=True):
    """Options of a worker.

    `golden`: directory of recordings, for cells without settings of their own; "" compares nothing. `keep`: directory
    for SEED/observations.json and verdict.json, "" keeps nothing.
    """

    space: Space
    golden: str = str(GOLDEN)
    keep: str = ""


class Cells:
    """Resolved cells of a space."""

    def __init__(self, options: CampaignOptions) -> None:
        self._options = options
        self._files = read_settings_files(options.space.settings_files)
        self._scenario = lru_cache(SCENARIOS_KEPT)(self._found)

    def named(self, draw: Draw) -> tuple[str, str]:
        """(id of the scenario, version), also of a cell that cannot be played.

        If its parameters are the reason, the scenario's file counts without them.
        """
        for parameters in (draw.parameters, ()):
            with suppress(ValueError):
                scenario, _ = self._scenario(draw.kafka_version, parameters)
                return scenario.id, ladder_name(draw.kafka_version or scenario.default_version)
        return self._options.space.scenario, draw.kafka_version or ""

    def resolved(self, draw: Draw) -> Resolved:
        """The resolved cell. Raises ValueError, as reading and resolving a scenario do."""
        scenario, note = self._scenario(draw.kafka_version, draw.parameters)
        given = self._options.space.scenario
        return resolve_found(given, scenario, draw.kafka_version, settings_of(draw), self._files, note)

    def _found(self, kafka_version: str | None, parameters: tuple[str, ...]) -> tuple[Scenario, str]:
        space = self._options.space
        return find_in_mode(space.scenario, kafka_version, parameters, space.metadata, self._files)


def check_cells(options: CampaignOptions) -> Resolved:
    """Check that all cells can be played; returns the first.

    Of many cells it checks each value of each axis in each version, beside the first value of all other axes. The rows
    report contradictions of two settings. Raises the errors of `resolved`.
    """
    cells, space = Cells(options), options.space
    numbers = range(space.cells)
    if space.cells > CELLS_CHECKED_MAX:
        numbers = sorted(set(space.each_value()))  # type: ignore[assignment]
    found = [cells.resolved(space.draw(number * space.seeds)) for number in numbers]
    return found[0]


class CampaignWorker:
    """Plays runs of a space by their numbers. One per process."""

    def __init__(self, options: CampaignOptions) -> None:
        self._options = options
        self._space = options.space
        self._cells = Cells(options)
        self._entered = lru_cache(1)(self._enter)

    def play(self, number: int) -> Row:
        """The row of a run."""
        # A judged run leaves no objects: the collector runs afterwards, when little is left.
        with collector_disabled():
            return self.played(number)[0]

    def played(self, number: int) -> tuple[Row, JudgedRun | None]:
        """The row of a run, and the run itself if it was played to its end."""
        began_s = perf_counter()
        draw = self._space.draw(number)
        scenario, version = self._cells.named(draw)
        about: dict[str, Any] = {
            "number": draw.number,
            "cell": draw.cell,
            "seed": draw.seed,
            "settings": _named(draw.overrides),
            "parameters": _named(draw.parameters),
            "replay": self._space.replay(draw),
            "scenario": scenario,
            "kafka_version": version,
        }
        run = judge_seed(lambda: self._entered(draw.cell)[0], draw.seed)
        if isinstance(run, NotJudged):
            place = place_of_step(self._space.scenario, run.step) if run.step else ""
            return not_played(run, place, **about), None
        if self._options.keep:
            folder = Path(self._options.keep) / str(draw.seed)
            folder.mkdir(parents=True, exist_ok=True)
            write_observations(folder, run.observations)
            write_verdict(folder, run.verdict)
        about |= _compared(comparable(run.observations), self._entered(draw.cell)[1])
        return row_of(run, wall_s=perf_counter() - began_s, **about), run

    def _enter(self, cell: int) -> tuple[Resolved, Recorded | None]:
        """(the cell, recordings to compare). Raises the errors of `Cells.resolved`."""
        draw = self._space.draw(cell * self._space.seeds)
        resolved = self._cells.resolved(draw)
        recordings = recordings_for(self._options, draw, resolved)
        return resolved, Recorded(recordings, resolved.scenario.races) if recordings else None


def _compared(outcome: Comparable, recorded: Recorded | None) -> dict[str, Any]:
    """The outcome and its comparison with recordings, as fields of a row."""
    found: dict[str, Any] = {"outcome": outcome_of(outcome)}
    if recorded is None:
        return found
    match = recorded.nearest(outcome)
    if match.equal:
        return found | {"recording": match.recording, "races": tuple(race.name for race in match.races)}
    described = [f"{match.recording}: {difference}" for difference in match.differences[:DIFFERENCES_MAX]]
    return found | {"differences": tuple(described)}


def recordings_for(options: CampaignOptions, draw: Draw, resolved: Resolved) -> dict[str, Observations]:
    """{ID@VERSION/N.json: recording of real Kafka} for a draw's cell.

    None for a cell with settings or parameters of its own. Raises Malformed.
    """
    space = options.space
    if not options.golden or draw.overrides != space.overrides or draw.parameters != space.parameters:
        return {}
    files = recordings_of(resolved.scenario.id, resolved.spec.kafka_version, Path(options.golden))
    return {f"{path.parent.name}/{path.name}": load(path) for path in files}


Rows = Generator[Row, None, None]


def play_runs(options: CampaignOptions, numbers: Sequence[int], processes: Processes = None) -> Rows:
    """Rows in the order of completion.

    Closing the iterator, as an interrupt does, ends all processes.
    """
    yield from on_all_cores(CampaignWorker, options, numbers, processes)


def settings_of(draw: Draw) -> dict[str, Value]:
    """{setting: value}. Raises UnusableSetting."""
    return dict(map(parse_assignment, draw.overrides))


def about_of(command: str, space: Space, only: int = 0, recordings: Iterable[Path] = ()) -> About:
    """Contents of such a campaign's campaign.json. `recordings`: files for comparison.

    Raises the errors of `find_in_mode` and of reading settings files.
    """
    own = read_settings_files(space.settings_files)
    scenarios = [scenario for scenario, _ in _in_modes(space, own)]
    # Digests cover values, not lines: comments may differ. A scenario's text has its own files by name alone.
    files = (*read_settings_files(dict.fromkeys(name for one in scenarios for name in one.settings_files)), *own)
    settings = [(one.scope, one.broker, [(entry.name, entry.value) for entry in one.entries]) for one in files]
    compared = [(path.name, path.read_bytes()) for path in recordings]
    return About(
        command=command,
        space=space,
        scenario_digest=digest_of("".join(dict.fromkeys(map(written, scenarios))).encode()),
        faultline=installed_version(),
        only=only,
        settings_digest=digest_of(msgspec.json.encode(settings)) if settings else "",
        recordings_digest=digest_of(msgspec.json.encode(compared)),
    )


def notes_of(space: Space) -> tuple[str, ...]:
    """Notes about versions in whose metadata mode the scenario has another form.

    Raises the errors of `about_of`.
    """
    return tuple(dict.fromkeys(note for _, note in _in_modes(space, read_settings_files(space.settings_files)) if note))


def _in_modes(space: Space, files: Sequence[SettingsFile]) -> Iterator[tuple[Scenario, str]]:
    """The scenario of each version of the space, with its note."""
    for version in space.versions:
        yield find_in_mode(space.scenario, version, metadata=space.metadata, settings_files=files)


def _named(words: Sequence[str]) -> dict[str, str]:
    """{name: value} of `NAME=VALUE` words, as the user wrote them."""
    pairs = (word.partition("=") for word in words)
    return {name.strip(): value.strip() for name, _, value in pairs}
