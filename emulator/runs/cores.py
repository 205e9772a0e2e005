"""Many seeds on all cores: a worker per process, each made from what the command line said. Others may play instead
(`Players`)."""

import errno
import gc
import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any, Literal, Protocol, TypeVar

from emulator.compiled import in_use as compiled_in_use
from emulator.compiled import use as use_compiled
from emulator.orphans import die_with_parent

CHUNK_MAX = 8
AHEAD = 4
"""Lots of tasks that are given out, for each process."""

Asked = TypeVar("Asked")
Task = TypeVar("Task")
Task_contra = TypeVar("Task_contra", contravariant=True)
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class ProcessLost(ChildProcessError):
    """One of the processes that play is gone, and with it what it was playing."""

    def __init__(self) -> None:
        super().__init__(errno.ECHILD, "a process that played runs was killed, for want of memory perhaps")


class Worker(Protocol[Task_contra, Result_co]):
    """Plays whole runs; one per process. What a run dies of is a result too."""

    def play(self, task: Task_contra, /) -> Result_co: ...


class Players(Protocol):
    """Who plays instead of this machine's cores: called as `all_cores` is."""

    def __call__(
        self, make: Callable[[Asked], Worker[Task, Result]], asked: Asked, /, *, most: int
    ) -> AbstractContextManager[Callable[[Sequence[Task]], Iterator[Result]]]: ...


Processes = int | Players | None
"""As many processes as cores (None) or so many; 1 stays in this one. Or who plays instead."""

_worker: Worker[Any, Any] | None = None


def _begin(packed: bytes, compiled: bool, parent: int) -> None:
    """In a new process. `packed`: what makes a worker and what it is asked, unread until it is settled whether machines
    are native here, too; nothing: there is no worker."""
    global _worker  # noqa: PLW0603  a pool's initializer has no other place for what its tasks share
    die_with_parent(parent)
    if compiled:
        use_compiled()
    if not packed:
        return
    make, asked = pickle.loads(packed)
    _worker = make(asked)
    # It stays as long as its process: the collector need not look through it after each run.
    gc.freeze()


def _born() -> None:
    """A process is made when there is something to do."""


def _play(tasks: Sequence[Any]) -> list[Any]:
    assert _worker is not None
    return [_worker.play(task) for task in tasks]


def lots_of(tasks: Sequence[Task], processes: int) -> Iterator[Sequence[Task]]:
    """All tasks, in order; smaller lots towards the end, so that nobody waits long for who has the last one."""
    first = 0
    while first < len(tasks):
        size = max(1, min(CHUNK_MAX, (len(tasks) - first) // (4 * processes)))
        yield tasks[first : first + size]
        first += size


def processes_made_by() -> Literal["fork", "spawn"]:
    """A fork saves importing everything again, half a second of each core; but it copies the locks that other threads
    hold (a progress bar's, a JVM's gateway, a library's) as they are."""
    try:
        alone = len(os.listdir("/proc/self/task")) == 1
    except OSError:  # not Linux
        alone = False
    return "fork" if alone else "spawn"


def played_by_python(what: Callable[[Asked], Result], asked: Asked) -> Result:
    """`what(asked)` with the sources' own functions: in a process of its own where this one runs native machines."""
    if not compiled_in_use():
        return what(asked)
    with _pool("spawn", 1) as pool, _none_lost():
        return pool.submit(what, asked).result()


def on_all_cores(
    make: Callable[[Asked], Worker[int, Result]], asked: Asked, seeds: Sequence[int], processes: Processes = None
) -> Generator[Result, None, None]:
    """Results in whatever order they come; `make` and `asked` must be picklable. Closing the iterator, as an interrupt
    does, ends all processes."""
    with all_cores(make, asked, processes, most=len(seeds)) as play:
        yield from play(seeds)


@contextmanager
def all_cores(
    make: Callable[[Asked], Worker[Task, Result]], asked: Asked, processes: Processes = None, *, most: int
) -> Iterator[Callable[[Sequence[Task]], Iterator[Result]]]:
    """Gives what plays several lots of tasks, `most` in all, one lot after the other; otherwise as `on_all_cores`.
    Leaving it ends all processes."""
    if callable(processes):
        with processes(make, asked, most=most) as play_elsewhere:
            yield play_elsewhere
        return
    count = min(processes or len(os.sched_getaffinity(0)), most)
    if count <= 1:
        worker = make(asked)
        yield lambda tasks: map(worker.play, tasks)
        return
    with _pool(processes_made_by(), count, pickle.dumps((make, asked))) as pool:

        def play(tasks: Sequence[Task]) -> Iterator[Result]:
            lots = lots_of(tasks, count)
            with _none_lost():
                under_way = {pool.submit(_play, lot) for lot in islice(lots, AHEAD * count)}
                while under_way:
                    done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    under_way |= {pool.submit(_play, lot) for lot in islice(lots, len(done))}
                    for lot in done:
                        yield from lot.result()

        yield play


@contextmanager
def _none_lost() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool as error:
        raise ProcessLost from error


@contextmanager
def _pool(made_by: str, count: int, packed: bytes = b"") -> Iterator[ProcessPoolExecutor]:
    """`packed`: see `_begin`. An interrupt is this process's to handle: the others are born with it blocked, and none
    is interrupted half born. The tracker comes first, because its own start ends with the interrupt unblocked. However
    the block ends, so do they, at once."""
    resource_tracker.ensure_running()
    others = set(multiprocessing.active_children())
    given = (packed, compiled_in_use() and bool(packed), os.getpid())
    pool = ProcessPoolExecutor(count, multiprocessing.get_context(made_by), _begin, given)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with _none_lost():
            for _ in range(count):
                pool.submit(_born)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        yield pool
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        for process in set(multiprocessing.active_children()) - others:
            process.kill()
        pool.shutdown(cancel_futures=True)
