"""Runs several queries of Spark concurrently.

Spark's driver reads, analyses and plans a query on one core, which is most of an ordinary audit's cost. It traverses
all of a query as often as its deepest part needs. So some shorter queries cost less than a long one, and each has a
core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE_MAX = 4

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(ask: Callable[[Item], Result], over: Sequence[Item]) -> list[Result]:
    """Results of `ask` for each item, in order; at most AT_ONCE_MAX run at a time.

    Raises: the error of the first item that failed, after all begun ones have ended; an interrupt at once.
    """
    if len(over) < 2:
        return [ask(one) for one in over]
    pool = ThreadPoolExecutor(min(len(over), AT_ONCE_MAX), thread_name_prefix="audit")
    pending = [pool.submit(ask, one) for one in over]
    try:
        results = [one.result() for one in pending]
    except BaseException as error:
        # After an interrupt the caller closes Spark next, which ends the pending queries.
        pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    pool.shutdown()
    return results
