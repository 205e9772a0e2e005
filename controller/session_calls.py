"""Procedures that wait for the session service, written as if they blocked.

A procedure is a generator: it yields what it waits for and is resumed with the answers. That is how Kafka's
controller thread works, and how it hangs: while the service is out of reach the procedure stands still, and
everything behind it.

A `Sequence[SessionRequest]` is a pipeline: all are asked at once (Kafka's asynchronous requests, bounded),
and the procedure goes on with all the answers, in order. `SenderEnded` waits for a channel instead
(semantics 11.13).
"""

from collections.abc import Callable, Generator, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from protocol.machine import Now, Outbox
from protocol.messages.session import Operation, OpResult, SessionError, SessionRequest, SessionResponse

MAX_IN_FLIGHT = 10
"""Requests of one pipeline under way at a time: Kafka's zookeeper.max.in.flight.requests."""


class SessionCalls(Protocol):
    """The session client as procedures see it; the broker's node implements it.

    Requests are sent in the order of the calls and answered in that order. A connection that is lost is
    none of the caller's business: the request is asked again, even though it may have been done (as Kafka's
    clients do).
    """

    def call(
        self,
        now: Now,
        out: Outbox,
        request: SessionRequest,
        done: Callable[[Now, Outbox, SessionResponse], None],
    ) -> None:
        """Ask; `done` is called once, perhaps within this call. Its answer has `error` SESSION_EXPIRED if
        the session expires meanwhile (gate `session_wait_ends_at_expiry`; without it the request is asked
        in the next session)."""
        ...


class SenderEnded(msgspec.Struct, frozen=True):
    """Wait until the channel to `broker` has ended what it was doing."""

    broker: int


Wait = Sequence[SessionRequest] | SenderEnded
R = TypeVar("R")
Procedure = Generator[Wait, list[SessionResponse], R]


class SessionLost(Exception):
    """The session expired while a procedure waited; whatever it was doing is over."""


def ask(request: SessionRequest) -> Procedure[SessionResponse]:
    """One request, waited for."""
    answers = yield [request]
    return answers[0]


def perform(operation: Operation) -> Procedure[OpResult]:
    """One operation on its own."""
    results = yield from perform_all([operation])
    return results[0]


def perform_all(operations: Sequence[Operation]) -> Procedure[list[OpResult]]:
    """Operations that do not depend on each other, pipelined; one result each, in order."""
    if not operations:
        return []
    answers = yield [SessionRequest([operation]) for operation in operations]
    return [answer.results[0] if answer.results else OpResult(error=answer.error) for answer in answers]


class Run(Generic[R]):
    """One procedure under way.

    `ended(now, out, result)` is called once with its result, unless the procedure is `abandon`ed or raises,
    which goes to `failed`. `SESSION_EXPIRED` as an answer is raised inside the procedure as `SessionLost`.
    """

    def __init__(
        self,
        procedure: Procedure[R],
        sessions: SessionCalls,
        ended: Callable[[Now, Outbox, R], None],
        failed: Callable[[Now, Outbox, Exception], None],
        wait_for_sender: Callable[[int, Callable[[Now, Outbox], None]], bool] | None = None,
    ) -> None:
        self._procedure = procedure
        self._sessions = sessions
        self._ended = ended
        self._failed = failed
        self._wait_for_sender = wait_for_sender
        self._requests: Sequence[SessionRequest] = ()
        self._asked = 0
        self._answers: dict[int, SessionResponse] = {}
        self._advancing = False
        self._over = False
        self.session_lost = False
        """An answer said that the session expired."""

    def start(self, now: Now, out: Outbox) -> None:
        self._advance(now, out, None)

    def abandon(self) -> None:
        """Forget it: answers that still come are ignored, and neither `ended` nor `failed` is called."""
        self._over = True
        self._procedure.close()

    def expire(self) -> None:
        """The session expired: the procedure is told (it may answer whoever asked), then forgotten."""
        self._over = True
        try:
            self._procedure.throw(SessionLost())
        except (StopIteration, SessionLost):
            return
        self._procedure.close()

    def _advance(self, now: Now, out: Outbox, answers: list[SessionResponse] | None) -> None:
        """Resume with `answers` until the procedure waits for something that is not there yet."""
        self._advancing = True
        while not self._over:
            try:
                if answers is None:
                    wait = next(self._procedure)
                elif any(answer.error == SessionError.SESSION_EXPIRED for answer in answers):
                    self.session_lost = True
                    wait = self._procedure.throw(SessionLost())
                else:
                    wait = self._procedure.send(answers)
            except StopIteration as stop:
                self._over = True
                self._ended(now, out, stop.value)
                break
            except Exception as error:  # whose procedure it is decides what an error means; nothing is swallowed here
                self._over = True
                self._failed(now, out, error)
                break
            ready = self._begin_waiting(now, out, wait)
            if ready is None:
                break
            answers = ready
        self._advancing = False

    def _begin_waiting(self, now: Now, out: Outbox, wait: Wait) -> list[SessionResponse] | None:
        """The answers if they are there already, else None."""
        if isinstance(wait, SenderEnded):
            assert self._wait_for_sender is not None, "this procedure has no channels to wait for"
            return None if self._wait_for_sender(wait.broker, self._sender_ended) else []
        assert wait, "a procedure waits for nothing"
        self._requests, self._asked, self._answers = wait, 0, {}
        self._ask_more(now, out)
        return self._all_answers()

    def _ask_more(self, now: Now, out: Outbox) -> None:
        while self._asked < len(self._requests) and self._asked - len(self._answers) < MAX_IN_FLIGHT:
            index = self._asked
            self._asked += 1
            self._sessions.call(now, out, self._requests[index], self._answered(index))

    def _answered(self, index: int) -> Callable[[Now, Outbox, SessionResponse], None]:
        def done(now: Now, out: Outbox, answer: SessionResponse) -> None:
            if self._over:
                return
            assert index not in self._answers, "a session call is answered once"
            self._answers[index] = answer
            if self._advancing:
                return
            self._advancing = True  # a call may be answered at once
            self._ask_more(now, out)
            self._advancing = False
            answers = self._all_answers()
            if answers is not None:
                self._advance(now, out, answers)

        return done

    def _all_answers(self) -> list[SessionResponse] | None:
        if len(self._answers) < len(self._requests):
            return None
        return [self._answers[index] for index in range(len(self._requests))]

    def _sender_ended(self, now: Now, out: Outbox) -> None:
        if not self._over:
            self._advance(now, out, [])
