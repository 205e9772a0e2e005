"""The main process of a node's container: an agent that starts and signals the node.

    FAULTLINE_NODE=broker-0 FAULTLINE_TOKEN=... python -m emulator agent

The machine outlives its node: while the node is dead its port refuses connections, as a machine does whose process was
killed. The agent takes orders on the control network's address only (FAULTLINE_CONTROL_HOST, by default the address of
NODE.control), with the run's token. Other nodes connect to any address (or FAULTLINE_NODE_HOST). Without
FAULTLINE_TOKEN the token comes from the file TOKEN_FILE. FAULTLINE_DATA_FOLDER is the node's disk, by default
`data/NODE` of the run's directory. When the supervisor is gone the agent ends the node, and waits for the next
supervisor; with FAULTLINE_PARENT, the supervisor's process, the agent ends with that.
"""

import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from emulator.orphans import die_with_parent
from emulator.regular_files import read_regular
from emulator.worlds.network.forks import Change, Continued, Ended, Forks, Halted, import_and_freeze
from emulator.worlds.network.handshake import Handshakes
from emulator.worlds.network.ports import BACKLOG, bound
from emulator.worlds.network.spec import ProcessOrder
from protocol.framing import FrameDecoder, ProtocolError, decode, encode
from protocol.messages.agents import (
    LaunchRequest,
    LaunchResponse,
    ProcessEnded,
    ProcessHalted,
    SignalRequest,
    SignalResponse,
)
from protocol.messages.message_base import Message
from protocol.undecodable import UNDECODABLE

NODE_PORT: Final = 9092
AGENT_PORT: Final = 9091
TOKEN_FILE: Final = Path("/faultline/secret/token")
TOKEN_BYTES_MAX: Final = 1_024
TOKEN_LIMIT_S: Final = 60.0
LOOK_EVERY_S: Final = 0.05
SILENCE_LIMIT_S: Final = 10.0
"""Limit for a supervisor to receive a message."""
READ_BYTES: Final = 256 * 1024
FACTORIES: Final = "emulator.worlds.network.factory"
KAFKA_LISTENER: Final = "emulator.worlds.network.kafka_listener.kafka_listeners"
"""Imported before nodes are forked if FAULTLINE_KAFKA announces Kafka clients."""

_orders = msgspec.msgpack.Decoder(ProcessOrder)


class SupervisorGone(Exception):
    """The supervisor closed the connection, or broke the protocol."""


class Agent:
    """Serves one supervisor at a time; the next one waits.

    `listener`: on this machine's address on the control network; `node_host` "": the node listens at all of its
    addresses; `data_dir`: its disk, "" for the one in the order. A connection without the token delays neither
    (introductions).
    """

    def __init__(self, node: str, token: str, listener: socket.socket, node_host: str, data_dir: str = "") -> None:
        self._node = node
        self._data_dir = data_dir
        self._listener = listener
        self._introductions = Handshakes(listener, token)
        self._node_host = node_host
        self._reservation = bound(node_host, NODE_PORT)
        """While the node is dead, this keeps the port, and connections are refused."""
        self._forks = Forks()
        self._supervisor: socket.socket | None = None

    def serve(self) -> NoReturn:
        """Serve supervisors, one after the other."""
        while True:
            self._wait(None)
            with self._introductions.supervisors.popleft() as sock:
                sock.settimeout(SILENCE_LIMIT_S)
                self._supervisor = sock
                try:
                    self._serve(sock)
                except (SupervisorGone, ProtocolError, OSError) as ended:
                    print(f"agent of {self._node}: {ended}", file=sys.stderr, flush=True)
                self._supervisor = None
            for pid in self._forks.alive.copy():
                self._forks.signal(pid, signal.SIGKILL)
            while self._forks.alive:
                self._wait(self._forks.wakeup)

    def _serve(self, sock: socket.socket) -> None:
        """Serve one supervisor until it is gone. Raises SupervisorGone, ProtocolError, OSError."""
        decoder = FrameDecoder()
        while True:
            self._wait(sock)
            data = sock.recv(READ_BYTES)
            if not data:
                raise SupervisorGone("the supervisor is gone")
            for payload in decoder.feed(data):
                self._obey(decode(payload).message)

    def _wait(self, sock: socket.socket | None) -> None:
        """Wait for data at `sock` (None: for a supervisor).

        Meanwhile report changes of nodes, and handle handshakes.
        """
        introductions, wakeup = self._introductions, self._forks.wakeup
        while sock is not None or not introductions.supervisors:
            awaited = [wakeup, *introductions.readable_when_due, *([sock] if sock is not None else [])]
            readable, _, _ = select.select(awaited, [], [], introductions.next_due_s())
            introductions.hear(readable)
            if wakeup in readable:
                for change in self._forks.changes():
                    self._tell(_change_report(change))
            if sock is not None and sock in readable:
                return

    def _obey(self, message: Message) -> None:
        match message:
            case LaunchRequest(order=order):
                self._tell(self._launch(order))
            case SignalRequest(pid=pid, number=number):
                self._tell(SignalResponse(alive=self._forks.signal(pid, number)))
            case _:
                raise ProtocolError(f"{message.API_NAME} is no order to an agent")

    def _launch(self, order: bytes) -> LaunchResponse:
        if self._forks.alive:
            return LaunchResponse(pid=0, problem=f"{self._node} runs already")
        supervisor = [self._supervisor] if self._supervisor else []
        ours = [*self._introductions.sockets, self._reservation, *supervisor]
        try:
            process_order = _orders.decode(order)
            here = self._listener.getsockname()[0]
            settings = msgspec.structs.replace(
                process_order.settings, control_host=here, data_dir=self._data_dir, kafka_host=self._node_host
            )
            with bound(self._node_host, NODE_PORT) as node_listener:
                node_listener.listen(BACKLOG)
                process_order = msgspec.structs.replace(process_order, settings=settings)
                return LaunchResponse(pid=self._forks.fork(process_order, node_listener, ours))
        except (*UNDECODABLE, OSError) as error:
            return LaunchResponse(pid=0, problem=f"{self._node}: {error}")

    def _tell(self, message: Message) -> None:
        """Send to the supervisor. Raises OSError if it does not receive it."""
        if self._supervisor is not None:
            self._supervisor.sendall(encode(message))


def _change_report(change: Change) -> Message:
    match change:
        case Ended(pid, code):
            return ProcessEnded(pid=pid, code=code)
        case Halted(pid):
            return ProcessHalted(pid=pid, halted=True)
        case Continued(pid):
            return ProcessHalted(pid=pid, halted=False)


def token_of(environment: str, file: Path = TOKEN_FILE, limit_s: float = TOKEN_LIMIT_S) -> str:
    """The token of the environment, or of the file once it appears. Raises TimeoutError."""
    if environment:
        return environment
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if file.is_file() and (token := read_regular(file, TOKEN_BYTES_MAX).decode("ascii", "replace").strip()):
            return token
        time.sleep(LOOK_EVERY_S)
    raise TimeoutError(f"no token in {file} within {limit_s:g} s")


def main() -> int:
    """Exit code 2 without FAULTLINE_NODE."""
    node = os.environ.get("FAULTLINE_NODE")
    if not node:
        print("FAULTLINE_NODE: is not set; set it to the name of this container's node", file=sys.stderr)
        return 2
    if parent := os.environ.get("FAULTLINE_PARENT"):
        die_with_parent(int(parent))
    signal.signal(signal.SIGTERM, lambda _number, _frame: os._exit(0))  # the kernel ends the node with it
    listener = bound(socket.gethostbyname(os.environ.get("FAULTLINE_CONTROL_HOST", f"{node}.control")), AGENT_PORT)
    listener.listen(BACKLOG)
    import_and_freeze([FACTORIES, KAFKA_LISTENER] if os.environ.get("FAULTLINE_KAFKA") else [FACTORIES])
    token = token_of(os.environ.get("FAULTLINE_TOKEN", ""))
    node_host, data_dir = (os.environ.get(name, "") for name in ("FAULTLINE_NODE_HOST", "FAULTLINE_DATA_FOLDER"))
    Agent(node, token, listener, node_host, data_dir).serve()
