"""Distribution of tasks to processes."""

from collections.abc import Generator, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.runs.cores import CHUNK_MAX, collect, in_order, lots_of


@given(st.integers(0, 3_000), st.integers(1, 64))
def test_every_task_is_in_one_lot_in_order_and_the_last_lots_are_small(tasks: int, processes: int) -> None:
    lots = list(lots_of(range(tasks), processes))
    assert [task for lot in lots for task in lot] == list(range(tasks))
    sizes = [len(lot) for lot in lots]
    assert sizes == sorted(sizes, reverse=True)
    assert all(1 <= size <= CHUNK_MAX for size in sizes)
    assert sizes[-processes:] == [1] * len(sizes[-processes:])


@given(st.permutations(range(5, 12)))
def test_results_come_by_their_places_as_soon_as_all_before_are_there(places: list[int]) -> None:
    seen: list[int] = []

    def played() -> Iterator[int]:
        for place in places:
            seen.append(place)
            yield place

    for number, place in enumerate(in_order(played(), lambda one: one, 5), 5):
        assert number == place and set(range(5, place + 1)) <= set(seen)
        assert set(range(5, place + 1)) - set(seen[:-1]), "none is held back"
    assert number == 11


class Runs:
    """Results of runs. `ended`: whether their iterator was closed."""

    def __init__(self) -> None:
        self.ended = False

    def results(self) -> Generator[int, None, None]:
        try:
            yield from range(5)
        finally:
            self.ended = True


@pytest.mark.parametrize(("last", "expected"), [(9, [0, 1, 2, 3, 4]), (2, [0, 1, 2])])
def test_results_are_collected_until_the_limit(last: int, expected: list[int]) -> None:
    runs, found = Runs(), list[int]()
    collect(runs.results(), found.append, lambda: found[-1] < last)
    assert (found, runs.ended) == (expected, True)


def test_an_interrupt_ends_the_runs() -> None:
    runs, found = Runs(), list[int]()

    def interrupted() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(results := runs.results(), found.append, interrupted)
    assert (found, runs.ended, list(results)) == ([0], True, [])
