"""Generated HTTP requests of every operation, broken in every way.

For one server connection.
"""

import json
import random
import re
from collections import Counter

import pytest
import trio
import trio.testing

from emulator.cluster import control_context as d
from emulator.cluster import control_requests as r
from emulator.cluster.http import conversation as h
from tests.emulator.cluster.http.samples import SAMPLES
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.trio

TOKEN = "0123456789abcdef"
REQUESTS = 1_500
PIECES = (
    b"\r\n", b"\r\n\r\n", b"\0", b"\xff", b" ", b":", b"%", b"%2", b"%00", b"?", b"&", b"=", b"//", b"..", b"#", b"{",
    b"[", b'"', b"-1", b"1e999", b"NaN", b"null", b"9" * 30, b"HTTP/1.0", b"://[", b"a" * 999,
    b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n", b"Host: a\r\n", b"Expect: 100-continue\r\n",
    b"Connection: upgrade\r\nUpgrade: h2c\r\n",
)  # fmt: skip


def well_formed(chance: random.Random) -> bytes:
    sample = chance.choice(SAMPLES)
    body = b"" if sample.body is None else json.dumps(sample.body).encode()
    head = f"{sample.method} {sample.target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    if chance.random() < 0.2:
        return f"{head}Transfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def broken(chance: random.Random, request: bytes) -> bytes:
    """By some pieces that are put in, taken away, changed or said twice."""
    data = bytearray(request)
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


async def test_every_request_is_answered_or_closed_and_none_is_a_bug(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(h, "LEFTOVER_LIMIT_S", 0.0)

    async def answer(ask: r.AnyAsk, wait_s: float) -> r.Answer:
        return r.Answer(result={"faults": []})

    desk, chance = d.Desk(TOKEN, answer), random.Random(7)
    came: Counter[int] = Counter()
    for _ in range(REQUESTS):
        ours, theirs = trio.testing.memory_stream_pair()
        await theirs.send_all(broken(chance, well_formed(chance)))
        await theirs.send_eof()
        talk = h.HttpTalk(ours, bytearray(await ours.receive_some(4096)), desk)  # type: ignore[arg-type]
        with trio.fail_after(PATIENCE_S):
            if await talk.begin():
                await talk.serve()
        await ours.aclose()
        output = bytearray()
        while data := await theirs.receive_some(65536):
            output += data
        came.update(int(status) for status in re.findall(rb"HTTP/1.1 (\d{3}) ", output))
    assert capfd.readouterr().err == "" and came[500] == 0
    assert all(came[status] > 10 for status in (200, 201, 400, 401, 403, 404)), came
