"""The random schedules, judged as their README asks, with a sample of a table's seeds.

The table is in docs/random-schedules.md. It says what 200 seeds did when it was last written (`python -m
verification.random_schedules`, four minutes on two cores). Seeds draw anew when a machine changes: then the table is of
others, and is written again.
"""

from functools import cache
from pathlib import Path

import msgspec
import pytest

from emulator.judging.schedule_judging import Judged, judge_all, reaches, schedules

pytestmark = pytest.mark.xdist_group("random-schedules")  # one process plays them (`now`)

SEEDS = range(1, 7)
TABLE = Path(__file__).parents[1] / "verification" / "results" / "random_schedules.json"
OFTEN = 0.57
"""Number of the table's seeds for a recording that all of `SEEDS` miss once in 160 tries."""
LUCK = 0.09
"""Allowed excess of the share of wrong seeds over the table's, over all schedules.

Two to three standard deviations.
"""


@cache
def table() -> dict[str, Judged]:
    return {one.schedule: one for one in msgspec.json.decode(TABLE.read_bytes(), type=list[Judged])}


@cache
def now() -> dict[str, Judged]:
    return {one.schedule: one for one in judge_all(schedules(), SEEDS)}


def test_the_table_has_every_schedule() -> None:
    assert tuple(table()) == schedules()
    assert all(one.seeds >= 200 for one in table().values())


@pytest.mark.slow
def test_what_recordings_agree_on_holds_no_less_often_than_in_the_table() -> None:
    wrong = sum(len(one.broken) for one in now().values()) / sum(one.seeds for one in now().values())
    was = sum(len(one.broken) for one in table().values()) / sum(one.seeds for one in table().values())

    def better_before(one: Judged) -> float:
        return len(one.broken) / one.seeds - len(table()[one.schedule].broken) / table()[one.schedule].seeds

    worst = sorted(now().values(), key=better_before, reverse=True)
    assert wrong <= was + LUCK, "\n".join("\n".join((one.schedule, *one.examples)) for one in worst[:3])


@pytest.mark.slow
@pytest.mark.parametrize("schedule", schedules())
def test_a_schedule_that_never_failed_does_not_begin_to(schedule: str) -> None:
    if not table()[schedule].broken:
        assert not now()[schedule].broken, "\n".join(now()[schedule].examples)


@pytest.mark.parametrize("schedule", schedules())
def test_no_entry_that_recordings_agree_on_is_rare(schedule: str) -> None:
    assert not table()[schedule].rare, "\n".join(table()[schedule].rare)


@pytest.mark.parametrize("schedule", schedules())
def test_every_recording_is_reached_by_a_seed_of_the_table(schedule: str) -> None:
    """Some seed matches each result of real Kafka; the table is of the current machines."""
    for name, seeds in table()[schedule].reached.items():
        assert seeds, f"no seed reaches {schedule}/{name}: a rule is missing"
        assert reaches(schedule, name, seeds[0]), (
            f"seed {seeds[0]} of the table does not reach {schedule}/{name}: the machines have changed since it was "
            "written, write it again (python -m verification.random_schedules, then make docs)"
        )


@pytest.mark.slow
@pytest.mark.parametrize("schedule", schedules())
def test_recordings_that_many_seeds_reached_are_still_reached(schedule: str) -> None:
    was = table()[schedule]
    for name, seeds in was.reached.items():
        if len(seeds) >= OFTEN * was.seeds:
            assert now()[schedule].reached[name], (
                f"{schedule}/{name} was reached by {len(seeds)} of {was.seeds} seeds, now by none of {len(SEEDS)}"
            )
