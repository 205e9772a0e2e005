"""Methods that accept old names of their keyword arguments, with a warning."""

import warnings
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar, cast

from emulator.old_names import OldName, current

P = ParamSpec("P")
T = TypeVar("T")


def takes_old_names(method: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """The method, which also accepts the old names of `emulator.old_names`."""
    verb = method.__name__.replace("_", "-")

    @wraps(method)
    async def renamed(*args: P.args, **kwargs: P.kwargs) -> T:
        named, notices = current("python", verb, kwargs)
        for line in notices:
            warnings.warn(OldName(line), stacklevel=2)
        return await cast(Callable[..., Awaitable[T]], method)(*args, **named)

    return renamed
