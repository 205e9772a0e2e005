"""Runs that are played in somebody else's process, on another machine perhaps: what travels there, and what it does.

A worker is made once in each process, and plays whatever lots of tasks come to it.
"""

import gc
import os
import pickle
from collections.abc import Callable, Sequence
from typing import Any

from emulator.runs.cores import Worker

_made: dict[bytes, Worker[Any, Any]] = {}
"""By what was told: one at a time."""


def told_to(make: Callable[[Any], Worker[Any, Any]], asked: object) -> bytes:
    """What makes a worker, and where the command was given: names of files are meant from there."""
    return pickle.dumps((os.getcwd(), make, asked))


def played(told: bytes, tasks: Sequence[Any]) -> list[Any]:
    """Results in the order of `tasks`. Files that the tasks name must be where they are for whoever asks."""
    worker = _made.get(told)
    if worker is None:
        place, make, asked = pickle.loads(told)  # of our own making, and over Spark's own channel
        if os.path.isdir(place):
            os.chdir(place)
        _made.clear()
        worker = _made[told] = make(asked)
        gc.freeze()
    return [worker.play(task) for task in tasks]
