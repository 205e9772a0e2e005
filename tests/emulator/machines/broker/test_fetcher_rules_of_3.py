"""Rules of the fetcher that came with 3.1 to 3.7 (semantics 2.1, 2.4).

Each is tested on both sides.
"""

import pytest

from protocol.events import HighWatermarkMoved
from protocol.ids import LeaderEpoch, Offset
from protocol.messages.replication_messages import DivergingEpoch
from tests.emulator.machines.broker.test_fetcher import cuts, fetch, fetched, follower
from verification.broker_bench import batch

BACKOFF_MS = 1000.0


@pytest.mark.parametrize(("version", "moves"), [("3.3", True), ("3.4", False)])
def test_a_diverging_response_moves_the_high_watermark_up_to_3_3(version: str, moves: bool) -> None:
    """KAFKA-14704. The truncation takes the high watermark back."""
    bench = follower(version)
    fetched(bench, high_watermark=3, diverging=DivergingEpoch(LeaderEpoch(0), Offset(2)))
    assert (3 in [event.high_watermark for event in bench.events(HighWatermarkMoved)]) is moves
    assert cuts(bench) == [(2, True, "diverging")]
    assert fetch(bench)[0] == 2


@pytest.mark.parametrize(("version", "named"), [("3.4", 0), ("3.5", -1), ("3.6", -1), ("3.7", 0)])
def test_after_an_empty_first_response_the_next_fetch_names_no_epoch_in_3_5_and_3_6(version: str, named: int) -> None:
    """KAFKA-15510."""
    bench = follower(version)
    assert fetch(bench) == (3, 1, 0)
    fetched(bench, high_watermark=3)
    assert fetch(bench) == (3, 1, named)
    fetched(bench, high_watermark=3)
    assert fetch(bench) == (3, 1, named), "until records come"
    fetched(bench, batch("d", base_offset=3, epoch=1), high_watermark=3)
    assert fetch(bench) == (4, 1, 1)


@pytest.mark.parametrize(("version", "pauses"), [("3.0", 2), ("3.1", 1)])
def test_a_fetch_without_a_response_costs_the_backoff_twice_up_to_3_0(version: str, pauses: int) -> None:
    bench = follower(version)
    first = bench.opened("fetcher")[-1]
    bench.lose(first)
    bench.advance(pauses * BACKOFF_MS - 1.0)
    assert bench.opened("fetcher") == [first]
    bench.advance(1.0)
    assert len(bench.opened("fetcher")) == 2


@pytest.mark.parametrize(("version", "end"), [("3.8", 5), ("3.9", 4)])
def test_a_follower_appends_no_batch_of_a_later_epoch_than_it_fetched_with_from_3_9_on(version: str, end: int) -> None:
    """KAFKA-18723: the leader was deposed, truncated and followed while it read."""
    bench = follower(version)
    later = batch("d", base_offset=3, epoch=1) + batch("e", base_offset=4, epoch=2)
    fetched(bench, later, high_watermark=3)
    assert bench.log.log_end == end
    assert fetch(bench)[0] == end
