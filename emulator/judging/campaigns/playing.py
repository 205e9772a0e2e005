"""A campaign played: draws of a space to rows, on all cores.

A worker resolves a cell once, for all of its seeds, and reads the scenario's file once, where no parameter changes it.
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
from emulator.judging.seeds import SeedsAsked, Worker, replay_command
from emulator.packaged import GOLDEN, installed_version
from emulator.runs.cores import Processes, on_all_cores
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.settings_files import read_settings_files
from emulator.runs.simulated import collector_asleep
from emulator.runs.sources import find_scenario
from emulator.scenario.model import Scenario
from emulator.scenario.write import written
from emulator.settings.registry import parse_assignment
from emulator.settings.setting import Value
from protocol.versions import ladder_name

CELLS_CHECKED_MAX = 100
"""One by one, before anything is played."""
SCENARIOS_KEPT = 8
"""Of a worker, by their parameters."""


class CampaignAsked(msgspec.Struct, frozen=True):
    """What a worker is told. `golden`: where recordings are, for cells that are as the scenario says; `keep`: a
    directory for SEED/observations.json and verdict.json, "" keeps nothing."""

    space: Space
    golden: str = str(GOLDEN)
    keep: str = ""


class Cells:
    """Cells of a space, resolved."""

    def __init__(self, asked: CampaignAsked) -> None:
        self._asked = asked
        self._files = read_settings_files(asked.space.settings_files)
        self._scenarios: dict[tuple[str, ...], Scenario] = {}

    def asked(self, draw: Draw) -> SeedsAsked:
        """As a command line would ask for the cell."""
        space = self._asked.space
        changed = draw.overrides != space.overrides or draw.parameters != space.parameters
        return SeedsAsked(
            space.scenario, draw.kafka_version, draw.overrides, "" if changed else self._asked.golden,
            self._asked.keep, space.settings_files, draw.parameters,
        )  # fmt: skip

    def named(self, draw: Draw) -> tuple[str, str]:
        """(id of the scenario, version), also of what cannot be played: where parameters are why, as the scenario's
        file stands without them."""
        for parameters in (draw.parameters, ()):
            with suppress(ValueError):
                scenario = self._scenario(parameters)
                return scenario.id, ladder_name(draw.kafka_version or scenario.default_version)
        return self._asked.space.scenario, draw.kafka_version or ""

    def resolved(self, draw: Draw) -> Resolved:
        """Raises what reading and resolving a scenario raises: every one a ValueError."""
        return resolve(self._scenario(draw.parameters), draw.kafka_version, settings_of(draw), self._files)

    def _scenario(self, parameters: tuple[str, ...]) -> Scenario:
        scenario = self._scenarios.get(parameters)
        if scenario is None:
            scenario = find_scenario(self._asked.space.scenario, parameters)
            if len(self._scenarios) >= SCENARIOS_KEPT:
                self._scenarios.clear()
            self._scenarios[parameters] = scenario
        return scenario


def check_cells(asked: CampaignAsked) -> Resolved:
    """Whether all cells can be played; the first of them. Of many cells each value of each axis in each version, beside
    the first of all others: what two settings say together is then told by the rows. Raises what `resolved` does."""
    cells, space = Cells(asked), asked.space
    numbers = range(space.cells)
    if space.cells > CELLS_CHECKED_MAX:
        numbers = sorted(set(space.each_value()))  # type: ignore[assignment]
    found = [cells.resolved(space.draw(number * space.seeds)) for number in numbers]
    return found[0]


class CampaignWorker:
    """Plays runs of a space by their numbers. One per process."""

    def __init__(self, asked: CampaignAsked) -> None:
        self._space = asked.space
        self._cells = Cells(asked)
        self._cell = -1
        self._worker: Worker | None = None
        self._resolved: Resolved | None = None

    def play(self, seed: int) -> Row:
        """`seed`: a run's number."""
        draw = self._space.draw(seed)
        about: dict[str, Any] = {
            "number": draw.number,
            "cell": draw.cell,
            "settings": _named(draw.overrides),
            "parameters": _named(draw.parameters),
            "replay": replay_command(self._cells.asked(draw), draw.seed),
        }
        try:
            self._enter(draw)
        except ValueError as error:  # these settings do not go together
            told = " ".join(str(error).split())
            scenario, version = self._cells.named(draw)
            return Row(
                scenario=scenario, kafka_version=version, seed=draw.seed, faults=(), valid="unknown", code=UNUSABLE,
                error=told, **about,
            )  # fmt: skip
        assert self._worker is not None and self._resolved is not None
        with collector_asleep():
            result, run = self._worker.played(draw.seed)
            scenario, version = self._resolved.scenario.id, self._resolved.spec.kafka_version
            return row_of(result, run, scenario=scenario, kafka_version=version, **about)

    def _enter(self, draw: Draw) -> None:
        """Its cell. Raises what `Cells.resolved` raises."""
        if draw.cell != self._cell or self._worker is None or self._resolved is None:
            self._resolved = self._cells.resolved(draw)
            self._worker = Worker(self._cells.asked(draw), self._resolved)
            self._cell = draw.cell


Rows = Generator[Row, None, None]


def play_runs(asked: CampaignAsked, numbers: Sequence[int], processes: Processes = None) -> Rows:
    """Rows in whatever order they come. Closing the iterator, as an interrupt does, ends all processes."""
    yield from on_all_cores(CampaignWorker, asked, numbers, processes)


def settings_of(draw: Draw) -> dict[str, Value]:
    """{setting: value}. Raises UnusableSetting."""
    return dict(map(parse_assignment, draw.overrides))


def about_of(command: str, space: Space, only: int = 0, recordings: Iterable[Path] = ()) -> About:
    """What such a campaign says of itself. `recordings`: files that runs are compared with. Raises what
    `find_scenario` and reading settings files raise."""
    scenario = find_scenario(space.scenario)
    # What a file says, not where: its comments may be others. A scenario's own files are in its text by name alone.
    files = read_settings_files((*scenario.settings_files, *space.settings_files))
    said = [(one.scope, one.broker, [(entry.name, entry.value) for entry in one.entries]) for one in files]
    compared = [(path.name, path.read_bytes()) for path in recordings]
    return About(
        command=command,
        space=space,
        scenario_digest=_digest(written(scenario).encode()),
        faultline=installed_version(),
        only=only,
        settings_digest=_digest(msgspec.json.encode(said)) if said else "",
        recordings_digest=_digest(msgspec.json.encode(compared)),
    )


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def _named(words: Sequence[str]) -> dict[str, str]:
    """{name: value} of `NAME=VALUE`, as a person wrote them."""
    pairs = (word.partition("=") for word in words)
    return {name.strip(): value.strip() for name, _, value in pairs}
