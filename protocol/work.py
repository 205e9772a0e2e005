"""Asynchronous work in blocking style, and its runner.

Work is a generator. It yields its waits, which are data with a name, and is resumed with the result:

    work --yields a wait--> waiting --answered--> ready --> goes on, until it waits again or is over

A result that is already present needs no wait: the work continues without a detour.

A result never resumes work inside the resumption of other work, so chains of waits do not nest: it only puts the work
into its runner's queue, which runners may share. A runner has one choice, the point where the queue is drained: at the
end of a step (`at_once` false: a broker's threads), or in the result's callback, unless the queue is being drained
(`at_once`: a controller's procedures, those of its node, a player's steps).
"""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, Protocol, TypeVar

from protocol.ready_queue import ReadyQueue

R = TypeVar("R")
Done = Callable[..., None]
"""Callback, called once, with the result if any. An exception is raised at the wait."""


class Waiting(NamedTuple):
    """A wait, for status reports: its thread, its task, what it waits for, since when."""

    who: str
    does: str
    waits_for: str
    since_ms: float


class Wait(Protocol):
    """A wait of work. `what`: its name, for status reports."""

    @property
    def what(self) -> str: ...


class Until:
    """A wait with its own start: `begin` receives the callback, to call once, even immediately."""

    __slots__ = ("begin", "what")

    def __init__(self, what: str, begin: Callable[[Done], None]) -> None:
        self.what = what
        self.begin = begin


Work = Generator[Wait, Any, R]


class Task:
    """One piece of work in progress.

    `ended` is called once, with its result; `failed` instead, with its exception, if given; neither once the task is
    abandoned.
    """

    __slots__ = ("_ended", "_failed", "_runner", "_work", "does", "over", "since_ms", "thrown", "waits_for", "who")

    def __init__(
        self,
        runner: "Runner",
        who: str,
        does: str,
        work: Work[R],
        ended: Callable[[R], None],
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        self._runner = runner
        self._work: Work[Any] = work
        self._ended: Callable[[Any], None] = ended
        self._failed = failed
        self.who = who
        self.does = does
        self.over = False
        self.thrown: Exception | None = None
        """The last exception that it was resumed with."""
        self.waits_for = ""
        self.since_ms = 0.0

    def start(self) -> None:
        """Run the work up to its first wait, immediately, even inside other work."""
        if self._runner.resumes_at_once:
            self._runner.ready.append(lambda: self._go_on(None))
            self._runner.go_on()
        else:
            self._go_on(None)

    def abandon(self) -> None:
        """Abandon the work: later results are ignored."""
        self.over = True
        self._runner.waiting.pop(self, None)
        self._work.close()

    def _answered(self, value: Any) -> None:
        """Resume the work: its result has arrived, and its turn has come."""
        self._runner.waiting.pop(self, None)
        self._go_on(value)

    def _go_on(self, value: Any) -> None:
        """Run until a wait whose result is missing, or the end."""
        while not self.over:
            try:
                if isinstance(value, Exception):
                    self.thrown = value
                    wait = self._work.throw(value)
                else:
                    wait = self._work.send(value)
            except StopIteration as end:
                self.over = True
                self._ended(end.value)
                return
            except Exception as error:  # the owner of the work handles the error; none is swallowed here
                self.over = True
                if self._failed is None:
                    raise
                self._failed(error)
                return
            answer = self._begin_waiting(wait)
            if answer is None:
                return
            value = answer.value

    def _wait(self, wait: Wait) -> None:
        """First wait of work that was begun without a task."""
        answer = self._begin_waiting(wait)
        if answer is not None:
            self._go_on(answer.value)

    def _begin_waiting(self, wait: Wait) -> "Answer | None":
        """The result if it is already present, else None."""
        answer, runner = Answer(self, self._runner), self._runner
        runner.begin(wait, answer)
        if answer.came:
            return answer
        if not self.over:
            answer.waited_for = True
            self.waits_for = wait.what
            self.since_ms = runner.now_ms()
            runner.waiting[self] = None
        return None


class Answer:
    """Callback of a task's wait, to be called once."""

    __slots__ = ("_runner", "_task", "came", "value", "waited_for")

    def __init__(self, task: Task, runner: "Runner") -> None:
        self._task = task
        self._runner = runner
        self.came = False
        self.waited_for = False
        """The result was not immediately present."""
        self.value: Any = None

    @property
    def wanted(self) -> bool:
        """Whether the task still waits for it."""
        return not self._task.over

    def __call__(self, value: Any = None) -> None:
        assert not self.came, f"{self._task.who}: a wait has two results"
        self.came = True
        self.value = value
        if self.waited_for and not self._task.over:
            self._runner.ready.append(self._arrive)
            if self._runner.resumes_at_once:
                self._runner.go_on()

    def _arrive(self) -> None:
        self._task._answered(self.value)


def _begins_itself(wait: Wait, answer: Answer) -> None:
    assert isinstance(wait, Until), wait
    wait.begin(answer)


def _ignore_result(result: object) -> None:
    pass


class Runner:
    """Runs the work of one machine, or of a part of it.

    `ready`: its queue, which others may share. `begin` begins a wait; by default waits begin themselves (`Until`).
    """

    __slots__ = ("_at_once", "begin", "now_ms", "ready", "waiting")

    def __init__(
        self,
        now_ms: Callable[[], float],
        *,
        at_once: bool = False,
        begin: Callable[[Any, Answer], None] = _begins_itself,
        ready: ReadyQueue | None = None,
    ) -> None:
        self.now_ms = now_ms
        self.begin = begin
        self.ready = ReadyQueue() if ready is None else ready
        self.waiting: dict[Task, None] = {}
        self._at_once = at_once

    @property
    def resumes_at_once(self) -> bool:
        """Whether the caller that appends to `ready` must drain it."""
        return self._at_once and not self.ready.goes_on

    def start(self, who: str, does: str, work: Work[R], ended: Callable[[R], None] = _ignore_result) -> None:
        """Run work up to its first wait; `ended` is called at its end. Its exceptions propagate."""
        if self._at_once and not self.ready.goes_on:
            Task(self, who, does, work, ended).start()
            return
        try:
            wait = work.send(None)
        except StopIteration as end:  # most work waits for nothing, and needs no task
            ended(end.value)
        else:
            Task(self, who, does, work, ended)._wait(wait)

    def go_on(self) -> None:
        """Resume ready work in order, until the queue is empty."""
        ready = self.ready
        if not ready:
            return
        assert not ready.goes_on, "what is ready goes on already"
        ready.goes_on = True
        try:
            while ready:
                ready.popleft()()
        finally:
            ready.goes_on = False

    def waiting_tasks(self) -> list[Waiting]:
        """All waits, the longest first."""
        return [Waiting(one.who, one.does, one.waits_for, one.since_ms) for one in self.waiting]
