"""The replicas of a partition, offset by offset."""

from emulator.runs.replica_files import DIFFERS, MISSING, SAME, Entry, Replica, SideBySide, rows_of


def beside(*logs: list[Entry]) -> SideBySide:
    replicas = {f"broker-{number}": Replica(0, 0, None, [], log) for number, log in enumerate(logs)}
    return SideBySide("run", "t-0", "broker-0", "data/", replicas)


def marks(*logs: list[Entry]) -> list[tuple[int, str]]:
    return [(row.offset, row.mark) for row in rows_of(beside(*logs))]


def test_a_record_is_the_same_only_with_its_epoch() -> None:
    """A dual leader's replicas may hold equal values of different leaders."""
    assert marks([[0, 0, "a"], [1, 0, "b"]], [[0, 0, "a"], [1, 1, "b"]]) == [(0, SAME), (1, DIFFERS)]


def test_a_replica_that_is_behind_does_not_differ() -> None:
    assert marks([[0, 0, "a"], [1, 0, "b"]], [[0, 0, "a"]]) == [(0, SAME), (1, MISSING)]


def test_differences_are_reported_even_where_a_node_has_nothing() -> None:
    assert marks([], [[0, 0, "a"]], [[0, 1, "x"]]) == [(0, DIFFERS)]


def test_a_tombstone_is_a_record() -> None:
    assert marks([[0, 0, None]], [[0, 0, None]], [[0, 0, "None"]]) == [(0, DIFFERS)]


def test_old_wrappers_may_lie_over_each_other() -> None:
    """KIP-101 case 2, compressed (semantics 11.9).

    Offsets go backwards, and one offset has two records.
    """
    (_, row, _) = rows_of(beside([[0, None, "m"], [1, None, "x"], [1, None, "y"], [2, None, "z"]], [[1, None, "y"]]))
    assert (row.cells, row.mark) == ([[[1, None, "x"], [1, None, "y"]], [[1, None, "y"]]], DIFFERS)
