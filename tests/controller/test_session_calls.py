"""Procedures that wait for the session service."""

from collections.abc import Callable

from controller.session_calls import (
    MAX_IN_FLIGHT,
    Procedure,
    Procedures,
    SenderEnded,
    SessionLost,
    perform,
    perform_all,
    perform_in_session,
)
from protocol.ids import BrokerId
from protocol.machine import Now
from protocol.messages.session_messages import Exists, OpResult, SessionError, SessionRequest, SessionResponse
from protocol.outbox import Outbox
from protocol.work import Task, Waiting

NOW = Now(0, 0)
Done = Callable[[Now, Outbox, SessionResponse], None]


class Calls:
    """Answers with the path asked for, at once or when told."""

    def __init__(self, *, at_once: bool) -> None:
        self.at_once = at_once
        self.asked = 0
        self.waiting: list[tuple[str, Done]] = []

    def call(
        self, now: Now, out: Outbox, request: SessionRequest, done: Done, *, ends_with_session: bool = False
    ) -> None:
        operation = request.ops[0]
        assert isinstance(operation, Exists)
        self.asked += 1
        if self.at_once:
            done(now, out, SessionResponse([OpResult(path=operation.path)]))
        else:
            self.waiting.append((operation.path, done))

    def answer(self, index: int = 0, error: int = 0) -> None:
        path, done = self.waiting.pop(index)
        done(NOW, Outbox(), SessionResponse([] if error else [OpResult(path=path)], error))


class Outcome:
    def __init__(self) -> None:
        self.results: list[object] = []
        self.errors: list[Exception] = []

    def ended(self, now: Now, out: Outbox, result: object) -> None:
        self.results.append(result)

    def failed(self, now: Now, out: Outbox, error: Exception) -> None:
        self.errors.append(error)


def run(procedure: Procedure[object], calls: Calls) -> tuple[Task, Outcome]:
    outcome = Outcome()
    made = Procedures(calls).task(NOW, Outbox(), "test", "", procedure, outcome.ended, outcome.failed)
    made.start()
    return made, outcome


def many(count: int) -> Procedure[object]:
    results = yield from perform_all([Exists(f"/{number}") for number in range(count)])
    last = yield from perform(Exists("/last"))
    return [*(result.path for result in results), last.path]


EVERYTHING = [*(f"/{number}" for number in range(25)), "/last"]


def test_a_pipeline_has_its_results_in_order_of_calls_not_of_answers() -> None:
    calls = Calls(at_once=False)
    _, outcome = run(many(25), calls)
    while calls.waiting:
        calls.answer(len(calls.waiting) - 1)
    assert outcome.results == [EVERYTHING]


def test_no_more_than_the_bound_are_in_flight() -> None:
    calls = Calls(at_once=False)
    run(many(25), calls)
    assert len(calls.waiting) == MAX_IN_FLIGHT
    calls.answer()
    assert len(calls.waiting) == MAX_IN_FLIGHT


def test_answers_that_are_there_at_once_need_no_stack() -> None:
    def long() -> Procedure[object]:
        for number in range(5000):
            yield from perform(Exists(f"/{number}"))
        return "done"

    _, outcome = run(long(), Calls(at_once=True))
    assert outcome.results == ["done"]


def test_expiry_is_raised_where_the_procedure_waits() -> None:
    calls = Calls(at_once=False)
    made, outcome = run(many(3), calls)
    for error in (0, SessionError.SESSION_EXPIRED, SessionError.SESSION_EXPIRED):
        calls.answer(error=error)
    assert [type(error) for error in outcome.errors] == [SessionLost]
    assert isinstance(made.thrown, SessionLost)


def test_what_ends_with_its_session_is_the_procedures_own_to_catch() -> None:
    """Its runner is not told of a lost session.
    In the versions that ask so, all else goes on in the next.
    """

    def trying() -> Procedure[object]:
        try:
            yield from perform_in_session(Exists("/a"))
        except SessionLost:
            return "lost"
        return "there"

    for error, result in ((0, "there"), (SessionError.SESSION_EXPIRED, "lost")):
        calls = Calls(at_once=False)
        made, outcome = run(trying(), calls)
        calls.answer(error=error)
        assert (outcome.results, made.thrown) == ([result], None)


def test_an_abandoned_procedure_receives_nothing_more() -> None:
    calls = Calls(at_once=False)
    made, outcome = run(many(25), calls)
    made.abandon()
    while calls.waiting:
        calls.answer()
    assert (outcome.results, outcome.errors, calls.asked) == ([], [], MAX_IN_FLIGHT)


def test_an_error_of_the_procedure_goes_to_its_runner() -> None:
    def wrong() -> Procedure[object]:
        yield from perform(Exists("/a"))
        raise ValueError("a bug")

    _, outcome = run(wrong(), Calls(at_once=True))
    assert [str(error) for error in outcome.errors] == ["a bug"]


def test_waiting_for_a_sender() -> None:
    reported: list[Callable[[Now, Outbox], None]] = []

    def procedure() -> Procedure[object]:
        yield SenderEnded(BrokerId(1))
        yield SenderEnded(BrokerId(2))
        return "ended"

    def wait(broker: int, ended: Callable[[Now, Outbox], None]) -> bool:
        reported.append(ended)
        return broker == 1

    outcome = Outcome()
    procedures = Procedures(Calls(at_once=True), wait)
    procedures.task(NOW, Outbox(), "test", "waits", procedure(), outcome.ended, outcome.failed).start()
    assert outcome.results == []
    assert procedures.runner.waiting_tasks() == [Waiting("test", "waits", "the end of the channel to broker-1", 0.0)]
    reported[0](NOW, Outbox())
    assert outcome.results == ["ended"]
