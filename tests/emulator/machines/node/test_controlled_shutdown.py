"""The machine of an orderly stop's attempts.
What it asks, how long it waits, when it gives up (semantics 4.2).
"""

from collections.abc import Callable
from typing import Any

import pytest

from controller.session_calls import Procedures, SessionCalls
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.settings import BrokerSettings
from emulator.machines.node.shutdown_request import LIMIT, PAUSE, ControlledShutdown
from emulator.storage.memory_files import MemoryFiles
from protocol.errors import ErrorCode
from protocol.gates import gates_for
from protocol.ids import BrokerId
from protocol.machine import (
    Close,
    ConnectionLost,
    ConnectionOpened,
    MessageReceived,
    Now,
    Open,
    Send,
    SetTimer,
    TimerFired,
)
from protocol.messages.leadership_messages import ControlledShutdownResponse
from protocol.messages.session_messages import GetData, OpResult, SessionError, SessionRequest, SessionResponse
from protocol.outbox import Outbox
from protocol.znodes import BrokerRegistration, broker_path, encode_broker, encode_controller


class Sessions:
    """The session service: what its paths hold, or an expired session."""

    def __init__(self) -> None:
        self.holds: dict[str, bytes] = {}
        self.expired = False
        self.waits = False
        self.asked: list[str] = []

    def call(
        self,
        now: Now,
        out: Outbox,
        request: SessionRequest,
        done: Callable[[Now, Outbox, SessionResponse], None],
        *,
        ends_with_session: bool = False,
    ) -> None:
        (operation,) = request.ops
        assert isinstance(operation, GetData)
        self.asked.append(operation.path)
        if self.waits:
            return
        if self.expired:
            done(now, out, SessionResponse([], SessionError.SESSION_EXPIRED, 1))
            return
        data = self.holds.get(operation.path)
        error = SessionError.OK if data is not None else SessionError.NO_NODE
        done(now, out, SessionResponse([OpResult(error, operation.path, data or b"")], error, 1))


class Stopping:
    """A broker 0 that stops."""

    def __init__(self, version: str, **settings: Any) -> None:
        self.sessions = Sessions()
        self.out = Outbox()
        calls: SessionCalls = self.sessions
        self.settings = BrokerSettings(**settings)
        self.context = BrokerContext(BrokerId(0), gates_for(version), self.settings, MemoryFiles(), calls, self.out)
        self.over = 0
        self.shutdown = ControlledShutdown(self.context, Procedures(calls), self._ended)

    def _ended(self) -> None:
        self.over += 1

    def controller(self, broker: int) -> None:
        self.sessions.holds["/controller"] = encode_controller(BrokerId(broker), 0)
        registration = BrokerRegistration(BrokerId(broker), f"broker-{broker}")
        self.sessions.holds[broker_path(BrokerId(broker))] = encode_broker(registration, 0)

    def begin(self) -> list[Any]:
        self.shutdown.begin()
        return list(self.out.take())

    def hear(self, event: Any) -> list[Any]:
        assert self.out.route(self.context.now, event)
        return list(self.out.take())


def opened(effects: list[Any]) -> Open:
    (found,) = [one for one in effects if isinstance(one, Open)]
    return found


def timer(effects: list[Any], key: tuple[str, ...]) -> float:
    (found,) = [one.after_ms for one in effects if isinstance(one, SetTimer) and one.key == key]
    return float(found)


@pytest.mark.parametrize(("version", "tries"), [("0.8.2", 1), ("1.0", 1), ("1.1", 3), ("2.8", 3)])
def test_without_a_controller_it_looks_again_since_1_1(version: str, tries: int) -> None:
    """Before, ZkUtils.getController throws, and the stop goes on without one."""
    stopping = Stopping(version)
    effects = stopping.begin()
    for _ in range(tries - 1):
        assert (stopping.over, timer(effects, PAUSE)) == (0, 5_000)
        effects = stopping.hear(TimerFired(PAUSE))
    if tries > 1:
        stopping.hear(TimerFired(PAUSE))
    assert (stopping.over, stopping.sessions.asked) == (1, ["/controller"] * tries)


@pytest.mark.parametrize("version", ["0.8.2", "1.0", "2.8"])
def test_a_controller_that_is_not_registered_is_looked_for_again(version: str) -> None:
    stopping = Stopping(version)
    stopping.sessions.holds["/controller"] = encode_controller(BrokerId(1), 0)
    assert timer(stopping.begin(), PAUSE) == 5_000
    stopping.controller(1)
    assert opened(stopping.hear(TimerFired(PAUSE))).to == "broker-1"


@pytest.mark.parametrize(("version", "waits_ms"), [("0.8.2", 20_000), ("0.10.2", 40_000), ("2.8", 40_000)])
def test_it_connects_for_one_time_out_and_waits_for_the_answer_for_another(version: str, waits_ms: int) -> None:
    stopping = Stopping(version, controller_socket_timeout_ms=20_000, request_timeout_ms=40_000)
    stopping.controller(1)
    effects = stopping.begin()
    assert timer(effects, LIMIT) == 20_000
    effects = stopping.hear(ConnectionOpened(opened(effects).connection))
    assert [one for one in effects if isinstance(one, Send)]
    assert timer(effects, LIMIT) == waits_ms
    assert timer(stopping.hear(TimerFired(LIMIT)), PAUSE) == 5_000


def test_each_attempt_looks_up_the_present_controller() -> None:
    stopping = Stopping("2.8")
    stopping.controller(1)
    connection = opened(stopping.begin()).connection
    stopping.hear(ConnectionOpened(connection))
    refused = ControlledShutdownResponse(ErrorCode.NOT_CONTROLLER, [])
    effects = stopping.hear(MessageReceived(connection, 1, 0, refused))
    assert timer(effects, PAUSE) == 5_000
    stopping.controller(2)
    effects = stopping.hear(TimerFired(PAUSE))
    assert opened(effects).to == "broker-2"
    assert [one.connection for one in effects if isinstance(one, Close)] == [connection]


def test_a_refused_connection_is_an_attempt() -> None:
    stopping = Stopping("2.8", controlled_shutdown_max_retries=2)
    stopping.controller(1)
    effects = stopping.begin()
    for attempt in (1, 2):
        connection = opened(effects).connection
        assert timer(stopping.hear(ConnectionLost(connection, "refused")), PAUSE) == 5_000
        effects = stopping.hear(TimerFired(PAUSE))
        assert stopping.over == attempt // 2


def test_a_connection_that_ends_between_attempts_is_none() -> None:
    stopping = Stopping("2.8")
    stopping.controller(1)
    connection = opened(stopping.begin()).connection
    stopping.hear(ConnectionOpened(connection))
    stopping.hear(MessageReceived(connection, 1, 0, ControlledShutdownResponse(ErrorCode.NOT_CONTROLLER, [])))
    assert stopping.hear(ConnectionLost(connection, "reset")) == []
    assert opened(stopping.hear(TimerFired(PAUSE))).to == "broker-1"


def test_it_waits_for_the_session_service_and_gives_up_if_the_session_ends() -> None:
    """The wait has no limit.
    A call fails at its session's end since 1.1 (the session client sees to it).
    """
    stopping = Stopping("2.8")
    stopping.sessions.waits = True
    assert stopping.begin() == []
    ended = Stopping("2.8")
    ended.sessions.expired = True
    assert (ended.begin(), ended.over) == ([], 1)
