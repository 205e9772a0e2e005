"""Procedures: work (protocol/work.py) that waits for the session service, written as if it blocked.

That is how Kafka's controller thread works, and how it hangs: while the service is out of reach the procedure stands
still, and everything behind it.

What a procedure yields is data: `Asked` is a pipeline (Kafka's asynchronous requests, bounded), and the procedure goes
on with all the answers, in order; `SenderEnded` waits for a channel instead (semantics 11.13). `Procedures` knows where
they are asked.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from controller.procedure_waits import Asked, SenderEnded
from protocol.ids import BrokerId
from protocol.machine import Now
from protocol.messages.session import Operation, OpResult, SessionError, SessionRequest, SessionResponse
from protocol.outbox import Outbox
from protocol.ready_queue import ReadyQueue
from protocol.work import Answer, Runner, Task, Wait, Work

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
        *,
        ends_with_session: bool = False,
    ) -> None:
        """Ask; `done` is called once, perhaps within this call. Its answer has `error` SESSION_EXPIRED if
        the session expires meanwhile (`ends_with_session`, or gate `session_wait_ends_at_expiry`; without them the
        request is asked in the next session)."""
        ...


R = TypeVar("R")
Procedure = Work[R]
At = Callable[[Now, Outbox], None]


class SessionLost(Exception):
    """The session expired while a procedure waited; whatever it was doing is over."""


def ask(request: SessionRequest) -> Procedure[SessionResponse]:
    """One request, waited for."""
    answers: list[SessionResponse] = yield Asked([request])
    return answers[0]


def perform(operation: Operation) -> Procedure[OpResult]:
    """One operation on its own."""
    results = yield from perform_all([operation])
    return results[0]


def perform_in_session(operation: Operation) -> Procedure[OpResult]:
    """One operation that is asked in no other session than this one. Raises SessionLost."""
    answers: list[SessionResponse] = yield Asked([SessionRequest([operation])], end_with_session=True)
    if answers[0].error == SessionError.SESSION_EXPIRED:
        raise SessionLost
    return answers[0].results[0]


def perform_all(operations: Sequence[Operation]) -> Procedure[list[OpResult]]:
    """Operations that do not depend on each other, pipelined; one result each, in order."""
    if not operations:
        return []
    answers: list[SessionResponse] = yield Asked([SessionRequest([operation]) for operation in operations])
    return [answer.results[0] if answer.results else OpResult(error=answer.error) for answer in answers]


class Procedures:
    """Runs procedures, which go on at once when they are answered.

    An answer SESSION_EXPIRED is raised inside the procedure as `SessionLost`. `end_sending` tells, later, that the
    channel to a broker has ended what it was doing; False: it does nothing. `at` is told of each answer's time before
    anybody goes on. `ready`: the queue of all procedures of one node."""

    def __init__(
        self,
        sessions: SessionCalls,
        end_sending: Callable[[BrokerId, At], bool] | None = None,
        at: At = lambda now, out: None,
        ready: ReadyQueue | None = None,
    ) -> None:
        self.sessions = sessions
        self.now = Now(0, 0)
        self.out = Outbox()
        self._end_sending = end_sending
        self._tell = at
        self.runner = Runner(lambda: self.now.mono_ms, at_once=True, begin=self._begin, ready=ready)

    def at(self, now: Now, out: Outbox) -> None:
        """An input is being handled."""
        self.now, self.out = now, out
        self._tell(now, out)

    def task(
        self,
        now: Now,
        out: Outbox,
        who: str,
        does: str,
        procedure: Procedure[R],
        ended: Callable[[Now, Outbox, R], None],
        failed: Callable[[Now, Outbox, Exception], None],
    ) -> Task:
        """One to be started now. `ended` is called once with its result, unless it is abandoned, or raises,
        which goes to `failed`."""
        self.at(now, out)
        return Task(
            self.runner,
            who,
            does,
            procedure,
            lambda result: ended(self.now, self.out, result),
            lambda error: failed(self.now, self.out, error),
        )

    def _begin(self, wait: Wait, answer: Answer) -> None:
        match wait:
            case Asked(requests, end_with_session):
                _Pipeline(self, requests, answer, end_with_session).go_on()
            case SenderEnded(broker):
                assert self._end_sending is not None, "this procedure has no channels to wait for"
                if not self._end_sending(broker, partial(self._sender_ended, answer)):
                    answer()
            case _:
                raise AssertionError(wait)

    def _sender_ended(self, answer: Answer, now: Now, out: Outbox) -> None:
        self.at(now, out)
        answer()


class _Pipeline:
    """The requests that one procedure waits for, some of them under way."""

    __slots__ = ("_answer", "_answers", "_asked", "_asking", "_end_with_session", "_procedures", "_requests")

    def __init__(
        self, procedures: Procedures, requests: Sequence[SessionRequest], answer: Answer, end_with_session: bool
    ) -> None:
        assert requests, "a procedure waits for nothing"
        self._procedures = procedures
        self._requests = requests
        self._answer = answer
        self._end_with_session = end_with_session
        self._asked = 0
        self._asking = False
        self._answers: dict[int, SessionResponse] = {}

    def go_on(self) -> None:
        """Ask as many as may be under way; all are answered: say so."""
        procedures = self._procedures
        self._asking = True  # a call may be answered at once
        while self._asked < len(self._requests) and self._asked - len(self._answers) < MAX_IN_FLIGHT:
            index = self._asked
            self._asked += 1
            procedures.sessions.call(
                procedures.now,
                procedures.out,
                self._requests[index],
                partial(self._answered, index),
                ends_with_session=self._end_with_session,
            )
        self._asking = False
        if len(self._answers) == len(self._requests):
            self._answer(self._outcome())

    def _answered(self, index: int, now: Now, out: Outbox, response: SessionResponse) -> None:
        self._procedures.at(now, out)
        if not self._answer.wanted:
            return
        assert index not in self._answers, "a session call is answered once"
        self._answers[index] = response
        if not self._asking:
            self.go_on()

    def _outcome(self) -> Any:
        answers = [self._answers[index] for index in range(len(self._requests))]
        expired = any(answer.error == SessionError.SESSION_EXPIRED for answer in answers)
        if expired and not self._end_with_session:
            return SessionLost()
        return answers
