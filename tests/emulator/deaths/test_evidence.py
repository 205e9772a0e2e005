"""What the next life found of what one left, by the events of a run with real processes."""

from emulator.deaths.attendant import DiskLost
from emulator.deaths.evidence import recoveries_of
from emulator.deaths.history import Happened
from emulator.deaths.network import Left
from emulator.oracle.truth import Batch
from protocol.events import Event, LogCreated, LogLoaded
from tests.emulator.deaths.traces import PLACE

HELD = [Batch(0, 0, 0, 7), Batch(1, 1, 0, 8)]
LEFT = [Left("broker-1", 1, {PLACE: HELD})]
LOST = [DiskLost(3.0, "broker-1", frozenset({PLACE}))]


def second_life(*events: Event) -> list[Happened]:
    return [("broker-1", 2, n, "start", 5.0 + n, event) for n, event in enumerate(events)]


def test_a_log_that_is_made_anew_holds_nothing_of_what_was_left() -> None:
    """A lost disk leaves no log to load."""
    (found,) = recoveries_of(LEFT, [], LOST, second_life(LogCreated(*PLACE, "")))
    assert (found.held, found.recovered, found.disk) == (HELD, [], True)
    (found,) = recoveries_of(LEFT, [], [], second_life(LogCreated(*PLACE, "")))
    assert (found.recovered, found.disk) == ([], False), "and nobody took the disk: it is a broken promise"


def test_what_was_loaded_counts_though_it_was_deleted_and_made_again_later() -> None:
    (found,) = recoveries_of(LEFT, [], [], second_life(LogLoaded(*PLACE, 0, 2, 0, False), LogCreated(*PLACE, "")))
    assert found.recovered == HELD
