"""An ISR check that waited long for the session service, and its successor.
Semantics 1.6.
"""

import pytest

from protocol.chance import Chance
from protocol.events import IsrChangeRequested
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch
from protocol.znodes import Leadership, encode_state
from tests.ids import brokers
from verification.broker_bench import Bench

LAG_MS = 2_000
STATE = "/brokers/topics/t/partitions/0/state"


class _Always(Chance):
    """Draws the same number for ever: 0, the next run gets the lock; 1, those who wait."""

    def __init__(self, drawn: int) -> None:
        super().__init__(0)
        self._drawn = drawn

    def below(self, bound: int) -> int:
        return self._drawn


def held_up(version: str, drawn: int) -> tuple[Bench, int]:
    """Leads [0, 1, 2]; 2 is silent, and the write that removes it waits 4 s.
    1 fetches just after it began to wait.
    """
    bench = Bench(version, replica_lag_time_max_ms=LAG_MS)
    bench.context.chance = _Always(drawn)
    bench.sessions.znodes[STATE] = (
        encode_state(Leadership(BrokerId(0), LeaderEpoch(0), brokers(0, 1, 2), ControllerEpoch(1))),
        0,
    )
    bench.update_metadata()
    bench.lead(0, isr=(0, 1, 2))
    for _ in range(19):
        bench.advance(100.0)
        bench.fetch(0, replica=1)
    bench.sessions.reachable = False
    fetch = -1
    while not bench.events(IsrChangeRequested):
        bench.advance(100.0)
        fetch = bench.fetch(0, replica=1)
    bench.advance(4_000.0)
    return bench, fetch


def changes(bench: Bench) -> list[str]:
    return [change.now for change in bench.events(IsrChangeRequested)]


@pytest.mark.parametrize("version", ("0.10.2", "1.1"))
def test_a_follower_that_waited_for_the_lock_counts_as_silent(version: str) -> None:
    bench, _ = held_up(version, 0)
    assert changes(bench) == ["0,1"]
    bench.session_back()
    assert changes(bench) == ["0,1", "0", "0,1"]
    assert bench.partition.isr == [0, 1]


def test_waiting_handlers_may_be_first_and_are_removed_all_the_same() -> None:
    bench, _ = held_up("1.1", 1)
    bench.session_back()
    assert changes(bench) == ["0,1"]
    bench.advance(0.0)
    assert changes(bench) == ["0,1", "0"]
    bench.fetch(0, replica=1)
    assert changes(bench) == ["0,1", "0", "0,1"]


def test_up_to_2_0_a_followers_position_is_known_while_the_partition_is_locked() -> None:
    for version, known in (("1.1", 1), ("2.1", 0)):
        bench = Bench(version, replica_lag_time_max_ms=LAG_MS, ibp=None)
        bench.update_metadata()
        bench.lead(0, isr=(0, 1, 2))
        bench.produce("a")
        bench.fetch(0, replica=1)
        bench.sessions.reachable = False
        while not bench.events(IsrChangeRequested):
            bench.advance(100.0)
        bench.fetch(1, replica=1)
        assert bench.partition.remotes[BrokerId(1)].log_end == known, version
