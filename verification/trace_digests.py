"""Digests of whole traces, before and after a change of code: a refactoring changes none.

    python -m verification.trace_digests write FILE [--seeds N]
    python -m verification.trace_digests compare FILE [--rename OLD=NEW ...]
    (both) [--without FIELD ...]

Twenty seeds of every catalogue scenario in every version that it names, and a seed of every recording's script. A
digest is of all events with their times and causes, as they would be written. `--rename` maps renamed names in events
before hashing: OLD is the name when FILE was written. `--without` leaves a field out of all events. Exits with 1 if a
digest differs, naming the first such seeds.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec

from emulator.packaged import GOLDEN
from emulator.runs.cores import on_all_cores
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import catalogue, find_scenario
from emulator.runs.simulated import play
from emulator.toplevel_errors import ended

SEEDS = 20
NAMED_MAX = 40
"""Runs that differ which are named; all are counted."""


class Script(msgspec.Struct, frozen=True):
    """A script.

    `scenario`: a catalogue id, or a recording relative to tests/golden. `version`: "" for a recording's own.
    """

    scenario: str
    version: str

    @property
    def name(self) -> str:
        return f"{self.scenario}@{self.version}" if self.version else self.scenario

    def resolved(self) -> Resolved:
        if self.version:
            return resolve(find_scenario(self.scenario), self.version, {})
        return resolve(find_scenario(str(GOLDEN / self.scenario)), None, {})


class Specification(msgspec.Struct, frozen=True):
    runs: tuple[tuple[Script, int], ...]
    renames: tuple[tuple[str, str], ...]
    without: tuple[str, ...]


class Digests:
    """Plays the runs of one question, by their places in its list. One per process."""

    def __init__(self, spec: Specification) -> None:
        self._task = spec
        self._resolved: dict[Script, Resolved] = {}

    def play(self, place: int) -> tuple[str, int, str]:
        """(script, seed, digest); an error's text instead of a digest where the run dies."""
        script, seed = self._task.runs[place]
        resolved = self._resolved.get(script)
        if resolved is None:
            self._resolved = {script: script.resolved()}
            resolved = self._resolved[script]
        try:
            trace = play(resolved, seed).world.trace
        except Exception as error:  # a run that dies the same way before and after has not changed
            return script.name, seed, f"{type(error).__name__}: {error}"
        digest = blake2b(digest_size=12)
        for entry in trace.entries:
            fields = trace.line(entry, "", 0.0)
            for name in self._task.without:
                fields.pop(name, None)
            line = msgspec.json.encode(fields).decode()
            for old, new in self._task.renames:
                line = line.replace(new, old)
            digest.update(line.encode())
        return script.name, seed, digest.hexdigest()


def scripts(seeds: int) -> tuple[tuple[Script, int], ...]:
    """Every run: (script, seed)."""
    found = [
        (Script(name, version), seed)
        for name in catalogue()
        for version in find_scenario(name).kafka
        for seed in range(1, seeds + 1)
    ]
    recordings = sorted(path.relative_to(GOLDEN) for path in GOLDEN.glob("*/*.json"))
    return (*found, *((Script(str(path), ""), 1) for path in recordings))


def digests(seeds: int, renames: Sequence[tuple[str, str]], without: Sequence[str]) -> dict[str, dict[int, str]]:
    """{script: {seed: digest}}"""
    runs = scripts(seeds)
    found: defaultdict[str, dict[int, str]] = defaultdict(dict)
    spec = Specification(runs, tuple(renames), tuple(without))
    for name, seed, digest in on_all_cores(Digests, spec, range(len(runs))):
        found[name][seed] = digest
    return {name: dict(sorted(of_script.items())) for name, of_script in sorted(found.items())}


def compare(before: dict[str, dict[int, str]], after: dict[str, dict[int, str]]) -> int:
    """Print differences; returns the number of runs that differ."""
    differing = 0
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            print(f"{name}: {'is new' if old is None else 'is gone'}")
            continue
        seeds = [seed for seed in sorted(old.keys() & new.keys()) if old[seed] != new[seed]]
        if seeds and differing < NAMED_MAX:
            print(f"{name}: {len(seeds)} of {len(old.keys() & new.keys())} seeds differ, {seeds[:5]} first")
        differing += len(seeds)
    return differing


def main(arguments: list[str]) -> int:
    prog = "python -m verification.trace_digests"
    parser = argparse.ArgumentParser(prog=prog, description="Digests of whole traces.")
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--rename", action="append", default=[], metavar="OLD=NEW")
    parser.add_argument("--without", action="append", default=[], metavar="FIELD")
    spec = parser.parse_args(arguments)
    if any("=" not in rename for rename in spec.rename):
        parser.error("--rename takes OLD=NEW")
    found = digests(spec.seeds, [tuple(rename.split("=", 1)) for rename in spec.rename], spec.without)
    runs = sum(map(len, found.values()))
    if spec.what == "write":
        spec.file.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1))
        print(f"{runs} digests of {len(found)} scripts")
        return 0
    before = msgspec.json.decode(spec.file.read_bytes(), type=dict[str, dict[int, str]])
    differing = compare(before, found)
    print(f"{differing} of {runs} runs differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(ended("verification.trace_digests", lambda: main(sys.argv[1:])))
