"""Steps that wait, written as if they blocked: a generator yields an order and is resumed with its outcome.

attempt = yield lambda done: direct.fetch(..., done=done) """

from collections.abc import Callable, Generator, Iterable
from typing import Any

Order = Callable[[Callable[[Any], None]], None]
"""Starts something; calls back once, at once or later. A StepFailed as the outcome is raised in the step."""
Steps = Generator[Order, Any, None]


class StepFailed(Exception):
    """A step that could not be done: the scenario asks for what cannot be. `step`: its number, from 1; 0: of none."""

    step = 0


class Task:
    """A generator under way. `ended` is called once, after its last statement."""

    __slots__ = ("_ended", "_running", "_steps", "_value")

    def __init__(self, steps: Steps, ended: Callable[[], None]) -> None:
        self._steps = steps
        self._ended = ended
        self._running = False
        self._value: list[Any] = []

    def start(self) -> None:
        self._resume(None)

    def _resume(self, value: Any) -> None:
        """Give the generator what it waits for; an order that is answered at once goes round the loop."""
        self._value.append(value)
        if self._running:
            return
        self._running = True
        while self._value:
            try:
                outcome = self._value.pop()
                failed = isinstance(outcome, StepFailed)
                order = self._steps.throw(outcome) if failed else self._steps.send(outcome)
            except StopIteration:
                self._running = False
                self._ended()
                return
            order(self._resume)
        self._running = False


def together(parts: Iterable[Steps]) -> Order:
    """All at once; the outcome, when all have ended, is the first StepFailed of them, or None."""

    def order(done: Callable[[Any], None]) -> None:
        tasks = list(parts)
        left = len(tasks)
        failures: list[StepFailed] = []

        def ended() -> None:
            nonlocal left
            left -= 1
            if not left:
                done(failures[0] if failures else None)

        if not tasks:
            done(None)
        for steps in tasks:
            Task(_caught(steps, failures), ended).start()

    return order


def _caught(steps: Steps, failures: list[StepFailed]) -> Steps:
    try:
        yield from steps
    except StepFailed as failed:
        failures.append(failed)
