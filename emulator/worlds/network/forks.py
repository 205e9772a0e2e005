"""Nodes forked from this process, for `fork_serving` and `agent`.

The process has imported everything and runs no event loop.
"""

import gc
import importlib
import os
import signal
import socket
import traceback
from collections.abc import Iterable

import msgspec

from emulator.orphans import die_with_parent
from emulator.worlds.network.process import EXIT_CRASHED, end_process, run_node
from emulator.worlds.network.spec import ProcessOrder


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """`code`: the exit code, or minus the signal that killed it."""

    pid: int
    code: int


class Halted(msgspec.Struct, frozen=True, tag="halted"):
    """Stopped by a signal."""

    pid: int


class Continued(msgspec.Struct, frozen=True, tag="continued"):
    pid: int


Change = Ended | Halted | Continued


class Forks:
    """The nodes of this process.

    `wakeup` becomes readable when one has changed: then call `changes`.
    """

    def __init__(self) -> None:
        self.alive: set[int] = set()
        self.wakeup, self._writer = socket.socketpair()
        self.wakeup.setblocking(False)
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno())
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def fork(self, order: ProcessOrder, listener: socket.socket, ours: Iterable[socket.socket]) -> int:
        """Fork a process, which has `listener` and none of `ours`; return its id.

        The caller closes its copy.
        """
        parent = os.getpid()
        pid = os.fork()
        if pid:
            self.alive.add(pid)
            return pid
        code = EXIT_CRASHED
        try:
            die_with_parent(parent)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            for inherited in (*ours, self.wakeup, self._writer):
                inherited.close()
            code = run_node(order, listener)
        except BaseException:
            traceback.print_exc()
        finally:
            end_process(code)
        raise AssertionError("unreachable")

    def signal(self, pid: int, number: int) -> bool:
        """False: the process had ended before."""
        if pid not in self.alive:
            return False
        os.kill(pid, number)
        return True

    def changes(self) -> Iterable[Change]:
        """Changes since the last call."""
        self.wakeup.recv(4096)
        while self.alive:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                yield Halted(pid)
            elif os.WIFCONTINUED(status):
                yield Continued(pid)
            else:
                self.alive.discard(pid)
                yield Ended(pid, os.waitstatus_to_exitcode(status))


def import_and_freeze(modules: Iterable[str]) -> None:
    """Import modules and freeze the collector: nodes then share the pages of these objects."""
    for module in modules:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
