"""Plays many seeds of one scenario in the simulated world, on all cores.

Every worker process resolves the scenario itself from the command line's options, plays whole runs, and returns a few
numbers. A failed run is a result too: its seed and its reason."""

import re
import shlex
from collections.abc import Generator, Sequence
from hashlib import blake2b
from pathlib import Path
from time import perf_counter

import msgspec

from emulator.exit_codes import BUG, UNKNOWN
from emulator.judging.judged import JudgedRun, play_and_judge
from emulator.packaged import GOLDEN
from emulator.runs.cores import Processes, on_all_cores
from emulator.runs.deployment_options import SEED_MAX
from emulator.runs.directory import write_observations, write_verdict
from emulator.runs.resolve import Resolved
from emulator.runs.resolve_named import resolve_named
from emulator.runs.scenario_sources import place_of_step, recordings_of
from emulator.runs.simulated import collector_disabled
from emulator.runs.verdict_file import Verdict
from emulator.scenario.observations.comparable import Comparable, comparable
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.observations.races import Recorded
from emulator.scenario.observations.recording_files import load
from emulator.scenario.player.steps import StepFailed
from emulator.settings.setting_registry import parse_assignment
from emulator.worlds.simulated.heap import RunTooLong

SEEDS_MAX = 1_000_000
DIFFERENCES_MAX = 5
"""Maximum of differences from the nearest recording in a result."""


class UnusableSeeds(ValueError):
    """Invalid range of seeds."""


def parse_seeds(given: str) -> range:
    """A range from `1..200`, both included, or `7`. Raises UnusableSeeds."""
    match = re.fullmatch(r"\s*(\d+)\s*(?:\.\.\s*(\d+)\s*)?", given)
    if match is None:
        raise UnusableSeeds(f"--seeds {given}: expected A..B, such as 1..200")
    words = match[1], match[2] or match[1]
    if any(len(word) > len(str(SEED_MAX)) or int(word) > SEED_MAX for word in words):
        raise UnusableSeeds(f"--seeds {given}: from 0 to {SEED_MAX}")
    first, last = map(int, words)
    if last < first:
        raise UnusableSeeds(f"--seeds {given}: the last is before the first")
    if last - first >= SEEDS_MAX:
        raise UnusableSeeds(f"--seeds {given}: more than {SEEDS_MAX} seeds")
    return range(first, last + 1)


class SeedsOptions(msgspec.Struct, frozen=True):
    """Options of a worker.

    `golden`: directory of recordings, "": no comparison. `out`: output directory, "": no output. `parameters`: changes
    of the scenario's file, as `--param` takes them.
    """

    scenario: str
    kafka_version: str | None = None
    overrides: tuple[str, ...] = ()
    golden: str = str(GOLDEN)
    out: str = ""
    settings_files: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()

    def resolved(self) -> Resolved:
        """Read and resolve the scenario. Raises ValueError, as reading and resolving do."""
        overrides = dict(map(parse_assignment, self.overrides))
        return resolve_named(self.scenario, self.kafka_version, overrides, self.settings_files, self.parameters)

    def recordings(self, resolved: Resolved) -> dict[str, Observations]:
        """{ID@VERSION/N.json: recording of real Kafka}. Raises Malformed."""
        if not self.golden:
            return {}
        files = recordings_of(resolved.scenario.id, resolved.spec.kafka_version, Path(self.golden))
        return {f"{path.parent.name}/{path.name}": load(path) for path in files}


class SeedResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one seed.

    `recording`: the recording that it equals, "" if none. `outcome`, `shape`: hashes of all that must match a
    recording, and of the trace without times. `broken`: why it is not valid. `error`: why the run failed.
    """

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
    """Player of one scenario's seeds. One per process."""

    def __init__(self, options: SeedsOptions, resolved: Resolved | None = None) -> None:
        """`resolved`: the resolved `options`, where the caller already has it."""
        self._options = options
        self._resolved = resolved or options.resolved()
        recordings = options.recordings(self._resolved)
        self._recorded = Recorded(recordings, self._resolved.scenario.races) if recordings else None

    def play(self, seed: int) -> SeedResult:
        # A judged run leaves no objects: the collector runs afterwards, when little is left.
        with collector_disabled():
            return self.played(seed)[0]

    def played(self, seed: int) -> tuple[SeedResult, JudgedRun | None]:
        """The result of one seed, and the run itself if it was played to its end."""
        began_s = perf_counter()
        try:
            run = play_and_judge(self._resolved, seed, run=str(seed))
        except StepFailed as error:
            place = place_of_step(self._options.scenario, error.step)
            return SeedResult(seed=seed, code=UNKNOWN, error=f"{place}not played to its end: {error}"), None
        except RunTooLong as error:
            return SeedResult(seed=seed, code=UNKNOWN, error=f"{type(error).__name__}: {error}"), None
        except Exception as error:
            # A bug of this program: the other seeds go on. A replay of this seed writes the traceback.
            return SeedResult(seed=seed, code=BUG, error=f"{type(error).__name__}: {error}"), None
        if self._options.out:
            folder = Path(self._options.out) / str(seed)
            folder.mkdir(parents=True, exist_ok=True)
            write_observations(folder, run.observations)
            write_verdict(folder, run.verdict)
        outcome = comparable(run.observations)
        recording, races, differences = self._compared(outcome)
        world, verdict = run.played.world, run.verdict
        result = SeedResult(
            seed=seed,
            code=verdict.exit_code,
            recording=recording,
            races=races,
            differences=differences,
            outcome=outcome_of(outcome),
            shape=_hash(world.trace.shape()),
            checks={name: (check.verdict, check.count) for name, check in verdict.checks.items()},
            broken=broken_in(verdict),
            simulated_s=world.now_ms / 1000.0,
            wall_s=perf_counter() - began_s,
            inputs=world.inputs,
        )
        return result, run

    def _compared(self, outcome: Comparable) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        if self._recorded is None:
            return "", (), ()
        match = self._recorded.nearest(outcome)
        if match.equal:
            return match.recording, tuple(race.name for race in match.races), ()
        described = [f"{match.recording}: {difference}" for difference in match.differences[:DIFFERENCES_MAX]]
        return "", (), tuple(described)


def replay_command(options: SeedsOptions, seed: int) -> str:
    """Command line that replays one seed completely."""
    words = ["faultline", "run", options.scenario, "--world", "sim", "--seed", str(seed)]
    if options.kafka_version is not None:
        words += ["--kafka-version", options.kafka_version]
    for override in options.overrides:
        words += ["--set", override]
    for parameter in options.parameters:
        words += ["--param", parameter]
    for file in options.settings_files:
        words += ["--settings", file]
    return shlex.join(words)


def broken_in(verdict: Verdict) -> tuple[str, ...]:
    """Reasons why the run is not valid, one sentence each."""
    expectations = [one.text for one in verdict.expectations if one.held is not True]
    checks = [
        f"{name} is {check.verdict}, which the scenario does not expect"
        for name, check in verdict.checks.items()
        if (check.verdict == "violated" and not check.expected) or check.verdict == "unknown"
    ]
    return (*expectations, *checks, *verdict.unknown_because)


def outcome_of(run: Comparable) -> str:
    """Hash that is equal for two runs that equal the same recordings."""
    parts = [item.token for item in run.timeline + run.controllers]
    for of_place in (run.states, run.truncations):
        for name, items in sorted(of_place.items(), key=lambda part: str(part[0])):
            parts += [str(name).encode(), *(item.token for item in items)]
    return _hash(b"\n".join(parts))


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


# --- processes ---

Results = Generator[SeedResult, None, None]


def play_seeds(options: SeedsOptions, seeds: Sequence[int], processes: Processes = None) -> Results:
    """Results in the order of completion. Closing the iterator ends all processes."""
    yield from on_all_cores(Worker, options, seeds, processes)
