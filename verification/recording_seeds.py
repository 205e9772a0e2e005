"""`python -m verification.recording_seeds [--seeds N] [RECORDING...]`: races as recorded.

Each recording is played with the first 3 seeds, then with further ones until one equals it. The results are printed,
and replace those in verification/results/recording_seeds.json; tests/test_recording_seeds.py plays the first seed of
each. Exit code 1 if a recording is not reached.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from contextlib import closing, suppress

import msgspec

from emulator.exit_codes import BROKEN, HELD
from emulator.packaged import GOLDEN
from emulator.runs.cores import in_order, on_all_cores
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.simulated import play
from emulator.scenario.observations.alignment import Difference
from emulator.scenario.observations.comparable import Comparable, comparable, first_partition, timeline_token
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.observations.recording_comparison import by_step, compare_reduced
from emulator.scenario.observations.recording_files import load
from emulator.scenario.observations.recording_parsing import plain
from emulator.scenario.observations.transaction_reduction import is_transactional
from emulator.scenario.player.player import Player
from emulator.scenario.player.tasks import StepFailed
from emulator.toplevel_errors import ended
from emulator.worlds.simulated.node import SimulatedNode
from verification import RESULTS

RESULT = RESULTS / "recording_seeds.json"
PREFIXES = ("kraft-", "txn-")
SAMPLE = 3
"""Number of seeds that are played in any case."""
SEEDS = 200
EARLY = (1, 3, 12)
EXAMPLES_MAX = 4
NEAREST_OF = 12
"""Number of seeds of which the nearest is shown, if none equals a recording."""


class Searched(msgspec.Struct, frozen=True, kw_only=True):
    """Seeds of a recording.

    `reached`: those that equal it, of the sample all, else the first. `played`: their number. `differences`: of
    `nearest`, of the first seeds that with the fewest.
    """

    recording: str
    played: int
    reached: tuple[int, ...] = ()
    nearest: int = 0
    differences: tuple[str, ...] = ()


class Differs(Exception):
    """A step's results differ from the recording's."""


class Prefix:
    """Compares the steps of a running script with a recording's, as they end. Raises Differs.

    Called after each input, of which only the player's count.
    """

    def __init__(self, recorded: Comparable, first: str) -> None:
        self._steps = [sorted(item.token for item in step) for step in by_step(recorded.timeline)]
        self._first = first
        self._kraft = bool(recorded.plane)
        self._read = 0
        self._ended = 0
        self._step: list[bytes] = []

    def __call__(self, node: SimulatedNode, now_ms: float) -> None:
        player = node.machine
        if not isinstance(player, Player):
            return
        entries = player.timeline.entries
        while self._read < len(entries):
            entry = entries[self._read]
            self._read += 1
            if "do" in entry:
                if self._ended >= len(self._steps) or sorted(self._step) != self._steps[self._ended]:
                    raise Differs
                self._ended += 1
                self._step = []
            token = timeline_token(entry, self._first, kraft=self._kraft)
            if token is not None:
                self._step.append(token)


class SeededRecording:
    """One recording and its script. Raises the errors of reading it."""

    def __init__(self, name: str) -> None:
        path = GOLDEN / name / "1.json"
        self.name = name
        self.resolved: Resolved = resolve(find_scenario(str(path)))
        recording = load(path)
        self._recorded: Comparable = comparable(recording)
        self._transactional = is_transactional(recording)
        self._first = first_partition(recording)

    def reaches(self, seed: int) -> bool:
        """Play a seed up to the first step that differs or fails; returns whether none does."""
        prefix = None if self._transactional else Prefix(self._recorded, self._first)
        try:
            played = play(self.resolved, seed, after_step=prefix)
        except (Differs, StepFailed):
            return False
        return not self.compared(plain(played.observations))

    def differences(self, seed: int) -> list[Difference]:
        """Play a seed; returns what differs from the recording."""
        return self.compared(plain(play(self.resolved, seed).observations))

    def compared(self, observations: Observations) -> list[Difference]:
        """Differences between a run's observations and the recording."""
        return compare_reduced(comparable(observations), self._recorded)

    def search(self, seeds: Iterable[int], sample: int) -> Searched:
        """Play seeds up to the first that equals the recording; play 1 to `sample` in any case."""
        reached: list[int] = []
        played = 0
        for seed in seeds:
            if seed > sample and reached:
                break
            played += 1
            if self.reaches(seed):
                reached.append(seed)
        nearest, fewest = (reached[0], []) if reached else self._nearest(range(1, min(played, NEAREST_OF) + 1))
        examples = tuple(str(one) for one in fewest[:EXAMPLES_MAX])
        return Searched(
            recording=self.name, played=played, reached=tuple(reached), nearest=nearest, differences=examples
        )

    def _nearest(self, seeds: Iterable[int]) -> tuple[int, list[Difference]]:
        """The seed with the fewest differences, and these."""
        found: list[tuple[int, list[Difference]]] = []
        for seed in seeds:
            with suppress(StepFailed):
                found.append((seed, self.differences(seed)))
        return min(found, key=lambda one: len(one[1]), default=(0, []))


def seeded_recordings() -> tuple[str, ...]:
    """Folders of recordings of KRaft and transactions: `kraft-az-isolated-leader@4.4`, ..."""
    return tuple(sorted(path.name for prefix in PREFIXES for path in GOLDEN.glob(f"{prefix}*") if path.is_dir()))


class SearchWorker:
    """Searches recordings by their places. `options`: their names, and the number of seeds."""

    def __init__(self, options: tuple[tuple[str, ...], int]) -> None:
        self._names, self._seeds = options

    def play(self, place: int) -> tuple[int, Searched]:
        return place, SeededRecording(self._names[place]).search(range(1, self._seeds + 1), min(SAMPLE, self._seeds))


def results() -> dict[str, Searched]:
    """{recording: its last result}"""
    if not RESULT.exists():
        return {}
    return {one.recording: one for one in msgspec.json.decode(RESULT.read_bytes(), type=list[Searched])}


def write(searched: Iterable[Searched], known: Iterable[str]) -> None:
    """Replace the results of these recordings; forget those of recordings that are gone."""
    by_name = results() | {one.recording: one for one in searched}
    kept = [by_name[name] for name in known if name in by_name]
    RESULT.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")


def line(one: Searched) -> str:
    early = sum(seed <= SAMPLE for seed in one.reached)
    how = f"seed {one.reached[0]:3}, {early} of the first {min(SAMPLE, one.played)}" if one.reached else "not reached"
    return f"{one.recording:44} {how}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", nargs="*", metavar="RECORDING", help="all if none is given")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"maximum of seeds of each (default {SEEDS})")
    parser.add_argument("--processes", type=int, default=None, help="number of processes (default: of cores)")
    given = parser.parse_args(arguments)
    known = seeded_recordings()
    names: tuple[str, ...] = tuple(given.recordings) or known
    if unknown := sorted({*names} - {*known}):
        parser.error(f"{unknown[0]}: no recording of KRaft or of transactions; there is {', '.join(known)}")
    if given.seeds < 1 or (given.processes is not None and given.processes < 1):
        parser.error("--seeds, --processes: at least 1")
    searched: list[Searched] = []
    with closing(on_all_cores(SearchWorker, (names, given.seeds), range(len(names)), given.processes)) as results:
        for _, one in in_order(results, lambda result: result[0]):
            searched.append(one)
            print(line(one), flush=True)
            for example in () if one.reached else one.differences:
                print(f"    seed {one.nearest}: {example}", flush=True)
    reached = [one.reached[0] for one in searched if one.reached]
    early = ", ".join(f"{sum(first <= seeds for first in reached)} within {seeds}" for seeds in EARLY)
    print(f"{len(reached)} of {len(searched)} recordings are reached: {early} seeds")
    write(searched, known)
    return HELD if len(reached) == len(searched) else BROKEN


if __name__ == "__main__":
    sys.exit(ended("verification.recording_seeds", lambda: main(sys.argv[1:])))
