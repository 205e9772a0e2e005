"""Exit codes of a command's expected exceptions.

`emulator.toplevel_errors` treats all other exceptions.
"""

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeAlias

from emulator.exit_codes import UNKNOWN, UNUSABLE

P = ParamSpec("P")
Kinds: TypeAlias = tuple[type[Exception], ...]
"""Classes of exceptions."""


def reports_errors(
    command: str, *unusable: type[Exception], unknown: Kinds = ()
) -> Callable[[Callable[P, int]], Callable[P, int]]:
    """Decorator of a command: an expected exception becomes one line of error and a code.

    `unusable`: exceptions of arguments and files, code 2. `unknown`: of a result that is missing, code 3.
    """

    def decorate(run: Callable[P, int]) -> Callable[P, int]:
        @wraps(run)
        def reporting(*arguments: P.args, **options: P.kwargs) -> int:
            try:
                return run(*arguments, **options)
            except (*unusable, *unknown) as error:
                print(f"faultline {command}: {error}", file=sys.stderr)
                return UNKNOWN if isinstance(error, unknown) else UNUSABLE

        return reporting

    return decorate
