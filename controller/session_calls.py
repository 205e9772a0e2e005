"""Procedures: work (protocol/work.py) that waits for ZooKeeper, written as if it blocked.

Kafka's controller thread works, and hangs, this way: while ZooKeeper is out of reach, the procedure and all events
behind it stand still.
A procedure yields data. `SessionRequests` is a pipeline (Kafka's asynchronous requests, bounded); the procedure
goes on with all the responses, in order. `SenderEnded` waits for a channel instead (semantics 11.13). `Procedures`
carries out these waits.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from protocol.ids import BrokerId
from protocol.machine import Now
from protocol.messages.session_messages import Operation, OpResult, SessionError, SessionRequest, SessionResponse
from protocol.outbox import Outbox
from protocol.ready_queue import ReadyQueue
from protocol.work import Answer, Runner, Task, Wait, Work

MAX_IN_FLIGHT = 10
"""Bound of a pipeline's requests under way: Kafka's zookeeper.max.in.flight.requests."""


class SessionCalls(Protocol):
    """The session client as procedures see it; the broker's node implements it.

    It sends requests in the order of the calls, and responses come in that order. The caller does not see a lost
    connection. The client repeats the request, even though ZooKeeper may have executed it (as Kafka's clients do).
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
        """Send a request; `done` is called once, perhaps within this call.

        Its response has `error` SESSION_EXPIRED if the session expires meanwhile (`ends_with_session`, or gate
        `session_wait_ends_at_expiry`). Without them the next session repeats the request.
        """
        ...


R = TypeVar("R")
Procedure = Work[R]
At = Callable[[Now, Outbox], None]


class SessionRequests(NamedTuple):
    """Wait for the responses to all requests, which are pipelined.

    `end_with_session`: if the session expires the responses say so, in every version, and no exception is raised.
    """

    requests: Sequence[SessionRequest]
    end_with_session: bool = False

    @property
    def what(self) -> str:
        return "the session service"


class SenderEnded(NamedTuple):
    """Wait until the channel to `broker` has ended its current request."""

    broker: BrokerId

    @property
    def what(self) -> str:
        return f"the end of the channel to broker-{self.broker}"


class SessionLost(Exception):
    """The session expired while a procedure waited; its work is over."""


def ask(request: SessionRequest) -> Procedure[SessionResponse]:
    """Send one request and wait for its response."""
    answers: list[SessionResponse] = yield SessionRequests([request])
    return answers[0]


def perform(operation: Operation) -> Procedure[OpResult]:
    """Execute one operation on its own."""
    results = yield from perform_all([operation])
    return results[0]


def perform_in_session(operation: Operation) -> Procedure[OpResult]:
    """Execute one operation in the current session only. Raises SessionLost."""
    answers: list[SessionResponse] = yield SessionRequests([SessionRequest([operation])], end_with_session=True)
    if answers[0].error == SessionError.SESSION_EXPIRED:
        raise SessionLost
    return answers[0].results[0]


def perform_all(operations: Sequence[Operation]) -> Procedure[list[OpResult]]:
    """Execute independent operations, pipelined; one result each, in order."""
    if not operations:
        return []
    answers: list[SessionResponse] = yield SessionRequests([SessionRequest([operation]) for operation in operations])
    return [answer.results[0] if answer.results else OpResult(error=answer.error) for answer in answers]


class Procedures:
    """Runs procedures; a response resumes its procedure at once.

    A response SESSION_EXPIRED is raised inside the procedure as `SessionLost`. `end_sending` calls back when the
    channel to a broker has ended its request; False: it has none. `at` is called with each response's time before a
    procedure goes on. `ready`: the queue of all procedures of one node.
    """

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
        self._on_time = at
        self.runner = Runner(lambda: self.now.mono_ms, at_once=True, begin=self._begin, ready=ready)

    def at(self, now: Now, out: Outbox) -> None:
        """Set time and outbox of the current input."""
        self.now, self.out = now, out
        self._on_time(now, out)

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
        """Make a task, to be started by the caller.

        `ended` is called once with its result, unless the task is abandoned. If it raises, `failed` is called with
        the exception.
        """
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
            case SessionRequests(requests, end_with_session):
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
    """Requests of one waiting procedure, some of them under way."""

    __slots__ = ("_answer", "_answers", "_end_with_session", "_procedures", "_requests", "_sending", "_sent")

    def __init__(
        self, procedures: Procedures, requests: Sequence[SessionRequest], answer: Answer, end_with_session: bool
    ) -> None:
        assert requests, "a procedure waits for nothing"
        self._procedures = procedures
        self._requests = requests
        self._answer = answer
        self._end_with_session = end_with_session
        self._sent = 0
        self._sending = False
        self._answers: dict[int, SessionResponse] = {}

    def go_on(self) -> None:
        """Send as many requests as may be under way; resume the procedure after the last response."""
        procedures = self._procedures
        self._sending = True  # a response may come within the call
        while self._sent < len(self._requests) and self._sent - len(self._answers) < MAX_IN_FLIGHT:
            index = self._sent
            self._sent += 1
            procedures.sessions.call(
                procedures.now,
                procedures.out,
                self._requests[index],
                partial(self._answered, index),
                ends_with_session=self._end_with_session,
            )
        self._sending = False
        if len(self._answers) == len(self._requests):
            self._answer(self._outcome())

    def _answered(self, index: int, now: Now, out: Outbox, response: SessionResponse) -> None:
        self._procedures.at(now, out)
        if not self._answer.wanted:
            return
        assert index not in self._answers, "a session call is answered once"
        self._answers[index] = response
        if not self._sending:
            self.go_on()

    def _outcome(self) -> Any:
        answers = [self._answers[index] for index in range(len(self._requests))]
        expired = any(answer.error == SessionError.SESSION_EXPIRED for answer in answers)
        if expired and not self._end_with_session:
            return SessionLost()
        return answers
