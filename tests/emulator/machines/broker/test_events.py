"""Contents of a broker's events: all that a line of Kafka's logs has (semantics 9)."""

import pytest

from emulator.storage.memory_files import MemoryFiles
from protocol.errors import ErrorCode
from protocol.events import (
    EpochAnswered,
    FetcherChanged,
    FetchOffsetReset,
    FetchOutOfRange,
    IsrChangeRequested,
    LeaderAndIsrIgnored,
    LeaderEpochBegan,
    LogLoaded,
    RoleChanged,
)
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch, Offset
from protocol.messages.leadership_messages import PartitionState
from protocol.messages.replication_messages import DivergingEpoch
from tests.emulator.machines.broker.test_fetcher import epoch_ends, fetched, follower, listed
from tests.ids import brokers
from verification.broker_bench import T0, Bench, batch, state

FIRST = "t-0/00000000000000000000.log"


def written(*, segment_bytes: int = 1 << 30, lived_ms: float = 0.0) -> MemoryFiles:
    """Three records in epoch 0, by a broker that was killed."""
    bench = Bench(log_segment_bytes=segment_bytes)
    bench.lead(0, isr=(0,))
    for value in "abc":
        bench.produce(value)
    bench.advance(lived_ms)
    return bench.files


def began(bench: Bench) -> list[tuple[int, int, int, int, int]]:
    return [
        (e.leader_epoch, e.offset, e.previous_epoch, e.previous_offset, e.entries)
        for e in bench.events(LeaderEpochBegan)
    ]


# --- logs ---


@pytest.mark.parametrize(("lived_ms", "recovered"), [(0.0, "0,2"), (60_000.0, "2")])
def test_a_log_that_is_recovered_names_its_segments(lived_ms: float, recovered: str) -> None:
    """Two segments.
    After a minute the recovery point, which the second begins with, is checkpointed.
    """
    (loaded,) = Bench(files=written(segment_bytes=150, lived_ms=lived_ms)).events(LogLoaded)
    assert (loaded.clean, loaded.recovered, loaded.corrupted) == (False, recovered, -1)


def test_a_log_that_is_cut_by_recovery_names_the_segment() -> None:
    files = written()
    files.truncate(FIRST, files.size(FIRST) - 1)
    (loaded,) = Bench(files=files).events(LogLoaded)
    assert (loaded.log_end, loaded.recovered, loaded.corrupted) == (2, "0", 0)


def test_a_clean_stop_needs_no_recovery() -> None:
    bench = Bench()
    bench.lead(0, isr=(0,))
    bench.produce("a")
    bench.do(bench.broker.stop)
    (loaded,) = Bench(files=bench.files).events(LogLoaded)
    assert (loaded.clean, loaded.recovered, loaded.corrupted) == (True, "", -1)


@pytest.mark.parametrize(("version", "before_a_record"), [("2.0.0", []), ("2.0.1", [(0, 0, -1, -1, 0)])])
def test_an_epoch_begins_with_its_first_record_or_with_the_election(
    version: str, before_a_record: list[tuple[int, ...]]
) -> None:
    """KAFKA-7415; told once either way."""
    bench = Bench(version)
    bench.lead(0, isr=(0,))
    assert began(bench) == before_a_record
    bench.produce("a")
    bench.produce("b")
    assert began(bench) == [(0, 0, -1, -1, 0)]
    bench.lead(3, isr=(0,))
    bench.produce("c")
    assert began(bench)[1:] == [(3, 2, 0, 0, 1)]


def test_a_follower_notes_epochs_from_batches() -> None:
    bench = follower("2.8")
    fetched(bench, batch("x", base_offset=3, epoch=1) + batch("y", base_offset=4, epoch=4), high_watermark=3)
    assert began(bench)[1:] == [(1, 3, 0, 0, 1), (4, 4, 1, 3, 2)]


# --- roles and ISR ---


def test_a_role_has_the_reassignment_under_way() -> None:
    bench = Bench()
    one = state(0)
    changed = PartitionState(
        *T0, ControllerEpoch(1), BrokerId(0), LeaderEpoch(0), one.isr, 0, one.replicas,
        adding=list(brokers(4, 5)), removing=[BrokerId(2)],
    )
    bench.leader_and_isr(changed)
    assert [(e.adding, e.removing) for e in bench.events(RoleChanged)] == [("4,5", "2")]


def test_a_shrink_reports_the_lag() -> None:
    bench = Bench(replica_lag_time_max_ms=10_000)
    bench.lead(0, isr=(0, 1, 2))
    bench.produce("a")
    bench.fetch(1, replica=1)
    bench.fetch(0, replica=2)
    bench.produce("b")
    bench.advance(15_000.0)
    (requested,) = bench.events(IsrChangeRequested)
    assert (requested.was, requested.now, requested.high_watermark, requested.log_end) == ("0,1,2", "0", 0, 2)
    assert requested.out_of_sync == "1:1 2:0"


def test_a_growing_isr_has_no_broker_out_of_sync() -> None:
    bench = Bench()
    bench.lead(0, isr=(0,))
    bench.produce("a")
    bench.fetch(1, replica=1)
    (requested,) = bench.events(IsrChangeRequested)
    assert (requested.change, requested.high_watermark, requested.log_end, requested.out_of_sync) == (
        "expand",
        1,
        1,
        "",
    )


# --- orders ---


def test_an_order_that_changes_nothing_names_its_controller() -> None:
    bench = Bench()
    bench.lead(3, isr=(0, 1))
    bench.leader_and_isr(state(1, 2))
    bench.leader_and_isr(state(1, 4, replicas=(1, 2)))
    bench.update_metadata(live=(0, 2))
    bench.leader_and_isr(state(1, 5))
    assert bench.events(LeaderAndIsrIgnored) == [
        LeaderAndIsrIgnored(*T0, 2, 3, 1, "leader epoch not newer", 2, 2, 1, "0,1,2", 1),
        LeaderAndIsrIgnored(*T0, 4, 3, 1, "not a replica", 2, 3, 1, "1,2", 1),
        LeaderAndIsrIgnored(*T0, 5, 3, 1, "leader not alive", 2, 5, 1, "0,1,2", 1),
    ]


def test_an_order_of_an_older_controller_is_ignored_whole() -> None:
    bench = Bench()
    bench.leader_and_isr(controller_epoch=5)
    bench.leader_and_isr(state(0, 7), controller_epoch=4)
    assert bench.events(LeaderAndIsrIgnored) == [
        LeaderAndIsrIgnored("", -1, -1, 5, 4, "controller epoch not newer", 2, 2)
    ]


# --- fetchers ---


def test_a_fetcher_sends_its_epoch() -> None:
    bench = follower("2.8", epoch=4)
    fetched(bench, error=ErrorCode.FENCED_LEADER_EPOCH, high_watermark=-1)
    assert [(e.change, e.leader_epoch) for e in bench.events(FetcherChanged)] == [("added", 4), ("failed", 4)]


def test_an_epoch_response_is_an_event_with_its_effect() -> None:
    """Semantics 2.1: another round, then the end."""
    bench = Bench("2.6")
    for epoch in (0, 3):
        bench.lead(epoch, isr=(0, 1))
        bench.produce(f"{epoch}-0")
        bench.produce(f"{epoch}-1")
    bench.follow(leader=1, epoch=4)
    bench.advance(0.0)
    bench.establish(bench.opened("fetcher")[0])
    epoch_ends(bench, 2, 6)
    bench.advance(1_000.0)
    epoch_ends(bench, 0, 1)
    assert bench.events(EpochAnswered) == [
        EpochAnswered(*T0, source=1, leader_epoch=2, offset=6, own_epoch=0, log_end=4, to=2, complete=False),
        EpochAnswered(*T0, source=1, leader_epoch=0, offset=1, own_epoch=0, log_end=2, to=1, complete=True),
    ]


@pytest.mark.parametrize(("end", "to"), [(-1, 1), (2, 2), (9, 3)])
def test_the_first_answers_had_no_epoch(end: int, to: int) -> None:
    """KIP-101: an offset alone; undefined means the own high watermark."""
    bench = follower("1.0")
    epoch_ends(bench, -1, end)
    assert bench.events(EpochAnswered) == [EpochAnswered(*T0, 1, -1, end, -1, 3, to, True)]


def test_a_divergence_reported_in_a_fetch_is_such_an_answer() -> None:
    bench = follower("2.8")
    fetched(bench, diverging=DivergingEpoch(LeaderEpoch(0), Offset(2)))
    assert bench.events(EpochAnswered) == [EpochAnswered(*T0, 1, 0, 2, 0, 3, 2, True)]


@pytest.mark.parametrize(("unclean", "reason"), [(True, "latest"), (False, "not-allowed")])
def test_a_follower_ahead_of_its_leader_reports_both_log_ends(unclean: bool, reason: str) -> None:
    """Semantics 2.3."""
    bench = follower("1.1", high_watermark=3, unclean_leader_election_enable=unclean)
    epoch_ends(bench, 0, 3)
    fetched(bench, error=ErrorCode.OFFSET_OUT_OF_RANGE, high_watermark=-1)
    listed(bench, 1)
    assert bench.events(FetchOffsetReset) == [FetchOffsetReset(*T0, 1, 1, 3, reason)]


@pytest.mark.parametrize("start", [0, 40])
def test_a_follower_that_receives_the_leaders_log_start(start: int) -> None:
    bench = follower("2.8")
    fetched(bench, error=ErrorCode.OFFSET_OUT_OF_RANGE, high_watermark=-1)
    listed(bench, 50)
    listed(bench, start)
    assert bench.events(FetchOffsetReset) == [FetchOffsetReset(*T0, 1, start, 3, "start")]


def test_a_leader_reports_followers_out_of_range_only() -> None:
    bench = Bench("0.8.2")
    bench.lead(0, isr=(0, 1))
    bench.produce("a")
    bench.fetch(7)
    bench.fetch(7, replica=1)
    assert bench.events(FetchOutOfRange) == [FetchOutOfRange(*T0, 1, 7, 0, 1, 4)]
