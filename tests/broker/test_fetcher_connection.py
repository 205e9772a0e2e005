"""How long a replica fetcher waits for its leader (semantics 2.4)."""

import pytest

from protocol.machine import Close
from tests.broker.harness import Bench

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
    """replica.socket.timeout.ms says nothing about a leader that is silent on a connection that stands."""
    bench = Bench(version, replica_socket_timeout_ms=2_000, request_timeout_ms=30_000)
    bench.follow()
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.establish(connection)
    bench.advance(29_999.0)
    assert Close(connection) not in bench.effects
    bench.advance(1.0)
    assert Close(connection) in bench.effects
