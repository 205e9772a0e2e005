"""Top-level exception handler: maps exceptions to exit codes.

Only a verdict ends with 1. An error of the environment (a full disk, an unreadable file) is one line and code 2 or 3;
an interrupt is 130. Anything else is a bug of faultline: 70, a traceback in a file that only its owner can read, and
one line with its path.
"""

import errno
import os
import platform
import select
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import Final

from emulator.exit_codes import BUG, INTERRUPTED, UNKNOWN, UNUSABLE
from emulator.interrupt_redelivery import redelivers_interrupts
from emulator.regular_files import NotRegular
from emulator.terminal import shown_plainly, shown_streams

GIVEN: Final = frozenset(
    (
        *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG),
        *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENXIO, errno.ENODEV),
    )
)
"""Errors of a given path."""
LACKING: Final = frozenset(
    (
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
        *(errno.ESTALE, errno.ETIMEDOUT, errno.ETXTBSY, errno.EBUSY, errno.ECHILD),
    )
)
"""Errors of a machine that lacks a resource; the result is missing."""


def ended(program: str, work: Callable[[], int], log: str = "") -> int:
    """The exit code of `work`, for any exception but SystemExit.

    `program`: its name in messages. `log`: the file of standard error, if kept; a traceback is then written there.
    """
    with shown_streams(), redelivers_interrupts():
        try:
            code = work()
            sys.stdout.flush()  # here, where a full disk can still be reported
            return code
        except SystemExit:
            raise
        except BaseException as error:
            return _reported(program, error, log)


def _reported(program: str, error: BaseException, log: str) -> int:
    causes = list(leaves(error))
    if any(isinstance(cause, KeyboardInterrupt) for cause in causes):
        print(f"{program}: interrupted", file=sys.stderr)
        return INTERRUPTED
    if any(isinstance(cause, BrokenPipeError) for cause in causes) and _reader_is_gone():
        _forget_output()
        return UNUSABLE
    errors = [environment_error(cause) for cause in causes]
    faults = [fault for fault in errors if fault is not None]
    if len(faults) < len(causes):
        return bug(program, error, log)
    code, why = faults[0]
    print(f"{program}: {why}", file=sys.stderr)
    _forget_output()
    return code


def environment_error(error: BaseException) -> tuple[int, str] | None:
    """(exit code, reason) of an error of the environment; None: a bug of faultline."""
    if isinstance(error, NotRegular):
        return UNUSABLE, f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return UNKNOWN, "out of memory"
    if not isinstance(error, OSError) or error.errno is None:
        return None
    code = UNUSABLE if error.errno in GIVEN else UNKNOWN if error.errno in LACKING else None
    if code is None:
        return None
    why = error.strerror or os.strerror(error.errno)
    return code, why if error.filename is None else f"{error.filename}: {why}"


def bug(program: str, error: BaseException, log: str = "") -> int:
    """Write a bug's traceback; returns the exit code.

    One line on standard error, more only where no file can be written.
    """
    text = "".join(traceback.format_exception(error))
    head = f"{program} {platform.python_version()} {platform.platform()}\n{sys.argv}\n"
    cause = next(leaves(error))
    what = f"{type(cause).__name__}: {cause}".splitlines()[0][:200]
    if log:
        print(head + text, file=sys.stderr)
        print(f"{program}: a bug of ours, {shown_plainly(what)}: its traceback is in {log}", file=sys.stderr)
        return BUG
    try:
        descriptor, path = tempfile.mkstemp(prefix="faultline-bug-", suffix=".txt")  # mode 0600
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(head + text)
    except OSError as unwritable:
        where = f"and it cannot be written down ({unwritable.strerror}):\n{text}"
    else:
        where = f"its traceback is in {path}; please report it"
    print(f"{program}: a bug of ours, {shown_plainly(what)}: {where}", file=sys.stderr)
    return BUG


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in the groups of nurseries."""
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from leaves(part)
    else:
        yield error


def _reader_is_gone() -> bool:
    """Whether the reader of our output has gone, as `head` does."""
    poll = select.poll()
    poll.register(1, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _forget_output() -> None:
    """Discard unprinted output.

    Otherwise the interpreter retries at its end, which would change the exit code.
    """
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
