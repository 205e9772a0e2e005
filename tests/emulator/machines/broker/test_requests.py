"""Incoming requests: one at a time per connection, in order, bounded.
Semantics 1.8, 1.9.
"""

from emulator.machines.broker.request_channel import PIPELINED_MAX
from protocol.ids import BrokerId, Offset
from protocol.machine import ConnectionLost, MessageReceived, Send
from protocol.messages.leadership_messages import (
    AlterIsrRequest,
    AlterIsrResponse,
    ControlledShutdownRequest,
    MetadataRequest,
    MetadataResponse,
)
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
)
from protocol.messages.session_messages import PingRequest
from verification.broker_bench import T0, Bench, batch


def leader() -> Bench:
    bench = Bench()
    bench.lead(isr=(0, 1))
    return bench


def slow_fetch() -> FetchRequest:
    return FetchRequest(CONSUMER_REPLICA_ID, 500, 1, 1000, [FetchPartition(*T0, Offset(0))])


def test_a_connections_requests_are_answered_in_order() -> None:
    """Kafka mutes a connection until its answer is out."""
    bench = leader()
    connection = bench.connect()
    bench.send(connection, slow_fetch(), version=11)
    bench.send(connection, MetadataRequest(), version=9)
    bench.send(connection, ProduceRequest(1, 1500, [ProducePartition(*T0, batch("a"))]), version=8)
    assert bench.answers(connection) == []
    assert bench.log.log_end == 0
    bench.advance(500.0)
    assert [type(m) for m in bench.answers(connection)] == [FetchResponse, MetadataResponse, ProduceResponse]
    sends = [e for e in bench.effects if isinstance(e, Send) and e.connection == connection]
    assert [(e.correlation_id, e.version) for e in sends] == [(2, 11), (3, 9), (4, 8)]


def test_other_connections_do_not_wait() -> None:
    bench = leader()
    bench.ask(slow_fetch())
    assert isinstance(bench.answer(bench.ask(MetadataRequest()), MetadataResponse), MetadataResponse)


def test_too_many_requests_behind_one_hang_up() -> None:
    """A connection may have so many behind the one under way."""
    bench = leader()
    connection = bench.connect()
    for _ in range(PIPELINED_MAX + 1):
        bench.send(connection, slow_fetch())
    assert not bench.closed(connection)
    bench.send(connection, slow_fetch())
    assert bench.closed(connection)
    bench.advance(1000.0)
    assert bench.answers(connection) == []


def test_a_message_that_no_broker_serves_hangs_up() -> None:
    bench = Bench()
    connection = bench.ask(PingRequest())
    assert (bench.closed(connection), bench.answers(connection)) == (True, [])


def test_nothing_is_sent_on_a_connection_that_is_gone() -> None:
    bench = leader()
    connection = bench.ask(slow_fetch())
    bench.step(ConnectionLost(connection, "lost"))
    bench.advance(500.0)
    assert bench.answers(connection) == []


def test_inputs_of_unknown_connections_and_timers_are_not_the_brokers() -> None:
    bench = Bench()
    assert bench.out.route(bench.context.now, MessageReceived(99, 1, 0, MetadataRequest())) is False
    assert bench.out.route(bench.context.now, ConnectionLost(99, "lost")) is False


def test_requests_for_the_controller_are_handed_to_it() -> None:
    bench = Bench()
    request = AlterIsrRequest(BrokerId(1), 100, [])
    connection = bench.ask(request)
    bench.send(connection, ControlledShutdownRequest(BrokerId(1)))
    ((requested, reply),) = bench.for_controller
    assert requested is request
    answer = AlterIsrResponse(0, [])
    bench.do(lambda: reply(answer))
    assert bench.answer(connection, AlterIsrResponse) is answer
    assert isinstance(bench.for_controller[1][0], ControlledShutdownRequest)
