"""A consumer that reads from the follower named by the leader (semantics 1.11)."""

from __future__ import annotations

import pytest

from protocol.messages.leadership_messages import MetadataRequest
from protocol.messages.replication_messages import FetchRequest, ListOffsetsRequest
from tests.emulator.machines.client.test_consumer import Bench, fill

RACK = "az-1"
LEASE_MS = 4_000


def near(version: str = "2.8", *values: bytes, brokers: int = 3) -> Bench:
    """A consumer of az-1; broker-0 leads, broker-1 follows and is named to it."""
    bench = Bench(version, brokers, client_rack=RACK, metadata_max_age_ms=LEASE_MS, auto_offset_reset="none")
    fill(bench.log, *values)
    bench.log.followers = {1: len(values)}
    bench.log.preferred = {RACK: 1}
    bench.assign()
    return bench


def sources(bench: Bench, since_ms: float = 0.0) -> list[str]:
    """Brokers that were sent a fetch since then, each once, in their order."""
    fetches = [
        node for ms, node, message in bench.cluster.requests if isinstance(message, FetchRequest) and ms >= since_ms
    ]
    return list(dict.fromkeys(fetches))


def test_it_reads_from_the_named_follower() -> None:
    bench = near("2.8", b"a", b"b")
    bench.run()
    assert (sources(bench), bench.read) == (["broker-0", "broker-1"], [(0, b"a"), (1, b"b")])
    since_ms = bench.cluster.now.mono_ms
    fill(bench.log, b"c")
    bench.log.followers[1] = 3
    bench.run(2_000)
    assert (sources(bench, since_ms), bench.position) == (["broker-1"], 3)


def test_without_a_rack_it_reads_from_the_leader() -> None:
    bench = Bench("2.8")
    fill(bench.log, b"a")
    bench.log.followers, bench.log.preferred = {1: 1}, {RACK: 1}
    bench.assign()
    bench.run()
    assert (sources(bench), bench.read) == (["broker-0"], [(0, b"a")])


@pytest.mark.parametrize("version", ["2.2", "2.3"])
def test_the_rack_is_sent_with_version_11(version: str) -> None:
    bench = near(version, b"a")
    bench.run()
    versions = {send.version for _, send in bench.cluster.sent if isinstance(send.message, FetchRequest)}
    assert versions == ({11} if version == "2.3" else {10})


def test_after_metadata_max_age_the_leader_is_next() -> None:
    bench = near("2.8", b"a")
    bench.run(LEASE_MS - 100)
    bench.log.preferred = {}
    since_ms = bench.cluster.now.mono_ms
    bench.run(2_000)
    assert sources(bench, since_ms)[-1] == "broker-0"


def test_an_offset_that_the_follower_lacks_sends_it_to_the_leader_without_a_reset() -> None:
    bench = near("2.8", b"a", b"b")
    bench.run()
    bench.log.followers[1] = 1
    bench.log.preferred = {}
    fill(bench.log, b"c")
    bench.run(2_000)
    assert (bench.read[-1], bench.problems, bench.left()) == ((2, b"c"), [], [])
    assert not bench.requests_of(ListOffsetsRequest)


@pytest.mark.parametrize(("version", "returns"), [("3.2", False), ("3.3", True)])
def test_an_error_of_the_follower_sends_it_to_the_leader_from_3_3_on(version: str, returns: bool) -> None:
    """KAFKA-14379: before, it asks the follower until its time is over."""
    bench = near(version, b"a")
    bench.run()
    bench.log.followers = {}
    bench.log.preferred = {}
    fill(bench.log, b"b")
    bench.run(1_500)
    assert bench.read == [(0, b"a"), (1, b"b")][: 1 + returns]
    bench.run(LEASE_MS)
    assert bench.read == [(0, b"a"), (1, b"b")]


@pytest.mark.parametrize(("version", "returns"), [("3.2", False), ("3.3", True)])
def test_a_lost_connection_sends_it_to_the_leader_from_3_3_on(version: str, returns: bool) -> None:
    bench = near(version, b"a")
    bench.run()
    bench.log.preferred = {}
    fill(bench.log, b"b")
    since_ms = bench.cluster.now.mono_ms
    bench.cluster.lose_connections("broker-1")
    bench.run(300)
    assert ("broker-0" in sources(bench, since_ms)) == returns


@pytest.mark.parametrize(("version", "refreshes"), [("3.2", False), ("3.3", True)])
def test_a_named_follower_that_the_metadata_lack_leaves_it_at_the_leader(version: str, refreshes: bool) -> None:
    """KAFKA-14379: before 3.3 it gets no records until its metadata are too old."""
    bench = near(version, b"a")
    bench.log.preferred = {RACK: 7}
    bench.run(1_000)
    assert (sources(bench), bench.read) == (["broker-0"], [])
    bench.cluster.brokers.append(7)
    bench.log.followers[7] = 1
    before = bench.requests_of(MetadataRequest)
    bench.run(1_000)
    assert (bench.requests_of(MetadataRequest) > before) == refreshes
    assert bench.read == ([(0, b"a")] if refreshes else [])
    bench.run(LEASE_MS)
    assert (sources(bench), bench.read) == (["broker-0", "broker-7"], [(0, b"a")])


def test_another_leader_is_the_first_source() -> None:
    bench = near("2.8", b"a")
    bench.run()
    bench.log.leader, bench.log.epoch = 2, 1
    bench.log.preferred = {}
    since_ms = bench.cluster.now.mono_ms
    bench.run(2_000)
    assert sources(bench, since_ms)[-1] == "broker-2"
