"""Many seeds on all cores: a worker per process, each made from what the command line said."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Sequence
from multiprocessing import resource_tracker
from typing import Any, Protocol, TypeVar

CHUNK_MAX = 8

Asked = TypeVar("Asked")
Result_co = TypeVar("Result_co", covariant=True)


class SeedWorker(Protocol[Result_co]):
    """Plays whole runs; one per process. What a run dies of is a result too."""

    def play(self, seed: int) -> Result_co: ...


_worker: SeedWorker[Any] | None = None


def _begin(make: Callable[[Asked], SeedWorker[Any]], asked: Asked) -> None:
    """In a new process."""
    global _worker  # noqa: PLW0603  a pool's initializer has no other place for what its tasks share
    _worker = make(asked)


def _play(seed: int) -> Any:
    assert _worker is not None
    return _worker.play(seed)


def on_all_cores(
    make: Callable[[Asked], SeedWorker[Result_co]], asked: Asked, seeds: Sequence[int], processes: int | None = None
) -> Generator[Result_co, None, None]:
    """Results in whatever order they come; `make` and `asked` must be picklable. `processes`: as many as cores by
    default; 1 stays in this process. Closing the iterator, as an interrupt does, ends all processes."""
    count = min(processes or len(os.sched_getaffinity(0)), len(seeds))
    if count <= 1:
        worker = make(asked)
        yield from map(worker.play, seeds)
        return
    # spawn: the parent may have threads (a progress bar's, a JVM's gateway), and a fork copies their locks as they are.
    context = multiprocessing.get_context("spawn")
    chunk = max(1, min(CHUNK_MAX, len(seeds) // (4 * count)))
    # An interrupt is this process's to handle: the others are born with it blocked, and none is interrupted half born.
    # The tracker comes first, because its own start ends with the interrupt unblocked.
    resource_tracker.ensure_running()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with context.Pool(count, _begin, (make, asked)) as pool:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            yield from pool.imap_unordered(_play, seeds, chunksize=chunk)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
