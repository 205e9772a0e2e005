"""Time that a replica fetcher waits for its leader (semantics 2.4)."""

import pytest

from protocol.machine import Close
from verification.broker_bench import Bench, state

VERSIONS = ("0.10.2", "1.1", "2.6", "2.8")


@pytest.mark.parametrize("version", VERSIONS)
def test_connecting_is_bounded_by_the_socket_timeout(version: str) -> None:
    bench = Bench(version, replica_socket_timeout_ms=2_000, request_timeout_ms=30_000)
    bench.follow()
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.advance(1_999.0)
    assert Close(connection) not in bench.effects
    bench.advance(1.0)
    assert Close(connection) in bench.effects


@pytest.mark.parametrize("version", VERSIONS)
def test_an_answer_is_waited_for_as_long_as_any_request(version: str) -> None:
    """replica.socket.timeout.ms does not apply to a silent leader on an open connection."""
    bench = Bench(version, replica_socket_timeout_ms=2_000, request_timeout_ms=30_000)
    bench.follow()
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.establish(connection)
    bench.advance(29_999.0)
    assert Close(connection) not in bench.effects
    bench.advance(1.0)
    assert Close(connection) in bench.effects


def test_in_0_8_2_the_socket_timeout_bounds_an_answer_too() -> None:
    bench = Bench("0.8.2", replica_socket_timeout_ms=2_000, request_timeout_ms=30_000)
    bench.follow()
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.establish(connection)
    bench.advance(1_999.0)
    assert Close(connection) not in bench.effects
    bench.advance(1.0)
    assert Close(connection) in bench.effects


@pytest.mark.parametrize("version", ("0.10.2", "2.6", "2.8"))
def test_a_fetch_without_an_answer_costs_the_backoff_twice(version: str) -> None:
    """The thread pauses, then delays its partitions: two seconds until it connects again."""
    bench = Bench(version, replica_fetch_backoff_ms=1_000)
    bench.follow()
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.lose(connection, "connection refused")
    bench.advance(1_999.0)
    assert bench.opened("fetcher") == [connection]
    bench.advance(1.0)
    assert len(bench.opened("fetcher")) == 2


@pytest.mark.parametrize("version", ("0.11", "2.0.1", "2.6"))
def test_a_question_about_epochs_without_an_answer_costs_it_once(version: str) -> None:
    bench = Bench(version, replica_fetch_backoff_ms=1_000)
    bench.lead(epoch=0)
    bench.produce("a")  # an epoch to ask about
    bench.follow(leader=1, epoch=1)
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.lose(connection, "connection refused")
    bench.advance(999.0)
    assert bench.opened("fetcher") == [connection]
    bench.advance(1.0)
    assert len(bench.opened("fetcher")) == 2


def test_a_partition_that_is_added_ends_the_pause_but_not_the_delay() -> None:
    bench = Bench("2.6", replica_fetch_backoff_ms=1_000)
    bench.follow(leader=1, epoch=0)
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.lose(connection)
    bench.advance(300.0)
    bench.follow(leader=1, epoch=1)  # the same partition again: delayed with the rest when the pause ends
    bench.advance(999.0)
    assert bench.opened("fetcher") == [connection]
    bench.advance(1.0)
    assert len(bench.opened("fetcher")) == 2


@pytest.mark.parametrize("version", ("0.10.2", "1.0"))
def test_an_order_waits_for_the_fetcher_that_it_ends(version: str) -> None:
    """KAFKA-6051: a missing leader delays controller orders for request.timeout.ms."""
    bench = Bench(version, request_timeout_ms=30_000)
    bench.follow(leader=1, epoch=0)
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.establish(connection)
    order = bench.leader_and_isr(state(0, epoch=1))
    reported = bench.update_metadata(state(0, epoch=1), live=(0, 2))
    assert bench.partition.leads
    bench.advance(29_999.0)
    assert not bench.answers(order) and not bench.answers(reported)
    bench.advance(1.0)
    assert bench.answers(order) and bench.answers(reported)


def test_a_fetcher_ends_at_once_since_its_connection_is_closed_under_it() -> None:
    bench = Bench("1.1")
    bench.follow(leader=1, epoch=0)
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.establish(connection)
    assert bench.answers(bench.leader_and_isr(state(0, epoch=1)))
    assert bench.closed(connection)
