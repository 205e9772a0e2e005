"""One way to wait, and its runners.

At once or at a step's end, abandoned, never recursively.
"""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from protocol.work import Answer, Runner, Task, Until, Wait, Waiting, Work

LONG = 3 * sys.getrecursionlimit()
both = pytest.mark.parametrize("at_once", [True, False], ids=["at once", "at the end of a step"])


class Bell:
    """Resumes its waiters when it rings."""

    def __init__(self) -> None:
        self.waiting: list[Callable[..., None]] = []

    def wait(self) -> Until:
        return Until("the bell", self.waiting.append)

    def ring(self, value: Any = None) -> None:
        waiting, self.waiting = self.waiting, []
        for done in waiting:
            done(value)


def runner(*, at_once: bool) -> Runner:
    return Runner(lambda: 7.0, at_once=at_once)


def here(value: object) -> Until:
    return Until("what is there", lambda done: done(value))


def nothing(result: object) -> None:
    pass


@both
def test_what_is_there_at_once_needs_neither_a_queue_nor_a_stack(at_once: bool) -> None:
    def work() -> Work[int]:
        total = 0
        for number in range(LONG):
            total += yield here(number)
        return total

    results: list[int] = []
    runs = runner(at_once=at_once)
    runs.start("a node", "counts", work(), results.append)
    assert results == [sum(range(LONG))]
    assert not runs.ready and not runs.waiting_tasks()


@both
def test_waiting_work_is_listed_with_its_wait_and_its_begin(at_once: bool) -> None:
    bell, now_ms = Bell(), 10.0
    runs = Runner(lambda: now_ms, at_once=at_once)

    def work() -> Work[None]:
        yield bell.wait()

    runs.start("a", "listens", work())
    now_ms = 20.0
    runs.start("b", "listens too", work())
    assert runs.waiting_tasks() == [
        Waiting("a", "listens", "the bell", 10.0),
        Waiting("b", "listens too", "the bell", 20.0),
    ]
    bell.ring()
    runs.go_on()
    assert runs.waiting_tasks() == []


def test_an_answer_resumes_at_once_or_when_the_step_ends() -> None:
    for at_once in (True, False):
        bell, got = Bell(), list[Any]()

        def work(bell: Bell = bell, got: list[Any] = got) -> Work[None]:
            got.append((yield bell.wait()))

        runs = runner(at_once=at_once)
        runs.start("a node", "listens", work())
        bell.ring("ding")
        assert got == (["ding"] if at_once else [])
        runs.go_on()
        assert got == ["ding"]


@both
def test_a_long_line_goes_on_one_after_the_other_never_one_inside_another(at_once: bool) -> None:
    """Each rings for the next."""
    bells = [Bell() for _ in range(LONG)]
    order: list[int] = []
    depth = 0

    def work(place: int) -> Work[None]:
        nonlocal depth
        yield bells[place].wait()
        depth += 1
        assert depth == 1, "resumed inside another's resumption"
        order.append(place)
        if place + 1 < LONG:
            bells[place + 1].ring()
        depth -= 1

    runs = runner(at_once=at_once)
    for place in range(LONG):
        runs.start(f"{place}", "stands in line", work(place))
    bells[0].ring()
    runs.go_on()
    assert order == list(range(LONG)) and not runs.waiting_tasks()


@both
def test_work_that_is_begun_inside_other_work_goes_as_far_as_it_can(at_once: bool) -> None:
    bell, order = Bell(), list[str]()
    runs = runner(at_once=at_once)

    def inner() -> Work[None]:
        order.append("inner begins")
        yield bell.wait()
        order.append("inner ends")

    def outer() -> Work[None]:
        runs.start("inner", "", inner())
        bell.ring()
        order.append("outer goes on")
        yield here(None)
        order.append("outer ends")

    runs.start("outer", "", outer())
    runs.go_on()
    assert order == ["inner begins", "outer goes on", "outer ends", "inner ends"]


@both
def test_a_second_result_is_a_bug(at_once: bool) -> None:
    bell = Bell()

    def work() -> Work[None]:
        yield bell.wait()
        yield bell.wait()

    runs = runner(at_once=at_once)
    runs.start("a node", "listens", work())
    (done,) = bell.waiting
    done()
    with pytest.raises(AssertionError, match="a node: a wait has two results"):
        done()

    def rings_twice(done: Callable[..., None]) -> None:
        done()
        done()

    def hasty() -> Work[None]:
        yield Until("one thing", rings_twice)

    with pytest.raises(AssertionError, match="two results"):
        runner(at_once=at_once).start("a node", "", hasty())


@both
def test_an_exception_as_the_answer_is_raised_where_it_was_waited_for(at_once: bool) -> None:
    bell, results = Bell(), list[str]()

    def work() -> Work[str]:
        for wait in (here(LookupError("at once")), bell.wait()):
            try:
                yield wait
            except LookupError as error:
                results.append(str(error))
        return "over"

    runs = runner(at_once=at_once)
    task = Task(runs, "a node", "", work(), results.append)
    task.start()
    bell.ring(LookupError("later"))
    runs.go_on()
    assert results == ["at once", "later", "over"]
    assert str(task.thrown) == "later"
    assert task.over


@both
def test_an_exception_of_work_goes_to_its_handler_or_its_resumer(at_once: bool) -> None:
    bell, failures = Bell(), list[Exception]()

    def work() -> Work[None]:
        yield bell.wait()
        raise LookupError("no such thing")

    runs = runner(at_once=at_once)
    Task(runs, "a", "", work(), nothing, failures.append).start()
    bell.ring()
    runs.go_on()
    assert [str(error) for error in failures] == ["no such thing"]

    runs.start("b", "", work())
    order: list[str] = []

    def other() -> Work[None]:
        yield bell.wait()
        order.append("goes on")

    runs.start("c", "", other())
    waiting, bell.waiting = bell.waiting, []

    def step() -> None:
        for done in waiting:
            done()
        runs.go_on()

    with pytest.raises(LookupError, match="no such thing"):
        step()
    if at_once:
        waiting[1]()
    runs.go_on()
    assert order == ["goes on"], "the runner outlives what was raised"


@both
def test_abandoned_work_receives_nothing_more(at_once: bool) -> None:
    bell, results = Bell(), list[object]()
    answers: list[Answer] = []

    def begin(wait: Until, answer: Answer) -> None:
        answers.append(answer)
        wait.begin(answer)

    def work() -> Work[None]:
        try:
            yield bell.wait()
        finally:
            results.append("closed")
        results.append("never")

    runs = Runner(lambda: 0.0, at_once=at_once, begin=begin)
    task = Task(runs, "a node", "", work(), results.append, results.append)
    task.start()
    wanted = [answers[0].wanted]
    task.abandon()
    wanted.append(answers[0].wanted)
    assert wanted == [True, False]
    assert runs.waiting_tasks() == []
    bell.ring()
    runs.go_on()
    assert results == ["closed"]


def test_it_can_be_abandoned_when_its_answer_is_there_and_its_turn_is_not() -> None:
    bell, results = Bell(), list[object]()

    def work() -> Work[None]:
        yield bell.wait()
        results.append("never")

    runs = runner(at_once=False)
    task = Task(runs, "a node", "", work(), results.append)
    task.start()
    bell.ring()
    task.abandon()
    runs.go_on()
    assert results == []


def test_waits_that_are_data_are_begun_by_the_runner() -> None:
    class Number:
        what = "a number"

    def begin(wait: Wait, answer: Answer) -> None:
        assert isinstance(wait, Number)
        answer(4)

    def work() -> Work[int]:
        number: int = yield Number()
        return number

    results: list[int] = []
    Runner(lambda: 0.0, at_once=True, begin=begin).start("a node", "", work(), results.append)
    assert results == [4]
    with pytest.raises(AssertionError):
        runner(at_once=True).start("a node", "", work())


def test_what_goes_on_already_is_not_begun_again() -> None:
    runs = runner(at_once=False)

    def again() -> None:
        runs.ready.append(again)
        runs.go_on()

    runs.ready.append(again)
    with pytest.raises(AssertionError, match="goes on already"):
        runs.go_on()
