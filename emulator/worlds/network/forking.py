"""The supervisor's side of the fork server."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

import msgspec
import trio

from emulator.worlds.network.fork_serving import ORDER_BYTES_MAX, Fork, Forked, Ready, Report, SendSignal, Signalled
from emulator.worlds.network.forks import Continued, Ended, Halted
from emulator.worlds.network.spec import ProcessOrder

_encode = msgspec.msgpack.Encoder().encode
_reports = msgspec.msgpack.Decoder(Report)
END_LIMIT_S: Final = 5.0


class ForkServerLost(Exception):
    """The fork server ended by itself, and all nodes with it."""


class ForkServer:
    """Starts the fork server's process at once, without waiting.

    Make it early, even outside trio, to save its start-up time. `preload`: modules with the machines' factories. The
    thread that makes it must outlive it: the kernel ends it with the thread.
    """

    def __init__(self, preload: Sequence[str] = ()) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * ORDER_BYTES_MAX)
        ours.setblocking(False)
        arguments = [str(theirs.fileno()), str(os.getpid()), ",".join(preload)]
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "emulator.worlds.network.fork_server", *arguments],
            pass_fds=(theirs.fileno(),),
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self._sock = ours
        self._answers: dict[str, trio.Event] = {}
        self._ready = trio.Event()
        self._lock: trio.Lock | None = None
        self._answer: Forked | Signalled | None = None
        self._answered = trio.Event()
        self.ends: dict[int, int] = {}
        """{process id: exit code, or minus the signal}."""
        self.halted: set[int] = set()
        self._changed = trio.Event()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def listen(self) -> None:
        """Handle the server's reports until cancelled. Raises ForkServerLost."""
        while True:
            await trio.lowlevel.wait_readable(self._sock)
            try:
                data = self._sock.recv(ORDER_BYTES_MAX)
            except ConnectionResetError:  # it left without reading our last order
                data = b""
            if not data:
                raise ForkServerLost(f"the fork server ended with {self._process.wait()}")
            report = _reports.decode(data)
            match report:
                case Ready():
                    self._ready.set()
                case Forked() | Signalled():
                    self._answer = report
                    self._answered.set()
                case Ended(pid, code):
                    self.ends[pid] = code
                    self.halted.discard(pid)
                case Halted(pid):
                    self.halted.add(pid)
                case Continued(pid):
                    self.halted.discard(pid)
            self._changed.set()
            self._changed = trio.Event()

    async def fork(self, order: ProcessOrder, listener: socket.socket) -> int:
        """Fork a process; return its id. The caller closes its copy of `listener`."""
        answer = await self._ask(Fork(_encode(order)), listener.fileno())
        assert isinstance(answer, Forked)
        return answer.pid

    async def send_signal(self, pid: int, number: int) -> bool:
        """False: the process had ended before."""
        answer = await self._ask(SendSignal(pid, number))
        assert isinstance(answer, Signalled)
        return answer.alive

    async def wait_ended(self, pid: int) -> int:
        """Its exit code, or minus the signal."""
        while pid not in self.ends:
            await self._changed.wait()
        return self.ends[pid]

    async def wait_halted(self, pid: int, halted: bool = True) -> None:
        """Wait until SIGSTOP (or SIGCONT) has taken effect, or the process ended."""
        while (pid in self.halted) is not halted and pid not in self.ends:
            await self._changed.wait()

    def close(self) -> None:
        """End the server and every node at once. Waits for the server."""
        self._sock.close()
        try:
            self._process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()

    async def _ask(self, order: Fork | SendSignal, *descriptors: int) -> Forked | Signalled:
        data = _encode(order)
        if len(data) > ORDER_BYTES_MAX:
            raise ValueError(f"an order of {len(data)} bytes; the fork server takes {ORDER_BYTES_MAX}")
        await self._ready.wait()
        if self._lock is None:
            self._lock = trio.Lock()
        async with self._lock:
            self._answered = trio.Event()
            await trio.lowlevel.wait_writable(self._sock)
            # `listen` reports a server that is gone, and cancels the pending requests.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                socket.send_fds(self._sock, [data], list(descriptors))
            await self._answered.wait()
            assert self._answer is not None
            return self._answer
