"""The attack over real sockets, on every port of a cluster, with and without the token.

A connection sends one blob and its end, and waits until the other side has closed. With the token it first sends a
Hello and many valid messages, then an invalid one. Messages that would legitimately break the cluster (an order of the
controller, a vote) are not sent: a holder of the token may send them, and other nodes would react.
"""

import contextlib
import random
import struct
from collections import Counter
from typing import Final

import psutil
import trio

from protocol.conversations import (
    ACCEPTED_BY_BROKER,
    ACCEPTED_BY_CLIENT,
    ACCEPTED_BY_SESSION_SERVER,
    Conversation,
    OutOfPlace,
)
from protocol.framing import ProtocolError, decode, encode
from protocol.ids import Offset
from protocol.messages.control import Hello
from protocol.messages.groups import GroupPartition, OffsetFetchRequest
from protocol.messages.leadership_messages import MetadataRequest
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    FetchPartition,
    FetchRequest,
    ListOffsetsPartition,
    ListOffsetsRequest,
)
from protocol.messages.session_messages import ConnectRequest, GetChildren, GetData, PingRequest, SessionRequest
from protocol.messages.workload_messages import StopWorkloadRequest, WorkloadReportsRequest
from protocol.purposes import ALL, CLIENT, CONTROL, SESSION
from verification.attack.hostile_frames import Frames
from verification.attack.hostile_requests import Requests

CLOSED_WITHIN_S: Final = 60.0
"""On a machine that is busy."""
PIPELINED: Final = 300
VALID: Final = {
    "broker": ACCEPTED_BY_BROKER,
    "session": ACCEPTED_BY_SESSION_SERVER,
    "client": ACCEPTED_BY_CLIENT,
    "observer": {},
}
HARMLESS: Final[dict[str, tuple[str, list[Message]]]] = {
    "broker": (
        CLIENT,
        [
            MetadataRequest(["nowhere"]),
            ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition("nowhere", 0, -1)]),
            FetchRequest(CONSUMER_REPLICA_ID, 0, 0, 1, [FetchPartition("nowhere", 7, Offset(2**62))]),
            OffsetFetchRequest("missing", [GroupPartition("nowhere", 0)]),
        ],
    ),
    "session": (
        SESSION,
        [PingRequest(), SessionRequest([GetData("/nowhere")]), SessionRequest([GetChildren("//"), GetData("")])],
    ),
    "client": (CLIENT, [WorkloadReportsRequest(), StopWorkloadRequest("missing")]),
    "observer": (CLIENT, []),
}
"""{kind of node: (a purpose, messages that may be repeated without limit)}."""


def ports_of(processes: list[psutil.Process]) -> dict[str, list[int]]:
    """{name of a process: ports that it listens on}."""
    found: dict[str, list[int]] = {}
    for process in processes:
        with contextlib.suppress(psutil.Error):
            listening = [c.laddr.port for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
            found.setdefault(process.name(), []).extend(listening)
    return found


class Attackers:
    """Attackers of a cluster.

    `targets`: {node: port}. `said`: frames and requests, by sender. `problems`: effects that no attack may have.
    """

    def __init__(self, targets: dict[str, int], control_port: int, token: str, seed: int) -> None:
        self._targets = targets
        self._control_port = control_port
        self._token = token
        self._frames = Frames(seed)
        self._requests = (Requests(seed, token), Requests(seed, "0" * 32))
        self._chance = random.Random(seed)
        self.said: Counter[str] = Counter()
        self.problems: list[str] = []

    async def attack(self, count: int, attackers: int = 16) -> None:
        """Attack until so many more frames and requests were sent."""
        end = self.said.total() + count
        async with trio.open_nursery() as nursery:
            for _ in range(attackers):
                nursery.start_soon(self._one, end)

    async def _one(self, end: int) -> None:
        while self.said.total() < end and not self.problems:
            which = self._chance.random()
            if which < 0.15:
                request = self._chance.choice(self._requests).request()
                await self._say(self._control_port, request, "requests", 1, "the control server")
            elif which < 0.5:
                node, port = self._chance.choice(list(self._targets.items()))
                await self._say(port, self._framed(self._frames.payload()), "frames without the token", 1, node)
            else:
                await self._with_token()

    async def _with_token(self) -> None:
        node, port = self._chance.choice(list(self._targets.items()))
        kind = node.partition("-")[0]
        purpose, messages = HARMLESS[kind]
        if self._chance.random() < 0.5:
            purpose, messages = self._chance.choice([one for one in ALL if one != CONTROL]), []
        peer = self._chance.choice([one for one in self._targets if one != node])
        hello = Hello(peer, 900, self._chance.randrange(1, 2**40), purpose, self._token)
        frames = [encode(hello)]
        if purpose == SESSION and messages:
            frames.append(encode(ConnectRequest(4_000)))
        frames += [encode(self._chance.choice(messages)) for _ in range(PIPELINED if messages else 0)]
        frames.append(self._framed(self._bad_payload(kind, purpose)))
        await self._say(port, b"".join(frames), "frames with the token", len(frames), node)

    def _bad_payload(self, kind: str, purpose: str) -> bytes:
        """One that the node must refuse there."""
        while True:
            payload = self._frames.payload()
            try:
                frame = decode(payload)
                Conversation(VALID[kind], purpose, opened=False).hear(frame.message, frame.correlation_id)
            except (ProtocolError, OutOfPlace):
                return payload

    def _framed(self, payload: bytes) -> bytes:
        size = len(payload) if self._chance.random() < 0.98 else self._chance.choice((0, 2**25 + 1, 2**32 - 1))
        return struct.pack(">I", size) + payload

    async def _say(self, port: int, data: bytes, what: str, count: int, whom: str) -> None:
        """Send a blob and read to the end.

        The blob is smaller than two kernels' buffers, so that it can be sent before reading.
        """
        try:
            stream = await trio.open_tcp_stream("127.0.0.1", port)
        except OSError as error:
            self.problems.append(f"{whom} does not accept: {error}")
            return
        self.said[what] += count
        async with stream:
            with trio.move_on_after(CLOSED_WITHIN_S) as waiting, contextlib.suppress(trio.BrokenResourceError):
                await stream.send_all(data)
                await stream.send_eof()
                while await stream.receive_some(65_536):
                    pass  # responses are ignored, but must be read
        if waiting.cancelled_caught:
            self.problems.append(f"{whom} has not closed within {CLOSED_WITHIN_S:g} s: {data[-80:]!r}")
