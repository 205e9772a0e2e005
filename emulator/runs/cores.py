"""Many seeds on all cores: one worker per process, made from the command line's options.

Others may play them instead (`Players`).
"""

import errno
import gc
import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any, Literal, Protocol, TypeVar

from emulator.compiled_modules import in_use as compiled_in_use
from emulator.compiled_modules import use as use_compiled
from emulator.orphans import die_with_parent

CHUNK_MAX = 8
AHEAD = 4
"""Chunks of tasks submitted in advance, for each process."""

Options = TypeVar("Options")
Task = TypeVar("Task")
Task_contra = TypeVar("Task_contra", contravariant=True)
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class ProcessLost(ChildProcessError):
    """A worker process died, and its runs with it."""

    def __init__(self) -> None:
        super().__init__(errno.ECHILD, "a worker process was killed, perhaps for lack of memory")


class Worker(Protocol[Task_contra, Result_co]):
    """Plays whole runs; one per process. A failure of a run is a result too."""

    def play(self, task: Task_contra, /) -> Result_co: ...


class Players(Protocol):
    """Substitute for this machine's cores; called as `all_cores` is."""

    def __call__(
        self, make: Callable[[Options], Worker[Task, Result]], options: Options, /, *, most: int
    ) -> AbstractContextManager[Callable[[Sequence[Task]], Iterator[Result]]]: ...


Processes = int | Players | None
"""Number of processes (None: one per core; 1: this process alone), or a substitute."""

_worker: Worker[Any, Any] | None = None


def _begin(packed: bytes, compiled: bool, parent: int) -> None:
    """Initialize a new process. `packed`: pickled factory and options of its worker.

    Empty: none.

    It is unpickled only after the choice between native machines and Python's.
    """
    global _worker  # noqa: PLW0603  a pool's initializer has no other place for what its tasks share
    die_with_parent(parent)
    if compiled:
        use_compiled()
    if not packed:
        return
    make, options = pickle.loads(packed)
    _worker = make(options)
    # It lives as long as its process: the collector need not look through it after each run.
    gc.freeze()


def _born() -> None:
    """Start a process: the pool makes one when there is a task."""


def _play(tasks: Sequence[Any]) -> list[Any]:
    assert _worker is not None
    return [_worker.play(task) for task in tasks]


def lots_of(tasks: Sequence[Task], processes: int) -> Iterator[Sequence[Task]]:
    """All tasks in order, in chunks that shrink towards the end.

    So no process ends much later than the others.
    """
    first = 0
    while first < len(tasks):
        size = max(1, min(CHUNK_MAX, (len(tasks) - first) // (4 * processes)))
        yield tasks[first : first + size]
        first += size


def processes_made_by() -> Literal["fork", "spawn"]:
    """Start method of worker processes: fork if this process has one thread.

    A fork saves importing everything again, half a second of each core. But it copies locks that other threads hold (a
    progress bar's, a JVM's gateway, a library's) as they are.
    """
    try:
        alone = len(os.listdir("/proc/self/task")) == 1
    except OSError:  # not Linux
        alone = False
    return "fork" if alone else "spawn"


def played_by_python(what: Callable[[Options], Result], options: Options) -> Result:
    """`what(options)` in pure Python: in another process if this one runs native machines."""
    if not compiled_in_use():
        return what(options)
    with _pool("spawn", 1) as pool, _none_lost():
        return pool.submit(what, options).result()


def on_all_cores(
    make: Callable[[Options], Worker[int, Result]], options: Options, seeds: Sequence[int], processes: Processes = None
) -> Generator[Result, None, None]:
    """Results in any order; `make` and `options` must be picklable.

    Closing the iterator, as an interrupt does, ends all processes.
    """
    with all_cores(make, options, processes, most=len(seeds)) as play:
        yield from play(seeds)


def collect(
    results: Generator[Result, None, None],
    add: Callable[[Result], object],
    ended: Callable[[], bool | None] = lambda: True,
) -> None:
    """Add each result to its grouping, until all are there or `ended` returns False.

    `ended` is called for each. Afterwards, and on an interrupt, all processes end.
    """
    with closing(results):
        for result in results:
            add(result)
            if ended() is False:
                return


def in_order(
    results: Iterable[Result], place: Callable[[Result], int], first: int = 0
) -> Generator[Result, None, None]:
    """Results by their places, from `first` on: each as soon as all before it are there."""
    early: dict[int, Result] = {}
    for result in results:
        early[place(result)] = result
        while first in early:
            yield early.pop(first)
            first += 1


@contextmanager
def all_cores(
    make: Callable[[Options], Worker[Task, Result]], options: Options, processes: Processes = None, *, most: int
) -> Iterator[Callable[[Sequence[Task]], Iterator[Result]]]:
    """A function that plays several lots of tasks in turn, `most` tasks in all.

    See `on_all_cores`.

    Leaving the context ends all processes.
    """
    if callable(processes):
        with processes(make, options, most=most) as play_elsewhere:
            yield play_elsewhere
        return
    count = min(processes or len(os.sched_getaffinity(0)), most)
    if count <= 1:
        worker = make(options)
        yield lambda tasks: map(worker.play, tasks)
        return
    with _pool(processes_made_by(), count, pickle.dumps((make, options))) as pool:

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
    """A pool of worker processes; all of them end at once with the block.

    `packed`: see `_begin`.

    This process alone handles an interrupt: the others start with it blocked, and none is interrupted while it starts.
    The resource tracker starts first, because its own start unblocks the interrupt.
    """
    resource_tracker.ensure_running()
    others = set(multiprocessing.active_children())
    arguments = (packed, compiled_in_use() and bool(packed), os.getpid())
    pool = ProcessPoolExecutor(count, multiprocessing.get_context(made_by), _begin, arguments)
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
