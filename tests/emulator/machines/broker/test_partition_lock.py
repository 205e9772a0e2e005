"""A partition's lock: a writer is alone, and every thread gets a turn (semantics 1.6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.machines.broker.partition_lock import WAITING_MAX, PartitionLock
from protocol.chance import Chance
from protocol.work import Runner, Until, Work


class LockUsers:
    """Threads that take the lock and write down who has it.
    A writer that waits is waited for until `answer`.
    """

    def __init__(self, seed: int = 0) -> None:
        self.threads = Runner(lambda: 0.0)
        chance = Chance(seed)
        self.lock = PartitionLock("t-0", self.threads, lambda: chance)
        self.done: list[str] = []
        self.writing = ""
        self.answers: list[object] = []

    def read(self, name: str) -> None:
        def work() -> Work[None]:
            yield from self.lock.reading()
            assert not self.writing
            self.done.append(name)

        self.threads.start(name, "read", work())

    def write(self, name: str, *, waits: bool) -> None:
        def work() -> Work[None]:
            yield from self.lock.writing()
            assert not self.writing
            if waits:
                self.lock.hold()
                self.writing = name
                yield Until("an answer", self.answers.append)
                self.writing = ""
                self.lock.release()
            self.done.append(name)

        self.threads.start(name, "write", work())

    def answer(self) -> None:
        """Give a waiting writer its answer."""
        if self.answers:
            answer = self.answers.pop(0)
            assert callable(answer)
            answer()


@given(
    st.lists(st.sampled_from(("read", "write", "write and wait", "answer", "end of step")), max_size=40),
    st.integers(0, 1000),
)
def test_a_writer_is_alone_and_every_thread_gets_a_turn(happens: list[str], seed: int) -> None:
    all_of_them = LockUsers(seed)
    names = []
    for number, what in enumerate(happens):
        if what == "answer":
            all_of_them.answer()
        elif what == "end of step":
            all_of_them.threads.go_on()
        else:
            names.append(f"{what} {number}")
            if what == "read":
                all_of_them.read(names[-1])
            else:
                all_of_them.write(names[-1], waits=what == "write and wait")
    for _ in range(len(happens) + 1):
        all_of_them.threads.go_on()
        all_of_them.answer()
    all_of_them.threads.go_on()
    assert sorted(all_of_them.done) == sorted(names)
    assert (all_of_them.lock.waiting, all_of_them.lock.is_free()) == (0, True)
    assert all_of_them.threads.waiting_tasks() == []


def test_readers_go_on_in_any_order_after_the_first_and_none_passes_a_writer() -> None:
    """The first in line wakes the others, who meet at the log while it appends.
    The line keeps its order.
    """
    orders = set()
    for seed in range(40):
        all_of_them = LockUsers(seed)
        all_of_them.write("first", waits=True)
        for name in "abcd":
            all_of_them.read(name)
        all_of_them.write("second", waits=False)
        all_of_them.read("e")
        all_of_them.answer()
        all_of_them.threads.go_on()
        assert all_of_them.done[:2] == ["first", "a"] and all_of_them.done[5:] == ["second", "e"]
        orders.add("".join(all_of_them.done[2:5]))
    assert len(orders) == 6


def test_a_thread_that_runs_at_the_release_may_have_it_first() -> None:
    """Those in line go on at the end of the step.
    a thread that runs before that comes before them.
    """
    all_of_them = LockUsers()
    all_of_them.write("first", waits=True)
    all_of_them.write("second", waits=False)
    all_of_them.read("a")
    all_of_them.answer()
    all_of_them.threads.ready.append(lambda: all_of_them.write("passes", waits=True))
    all_of_them.threads.go_on()
    assert (all_of_them.done, all_of_them.writing) == (["first"], "passes")
    all_of_them.answer()
    all_of_them.threads.go_on()
    assert all_of_them.done == ["first", "passes", "second", "a"]


def test_waiting_work_has_its_wait_and_its_begin() -> None:
    now_ms = 5.0
    threads = Runner(lambda: now_ms)
    lock = PartitionLock("t-0", threads, lambda: Chance(0))
    lock.hold()
    threads.start("request-handler", "Produce", lock.reading())
    now_ms = 9.0
    (waiting,) = threads.waiting_tasks()
    assert (waiting.who, waiting.does, waiting.waits_for, waiting.since_ms) == (
        "request-handler",
        "Produce",
        "t-0's lock",
        5.0,
    )


def test_how_many_wait_is_bounded() -> None:
    threads = Runner(lambda: 0.0)
    lock = PartitionLock("t-0", threads, lambda: Chance(0))
    lock.hold()
    for _ in range(WAITING_MAX):
        threads.start("reads", "", lock.reading())
    with pytest.raises(AssertionError, match="10000 wait for t-0"):
        threads.start("reads", "", lock.reading())
