"""No frame of ours costs more to decode than its size allows.

Lists of small entries are bounded.
"""

import contextlib
import struct
import time

import msgspec
import pytest

from protocol.framing import ProtocolError, decode
from protocol.messages import REGISTRY

ENTRIES = 1 << 20
FILLINGS = {"numbers": b"\x01", "null": b"\xc0", "arrays": b"\x90", "deep arrays": b"\x91", "maps": b"\x80",
            "deep maps": b"\x81", "texts": b"\xa0"}  # fmt: skip
ALLOWED_S = 0.6
"""Of a MiB; a list without a bound took 1.2 s, and the budget is 0.05 s on a quiet machine."""


@pytest.mark.parametrize("filling", FILLINGS)
def test_a_mib_of_small_entries_is_decoded_or_refused_in_time(filling: str) -> None:
    slow = []
    for (key, direction), message in REGISTRY.items():
        for field in msgspec.structs.fields(message):
            name = msgspec.msgpack.encode(field.encode_name)
            body = b"\x81" + name + b"\xdd" + struct.pack(">I", ENTRIES) + FILLINGS[filling] * ENTRIES
            payload = b"\x95" + msgspec.msgpack.encode(key) + msgspec.msgpack.encode(direction) + b"\x00\x00" + body
            began = time.thread_time()
            with contextlib.suppress(ProtocolError):
                decode(payload)
            took = time.thread_time() - began
            if took > ALLOWED_S:
                slow.append((message.__name__, field.name, took))
    assert not slow
