"""Ends a child process when its parent ends, for whatever reason."""

import ctypes
import os
import signal
from typing import Final

PR_SET_PDEATHSIG: Final = 1
EXIT_ORPHANED: Final = 75
"""Exit code of a process with a dead parent."""
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """SIGKILL for this process when its parent (process id `parent`) ends.

    Or the parent's thread that started this process.
    """
    if _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it died between the fork and the call above
        os._exit(EXIT_ORPHANED)
