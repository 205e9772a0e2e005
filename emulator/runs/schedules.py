"""Random schedules in the simulated world, judged by the recordings' own rules (tests/golden/README.md).

Two judgements: what both recordings of a schedule agree on holds in every run, whatever the seed; each recording, as a
whole, is what some seed does. """

from collections.abc import Sequence
from pathlib import Path

import msgspec

from emulator.observations.agreement import agreed, broken
from emulator.observations.comparable import comparable
from emulator.observations.compare import compare_reduced
from emulator.observations.files import load
from emulator.observations.reading import plain
from emulator.runs.resolve import resolve
from emulator.runs.simulated import play
from emulator.runs.sources import GOLDEN
from emulator.scenario.recorded import scenario_of_recording

EXAMPLES_MAX = 3


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One schedule over many seeds. `entries`: results of the timeline that the recordings agree on; `always`: how many
    of them hold in every seed. `broken`: seeds in which some agreed entry, also of the states, controllers and
    truncations, does not hold. `reached`: {recording: seeds that equal it}. `examples`: what failed most, how to see
    it."""

    schedule: str
    seeds: int
    entries: int
    always: int
    broken: tuple[int, ...]
    reached: dict[str, tuple[int, ...]]
    examples: tuple[str, ...] = ()


def schedules(golden: Path = GOLDEN) -> tuple[str, ...]:
    """The recorded ones: `random-101@2.8`, ..."""
    return tuple(sorted(path.name for path in golden.glob("random-*") if path.is_dir()))


def judge(schedule: str, seeds: Sequence[int], golden: Path = GOLDEN) -> Judged:
    """Plays every seed. Raises what reading a recording and playing it raise."""
    files = sorted((golden / schedule).glob("*.json"))
    recordings = {path.name: comparable(load(path)) for path in files}
    wanted = agreed(list(recordings.values()))
    resolved = resolve(scenario_of_recording(load(files[0])))
    wrong: list[int] = []
    reached: dict[str, list[int]] = {name: [] for name in recordings}
    lacking: dict[str, list[int]] = {}
    for seed in seeds:
        run = comparable(plain(play(resolved, seed).observations))
        missing = list(broken(run, wanted))
        if missing:
            wrong.append(seed)
        for difference in missing:
            lacking.setdefault(f"{difference.where} of {files[0].name}", []).append(seed)
        for name, recording in recordings.items():
            if not compare_reduced(run, recording):
                reached[name].append(seed)
    worst = sorted(lacking.items(), key=lambda item: -len(item[1]))[:EXAMPLES_MAX]
    return Judged(
        schedule=schedule,
        seeds=len(seeds),
        entries=wanted.count,
        always=wanted.count - sum(where.startswith("timeline") for where in lacking),
        broken=tuple(wrong),
        reached={name: tuple(found) for name, found in reached.items()},
        examples=tuple(
            f"{where} is not there in {len(found)} seeds: "
            f"faultline run tests/golden/{schedule}/{files[0].name} --world sim --seed {found[0]}"
            for where, found in worst
        ),
    )
