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


class CommandFailed(Exception):
    """End of a command without its result.

    The message is one line of error; `code`: the exit code.
    """

    def __init__(self, why: object, code: int = UNUSABLE) -> None:
        super().__init__(str(why))
        self.code = code


def reports_errors(
    command: str | None, *unusable: type[Exception], unknown: Kinds = ()
) -> Callable[[Callable[P, int]], Callable[P, int]]:
    """Decorator of a command: an expected exception becomes one line of error and a code.

    `command`: its name; None: the first argument is the name. `unusable`: exceptions of arguments and files, code 2.
    `unknown`: of a result that is missing, code 3. CommandFailed is always expected.
    """

    expected: Kinds = (CommandFailed, *unusable, *unknown)

    def decorate(run: Callable[P, int]) -> Callable[P, int]:
        @wraps(run)
        def reporting(*arguments: P.args, **options: P.kwargs) -> int:
            try:
                return run(*arguments, **options)
            except expected as error:
                name = arguments[0] if command is None else command
                print(f"faultline {name}: {error}" if name else f"faultline: {error}", file=sys.stderr)
                if isinstance(error, CommandFailed):
                    return error.code
                return UNKNOWN if isinstance(error, unknown) else UNUSABLE

        return reporting

    return decorate
