"""A KRaft broker's channels to the active controller. Kraft-semantics 3.1.3."""

from collections.abc import Callable

import pytest

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.controller_channel import QUEUE_MAX, ControllerChannel
from emulator.machines.broker.settings import BrokerSettings
from emulator.machines.node.broker_lifecycle import LifecycleSettings
from emulator.machines.node.kraft_broker_node import NoSessions
from emulator.machines.node.node_channels import NodeChannels
from emulator.storage.memory_files import MemoryFiles
from protocol.errors import ErrorCode
from protocol.gates import gates_for
from protocol.ids import BrokerId, Offset
from protocol.machine import (
    CancelTimer,
    Close,
    ConnectionLost,
    ConnectionOpened,
    MessageReceived,
    Now,
    Open,
    Send,
    SetTimer,
    TimerFired,
    TimerKey,
)
from protocol.messages.kraft_messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from protocol.messages.leadership_messages import AlterIsrRequest, AlterIsrResponse, IsrChanged
from protocol.messages.message_base import Message
from protocol.outbox import Outbox
from protocol.purposes import NODE_TO_CONTROLLER


class Bench:
    """Channels of one broker. `leader`: the controller's node, as the quorum's node knows it."""

    def __init__(self, version: str = "3.9") -> None:
        self.out = Outbox()
        gates = gates_for(version, metadata="kraft")
        self.context = BrokerContext(BrokerId(0), gates, BrokerSettings(), MemoryFiles(), NoSessions(), self.out)
        self.leader: str | None = "controller-0"
        self.channels = NodeChannels(self.context, LifecycleSettings(), lambda: self.leader)
        self.now_ms = 0.0
        self.timers: dict[TimerKey, float] = {}
        self.opened: list[tuple[float, str]] = []
        self.sent: list[Message] = []
        self.closed: list[int] = []
        self.results: list[tuple[float, Message | None]] = []
        self._last = Send(0, 0, 0, AlterIsrResponse())
        self._connection = 0

    def do(self, what: Callable[[], object]) -> None:
        self.context.now = Now(self.now_ms, self.now_ms)
        what()
        for effect in self.out.take():
            match effect:
                case SetTimer(key, after_ms):
                    self.timers[key] = self.now_ms + after_ms
                case CancelTimer(key):
                    self.timers.pop(key, None)
                case Open(connection, node, purpose):
                    assert purpose == NODE_TO_CONTROLLER
                    self._connection = connection
                    self.opened.append((self.now_ms, node))
                case Send():
                    self._last = effect
                    self.sent.append(effect.message)
                case Close(connection):
                    self.closed.append(connection)

    def send(self, channel: ControllerChannel, request: Message) -> None:
        self.do(lambda: channel.send(request, 0, lambda response: self.results.append((self.now_ms, response))))

    def establish(self) -> None:
        self.do(lambda: self.out.route(self.context.now, ConnectionOpened(self._connection)))

    def answer(self, message: Message) -> None:
        event = MessageReceived(self._connection, self._last.correlation_id, 0, message)
        self.do(lambda: self.out.route(self.context.now, event))

    def advance(self, ms: float) -> None:
        end_ms = self.now_ms + ms
        while due := [key for key, at_ms in self.timers.items() if at_ms <= end_ms]:
            key = min(due, key=lambda key: self.timers[key])
            self.now_ms = self.timers.pop(key)
            self.do(lambda key=key: self.out.route(self.context.now, TimerFired(key)))  # type: ignore[misc]
        self.now_ms = end_ms


def heartbeat(offset: int = 5) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(BrokerId(0), 3, Offset(offset))


def alter() -> AlterIsrRequest:
    return AlterIsrRequest(BrokerId(0), 3, [])


def test_requests_go_one_at_a_time_in_order() -> None:
    bench = Bench()
    bench.send(bench.channels.heartbeat, heartbeat(1))
    bench.send(bench.channels.heartbeat, heartbeat(2))
    bench.establish()
    assert bench.sent == [heartbeat(1)]
    bench.answer(BrokerHeartbeatResponse())
    assert bench.sent == [heartbeat(1), heartbeat(2)]
    assert bench.results == [(0.0, BrokerHeartbeatResponse())]


def test_without_a_leader_it_looks_again_every_100_ms() -> None:
    bench = Bench()
    bench.leader = None
    bench.send(bench.channels.heartbeat, heartbeat())
    bench.advance(250)
    bench.leader = "controller-2"
    bench.advance(100)
    assert bench.opened == [(300.0, "controller-2")]


@pytest.mark.parametrize(
    "refusal",
    [AlterIsrResponse(ErrorCode.NOT_CONTROLLER), AlterIsrResponse(0, [IsrChanged("t", 0, ErrorCode.NOT_CONTROLLER)])],
)
def test_not_controller_sends_the_request_again_to_the_leader_known_then(refusal: Message) -> None:
    """Also in a partition of the response."""
    bench = Bench()
    bench.send(bench.channels.alter_partition, alter())
    bench.establish()
    bench.leader = "controller-1"
    bench.answer(refusal)
    bench.advance(49)
    assert bench.opened == [(0.0, "controller-0")]
    bench.advance(1)
    bench.establish()
    assert (bench.opened[1:], bench.sent, bench.results) == ([(50.0, "controller-1")], [alter()] * 2, [])


def test_a_lost_connection_sends_the_request_again() -> None:
    bench = Bench()
    bench.send(bench.channels.alter_partition, alter())
    bench.establish()
    bench.do(lambda: bench.out.route(bench.context.now, ConnectionLost(bench._connection, "lost")))
    bench.advance(50)
    bench.establish()
    assert bench.sent == [alter(), alter()]


@pytest.mark.parametrize(("version", "limit_ms"), [("3.3", 4_500), ("3.8", 4_500), ("3.9", 2_000)])
def test_a_heartbeat_without_a_response_is_given_up_after_its_limit(version: str, limit_ms: float) -> None:
    bench = Bench(version)
    bench.send(bench.channels.heartbeat, heartbeat())
    bench.establish()
    bench.advance(limit_ms - 1)
    assert (bench.results, len(bench.closed)) == ([], 0)
    bench.advance(1)
    assert (bench.results, len(bench.closed)) == ([(limit_ms, None)], 1)


def test_an_isr_change_without_a_response_waits_30_s_and_then_looks_for_another_controller_for_ever() -> None:
    bench = Bench()
    bench.send(bench.channels.alter_partition, alter())
    bench.establish()
    bench.leader = "controller-1"
    bench.advance(30_049)
    assert len(bench.opened) == 1
    bench.advance(1)
    assert bench.opened[1:] == [(30_050.0, "controller-1")]
    bench.advance(600_000)
    assert bench.results == []


def test_a_forwarded_request_is_given_up_after_a_minute_without_a_controller() -> None:
    bench = Bench()
    bench.leader = None
    bench.send(bench.channels.forwarding, alter())
    bench.advance(59_999)
    assert bench.results == []
    bench.advance(100)
    assert [result for _, result in bench.results] == [None]


def test_a_full_queue_gives_a_request_up_at_once() -> None:
    bench = Bench()
    bench.leader = None
    for _ in range(QUEUE_MAX):
        bench.send(bench.channels.forwarding, alter())
    assert bench.results == []
    bench.send(bench.channels.forwarding, alter())
    assert bench.results == [(0.0, None)]


def test_closed_channels_send_nothing_more() -> None:
    bench = Bench()
    bench.send(bench.channels.heartbeat, heartbeat())
    bench.send(bench.channels.alter_partition, alter())
    bench.do(bench.channels.close)
    assert bench.timers == {}
    bench.advance(100_000)
    assert (len(bench.closed), bench.results) == (2, [])
