"""How every program of ours ends when nothing else has caught what went wrong.

Nothing but a verdict ends with 1. What the world did (a full disk, a file that may not be read) is one line and the
code 2 or 3; an interrupt is 130; anything else is a bug of ours: 70, its traceback in a file of its own that only its
owner can read, and one line that says where.
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
from emulator.regular_files import NotRegular
from emulator.terminal import shown_plainly, shown_streams
from emulator.unheard_interrupts import unheard_interrupts_come_again

GIVEN: Final = frozenset(
    (
        *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG),
        *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENXIO, errno.ENODEV),
    )
)
"""Errors of a path that was given."""
LACKING: Final = frozenset(
    (
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
        *(errno.ESTALE, errno.ETIMEDOUT, errno.ETXTBSY, errno.EBUSY, errno.ECHILD),
    )
)
"""Errors of a machine that lacks something; what was being made is not there."""


def ended(program: str, work: Callable[[], int], log: str = "") -> int:
    """The exit code of `work`, whatever it raises but SystemExit. `program`: as it is called in messages. `log`: what
    standard error goes to, if that is kept; a traceback is then written there."""
    with shown_streams(), unheard_interrupts_come_again():
        try:
            code = work()
            sys.stdout.flush()  # here, where a full disk can still be told
            return code
        except SystemExit:
            raise
        except BaseException as error:
            return _told(program, error, log)


def _told(program: str, error: BaseException, log: str) -> int:
    causes = list(leaves(error))
    if any(isinstance(cause, KeyboardInterrupt) for cause in causes):
        print(f"{program}: interrupted", file=sys.stderr)
        return INTERRUPTED
    if any(isinstance(cause, BrokenPipeError) for cause in causes) and _nobody_reads():
        _forget_output()
        return UNUSABLE
    worlds = [worlds_fault(cause) for cause in causes]
    faults = [fault for fault in worlds if fault is not None]
    if len(faults) < len(causes):
        return bug(program, error, log)
    code, why = faults[0]
    print(f"{program}: {why}", file=sys.stderr)
    _forget_output()
    return code


def worlds_fault(error: BaseException) -> tuple[int, str] | None:
    """(exit code, why) of an error that is the world's; None: it is a bug of ours."""
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
    """Writes it down; returns the exit code. One line on standard error, but where no file can be written."""
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


def _nobody_reads() -> bool:
    """Whether the reader of what we print has gone, as `head` does."""
    poll = select.poll()
    poll.register(1, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _forget_output() -> None:
    """What could not be printed is not tried again when the interpreter ends, which would change the exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
