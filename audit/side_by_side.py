"""Several questions put to Spark at once.

Spark's driver reads, analyses and plans a query on one core, which for a run of ordinary size is most of what an audit
costs, and goes over all of a query as often as its deepest part needs: some shorter queries cost less than a long one,
and each has a core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE_MAX = 4

Asked = TypeVar("Asked")
Told = TypeVar("Told")


def side_by_side(ask: Callable[[Asked], Told], over: Sequence[Asked]) -> list[Told]:
    """What `ask` tells of each, in their order; at most AT_ONCE_MAX at a time.

    Raises: what the first of them raised that failed, when those have ended that had begun; an interrupt at once.
    """
    if len(over) < 2:
        return [ask(one) for one in over]
    pool = ThreadPoolExecutor(min(len(over), AT_ONCE_MAX), thread_name_prefix="audit")
    asked = [pool.submit(ask, one) for one in over]
    try:
        told = [one.result() for one in asked]
    except BaseException as error:
        # Who is interrupted closes Spark next, which ends those that are still waiting for it.
        pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    pool.shutdown()
    return told
