"""Fetches of consumers at followers, and the replica that a leader names (semantics 1.11)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.machines.broker.read_replica_selection import preferred_read_replica
from emulator.settings.tables.replication_settings import RACK_AWARE
from protocol.errors import ErrorCode
from protocol.gates import gates_for
from protocol.ids import BrokerId, ControllerEpoch, Offset
from protocol.messages.leadership_messages import BrokerEndpoint, UpdateMetadataRequest
from protocol.messages.replication_messages import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from protocol.records.format import iter_headers
from verification.broker_bench import T0, Bench, batch, state

WITH_RACK = 11
RACKS = {0: "az-0", 1: "az-1", 2: "az-1"}


def metadata(bench: Bench, racks: dict[int, str]) -> None:
    brokers = [BrokerEndpoint(BrokerId(broker), f"broker-{broker}", rack) for broker, rack in racks.items()]
    bench.ask(UpdateMetadataRequest(BrokerId(2), ControllerEpoch(1), [state(0)], brokers))


def consume(
    bench: Bench, offset: int, *, epoch: int = -1, rack: str = "", version: int = WITH_RACK, wait_ms: int = 0
) -> int:
    """The connection on which the answer comes."""
    position = FetchPartition(*T0, Offset(offset), current_leader_epoch=epoch)  # type: ignore[arg-type]
    return bench.ask(FetchRequest(BrokerId(-1), wait_ms, 1, 10_485_760, [position], rack=rack), version)


def offsets(result: FetchedPartition) -> list[int]:
    return [header.base_offset for _, header in iter_headers(result.records)]


def follower(version: str, high_watermark: int = 2) -> Bench:
    """It led epoch 0 with three records, and follows broker-1 in epoch 1."""
    bench = Bench(version)
    bench.lead(0)
    for number in range(3):
        bench.produce(f"v{number}")
    bench.log.high_watermark = Offset(high_watermark)
    bench.follow(leader=1, epoch=1)
    bench.advance(0.0)
    bench.establish(bench.opened("fetcher")[-1])
    return bench


@pytest.mark.parametrize(
    ("of", "version", "error"),
    [("2.3", 11, 6), ("2.4", 10, 6), ("2.4", 11, 0), ("2.8", 12, 0), ("3.9", 10, 6), ("3.9", 12, 0)],
)
def test_a_follower_answers_consumers_of_version_11_from_2_4_on(of: str, version: int, error: int) -> None:
    result = follower(of)
    found = result.fetched(consume(result, 0, version=version))
    assert (found.error, offsets(found)) == (error, [] if error else [0, 1])
    assert found.high_watermark == (-1 if error else 2)


@pytest.mark.parametrize(("epoch", "error"), [(-1, 0), (0, 74), (1, 0), (2, 75)])
def test_the_epoch_of_the_request_is_the_followers(epoch: int, error: int) -> None:
    bench = follower("2.8")
    assert bench.fetched(consume(bench, 0, epoch=epoch)).error == error


@pytest.mark.parametrize(("offset", "error"), [(2, 0), (3, 0), (4, 1)])
def test_above_its_high_watermark_it_returns_nothing_and_beyond_its_end_an_error(offset: int, error: int) -> None:
    bench = follower("2.8")
    found = bench.fetched(consume(bench, offset))
    assert (found.error, found.records) == (error, b"")


@pytest.mark.parametrize(("version", "error"), [("2.4", 9), ("2.5", 9), ("2.6", 6), ("3.9", 6)])
def test_a_broker_without_the_replica(version: str, error: int) -> None:
    bench = Bench(version)
    bench.update_metadata(state(1))
    assert bench.fetched(consume(bench, 0)).error == error
    assert bench.fetched(consume(bench, 0, version=10)).error == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(("version", "at_once"), [("2.8", False), ("3.2", False), ("3.3", True)])
def test_a_parked_fetch_at_a_follower_waits_for_its_deadline_before_3_3(version: str, at_once: bool) -> None:
    """KAFKA-14334."""
    bench = follower(version)
    parked = consume(bench, 2, wait_ms=500)
    assert bench.answers(parked) == []
    records = batch("more", base_offset=3, epoch=1)
    connection = bench.opened("fetcher")[-1]
    assert isinstance(bench.last_sent(connection).message, FetchRequest)
    bench.respond(connection, FetchResponse([FetchedPartition(*T0, 0, Offset(4), records=records)]))
    assert (bench.log.log_end, bench.log.high_watermark) == (4, 4)
    assert bool(bench.answers(parked)) == at_once
    bench.advance(500.0)
    assert offsets(bench.fetched(parked)) == [2, 3]


def leader(version: str, *, isr: tuple[int, ...] = (0, 1, 2), selector: str = RACK_AWARE) -> Bench:
    """It leads three records, which broker-1 has in full and broker-2 up to 2."""
    bench = Bench(version, replica_selector_class=selector)
    bench.lead(0, isr=isr)
    metadata(bench, RACKS)
    for number in range(3):
        bench.produce(f"v{number}")
    bench.fetch(3, replica=1)
    bench.fetch(2, replica=2)
    return bench


@pytest.mark.parametrize(
    ("rack", "offset", "preferred"),
    [("", 0, -1), ("az-0", 0, -1), ("az-1", 0, 1), ("az-1", 3, 1), ("az-1", 4, -1), ("az-9", 0, -1)],
)
def test_the_leader_names_the_replica_in_the_rack_that_has_most(rack: str, offset: int, preferred: int) -> None:
    bench = leader("2.8")
    found = bench.fetched(consume(bench, offset, rack=rack))
    assert found.preferred_replica == preferred
    if preferred >= 0:
        assert (found.error, found.records, found.high_watermark) == (0, b"", 2)


def test_without_the_selector_the_leader_answers_itself() -> None:
    bench = leader("2.8", selector="")
    assert offsets(bench.fetched(consume(bench, 0, rack="az-1"))) == [0, 1]


@pytest.mark.parametrize("version", ["2.3", "2.8"])
def test_a_version_without_a_rack_is_answered_by_the_leader(version: str) -> None:
    bench = leader(version)
    found = bench.fetched(consume(bench, 0, rack="az-1", version=10 if version == "2.8" else 11))
    assert (found.preferred_replica, offsets(found)) == (-1, [0, 1])


@pytest.mark.parametrize(("version", "preferred"), [("3.2", 1), ("3.3", -1)])
def test_from_3_3_on_only_a_replica_in_sync_is_named(version: str, preferred: int) -> None:
    """KAFKA-14372."""
    bench = leader(version, isr=(0,))
    bench.partition.isr = [BrokerId(0)]
    assert bench.fetched(consume(bench, 0, rack="az-1")).preferred_replica == preferred


@pytest.mark.parametrize(("version", "at_once"), [("2.8", False), ("3.1", False), ("3.2", True)])
def test_the_name_is_parked_as_long_as_a_fetch_without_records_before_3_2(version: str, at_once: bool) -> None:
    """KAFKA-13767."""
    bench = leader(version)
    parked = consume(bench, 0, rack="az-1", wait_ms=500)
    assert bool(bench.answers(parked)) == at_once
    bench.produce("no reason to answer either")
    assert bool(bench.answers(parked)) == at_once
    bench.advance(500.0)
    assert bench.fetched(parked).preferred_replica == 1


def test_the_epoch_of_a_request_is_checked_before_a_replica_is_named() -> None:
    bench = leader("2.8")
    found = bench.fetched(consume(bench, 0, rack="az-1", epoch=1))
    assert (found.error, found.preferred_replica) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1)


@given(
    ends=st.dictionaries(st.integers(1, 5), st.integers(-1, 6), max_size=5),
    racks=st.dictionaries(st.integers(0, 5), st.sampled_from(["", "a", "b"]), max_size=6),
    rack=st.sampled_from(["", "a", "b"]),
    offset=st.integers(0, 6),
)
def test_a_named_replica_is_in_the_rack_and_has_the_offset(
    ends: dict[int, int], racks: dict[int, str], rack: str, offset: int
) -> None:
    """A replica is named if there is one, and the leader is in another rack."""
    bench = Bench("2.8")
    bench.become(0, 0, (0,), replicas=(0, *ends))
    for broker, end in ends.items():
        bench.partition.remotes[BrokerId(broker)].log_end = Offset(end)
    live = {BrokerId(broker): BrokerEndpoint(BrokerId(broker), "", of) for broker, of in racks.items()}
    able = {broker for broker, end in ends.items() if racks.get(broker) == rack and end >= offset}
    named = preferred_read_replica(bench.partition, live, rack, Offset(offset), gates_for("2.8"))
    if not rack or racks.get(0) == rack or not able:
        assert named is None
    else:
        assert named in able and ends[named] == max(ends[broker] for broker in able)
