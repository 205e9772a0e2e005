"""Runs in remote worker processes: the pickled job that travels there, and its execution.

Each process makes its worker once, and plays every chunk of tasks that arrives.
"""

import gc
import os
import pickle
from collections.abc import Callable, Sequence
from typing import Any

from emulator.runs.cores import Worker

_made: dict[bytes, Worker[Any, Any]] = {}
"""{pickled job: its worker}; one at a time."""


def pickled_job(make: Callable[[Any], Worker[Any, Any]], options: object) -> bytes:
    """Pickle the factory of a worker, its options and the working directory of the command.

    Names of files are relative to that directory.
    """
    return pickle.dumps((os.getcwd(), make, options))


def played(job: bytes, tasks: Sequence[Any]) -> list[Any]:
    """Results in the order of `tasks`. Their files must have the same paths as for the caller."""
    worker = _made.get(job)
    if worker is None:
        place, make, options = pickle.loads(job)  # pickled by us, and received over Spark's own channel
        if os.path.isdir(place):
            os.chdir(place)
        _made.clear()
        worker = _made[job] = make(options)
        gc.freeze()
    return [worker.play(task) for task in tasks]
