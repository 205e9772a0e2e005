"""First tries of mostly waiting tests, begun early: as many at a time as a pool has workers."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

AT_ONCE = 2

Result = TypeVar("Result")


@contextmanager
def first_tries(
    request: pytest.FixtureRequest, test: str, pool: Executor, play: Callable[..., Result]
) -> Iterator[dict[tuple[Any, ...], Future[Result]]]:
    """{the parameters of each chosen case of `test` in its module: `play` of them}.

    They begin in the order in which the tests come. Those that have not begun when the tests are over are not played.
    """
    chosen = [
        tuple(item.callspec.params.values())
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and item.originalname == test
    ]
    try:
        yield {case: pool.submit(play, *case) for case in chosen}
    finally:
        pool.shutdown(cancel_futures=True)
