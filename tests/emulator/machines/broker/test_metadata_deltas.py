"""Changes of the metadata log at one broker: kraft-semantics 4 and 5.3."""

from typing import Any

import pytest

from controller.kraft.metadata_image import BrokerRegistration
from emulator.machines.broker.metadata_deltas import LocalChanges
from protocol.errors import ErrorCode
from protocol.events import IsrChangeEnded, LeaderAndIsrIgnored, LogDeleted, RoleChanged
from protocol.ids import NO_BROKER, BrokerId, ControllerEpoch, LeaderEpoch, Offset, TopicPartition
from protocol.messages.leadership_messages import (
    AlterIsrRequest,
    AlterIsrResponse,
    BrokerEndpoint,
    IsrChanged,
    PartitionState,
)
from protocol.messages.replication_messages import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from tests.ids import brokers
from verification.broker_bench import T0, Bench, state

VERSIONS = ("3.3", "3.5", "3.7", "3.9", "4.1", "4.4")
LAG_MS = 10_000
EPOCHS = {0: 100, 1: 101, 2: 102}
"""Broker epochs of the registrations."""


def registrations(
    fenced: tuple[int, ...] = (), stopping: tuple[int, ...] = (), epochs: dict[int, int] | None = None
) -> dict[BrokerId, BrokerRegistration]:
    return {
        BrokerId(broker): BrokerRegistration(
            BrokerId(broker), epoch, f"life-{broker}", f"broker-{broker}", "", broker in fenced, broker in stopping,
            Offset(epoch),
        )
        for broker, epoch in (EPOCHS | (epochs or {})).items()
    }  # fmt: skip


def kraft(version: str = "3.9", number: int = 0, **settings: Any) -> Bench:
    bench = Bench(version, number=number, metadata="kraft", replica_lag_time_max_ms=LAG_MS, **settings)
    bench.context.broker_epoch = EPOCHS[number]
    bench.context.registrations = registrations()
    return bench


def apply(
    bench: Bench,
    leaders: tuple[PartitionState, ...] = (),
    followers: tuple[PartitionState, ...] = (),
    deletes: tuple[TopicPartition, ...] = (),
) -> None:
    nodes = {broker: one.node for broker, one in registrations().items()}
    orderer = (BrokerId(1000), ControllerEpoch(3), -1)
    changes = LocalChanges(list(deletes), list(leaders), list(followers), nodes, orderer)
    bench.do(lambda: bench.context.threads.start("metadata-publisher", "publish", bench.broker.deltas.apply(changes)))


def fetch(bench: Bench, offset: int, replica: int, broker_epoch: int | None = None) -> FetchedPartition:
    epoch = EPOCHS[replica] if broker_epoch is None else broker_epoch
    request = FetchRequest(BrokerId(replica), 0, 1, 10_485_760, [FetchPartition(*T0, Offset(offset))], epoch)
    return bench.answer(bench.ask(request), FetchResponse).partitions[0]


def pending(bench: Bench) -> bool:
    """Whether a change of the ISR is under way."""
    return bench.partition.pending is not None


def altered(bench: Bench) -> AlterIsrRequest:
    """The request for another ISR."""
    connection = bench.opened("to-controller")[-1]
    bench.establish(connection)
    message = bench.last_sent(connection).message
    assert isinstance(message, AlterIsrRequest)
    return message


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def leader(version: str, isr: tuple[int, ...] = (0, 1, 2), records: int = 2) -> Bench:
    bench = kraft(version)
    bench.broker.metadata.controller = BrokerId(2)
    bench.broker.metadata.live = {broker: BrokerEndpoint(broker, f"broker-{broker}") for broker in brokers(0, 1, 2)}
    apply(bench, leaders=(state(0, 5, isr, zk_version=7),))
    for number in range(records):
        bench.produce(f"v{number}")
    return bench


def test_a_newer_state_with_the_same_leader_epoch_changes_the_isr_alone(version: str) -> None:
    bench = leader(version)
    fetch(bench, 1, 1)
    caught_up_ms = bench.partition.remotes[BrokerId(1)].last_caught_up_ms
    bench.advance(100)
    apply(bench, leaders=(state(0, 5, (0, 1), zk_version=8),))
    partition = bench.partition
    assert (partition.isr, partition.partition_epoch, partition.leader_epoch) == ([0, 1], 8, 5)
    assert (partition.epoch_start, bench.log.epochs.text) == (0, "5:0")
    follower = partition.remotes[BrokerId(1)]
    assert (follower.log_end, follower.last_caught_up_ms, follower.broker_epoch) == (1, caught_up_ms, EPOCHS[1])
    assert bench.log.high_watermark == (1 if version >= "3.6" else 0), "replica 2 has left the ISR (KAFKA-15021)"


def test_a_new_leader_epoch_of_the_same_leader_begins_where_its_log_ends(version: str) -> None:
    bench = leader(version)
    fetch(bench, 1, 1)
    apply(bench, leaders=(state(0, 6, (0, 1), zk_version=8),))
    assert (bench.partition.epoch_start, bench.log.epochs.text) == (2, "5:0 6:2")
    assert bench.partition.remotes[BrokerId(1)].log_end == 1, "it led before"


@pytest.mark.parametrize("leads", [True, False])
def test_a_state_with_an_older_partition_epoch_is_skipped(version: str, leads: bool) -> None:
    bench = leader(version)
    old = state(0 if leads else 1, 5, (0,), zk_version=6)
    apply(bench, leaders=(old,) if leads else (), followers=() if leads else (old,))
    assert (bench.partition.isr, bench.partition.partition_epoch, bench.partition.leads) == ([0, 1, 2], 7, True)
    assert [event.leader_epoch for event in bench.events(LeaderAndIsrIgnored)] == [5]


def test_a_state_replaces_a_pending_change_of_the_isr(version: str) -> None:
    """Also one with the partition epoch that the leader has."""
    bench = leader(version)
    bench.advance(1.5 * LAG_MS)
    assert pending(bench)
    apply(bench, leaders=(state(0, 5, (0, 1, 2), zk_version=7),))
    assert not pending(bench)
    assert bench.partition.isr == [0, 1, 2]


def test_a_pending_change_ends_with_the_state_that_has_it(version: str) -> None:
    bench = leader(version)
    bench.advance(1.5 * LAG_MS)
    apply(bench, leaders=(state(0, 5, (0,), zk_version=8),))
    assert (bench.partition.pending, bench.partition.isr, bench.log.high_watermark) == (None, [0], 2)
    ended = bench.events(IsrChangeEnded)
    assert [(event.isr, event.result, event.zk_version) for event in ended] == [("0", "done", 8)]
    assert [event.leader_epoch for event in bench.events(RoleChanged)] == [5]


def test_a_leader_without_a_successor_steps_down_and_fetches_nothing(version: str) -> None:
    bench = leader(version)
    waiting = bench.produce("x", acks=-1, timeout_ms=60_000)
    apply(bench, followers=(state(NO_BROKER, 6, (0,), zk_version=8),))
    partition = bench.partition
    assert (partition.leader, partition.leads, partition.leader_epoch, partition.isr) == (-1, False, 6, [])
    assert bench.produced(waiting).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (bench.fetching(), bench.opened("fetcher")) == ("stopped", [])


def test_a_follower_restarts_its_fetcher_with_a_new_leader_epoch_alone(version: str) -> None:
    bench = kraft(version)
    apply(bench, followers=(state(1, 5, (0, 1), zk_version=7),))
    bench.advance(0)
    (connection,) = bench.opened("fetcher")
    bench.establish(connection)
    apply(bench, followers=(state(1, 5, (0, 1, 2), zk_version=8),))
    assert (bench.partition.partition_epoch, len(bench.opened("fetcher"))) == (8, 1)
    assert not bench.closed(connection)
    apply(bench, followers=(state(2, 6, (0, 1, 2), zk_version=9),))
    bench.advance(0)
    assert [bench.opens[one].to for one in bench.opened("fetcher")] == ["broker-1", "broker-2"]


@pytest.mark.parametrize(("leader_of", "isr", "stays"), [(1, (0, 1), True), (1, (1,), False), (-1, (0,), False)])
def test_in_a_controlled_shutdown_a_replica_outside_the_isr_or_without_a_leader_stops_fetching(
    leader_of: int, isr: tuple[int, ...], stays: bool
) -> None:
    bench = kraft()
    apply(bench, followers=(state(1, 5, (0, 1, 2), zk_version=7),))
    bench.context.stopping = True
    apply(bench, followers=(state(leader_of, 6, isr, zk_version=8),))
    assert (bench.fetching() != "stopped") is stays
    assert (bench.partition.leader_epoch, bench.partition.partition_epoch) == (6, 8)


def test_a_deleted_replica_leaves_no_file(version: str) -> None:
    bench = leader(version)
    apply(bench, deletes=(T0,))
    assert not bench.files.list("t-0")
    assert [event.reason for event in bench.events(LogDeleted)] == ["topic-deleted"]
    assert T0 not in bench.broker.replicas.partitions


# --- eligibility for the ISR (5.3.3, 5.3.4, 5.3.8) ---


@pytest.mark.parametrize(
    ("fields", "joins"),
    [
        ({}, True),
        ({"fenced": (2,)}, False),
        ({"stopping": (2,)}, False),
        ({"epochs": {2: 300}}, "3.5"),
        ({"epochs": {2: 50}}, "3.5"),
    ],
)
def test_a_follower_joins_the_isr_if_its_broker_is_eligible(version: str, fields: Any, joins: bool | str) -> None:
    """With the epoch of its fetches, from 3.5 on."""
    bench = leader(version, isr=(0, 1))
    bench.context.registrations = registrations(**fields)
    fetch(bench, 2, 2)
    pending = bench.partition.pending
    expected = joins if isinstance(joins, bool) else version < joins
    assert (pending is not None) is expected
    if pending is not None:
        (change,) = altered(bench).partitions
        epochs = [100, -1, 102] if version >= "3.5" else []
        assert (change.isr, change.broker_epochs, change.zk_version) == ([0, 1, 2], epochs, 7)


def test_a_fetch_of_a_former_life_changes_nothing_from_3_7_on(version: str) -> None:
    """KAFKA-15221."""
    bench = leader(version)
    fetch(bench, 1, 2)
    bench.context.registrations = registrations(epochs={2: 200})
    assert fetch(bench, 1, 2, 200).error == ErrorCode.NONE
    result = fetch(bench, 2, 2, EPOCHS[2])
    follower = bench.partition.remotes[BrokerId(2)]
    if version >= "3.7":
        assert (result.error, result.records) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, b"")
        assert (follower.log_end, follower.broker_epoch) == (1, 200)
    else:
        assert (result.error, follower.log_end) == (ErrorCode.NONE, 2)


def test_a_fenced_replica_that_has_left_the_isr_holds_the_high_watermark_back_up_to_3_5(version: str) -> None:
    """KAFKA-15021."""
    bench = leader(version, records=0)
    for replica in (1, 2):
        fetch(bench, 0, replica)
    bench.produce("v")
    fetch(bench, 1, 1)
    bench.context.registrations = registrations(fenced=(2,))
    apply(bench, leaders=(state(0, 5, (0, 1), zk_version=8),))
    assert bench.log.high_watermark == (1 if version >= "3.6" else 0)


@pytest.mark.parametrize(
    ("error", "stays"),
    [
        (ErrorCode.INELIGIBLE_REPLICA, False),
        (ErrorCode.OPERATION_NOT_ATTEMPTED, False),
        (ErrorCode.UNKNOWN_TOPIC_ID, True),
        (ErrorCode.FENCED_LEADER_EPOCH, True),
        (ErrorCode.INVALID_UPDATE_VERSION, True),
        (ErrorCode.INVALID_REQUEST, True),
        (ErrorCode.NEW_LEADER_ELECTED, True),
    ],
)
def test_an_error_reverts_a_change_or_leaves_it_pending_until_the_next_state(
    version: str, error: ErrorCode, stays: bool
) -> None:
    bench = leader(version)
    bench.advance(1.5 * LAG_MS)
    altered(bench)
    connection = bench.opened("to-controller")[-1]
    bench.respond(connection, AlterIsrResponse(0, [IsrChanged(*T0, error)]))
    assert (bench.partition.pending is not None) is stays
    requests = len(bench.answers(connection))
    bench.advance(100)
    assert len(bench.answers(connection)) == requests, "it is not repeated"


def test_a_shrink_that_raised_the_leader_epoch_stays_pending_until_the_state_arrives() -> None:
    """Up to 3.5 the controller raises it (KAFKA-15021; kraft-semantics 4.8)."""
    bench = leader("3.3")
    bench.advance(1.5 * LAG_MS)
    altered(bench)
    answer = IsrChanged(*T0, 0, BrokerId(0), LeaderEpoch(6), list(brokers(0)), 8)
    bench.respond(bench.opened("to-controller")[-1], AlterIsrResponse(0, [answer]))
    assert pending(bench)
    apply(bench, leaders=(state(0, 6, (0,), zk_version=8),))
    assert not pending(bench)
    assert (bench.partition.isr, bench.log.high_watermark) == ([0], 2)
