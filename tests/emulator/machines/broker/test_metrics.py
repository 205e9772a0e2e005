"""A broker's figures are those that Kafka's MBeans of the same names would show."""

import pytest

from emulator.machines.broker.broker_metrics import broker_metrics
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.messages.leadership_messages import AlterIsrRequest, AlterIsrResponse, IsrChanged
from protocol.messages.replication_messages import FetchedPartition, FetchResponse
from verification.broker_bench import T0, Bench, batch, state

LAG_MS = 10_000
STATE = "/brokers/topics/t/partitions/0/state"


def leader(version: str = "2.6", isr: tuple[int, ...] = (0, 1, 2), **settings: int) -> Bench:
    bench = Bench(version, replica_lag_time_max_ms=LAG_MS, **settings)  # type: ignore[arg-type]
    bench.sessions.znodes[STATE] = (b"{}", 0)
    bench.update_metadata(state(0))
    bench.lead(isr=isr)
    return bench


def figures(bench: Bench, *names: str) -> tuple[int, ...]:
    metrics = broker_metrics(bench.broker)
    return tuple(metrics[name] for name in names)


@pytest.mark.parametrize(
    ("isr", "minimum", "under_replicated", "under_minimum", "at_minimum"),
    [((0, 1, 2), 2, 0, 0, 0), ((0, 1), 2, 1, 0, 1), ((0,), 2, 1, 1, 0), ((0,), 1, 1, 0, 1)],
)
def test_a_leader_counts_its_partitions_by_their_isr(
    isr: tuple[int, ...], minimum: int, under_replicated: int, under_minimum: int, at_minimum: int
) -> None:
    bench = leader(isr=isr, min_insync_replicas=minimum)
    names = ("UnderReplicatedPartitions", "UnderMinIsrPartitionCount", "AtMinIsrPartitionCount")
    assert figures(bench, *names) == (under_replicated, under_minimum, at_minimum)
    assert figures(bench, "PartitionCount", "LeaderCount") == (1, 1)


def test_a_follower_counts_no_partition_as_under_replicated() -> None:
    """Only leaders know."""
    bench = Bench()
    bench.follow(isr=(1,))
    assert figures(bench, "PartitionCount", "LeaderCount", "UnderReplicatedPartitions") == (1, 0, 0)


def test_replicas_in_a_failed_log_directory_are_counted_apart() -> None:
    """KIP-112."""
    bench = Bench(log_dirs="d0,d1")
    bench.leader_and_isr(*(state(0, isr=(0,), topic_partition=("t", number)) for number in range(3)))
    bench.files.faults.failing.add("d0")
    bench.produce("a")
    names = ("PartitionCount", "LeaderCount", "OfflineReplicaCount", "OfflineLogDirectoryCount")
    assert figures(bench, *names) == (3, 1, 2, 1)


def test_changes_written_to_the_session_service_count_when_they_are_confirmed() -> None:
    bench = leader()
    bench.produce("a")
    bench.sessions.reachable = False
    bench.advance(2 * LAG_MS)
    names = ("IsrShrinksPerSec.Count", "IsrExpandsPerSec.Count", "FailedIsrUpdatesPerSec.Count")
    assert figures(bench, *names) == (0, 0, 0), "asked, not answered"
    bench.session_back()
    assert figures(bench, *names) == (1, 0, 0)
    bench.fetch(1, replica=1)
    assert figures(bench, *names) == (1, 1, 0)


def test_a_change_that_meets_another_version_is_a_failed_update() -> None:
    bench = leader(isr=(0,))
    bench.sessions.znodes[STATE] = (b'{"controller_epoch":9,"leader":1,"version":1,"leader_epoch":4,"isr":[1]}', 7)
    bench.produce("a")
    bench.fetch(1, replica=1)
    assert figures(bench, "IsrExpandsPerSec.Count", "FailedIsrUpdatesPerSec.Count") == (0, 1)


def test_changes_through_the_controller_count_when_they_are_confirmed() -> None:
    bench = leader("2.8", isr=(0, 1))
    bench.produce("a")
    bench.advance(1.5 * LAG_MS)
    connection = bench.opened("to-controller")[-1]
    bench.establish(connection)
    names = ("IsrShrinksPerSec.Count", "FailedIsrUpdatesPerSec.Count")
    assert isinstance(bench.last_sent(connection).message, AlterIsrRequest)
    assert figures(bench, *names) == (0, 0)
    bench.respond(connection, AlterIsrResponse(0, [IsrChanged(*T0, ErrorCode.UNKNOWN_SERVER_ERROR)]))
    assert figures(bench, *names) == (0, 1)
    bench.lead(1, isr=(0, 1), zk_version=4)
    bench.advance(1.5 * LAG_MS)
    bench.respond(connection, AlterIsrResponse(0, [IsrChanged(*T0, 0, BrokerId(0), LeaderEpoch(1), [BrokerId(0)], 5)]))
    assert figures(bench, *names) == (1, 1)


def test_the_lag_is_that_to_the_leaders_high_watermark_as_of_the_last_fetch() -> None:
    bench = Bench("0.10.2")
    bench.follow()
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.establish(connection)
    assert figures(bench, "MaxLag") == (0,), "nothing is known before the first fetch"
    records = batch("a", "b", magic=bench.magic)
    bench.respond(connection, FetchResponse([FetchedPartition(*T0, 0, Offset(5), Offset(0), None, records)]))
    assert bench.log.log_end == 2
    assert figures(bench, "MaxLag") == (3,)
