"""Work of the fork server: forks a node on request, signals it, and reports its end.

Orders and answers are msgpack over a Unix socket that keeps message boundaries; a node's listening socket comes with
its order. It dies with the supervisor (its end of the socket closes, and the kernel kills it too), and the nodes die
with it.
"""

import os
import select
import signal
import socket
from typing import Final, NoReturn

import msgspec

from emulator.orphans import die_with_parent
from emulator.worlds.network.forks import Continued, Ended, Forks, Halted, import_and_freeze
from emulator.worlds.network.spec import ProcessOrder

ORDER_BYTES_MAX: Final = 160 * 1024
"""Limit of a message on the socket; the kernel takes about 200 KiB."""


class Fork(msgspec.Struct, frozen=True, tag="fork"):
    """`order`: a ProcessOrder as msgpack; answered by Forked. The listening socket is attached."""

    order: bytes


class SendSignal(msgspec.Struct, frozen=True, tag="signal"):
    """Answered by Signalled, and later by the signal's effect."""

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


Order = Fork | SendSignal
Report = Ready | Forked | Signalled | Ended | Halted | Continued
_orders = msgspec.msgpack.Decoder(Order)
_encode = msgspec.msgpack.Encoder().encode
_process_orders = msgspec.msgpack.Decoder(ProcessOrder)


class _Server:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._forks = Forks()

    def serve(self) -> NoReturn:
        self._report(Ready())
        while True:
            readable, _, _ = select.select([self._sock, self._forks.wakeup], [], [])
            if self._forks.wakeup in readable:
                for change in self._forks.changes():
                    self._report(change)
            if self._sock in readable:
                try:
                    data, descriptors, _, _ = socket.recv_fds(self._sock, ORDER_BYTES_MAX, 1)
                except ConnectionResetError:  # it left without reading our last report
                    os._exit(0)
                if not data:
                    os._exit(0)  # the supervisor is gone; the kernel kills the nodes with us
                self._obey(_orders.decode(data), descriptors)

    def _obey(self, order: Order, descriptors: list[int]) -> None:
        if isinstance(order, SendSignal):
            self._report(Signalled(order.pid, self._forks.signal(order.pid, order.number)))
            return
        with socket.socket(fileno=descriptors[0]) as listener:
            self._report(Forked(self._forks.fork(_process_orders.decode(order.order), listener, [self._sock])))

    def _report(self, report: Report) -> None:
        try:
            self._sock.send(_encode(report))
        except OSError:
            os._exit(0)


def serve(arguments: list[str]) -> NoReturn:
    """FD PARENT [MODULE,...]."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(int(arguments[1]))
    import_and_freeze(arguments[2].split(",") if len(arguments) > 2 and arguments[2] else ())
    _Server(socket.socket(fileno=int(arguments[0]))).serve()
