"""HTTP requests for the control server that are broken in every way, and what it answers."""

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

import trio
import trio.testing

from emulator.cluster import control_requests as r
from emulator.cluster.control_context import Desk
from emulator.cluster.http.conversation import HttpTalk
from emulator.cluster.http.request_exchange import Exchange
from emulator.faults.link_words import parse

TOKEN: Final = "0123456789abcdef0123456789abcdef"
WAIT_S: Final = 0.5
ANSWERED_S: Final = 60.0
"""Limit for one conversation, on a machine that is busy."""
NOWHERE: Final = "nowhere"
HARMLESS: Final[tuple[r.ControlRequest, ...]] = (
    r.Status(), r.Heal(), r.DescribeSettings(), r.DescribeTopic(NOWHERE), r.TopicOffsets(NOWHERE),
    r.Produce(NOWHERE, ["a"]), r.Consume(NOWHERE), r.AlterTopic(NOWHERE, {"retention.ms": 1}), r.WorkloadStatus(),
    r.LinkFault(parse(["cut", NOWHERE])), r.Machine("resume", NOWHERE),
)  # fmt: skip
"""Requests that change nothing in a cluster, broken or not."""
PIECES: Final = (
    b"\r\n", b"\r\n\r\n", b"\0", b"\xff", b" ", b":", b"%", b"%2", b"%00", b"?", b"&", b"=", b"//", b"..", b"#",
    b"{", b"[", b'"', b"-1", b"1e999", b"NaN", b"null", b"9" * 30, b"HTTP/1.0", b"://[", b"a" * 999, b"[" * 20_000,
    b"Origin: x", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n", b"Host: a\r\n",
    b"Expect: 100-continue\r\n", b"Connection: upgrade\r\nUpgrade: h2c\r\n",
)  # fmt: skip


class Requests:
    """`request()`: the next one, whole, with `token`."""

    def __init__(self, seed: int, token: str = TOKEN, valid: Sequence[r.ControlRequest] = HARMLESS) -> None:
        self.chance = random.Random(seed)
        self._valid = [Exchange(token, ask, WAIT_S).request for ask in valid]

    def request(self) -> bytes:
        """A request that some pieces are put into or taken from, changed or said twice."""
        chance = self.chance
        data = bytearray(chance.choice(self._valid))
        for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
            at, until = sorted(chance.randrange(len(data) + 1) for _ in range(2))
            match chance.randrange(5):
                case 0:
                    data[at:at] = chance.choice(PIECES)
                case 1:
                    del data[at : at + chance.randrange(1, 9)]
                case 2:
                    data[at : at + 1] = bytes([chance.randrange(256)])
                case 3:
                    data[at:at] = data[at : min(until, at + 40)]
                case 4:
                    del data[at:]
        return bytes(data)


async def answered(requests: Requests, count: int) -> Counter[str]:
    """Statuses of the answers to `count` requests, each on a connection of its own. No sockets."""

    async def answer(_ask: r.AnyAsk, _wait_s: float) -> r.Answer:
        return r.Answer(result={"faults": []})

    desk, statuses = Desk(TOKEN, answer), Counter[str]()
    for _ in range(count):
        ours, theirs = trio.testing.memory_stream_pair()
        await theirs.send_all(requests.request())
        await theirs.send_eof()
        talk = HttpTalk(ours, desk)  # type: ignore[arg-type]
        with trio.fail_after(ANSWERED_S):
            if await talk.begin():
                await talk.serve()
        await ours.aclose()
        output = bytearray()
        while data := await theirs.receive_some(65_536):
            output += data
        statuses.update(status.decode() for status in re.findall(rb"HTTP/1.1 (\d{3}) ", output) or [b"closed"])
    return statuses
