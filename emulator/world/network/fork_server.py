"""The fork server: one warmed process that forks every node, so that a node is ready in milliseconds.

It has imported everything and runs no event loop. It dies with the supervisor (its end of the socket
closes, and the kernel kills it too), and the nodes die with it. Orders and answers are msgpack over a Unix
socket that keeps message boundaries; a node's listening socket comes with its order. Started as `python -m
emulator.world.network.fork_server FD PARENT MODULE,...`.
"""

import gc
import importlib
import os
import select
import signal
import socket
import sys
import traceback
from typing import Final, NoReturn

import msgspec

from emulator.world.network.process import EXIT_CRASHED, die_with_parent, end_process, run_node
from emulator.world.network.spec import ProcessOrder

ORDER_BYTES_MAX: Final = 160 * 1024
"""A message on the socket; the kernel takes about 200 KiB."""


class Fork(msgspec.Struct, frozen=True, tag="fork"):
    """`order`: a ProcessOrder as msgpack; answered by Forked. The listening socket is attached."""

    order: bytes


class SendSignal(msgspec.Struct, frozen=True, tag="signal"):
    """Answered by Signalled, and later by what the signal did."""

    pid: int
    number: int


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """Everything is imported."""


class Forked(msgspec.Struct, frozen=True, tag="forked"):
    pid: int


class Signalled(msgspec.Struct, frozen=True, tag="signalled"):
    """`alive` false: the process had ended before."""

    pid: int
    alive: bool


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """`code`: the exit code, or minus the signal that killed it."""

    pid: int
    code: int


class Halted(msgspec.Struct, frozen=True, tag="halted"):
    """Stopped by a signal."""

    pid: int


class Continued(msgspec.Struct, frozen=True, tag="continued"):
    pid: int


Order = Fork | SendSignal
Report = Ready | Forked | Signalled | Ended | Halted | Continued
_orders = msgspec.msgpack.Decoder(Order)
_encode = msgspec.msgpack.Encoder().encode
_process_orders = msgspec.msgpack.Decoder(ProcessOrder)


class _Server:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._children: set[int] = set()
        self._wakeup, wakeup_writer = socket.socketpair()
        self._wakeup.setblocking(False)
        wakeup_writer.setblocking(False)
        self._wakeup_writer = wakeup_writer
        signal.set_wakeup_fd(wakeup_writer.fileno())
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def serve(self) -> NoReturn:
        self._report(Ready())
        while True:
            readable, _, _ = select.select([self._sock, self._wakeup], [], [])
            if self._wakeup in readable:
                self._wakeup.recv(4096)
                self._reap()
            if self._sock in readable:
                try:
                    data, descriptors, _, _ = socket.recv_fds(self._sock, ORDER_BYTES_MAX, 1)
                except ConnectionResetError:  # it left without reading our last report
                    os._exit(0)
                if not data:
                    os._exit(0)  # the supervisor is gone; the kernel kills the nodes with us
                self._obey(_orders.decode(data), descriptors)

    def _obey(self, order: Order, descriptors: list[int]) -> None:
        if isinstance(order, Fork):
            self._fork(order, descriptors[0])
            return
        alive = order.pid in self._children
        if alive:
            os.kill(order.pid, order.number)
        self._report(Signalled(order.pid, alive))

    def _fork(self, order: Fork, descriptor: int) -> None:
        parent = os.getpid()
        pid = os.fork()
        if pid:
            os.close(descriptor)
            self._children.add(pid)
            self._report(Forked(pid))
            return
        code = EXIT_CRASHED
        try:
            die_with_parent(parent)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for inherited in (self._sock, self._wakeup, self._wakeup_writer):
                inherited.close()
            code = run_node(_process_orders.decode(order.order), socket.socket(fileno=descriptor))
        except BaseException:
            traceback.print_exc()
        finally:
            end_process(code)

    def _reap(self) -> None:
        while self._children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                self._report(Halted(pid))
            elif os.WIFCONTINUED(status):
                self._report(Continued(pid))
            else:
                self._children.discard(pid)
                self._report(Ended(pid, os.waitstatus_to_exitcode(status)))

    def _report(self, report: Report) -> None:
        try:
            self._sock.send(_encode(report))
        except OSError:
            os._exit(0)


def main(arguments: list[str]) -> NoReturn:
    """FD PARENT [MODULE,...]"""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(int(arguments[1]))
    for module in arguments[2].split(",") if len(arguments) > 2 and arguments[2] else ():
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # what is imported stays shared between the nodes: no collector touches its pages
    _Server(socket.socket(fileno=int(arguments[0]))).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
