"""Plays a campaign: draws of a space to rows, on all cores.

A worker resolves a cell once for all its seeds, and reads the scenario's file once unless a parameter changes it.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from emulator.exit_codes import UNUSABLE
from emulator.judging.campaigns.dataset import About
from emulator.judging.campaigns.row import Row
from emulator.judging.campaigns.rows import row_of
from emulator.judging.campaigns.space import Draw, Space
from emulator.judging.seed_runs import SeedsOptions, Worker, replay_command
from emulator.packaged import GOLDEN, installed_version
from emulator.runs.cores import Processes, on_all_cores
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.settings_files import read_settings_files
from emulator.runs.simulated import collector_disabled
from emulator.scenario.scenario_model import Scenario
from emulator.scenario.write import written
from emulator.settings.setting import Value
from emulator.settings.setting_registry import parse_assignment
from protocol.versions import ladder_name

CELLS_CHECKED_MAX = 100
"""Maximum of cells that are checked one by one before the first run."""
SCENARIOS_KEPT = 8
"""Maximum of scenarios that a worker keeps, by their parameters."""


class CampaignOptions(msgspec.Struct, frozen=True):
    """Options of a worker.

    `golden`: directory of recordings, for cells with the scenario's own settings. `keep`: directory for
    SEED/observations.json and verdict.json, "" keeps nothing.
    """

    space: Space
    golden: str = str(GOLDEN)
    keep: str = ""


class Cells:
    """Resolved cells of a space."""

    def __init__(self, options: CampaignOptions) -> None:
        self._options = options
        self._files = read_settings_files(options.space.settings_files)
        self._scenarios: dict[tuple[str, ...], Scenario] = {}

    def options(self, draw: Draw) -> SeedsOptions:
        """Options for the cell, as a command line would give them."""
        space = self._options.space
        changed = draw.overrides != space.overrides or draw.parameters != space.parameters
        return SeedsOptions(
            space.scenario, draw.kafka_version, draw.overrides, "" if changed else self._options.golden,
            self._options.keep, space.settings_files, draw.parameters,
        )  # fmt: skip

    def named(self, draw: Draw) -> tuple[str, str]:
        """(id of the scenario, version), also of a cell that cannot be played.

        If its parameters are the reason, the scenario's file counts without them.
        """
        for parameters in (draw.parameters, ()):
            with suppress(ValueError):
                scenario = self._scenario(parameters)
                return scenario.id, ladder_name(draw.kafka_version or scenario.default_version)
        return self._options.space.scenario, draw.kafka_version or ""

    def resolved(self, draw: Draw) -> Resolved:
        """The resolved cell. Raises ValueError, as reading and resolving a scenario do."""
        return resolve(self._scenario(draw.parameters), draw.kafka_version, settings_of(draw), self._files)

    def _scenario(self, parameters: tuple[str, ...]) -> Scenario:
        scenario = self._scenarios.get(parameters)
        if scenario is None:
            scenario = find_scenario(self._options.space.scenario, parameters)
            if len(self._scenarios) >= SCENARIOS_KEPT:
                self._scenarios.clear()
            self._scenarios[parameters] = scenario
        return scenario


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
        self._space = options.space
        self._cells = Cells(options)
        self._cell = -1
        self._worker: Worker | None = None
        self._resolved: Resolved | None = None

    def play(self, seed: int) -> Row:
        """The row of a run. `seed`: the run's number."""
        draw = self._space.draw(seed)
        about: dict[str, Any] = {
            "number": draw.number,
            "cell": draw.cell,
            "settings": _named(draw.overrides),
            "parameters": _named(draw.parameters),
            "replay": replay_command(self._cells.options(draw), draw.seed),
        }
        try:
            self._enter(draw)
        except ValueError as error:  # contradictory settings
            error_text = " ".join(str(error).split())
            scenario, version = self._cells.named(draw)
            return Row(
                scenario=scenario, kafka_version=version, seed=draw.seed, faults=(), valid="unknown", code=UNUSABLE,
                error=error_text, **about,
            )  # fmt: skip
        assert self._worker is not None and self._resolved is not None
        with collector_disabled():
            result, run = self._worker.played(draw.seed)
            scenario, version = self._resolved.scenario.id, self._resolved.spec.kafka_version
            return row_of(result, run, scenario=scenario, kafka_version=version, **about)

    def _enter(self, draw: Draw) -> None:
        """Enter the draw's cell. Raises the errors of `Cells.resolved`."""
        if draw.cell != self._cell or self._worker is None or self._resolved is None:
            self._resolved = self._cells.resolved(draw)
            self._worker = Worker(self._cells.options(draw), self._resolved)
            self._cell = draw.cell


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

    Raises the errors of `find_scenario` and of reading settings files.
    """
    scenario = find_scenario(space.scenario)
    # Digests cover values, not lines: comments may differ. A scenario's text has its own files by name alone.
    files = read_settings_files((*scenario.settings_files, *space.settings_files))
    settings = [(one.scope, one.broker, [(entry.name, entry.value) for entry in one.entries]) for one in files]
    compared = [(path.name, path.read_bytes()) for path in recordings]
    return About(
        command=command,
        space=space,
        scenario_digest=_digest(written(scenario).encode()),
        faultline=installed_version(),
        only=only,
        settings_digest=_digest(msgspec.json.encode(settings)) if settings else "",
        recordings_digest=_digest(msgspec.json.encode(compared)),
    )


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def _named(words: Sequence[str]) -> dict[str, str]:
    """{name: value} of `NAME=VALUE` words, as the user wrote them."""
    pairs = (word.partition("=") for word in words)
    return {name.strip(): value.strip() for name, _, value in pairs}
