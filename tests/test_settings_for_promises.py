"""docs/settings-for-promises.md: runs of its cells are played again, and come out the same."""

import random
from functools import cache

import msgspec
import pytest

from docs.generate.settings_for_promises_page import replay, size_of
from emulator.judging.advice.advice_runs import AdviceWorker
from emulator.judging.advice.outcomes import Outcome
from verification.settings_for_promises import (
    PROFILES,
    RESULTS,
    VERSIONS,
    Cell,
    Found,
    choice_of,
    played_in,
    version_plan,
)

SEED = 14
AGAIN = "python -m verification.settings_for_promises VERSION, make docs"


@cache
def found() -> Found:
    return msgspec.json.decode(RESULTS.read_bytes(), type=Found)


def drawn(version: str) -> tuple[Cell, list[tuple[str, int]]]:
    """A violating cell, and (fault, seed) of a run that violates, one that waits longest.

    And any.
    """
    chance = random.Random(f"{SEED} {version}")
    cell = chance.choice([one for one in found().cells if one.version == version and one.broken])
    broken = [(fault, seed) for by in cell.broken.values() for fault, seeds in by.items() for seed in seeds]
    worst = max(cell.waits.values(), key=lambda wait: wait.ms)
    every = (chance.choice(list(found().faults)), chance.randint(1, found().seeds[version]))
    return cell, [chance.choice(broken), (worst.fault, worst.seed), every]


def played(cell: Cell, fault: str, seed: int) -> Outcome:
    requested = version_plan(cell.version, (cell.profile,))
    place = next(place for place, one in enumerate(requested.faults) if one.name == fault)
    return AdviceWorker(msgspec.structs.replace(requested, runs=((0, place, seed),))).play(0)[1]


@pytest.mark.long  # the page is of earlier machines: python -m verification.settings_for_promises, 15 minutes
@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_page_shows_is_played_again_and_the_same(version: str) -> None:
    cell, runs = drawn(version)
    for fault, seed in runs:
        outcome = played(cell, fault, seed)
        reported = {check for check, by in cell.broken.items() if seed in by.get(fault, [])}
        about = f"{' '.join(choice_of(version, cell.profile).overrides)} {fault} seed {seed}: {AGAIN}"
        assert bool(outcome.inconclusive) == (seed in cell.untold.get(fault, [])), about
        assert outcome.inconclusive or set(outcome.broken) == reported, about
        for az, ms in outcome.writes.waited_ms.items():
            assert ms <= cell.waits[az].ms, about
            assert (fault, seed) != (cell.waits[az].fault, cell.waits[az].seed) or ms == cell.waits[az].ms, about


def test_the_table_has_every_version_and_profile() -> None:
    assert found().profiles == PROFILES and tuple(found().seeds) == VERSIONS
    assert [(one.version, one.profile) for one in found().cells] == [(v, at) for v in VERSIONS for at in played_in(v)]
    for cell in found().cells:
        untold = sum(map(len, cell.untold.values()))
        assert cell.runs + untold == len(found().faults) * found().seeds[cell.version]


def test_min_insync_is_not_looked_at_without_acks_all() -> None:
    """So that the page need not have it twice."""
    cell = next(one for one in found().cells if (one.version, PROFILES[one.profile]["producer.acks"]) == ("2.8", "1"))
    fault = next(iter(cell.broken["lost-acknowledged"]))
    requested = version_plan("2.8", (cell.profile,))
    place = next(place for place, one in enumerate(requested.faults) if one.name == fault)
    more = msgspec.structs.replace(
        requested.choices[0], overrides=(*requested.choices[0].overrides, "min.insync.replicas=2")
    )
    both = msgspec.structs.replace(
        requested,
        choices=(requested.choices[0], more),
        replicas=requested.replicas * 2,
        runs=((0, place, 1), (1, place, 1)),
    )
    worker = AdviceWorker(both)
    assert worker.play(0)[1] == worker.play(1)[1]


def test_how_much_settings_require_depends_on_the_version() -> None:
    unclean = {"producer.acks": "1", "unclean.leader.election.enable": "true"}
    assert (size_of(unclean, "0.10.2"), size_of(unclean, "2.8")) == (0, 1)
    assert replay(unclean, "2.8", "az-0-is-cut-off-load", 3) == (
        "faultline advise --kafka-version 2.8 --fault az-0-is-cut-off-load --seeds 3 "
        "--set producer.acks=1 --set unclean.leader.election.enable=true"
    )
