"""Kafka's layer over a session client (semantics 1.6), against a scripted client."""

from collections.abc import Callable

import pytest

from emulator.machines.client.retrying_session import RetryingSession
from emulator.machines.client.session_client import Done, SessionClient
from protocol.machine import Now
from protocol.messages.session_messages import (
    GetData,
    OpResult,
    SessionError,
    SessionRequest,
    SessionResponse,
)
from protocol.outbox import Outbox

NOW = Now(0.0, 0.0)


class Scripted(SessionClient):
    """A client whose server is the test."""

    def __init__(self) -> None:
        super().__init__("zk", ["session-0"], 6000)
        self.asked: list[tuple[SessionRequest, Done]] = []

    def submit(self, now: Now, out: Outbox, request: SessionRequest, done: Done) -> None:
        self.asked.append((request, done))

    def become(self, state: str, session: int = 0) -> None:
        self.state = state  # type: ignore[assignment]
        self.session_id = session or self.session_id
        notified = {"connecting": "disconnected"}.get(state, state)
        failed, self.asked = self.asked, []
        error = SessionError.CONNECTION_LOSS if state == "connecting" else SessionError.SESSION_EXPIRED
        for _, done in failed:
            done(NOW, Outbox(), SessionResponse([], error))
        self.on_state(NOW, Outbox(), notified)

    def answer(self, response: SessionResponse) -> None:
        _, done = self.asked.pop(0)
        done(NOW, Outbox(), response)

    def sent_operations(self) -> list[object]:
        return [request.ops[0] for request, _ in self.asked]


class Caller:
    def __init__(self) -> None:
        self.client = Scripted()
        self.session = RetryingSession(self.client)
        self.got: list[tuple[str, int]] = []
        self.results: list[SessionResponse] = []

    def done(self, name: str) -> Callable[[Now, Outbox, SessionResponse], None]:
        def note(now: Now, out: Outbox, response: SessionResponse) -> None:
            self.got.append((name, response.error))
            self.results.append(response)

        return note

    def call(self, name: str, *, ends_at_expiry: bool = True) -> None:
        request = SessionRequest([GetData(name)])
        self.session.call(NOW, Outbox(), request, self.done(name), ends_at_expiry=ends_at_expiry)


@pytest.fixture
def caller() -> Caller:
    made = Caller()
    made.client.become("connected", 7)
    return made


def test_a_call_that_loses_its_connection_is_sent_again_in_order(caller: Caller) -> None:
    for name in ("/a", "/b"):
        caller.call(name)
    caller.client.become("connecting")
    caller.call("/c")
    assert caller.got == [] and caller.session.waiting == 3
    caller.client.become("connected")
    assert caller.client.sent_operations() == [GetData("/a"), GetData("/b"), GetData("/c")]
    for _ in range(3):
        caller.client.answer(SessionResponse([OpResult()]))
    assert caller.got == [("/a", 0), ("/b", 0), ("/c", 0)]


def test_at_expiry_the_newer_rule_fails_and_the_older_goes_on_in_the_new_session(caller: Caller) -> None:
    caller.call("/new")
    caller.call("/old", ends_at_expiry=False)
    caller.client.become("connecting")
    caller.client.become("expired")
    assert caller.got == [("/new", SessionError.SESSION_EXPIRED)]
    caller.call("/late")
    assert caller.got[-1] == ("/late", SessionError.SESSION_EXPIRED)
    caller.client.become("connected", 8)
    assert caller.client.sent_operations() == [GetData("/old")]


def test_a_call_in_flight_at_expiry_follows_the_same_rule(caller: Caller) -> None:
    caller.call("/new")
    caller.call("/old", ends_at_expiry=False)
    caller.client.become("expired")
    assert caller.got == [("/new", SessionError.SESSION_EXPIRED)]
    assert caller.session.waiting == 1


def test_a_closed_session_fails_everything(caller: Caller) -> None:
    caller.call("/old", ends_at_expiry=False)
    caller.client.become("connecting")
    caller.client.become("closed")
    caller.call("/late", ends_at_expiry=False)
    assert [error for _, error in caller.got] == [SessionError.SESSION_EXPIRED] * 2


def test_other_errors_are_answers(caller: Caller) -> None:
    caller.call("/a")
    caller.client.answer(SessionResponse([], SessionError.BAD_VERSION))
    assert caller.got == [("/a", SessionError.BAD_VERSION)]
