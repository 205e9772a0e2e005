"""A space's runs by their numbers, what no space is, and drawing from one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.judging.campaigns.space import RUNS_MAX, Axis, Space, UnusableSpace, all_of, checked, some_of

SPACE = Space(
    scenario="cap-choice",
    axes=(
        Axis("version", "kafka_version", ("2.6", "2.8")),
        Axis("setting", "min.insync.replicas", ("1", "2", "3")),
        Axis("parameter", "sleep#3", ("10", "30")),
    ),
    first_seed=5,
    seeds=2,
    overrides=("producer.acks=1",),
)


def test_a_number_names_version_settings_parameters_and_seed() -> None:
    """The first axis is the slowest, seeds are the fastest."""
    assert (SPACE.cells, SPACE.runs) == (12, 24)
    first, last = SPACE.draw(0), SPACE.draw(23)
    assert (first.cell, first.seed, first.kafka_version) == (0, 5, "2.6")
    assert (last.cell, last.seed, last.kafka_version) == (11, 6, "2.8")
    assert last.overrides == ("producer.acks=1", "min.insync.replicas=3")
    assert last.parameters == ("sleep#3=30",)
    assert list(last.chosen) == ["kafka_version", "min.insync.replicas", "sleep#3"]


@given(st.lists(st.integers(1, 4), max_size=4), st.integers(1, 3))
def test_every_choice_is_one_cell_and_has_every_seed(sizes: list[int], seeds: int) -> None:
    axes = tuple(Axis("setting", f"s{number}", tuple(map(str, range(size)))) for number, size in enumerate(sizes))
    space = Space(scenario="x", axes=axes, seeds=seeds)
    draws = [space.draw(number) for number in all_of(space)]
    assert len({(tuple(draw.chosen.items()), draw.seed) for draw in draws}) == len(draws) == space.runs
    assert [draw.cell for draw in draws] == sorted(draw.cell for draw in draws)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ((Axis("setting", "a", ("1",)), Axis("setting", "a", ("2",))), "a: duplicate axis"),
        ((Axis("setting", "producer.acks", ("0", "all")),), "producer.acks: duplicate axis"),
        ((Axis("setting", "a", ("1", "2", "1")),), "a: has 1 twice"),
        ((Axis("setting", "a", ("1", "")),), "a: a value is empty"),
        (tuple(Axis("setting", f"a{n}", ("1", "2")) for n in range(13)), "13 axes: at most 12"),
        ((Axis("setting", "a", tuple(map(str, range(1001)))),), "a: 1001 values; at most 1000"),
        (tuple(Axis("setting", f"a{n}", tuple("abcdefgh")) for n in range(10)), f"at most {RUNS_MAX} runs"),
    ],
)
def test_what_no_space_is(axes: tuple[Axis, ...], message: str) -> None:
    with pytest.raises(UnusableSpace, match=message):
        checked(Space(scenario="x", axes=axes, overrides=("producer.acks=1",)))


def test_a_seed_that_no_column_holds_is_refused() -> None:
    with pytest.raises(UnusableSpace, match="the largest is 9223372036854775807"):
        checked(Space(scenario="x", first_seed=2**63 - 1, seeds=2))


def test_a_sample_has_each_run_at_most_once_and_is_the_same_again() -> None:
    drawn = some_of(SPACE, 10)
    assert drawn == sorted(set(drawn)) == some_of(SPACE, 10)
    assert len(drawn) == 10 and drawn != some_of(SPACE, 10, seed=2)
    assert some_of(SPACE, 100) == list(all_of(SPACE))
