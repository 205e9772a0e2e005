"""The session client, input by input (semantics 5.2; ZooKeeper's ClientCnxn)."""

import pytest

from emulator.machines.client.session_client import SessionClient
from protocol.chance import Chance
from protocol.events import SessionChanged
from protocol.machine import (
    Close,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Emit,
    Input,
    MessageReceived,
    Now,
    Open,
    Send,
    SetTimer,
    TimerFired,
)
from protocol.messages.message_base import Message
from protocol.messages.session_messages import (
    CloseSessionRequest,
    CloseSessionResponse,
    ConnectRequest,
    ConnectResponse,
    Create,
    Exists,
    GetChildren,
    GetData,
    Operation,
    OpResult,
    PingRequest,
    PingResponse,
    SessionError,
    SessionRequest,
    SessionResponse,
    SetWatchesRequest,
    SetWatchesResponse,
    WatchFired,
)
from protocol.outbox import Outbox

SERVERS = ["session-0", "session-1", "session-2"]
CONNECT, IDLE = ("zk", "connect"), ("zk", "idle")


class Driver:
    """Gives inputs at chosen times and keeps the effects of the last one."""

    def __init__(self, timeout_ms: float = 6000) -> None:
        self.client = SessionClient("zk", SERVERS, timeout_ms, owner="broker-0")
        self.out = Outbox()
        self.effects: list[Effect] = []
        self.answers: list[SessionResponse] = []
        self.states: list[str] = []
        self.client.on_state = lambda now, out, state: self.states.append(state)
        self.now = Now(0.0, 0.0)

    def start(self) -> "Driver":
        self.client.start(self.now, self.out, Chance(3))
        self.effects = self.out.take()
        return self

    def give(self, event: Input, at_ms: float | None = None) -> list[Effect]:
        if at_ms is not None:
            self.now = Now(at_ms, at_ms)
        assert self.out.route(self.now, event), event
        self.effects = self.out.take()
        return self.effects

    def say(self, message: Message, at_ms: float | None = None) -> list[Effect]:
        return self.give(MessageReceived(self.client._connection, 0, 0, message), at_ms)

    def fire(self, key: tuple[str, str], at_ms: float) -> list[Effect]:
        return self.give(TimerFired(key), at_ms)

    def connect(self, session: int = 7, at_ms: float | None = None, timeout_ms: int = 6000) -> list[Effect]:
        self.give(ConnectionOpened(self.client._connection), at_ms)
        return self.say(ConnectResponse(timeout_ms, session, 99))

    def submit(self, *ops: Operation) -> list[Effect]:
        for op in ops:
            request = SessionRequest([op])
            self.client.submit(self.now, self.out, request, lambda n, o, response: self.answers.append(response))
        self.effects = self.out.take()
        return self.effects

    def sent(self) -> list[Message]:
        return [effect.message for effect in self.effects if isinstance(effect, Send)]

    def opened(self) -> list[str]:
        return [effect.to for effect in self.effects if isinstance(effect, Open)]

    def timer(self, key: tuple[str, str]) -> float:
        found = [effect.after_ms for effect in self.effects if isinstance(effect, SetTimer) and effect.key == key]
        return found[-1]

    def notified_states(self) -> list[tuple[str, str]]:
        events = [effect.event for effect in self.effects if isinstance(effect, Emit)]
        return [(event.state, event.owner) for event in events if isinstance(event, SessionChanged)]


def test_it_connects_to_a_drawn_server_and_introduces_itself() -> None:
    driver = Driver().start()
    assert driver.opened() == [driver.client._servers.current]
    assert driver.timer(CONNECT) == 2000.0, "session time-out / number of servers"
    driver.give(ConnectionOpened(1))
    assert driver.sent() == [ConnectRequest(6000)]
    driver.say(ConnectResponse(6000, 7, 99))
    assert (driver.client.state, driver.client.session_id) == ("connected", 7)
    assert driver.notified_states() == [("connected", "broker-0")] and driver.states == ["connected"]


def test_servers_are_tried_in_different_orders_for_different_seeds() -> None:
    first = set()
    for seed in range(20):
        driver = Driver()
        driver.client.start(driver.now, driver.out, Chance(seed))
        driver.effects = driver.out.take()
        first.update(driver.opened())
    assert first == set(SERVERS)


def test_it_pings_when_idle_for_half_the_read_time_out() -> None:
    driver = Driver().start()
    driver.connect(at_ms=100)
    assert driver.timer(IDLE) == 2000.0
    driver.fire(IDLE, 2100)
    assert driver.sent() == [PingRequest()]
    driver.say(PingResponse(5), 2101)
    driver.now = Now(3000, 3000)
    driver.submit(GetData("/a"))
    driver.fire(IDLE, 4100)
    assert driver.sent() == [] and driver.timer(IDLE) == 900.0, "it spoke at 3000"


def test_silence_for_the_read_time_out_is_a_lost_connection_not_a_lost_session() -> None:
    driver = Driver().start()
    driver.connect(at_ms=0)
    driver.fire(IDLE, 2000)
    driver.fire(IDLE, 4000)
    assert driver.client.state == "connecting" and driver.states == ["connected", "disconnected"]
    assert any(isinstance(effect, Close) for effect in driver.effects)
    assert driver.client.session_id == 7


def test_pending_and_waiting_requests_fail_with_connection_loss() -> None:
    driver = Driver().start()
    driver.submit(GetData("/waits"))
    assert driver.sent() == []
    driver.give(ConnectionLost(1, "refused"), 5)
    lost = SessionResponse([OpResult(SessionError.CONNECTION_LOSS, "/waits")], SessionError.CONNECTION_LOSS)
    assert driver.answers == [lost]
    driver.fire(CONNECT, 900)
    driver.connect()
    driver.submit(GetData("/a"), GetData("/b"))
    driver.give(ConnectionLost(driver.client._connection, "reset"), 950)
    assert [answer.error for answer in driver.answers[1:]] == [SessionError.CONNECTION_LOSS] * 2


def test_it_tries_the_other_servers_within_a_second_each_and_pauses_after_a_round() -> None:
    driver = Driver().start()
    driver.connect(at_ms=0)
    first = driver.client._servers.current
    driver.give(ConnectionLost(1, "reset"), 10)
    tried = []
    for round_end in (False, False, True):
        delay_ms = driver.timer(CONNECT)
        assert (1100 <= delay_ms < 2100) if round_end else (100 <= delay_ms < 1100)
        driver.fire(CONNECT, driver.now.mono_ms + delay_ms)
        tried += driver.opened()
        assert driver.timer(CONNECT) == 2000.0
        driver.fire(CONNECT, driver.now.mono_ms + 2000)
    assert sorted(tried) == sorted(SERVERS) and tried[-1] == first


def test_it_reopens_its_session_and_sets_its_watches_again() -> None:
    driver = Driver().start()
    driver.connect()
    driver.submit(
        GetData("/data", True), Exists("/none", True), Exists("/there", True), GetChildren("/p", True), GetData("/x")
    )
    none = OpResult(SessionError.NO_NODE)
    for result in (OpResult(), none, OpResult(), OpResult(), OpResult()):
        driver.say(SessionResponse([result], result.error, 40))
    driver.say(WatchFired("changed", "/there", 41))
    driver.give(ConnectionLost(1, "reset"), 10)
    driver.fire(CONNECT, 900)
    driver.give(ConnectionOpened(2))
    assert driver.sent() == [ConnectRequest(6000, 40, 7, 99)]
    driver.say(ConnectResponse(6000, 7, 99))
    assert driver.sent() == [SetWatchesRequest(40, ["/data"], ["/none"], ["/p"])]
    driver.say(SetWatchesResponse())
    driver.say(WatchFired("deleted", "/data", 42))
    assert driver.client.state == "connected"


def test_an_expired_session_fails_what_waits_and_a_new_one_has_no_watches() -> None:
    driver = Driver().start()
    driver.connect()
    driver.submit(GetData("/data", True))
    driver.say(SessionResponse([OpResult()], 0, 40))
    driver.give(ConnectionLost(1, "reset"), 10)
    driver.submit(Create("/a"))
    driver.fire(CONNECT, 900)
    driver.give(ConnectionOpened(2))
    driver.say(ConnectResponse(0))
    assert driver.client.state == "expired" and driver.states[-1] == "expired"
    assert driver.answers[-1].error == SessionError.SESSION_EXPIRED
    driver.submit(Create("/b"))
    assert driver.answers[-1].error == SessionError.SESSION_EXPIRED
    driver.client.restart(driver.now, driver.out)
    driver.effects = driver.out.take()
    assert len(driver.opened()) == 1
    driver.give(ConnectionOpened(3))
    assert driver.sent() == [ConnectRequest(6000)]
    driver.say(ConnectResponse(6000, 8, 1))
    assert driver.sent() == [] and driver.client.session_id == 8


def test_close_ends_the_session_and_waits_for_the_answer() -> None:
    driver = Driver().start()
    driver.connect()
    driver.client.close(driver.now, driver.out)
    driver.effects = driver.out.take()
    assert driver.sent() == [CloseSessionRequest()]
    driver.say(CloseSessionResponse())
    assert driver.states == ["connected", "closed"] and driver.client.state == "closed"


def closing_while_it_connects() -> Driver:
    driver = Driver().start()
    driver.client.close(driver.now, driver.out)
    driver.effects = driver.out.take()
    assert driver.sent() == [] and driver.states == [], "the attempt under way is waited for"
    return driver


def test_a_close_while_connecting_goes_out_when_the_session_stands() -> None:
    driver = closing_while_it_connects()
    driver.submit(Create("/a"))
    assert [answer.error for answer in driver.answers] == [SessionError.SESSION_EXPIRED], "nothing comes behind a close"
    driver.connect()
    assert driver.sent() == [CloseSessionRequest()] and driver.states == [], "no notice that it is connected"
    driver.say(CloseSessionResponse())
    assert driver.states == ["closed"]


def test_a_client_that_is_closing_looks_for_no_other_server() -> None:
    """ClientCnxn.SendThread: "don't re-establish connection if we are closing"."""
    refused = closing_while_it_connects()
    refused.give(ConnectionLost(1, "refused"))
    late = closing_while_it_connects()
    late.fire(CONNECT, 2_000.0)
    pausing = Driver().start()
    pausing.give(ConnectionLost(1, "refused"))
    pausing.client.close(pausing.now, pausing.out)
    pausing.effects = pausing.out.take()
    silent = Driver().start()
    silent.connect()
    silent.client.close(silent.now, silent.out)
    silent.fire(IDLE, 2_000.0)
    assert silent.client.state == "connected", "two thirds of the session's time-out are not over"
    silent.fire(IDLE, 4_000.0)
    for driver in (refused, late, pausing, silent):
        assert driver.states[-1] == "closed" and driver.opened() == []


def test_a_session_that_has_expired_is_not_closed_again() -> None:
    driver = closing_while_it_connects()
    driver.give(ConnectionOpened(1))
    driver.say(ConnectResponse(0))
    assert driver.states == ["expired"]
    driver.client.close(driver.now, driver.out)
    assert driver.states == ["expired"] and driver.out.take() == []


@pytest.mark.parametrize("lost", ["answer", "connection"])
def test_an_answer_is_given_once(lost: str) -> None:
    driver = Driver().start()
    driver.connect()
    driver.submit(Create("/a"))
    if lost == "connection":
        driver.give(ConnectionLost(1, "reset"), 10)
    else:
        driver.say(SessionResponse([OpResult()], 0, 8))
        driver.give(ConnectionLost(1, "reset"), 10)
    assert len(driver.answers) == 1


def test_inputs_of_others_are_not_ours() -> None:
    driver = Driver().start()
    for event in (TimerFired(("other", "idle")), ConnectionLost(9, ""), MessageReceived(-1, 0, 0, PingResponse())):
        assert not driver.out.route(driver.now, event)
