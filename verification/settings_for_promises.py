"""`python -m verification.settings_for_promises [--seeds N] [VERSION...]`: promises kept.

Every single fault of `faultline advise`, with every profile of settings below, on every version: the broken promises,
and the waits. Printed, and written to verification/results/settings_for_promises.json after each version, so that an
interrupted call leaves whole versions; versions that are not played again are kept. docs/settings-for-promises.md is
made from it, and tests/test_settings_for_promises.py plays a sample of it again. A version takes three minutes a seed
on two idle cores.
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Final

import msgspec

from emulator.judging.advice.advice import options_of
from emulator.judging.advice.advice_runs import AdviceOptions, Choice, FaultPlayer, base_of
from emulator.judging.advice.outcomes import PROMISES, Outcome
from emulator.judging.advice.single_faults import Fault
from emulator.toplevel_errors import ended

RESULTS = Path(__file__).parent / "results" / "settings_for_promises.json"
VERSIONS: Final = ("0.10.2", "1.1", "2.0", "2.6", "2.8")
SEEDS = 1
SEEDS_MAX = 100
ACKS: Final = "producer.acks"
IN_SYNC: Final = "min.insync.replicas"
UNCLEAN: Final = "unclean.leader.election.enable"
IDEMPOTENT: Final = "producer.enable.idempotence"
IN_FLIGHT: Final = "producer.max.in.flight.requests.per.connection"
FLUSH: Final = "log.flush.interval.messages"

Settings = dict[str, str]


def profiles() -> Iterator[Settings]:
    """Profiles of settings.

    `min.insync.replicas` varies only with acks=all: it has no other effect, and idempotence requires acks=all.
    """
    for acks, unclean in product(("0", "1"), ("false", "true")):
        yield {ACKS: acks, UNCLEAN: unclean}
    for idempotent, in_sync, unclean in product((False, True), ("1", "2"), ("false", "true")):
        own = {IDEMPOTENT: "true"} if idempotent else {}
        yield {ACKS: "all", IN_SYNC: in_sync, UNCLEAN: unclean, **own}
    yield {ACKS: "all", IN_SYNC: "2", UNCLEAN: "false", IN_FLIGHT: "1"}
    yield {ACKS: "1", UNCLEAN: "false", FLUSH: "1"}
    for in_sync in ("1", "2"):
        yield {ACKS: "all", IN_SYNC: in_sync, UNCLEAN: "false", IDEMPOTENT: "true", FLUSH: "1"}
    yield {ACKS: "all", IN_SYNC: "2", UNCLEAN: "false", IN_FLIGHT: "1", FLUSH: "1"}


PROFILES: Final = tuple(profiles())


class Wait(msgspec.Struct):
    """Waits of an AZ's writes.

    `runs` in which they waited, or were refused; the worst with `ms`, `fault` and `seed`. `ms` is the number of writes
    where they were refused.
    """

    runs: int = 0
    ms: float = 0.0
    fault: str = ""
    seed: int = 0


class Cell(msgspec.Struct, kw_only=True):
    """A cell.

    `profile`: its index. `runs`: conclusive ones; `untold`: {fault: seeds} of the others. `broken`: {check: {fault:
    seeds}}. `waits`, `refused`: {AZ: of its writes}.
    """

    version: str
    profile: int
    runs: int = 0
    untold: dict[str, list[int]] = {}
    broken: dict[str, dict[str, list[int]]] = {}
    waits: dict[str, Wait] = {}
    refused: dict[str, Wait] = {}


class Found(msgspec.Struct):
    """All results. `faults`: {name: (description, moment)}; `seeds`: {version: number of seeds}."""

    seeds: dict[str, int]
    profiles: tuple[Settings, ...]
    promises: dict[str, str]
    faults: dict[str, tuple[str, str]]
    cells: list[Cell]


def played_in(version: str) -> tuple[int, ...]:
    """Places of profiles: there are idempotent producers from 0.11 on."""
    return tuple(at for at, one in enumerate(PROFILES) if not (IDEMPOTENT in one and version == "0.10.2"))


def choice_of(version: str, at: int) -> Choice:
    return Choice(version, tuple(f"{name}={value}" for name, value in PROFILES[at].items()))


def version_plan(version: str, places: tuple[int, ...]) -> AdviceOptions:
    """All faults; its choices are the profiles at `places`, in their order. No runs."""
    choices = [choice_of(version, at) for at in places]
    bases = [base_of(choice, version) for choice in choices]
    assert all(base.faults == bases[0].faults for base in bases), "profiles say nothing of time-outs"
    return msgspec.structs.replace(
        options_of(choices[0], bases[0], ()), choices=tuple(choices), replicas=tuple(base.replicas for base in bases)
    )


def add(cell: Cell, outcome: Outcome) -> None:
    """Add one run's outcome.

    Runs come in any order: of equal waits, the one with the first name and seed is kept.
    """
    if outcome.inconclusive:
        cell.untold.setdefault(outcome.fault, []).append(outcome.seed)
        return
    cell.runs += 1
    for check in outcome.broken:
        cell.broken.setdefault(check, {}).setdefault(outcome.fault, []).append(outcome.seed)
    for waits, found in ((outcome.writes.waited_ms, cell.waits), (outcome.writes.refused, cell.refused)):
        for az, ms in waits.items():
            worst = found.setdefault(az, Wait())
            worst.runs += bool(ms)
            key = (-worst.ms, worst.fault, worst.seed)
            if ms and (-ms, outcome.fault, outcome.seed) < key:
                worst.ms, worst.fault, worst.seed = float(ms), outcome.fault, outcome.seed


def in_order(cell: Cell, faults: tuple[Fault, ...]) -> Cell:
    """The same, by the order of promises, faults, seeds and AZs."""

    def by_fault(found: dict[str, list[int]]) -> dict[str, list[int]]:
        return {one.name: sorted(found[one.name]) for one in faults if one.name in found}

    return msgspec.structs.replace(
        cell,
        untold=by_fault(cell.untold),
        broken={check: by_fault(cell.broken[check]) for check in PROMISES if check in cell.broken},
        waits=dict(sorted(cell.waits.items())),
        refused=dict(sorted(cell.refused.items())),
    )


def play_seed(plan: AdviceOptions, cells: list[Cell], seed: int) -> None:
    """All of one version, into `cells`, which are those of its choices."""
    every = product(range(len(plan.choices)), range(len(plan.faults)), (seed,))
    runs = msgspec.structs.replace(plan, runs=tuple(every))
    FaultPlayer().play(runs, lambda at, outcome: add(cells[at], outcome))


def line(cell: Cell) -> str:
    settings = " ".join(f"{name.removeprefix('producer.')}={value}" for name, value in PROFILES[cell.profile].items())
    broken = ", ".join(f"{check} {sum(map(len, by.values()))}" for check, by in cell.broken.items())
    return f"{cell.version:6} {settings}: of {cell.runs} runs {broken or 'none breaks a promise'}"


def written() -> Found:
    """Earlier results, if they have the same profiles."""
    if RESULTS.exists():
        found = msgspec.json.decode(RESULTS.read_bytes(), type=Found)
        if found.profiles == PROFILES and found.promises == PROMISES:
            return found
    return Found({}, PROFILES, dict(PROMISES), {}, [])


def play_version(version: str, seeds: int) -> None:
    """Played and written."""
    plan = version_plan(version, played_in(version))
    cells = [Cell(version=version, profile=at) for at in played_in(version)]
    for seed in range(1, seeds + 1):
        play_seed(plan, cells, seed)
    found = written()
    of = {one: [cell for cell in found.cells if cell.version == one] for one in VERSIONS}
    of[version] = [in_order(cell, plan.faults) for cell in cells]
    found.cells = [cell for one in VERSIONS for cell in of[one]]
    found.seeds = {one: seeds if one == version else found.seeds[one] for one in VERSIONS if of[one]}
    found.faults |= {one.name: (one.text, one.moment) for one in plan.faults}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    for cell in cells:
        print(line(cell), flush=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="all if none is given")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of each fault, profile and version")
    given = parser.parse_args(arguments)
    if not 1 <= given.seeds <= SEEDS_MAX:
        parser.error(f"--seeds {given.seeds}: 1 to {SEEDS_MAX}")
    if unknown := [one for one in given.versions if one not in VERSIONS]:
        parser.error(f"{unknown[0]}: there is {', '.join(VERSIONS)}")
    for version in given.versions or VERSIONS:
        began_s = perf_counter()
        play_version(version, given.seeds)
        print(f"{version}: {given.seeds} seeds, {perf_counter() - began_s:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(ended("verification.settings_for_promises", lambda: main(sys.argv[1:])))
