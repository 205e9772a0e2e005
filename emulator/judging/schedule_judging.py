"""Judges random schedules in the simulated world by rules of the recordings.

tests/golden/README.md has the two rules. Each recording as a whole equals a run of some seed. No entry on which both
recordings of a schedule agree is rare, that is, shown by fewer than 1 in `RARE` of the runs.

A recorded schedule's script depends on its execution: "write to the node that believes to be the leader". So two
recordings of a schedule may have different scripts, and each is compared with runs of its own script."""

from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from statistics import mean

import msgspec

from emulator.packaged import GOLDEN
from emulator.runs.cores import in_order, on_all_cores
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.simulated import play
from emulator.scenario.observations.comparable import Comparable, comparable
from emulator.scenario.observations.recording_agreement import Agreed, agreed, broken
from emulator.scenario.observations.recording_comparison import compare_reduced
from emulator.scenario.observations.recording_files import load
from emulator.scenario.observations.recording_parsing import plain
from emulator.scenario.recorded import scenario_of_recording

EXAMPLES_MAX = 3
RARE = 50
"""Two recordings agree on a rare outcome by luck, on an impossible one by a wrong rule."""
RECORDED_ONCE = ("random-9121@3.9", "random-9123@3.9")
"""Schedules with one recording, so that nothing is agreed.

Each recording is one outcome of several races: of who becomes controller, and what is first to rejoin.
"""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One schedule over many seeds.

    - `results`: count of entries in the timeline of its first recording
    - `entries`: count of entries on which the recordings agree; 0 if there is one recording
    - `by_two_seeds`: average count of entries on which two runs agree
    - `always`: count of entries that hold in every seed
    - `broken`: seeds that lack an agreed entry, also of the states, controllers and truncations
    - `rare`: agreed entries that fewer than 1 in `RARE` of the runs show, with a command that shows the lack
    - `reached`: {recording: seeds that equal it}; more than `seeds` if it took more of them
    - `examples`: the entries that most runs lack, with a command
    """

    schedule: str
    seeds: int
    results: int
    entries: int
    by_two_seeds: float
    always: int
    broken: tuple[int, ...]
    reached: dict[str, tuple[int, ...]]
    rare: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


def schedules(golden: Path = GOLDEN) -> tuple[str, ...]:
    """Names of the recorded schedules: `random-101@2.8`, ..."""
    return tuple(sorted(path.name for path in golden.glob("random-*") if path.is_dir()))


def judge(schedule: str, seeds: Sequence[int], golden: Path = GOLDEN, further: Sequence[int] = ()) -> Judged:
    """Play every seed of every script, then `further` seeds for recordings not yet reached.

    Raises the errors of reading a recording and of playing it.
    """
    files = sorted((golden / schedule).glob("*.json"))
    loaded = {path.name: load(path) for path in files}
    recordings = {name: comparable(recorded) for name, recorded in loaded.items()}
    wanted = Agreed((), {}) if schedule in RECORDED_ONCE else agreed(list(recordings.values()))
    wrong: set[int] = set()
    reached: dict[str, list[int]] = {name: [] for name in recordings}
    lacking: dict[str, list[int]] = {}
    runs = 0
    by_two_seeds: list[int] = []
    for alike in _by_script(recordings):
        resolved = resolve(scenario_of_recording(loaded[alike[0]]))
        before: Comparable | None = None
        for seed in seeds:
            run = _run(resolved, seed)
            runs += 1
            if before is not None:
                by_two_seeds.append(agreed([before, run]).count)
            before = run
            missing = list(broken(run, wanted))
            if missing:
                wrong.add(seed)
            for difference in missing:
                lacking.setdefault(f"{difference.where} of {files[0].name}", []).append(seed)
            for name in alike:
                if not compare_reduced(run, recordings[name]):
                    reached[name].append(seed)
    for name, found in reached.items():
        resolved = resolve(scenario_of_recording(loaded[name]))
        if not found:
            alike_seeds = (seed for seed in further if not compare_reduced(_run(resolved, seed), recordings[name]))
            found.extend(islice(alike_seeds, 1))
    worst = sorted(lacking.items(), key=lambda item: -len(item[1]))

    def example(where: str, found: list[int]) -> str:
        return (
            f"{where} is not there in {len(found)} of {runs} runs: "
            f"faultline run {schedule}/{files[0].name} --world sim --seed {found[0]}"
        )

    return Judged(
        schedule=schedule,
        seeds=len(seeds),
        results=agreed([recordings[files[0].name]]).count,
        entries=wanted.count,
        by_two_seeds=round(mean(by_two_seeds), 1) if by_two_seeds else 0.0,
        always=wanted.count - sum(where.startswith("timeline") for where in lacking),
        broken=tuple(sorted(wrong)),
        reached={name: tuple(found) for name, found in reached.items()},
        rare=tuple(example(where, found) for where, found in worst if (runs - len(found)) * RARE < runs),
        examples=tuple(example(where, found) for where, found in worst[:EXAMPLES_MAX]),
    )


class _Worker:
    """Judges schedules by their places. `options`: their names, seeds, and further seeds."""

    def __init__(self, options: tuple[Sequence[str], Sequence[int], Sequence[int]]) -> None:
        self._names, self._seeds, self._further = options

    def play(self, place: int) -> tuple[int, Judged]:
        return place, judge(self._names[place], self._seeds, further=self._further)


def judge_all(names: Sequence[str], seeds: Sequence[int], further: Sequence[int] = ()) -> Generator[Judged, None, None]:
    """Judge schedules on all cores, in their order. Raises the errors of `judge`."""
    with closing(on_all_cores(_Worker, (names, seeds, further), range(len(names)))) as judged:
        yield from (one for _, one in in_order(judged, lambda one: one[0]))


def reaches(schedule: str, recording: str, seed: int, golden: Path = GOLDEN) -> bool:
    """Whether a run of the recording's own script equals it.

    Raises the errors of reading and playing it.
    """
    recorded = load(golden / schedule / recording)
    return not compare_reduced(_run(resolve(scenario_of_recording(recorded)), seed), comparable(recorded))


def _run(resolved: Resolved, seed: int) -> Comparable:
    return comparable(plain(play(resolved, seed).observations))


def _by_script(recordings: dict[str, Comparable]) -> list[list[str]]:
    """Names of recordings, grouped by script."""
    found: dict[tuple[bytes, ...], list[str]] = {}
    for name, recording in recordings.items():
        script = tuple(item.token for item in recording.timeline if "do" in item.entry)
        found.setdefault(script, []).append(name)
    return list(found.values())
