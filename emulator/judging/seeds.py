"""Many seeds of one scenario in the simulated world, on all cores.

Every worker resolves the scenario for itself from what the command line said, plays whole runs, and sends back a few
numbers. A run that fails is a result too: its seed, and why."""

from collections.abc import Generator, Sequence
from hashlib import blake2b
from pathlib import Path
from time import perf_counter

import msgspec

from emulator.exit_codes import BUG, UNKNOWN
from emulator.judging.judged import play_and_judge
from emulator.packaged import GOLDEN
from emulator.runs.cores import on_all_cores
from emulator.runs.directory import write_observations, write_verdict
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.settings_files import read_settings_files
from emulator.runs.simulated import collector_asleep
from emulator.runs.sources import find_scenario, place_of_step, recordings_of
from emulator.runs.verdict import Verdict
from emulator.scenario.observations.comparable import Comparable, comparable
from emulator.scenario.observations.files import load
from emulator.scenario.observations.model import Observations
from emulator.scenario.observations.races import nearest_with_races
from emulator.scenario.player.steps import StepFailed
from emulator.settings.registry import parse_assignment
from emulator.worlds.simulated.heap import RunTooLong

SEEDS_MAX = 1_000_000
DIFFERENCES_MAX = 5
"""Differences from the nearest recording that a result tells."""


class SeedsAsked(msgspec.Struct, frozen=True):
    """What a worker is told. `golden`: where recordings are; `out`: "" keeps nothing."""

    scenario: str
    kafka_version: str | None = None
    overrides: tuple[str, ...] = ()
    golden: str = str(GOLDEN)
    out: str = ""
    settings_files: tuple[str, ...] = ()

    def resolved(self) -> Resolved:
        """Raises what reading and resolving a scenario raises: every one a ValueError."""
        overrides = dict(map(parse_assignment, self.overrides))
        files = read_settings_files(self.settings_files)
        return resolve(find_scenario(self.scenario), self.kafka_version, overrides, files)

    def recordings(self, resolved: Resolved) -> dict[str, Observations]:
        """{ID@VERSION/N.json: what real Kafka did}. Raises Malformed."""
        files = recordings_of(resolved.scenario.id, resolved.spec.kafka_version, Path(self.golden))
        return {f"{path.parent.name}/{path.name}": load(path) for path in files}


class SeedResult(msgspec.Struct, frozen=True, kw_only=True):
    """One seed. `recording`: the one it equals, "" if none. `outcome`, `shape`: hashes of all that must match a
    recording, and of the trace without times. `broken`: why it is not valid. `error`: why there is no run."""

    seed: int
    code: int
    error: str = ""
    recording: str = ""
    races: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    outcome: str = ""
    shape: str = ""
    checks: dict[str, tuple[str, int]] = {}
    broken: tuple[str, ...] = ()
    simulated_s: float = 0.0
    wall_s: float = 0.0
    inputs: int = 0


class Worker:
    """Plays seeds of one scenario. One per process."""

    def __init__(self, asked: SeedsAsked) -> None:
        self._asked = asked
        self._resolved = asked.resolved()
        self._recordings = asked.recordings(self._resolved)

    def play(self, seed: int) -> SeedResult:
        # Nothing of a run outlives its judging: the collector looks afterwards, when little is left.
        with collector_asleep():
            return self._play(seed)

    def _play(self, seed: int) -> SeedResult:
        began_s = perf_counter()
        try:
            run = play_and_judge(self._resolved, seed, run=str(seed))
        except StepFailed as error:
            place = place_of_step(self._asked.scenario, error.step)
            return SeedResult(seed=seed, code=UNKNOWN, error=f"{place}not played to its end: {error}")
        except RunTooLong as error:
            return SeedResult(seed=seed, code=UNKNOWN, error=f"{type(error).__name__}: {error}")
        except Exception as error:
            # Our bug: the other seeds go on; the command that plays this one again writes its traceback down.
            return SeedResult(seed=seed, code=BUG, error=f"{type(error).__name__}: {error}")
        if self._asked.out:
            folder = Path(self._asked.out) / str(seed)
            folder.mkdir(parents=True, exist_ok=True)
            write_observations(folder, run.observations)
            write_verdict(folder, run.verdict)
        recording, races, differences = self._compared(run.observations)
        world, verdict = run.played.world, run.verdict
        return SeedResult(
            seed=seed,
            code=verdict.exit_code,
            recording=recording,
            races=races,
            differences=differences,
            outcome=outcome_of(comparable(run.observations)),
            shape=_hash(world.trace.shape()),
            checks={name: (check.verdict, check.count) for name, check in verdict.checks.items()},
            broken=broken_in(verdict),
            simulated_s=world.now_ms / 1000.0,
            wall_s=perf_counter() - began_s,
            inputs=world.inputs,
        )

    def _compared(self, observations: Observations) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        if not self._recordings:
            return "", (), ()
        match = nearest_with_races(observations, self._recordings, self._resolved.scenario.races)
        if match.equal:
            return match.recording, tuple(race.name for race in match.races), ()
        told = [f"{match.recording}: {difference}" for difference in match.differences[:DIFFERENCES_MAX]]
        return "", (), tuple(told)


def broken_in(verdict: Verdict) -> tuple[str, ...]:
    """Why the run is not valid, one sentence each."""
    expectations = [one.text for one in verdict.expectations if one.held is not True]
    checks = [
        f"{name} is {check.verdict}, which the scenario does not expect"
        for name, check in verdict.checks.items()
        if (check.verdict == "violated" and not check.expected) or check.verdict == "unknown"
    ]
    return (*expectations, *checks, *verdict.unknown_because)


def outcome_of(run: Comparable) -> str:
    """The same for two runs that equal the same recordings."""
    parts = [item.token for item in run.timeline + run.controllers]
    for of_place in (run.states, run.truncations):
        for name, items in sorted(of_place.items(), key=lambda part: str(part[0])):
            parts += [str(name).encode(), *(item.token for item in items)]
    return _hash(b"\n".join(parts))


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


# --- processes ---

Results = Generator[SeedResult, None, None]


def play_seeds(asked: SeedsAsked, seeds: Sequence[int], processes: int | None = None) -> Results:
    """Results in whatever order they come. `processes`: as many as cores by default; 1 stays in this process.

    Closing the iterator, as an interrupt does, ends all processes."""
    yield from on_all_cores(Worker, asked, seeds, processes)
