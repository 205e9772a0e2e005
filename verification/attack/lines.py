"""Lines from nowhere for the control server: no JSON, no UTF-8, deep, of wrong types, HTTP."""

import random
from collections import Counter
from typing import Final

from emulator.cluster.control_requests import (
    Heal,
    LinkFault,
    Malformed,
    Produce,
    Status,
    decode_ask,
    decode_request,
    encode_request,
    token_of,
)
from emulator.faults.link_words import parse

TOKEN: Final = "0123456789abcdef0123456789abcdef"
BODIES: Final = (
    b'{"ask":"status"}', b'{"ask":"down"}', b'{"ask":"machine","fault":"kill","node":"\xff\xfe"}', b"[" * 20_000,
    b'{"ask":"heal","words":' + b"[" * 5_000, b'{"ask":"produce","topic":"t","values":[]}', b"null", b"1e999",
    b'{"ask":"consume","topic":"t","offset":-1}', b'{"ask":"consume","topic":"t","records_max":1e30}', b'"\\ud800"',
    b'{"ask":"start-workload","name":"w","topic":"t","rate_per_s":NaN}', b'{"ask":"' + b"x" * 3_000 + b'"}',
)  # fmt: skip


NO_REQUESTS: Final = (b"GET / HTTP/1.1\r", b"POST / HTTP/1.1\r", b"", b"\x16\x03\x01\x02", b"{", b"{}", b"[]")


class Lines:
    """`line()`: the next one, without its end. `token`: of those that have the right one."""

    def __init__(self, seed: int, token: str = TOKEN) -> None:
        self.chance = random.Random(seed)
        requests = [Status(), Heal(), LinkFault(parse(["cut", "az-0"])), Produce("t", ["a"])]
        self._token = token.encode()
        self._valid = [encode_request(token, ask, 1.0)[:-1] for ask in requests]

    def line(self) -> bytes:
        chance = self.chance
        which = chance.randrange(8)
        if which == 0:
            return chance.choice(NO_REQUESTS)
        if which == 1:
            return b'{"token":"' + chance.choice((b"\xff", b"x", b"\\u0000", b"")) + b'","ask":' + chance.choice(BODIES)
        if which in (2, 3):
            return b'{"token":"' + self._token + b'","ask":' + chance.choice(BODIES) + chance.choice((b"}", b"", b"}}"))
        data = bytearray(chance.choice(self._valid))
        if which in (4, 5):
            for _ in range(chance.choice((1, 2, 5))):
                data[chance.randrange(len(data))] = chance.randrange(256)
        elif which == 6:
            del data[chance.randrange(len(data)) :]
        else:
            data[: chance.randrange(len(data))] = chance.randbytes(chance.randrange(10))
        return bytes(data).replace(b"\n", b" ")


def understood(lines: Lines, count: int) -> Counter[str]:
    """Send `count` lines to the decoder. Any exception but Malformed is a bug."""
    outcomes = Counter[str]()
    for _ in range(count):
        line = lines.line()
        try:
            if token_of(line) != TOKEN.encode():
                outcomes["no token"] += 1
                continue
            decode_ask(decode_request(line))
        except Malformed:
            outcomes["no request"] += 1
        else:
            outcomes["heard"] += 1
    return outcomes
