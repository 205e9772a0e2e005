"""Distribution of tasks to processes."""

from hypothesis import given
from hypothesis import strategies as st

from emulator.runs.cores import CHUNK_MAX, lots_of


@given(st.integers(0, 3_000), st.integers(1, 64))
def test_every_task_is_in_one_lot_in_order_and_the_last_lots_are_small(tasks: int, processes: int) -> None:
    lots = list(lots_of(range(tasks), processes))
    assert [task for lot in lots for task in lot] == list(range(tasks))
    sizes = [len(lot) for lot in lots]
    assert sizes == sorted(sizes, reverse=True)
    assert all(1 <= size <= CHUNK_MAX for size in sizes)
    assert sizes[-processes:] == [1] * len(sizes[-processes:])
