"""Work that waits, written as if it blocked; and what runs it.

Work is a generator. It yields what it has to wait for, which is data with a name, and is resumed with the answer:

    work --yields a wait--> waiting --answered--> ready --> goes on, until it waits again or is over

What is there already is not waited for: it goes on without a detour.

No answer resumes work inside the resumption of other work, however long the line of those who wait: it only puts it
into its runner's queue, which runners may share. Who drains the queue is the runner's one choice: whoever runs the
step, at its end (`at_once` false: a broker's threads), or the answer itself, unless it is being drained (`at_once`: a
controller's procedures, those of its node, a player's steps)."""

from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeVar

from protocol.ready_queue import ReadyQueue
from protocol.waiting import Waiting

R = TypeVar("R")
Done = Callable[..., None]
"""Called once, with what was waited for where that is something. An exception is raised where it was waited for."""


class Wait(Protocol):
    """What work can wait for. `what`: its name, for whoever looks."""

    @property
    def what(self) -> str: ...


class Until:
    """A wait that knows how it begins: `begin` is given what to call, once, perhaps at once."""

    __slots__ = ("begin", "what")

    def __init__(self, what: str, begin: Callable[[Done], None]) -> None:
        self.what = what
        self.begin = begin


Work = Generator[Wait, Any, R]


class Task:
    """One piece of work under way.

    `ended` is called once, with its result; `failed` instead, with what it raised, where somebody wants to know;
    neither once it is abandoned."""

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
        """The last answer of it that was an exception."""
        self.waits_for = ""
        self.since_ms = 0.0

    def start(self) -> None:
        """Do it, as far as it goes: right here, also where other work is under way."""
        if self._runner.resumes_at_once:
            self._runner.ready.append(lambda: self._go_on(None))
            self._runner.go_on()
        else:
            self._go_on(None)

    def abandon(self) -> None:
        """Forget it: answers that still come are ignored."""
        self.over = True
        self._runner.waiting.pop(self, None)
        self._work.close()

    def _answered(self, value: Any) -> None:
        """What it waited for is here, and its turn has come."""
        self._runner.waiting.pop(self, None)
        self._go_on(value)

    def _go_on(self, value: Any) -> None:
        """Until it waits for what is not there yet, or ends."""
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
            except Exception as error:  # whose work it is decides what an error means; nothing is swallowed here
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
        """Of work that was begun without a task: what it waits for first."""
        answer = self._begin_waiting(wait)
        if answer is not None:
            self._go_on(answer.value)

    def _begin_waiting(self, wait: Wait) -> "Answer | None":
        """The answer if it is there already, else None."""
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
    """What a task waits for: to be called once, when it is there."""

    __slots__ = ("_runner", "_task", "came", "value", "waited_for")

    def __init__(self, task: Task, runner: "Runner") -> None:
        self._task = task
        self._runner = runner
        self.came = False
        self.waited_for = False
        """It was not there at once."""
        self.value: Any = None

    @property
    def wanted(self) -> bool:
        """Somebody still waits for it."""
        return not self._task.over

    def __call__(self, value: Any = None) -> None:
        assert not self.came, f"{self._task.who} is told twice what it waited for"
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


def _nobody_asks(result: object) -> None:
    pass


class Runner:
    """Runs the work of one machine, or of one part of it. `ready`: its queue, which may be that of others, too. `begin`
    begins a wait; without it, waits begin themselves (`Until`)."""

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
        """Whoever adds to `ready` has to drain it: nobody else does."""
        return self._at_once and not self.ready.goes_on

    def start(self, who: str, does: str, work: Work[R], ended: Callable[[R], None] = _nobody_asks) -> None:
        """Do it, as far as it goes; `ended` is called when it is over. What it raises is raised."""
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
        """Whoever can go on does, one after the other, and whoever can go on by that."""
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

    def who_waits(self) -> list[Waiting]:
        """Those that wait for something, the longest first."""
        return [Waiting(one.who, one.does, one.waits_for, one.since_ms) for one in self.waiting]
