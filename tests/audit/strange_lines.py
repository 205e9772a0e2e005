"""Lines that are no events, or nearly so."""

from __future__ import annotations

import random

import msgspec

NASTY = (
    *(b"", b"   ", b"\xff\xfe", b"null", b"1", b"[]", b"{}", b'{"a":1}{"b":2}', b'{"format":1', b"\xef\xbb\xbf{}"),
    *(b'{"format":"1"}', b'{"format":1.0}', b'{"format":1e0}', b'{"format":1,"format":2}', b"{'format':1}"),
)


def changed(line: bytes, drawn: random.Random) -> bytes:
    """A variant of `line`: a field of another type, a duplicate field, cut or strange text."""
    fields = msgspec.json.decode(line)
    name = drawn.choice([*fields])
    # Not 1e300, which is "1e300" to one and "1.0E300" to the other where a text is expected.
    other = drawn.choice([None, True, -1, 2**63, 1.5, "", "7", "é\u2028", [1], {"a": 1}])
    match drawn.randrange(5):
        case 0:
            return msgspec.json.encode({**fields, name: other})
        case 1:
            return line[:-1] + b"," + msgspec.json.encode({name: other})[1:]
        case 2:
            return line[: drawn.randrange(len(line))]
        case 3:
            return line.replace(b'"', drawn.choice([b"'", b"\xff", b"\\u0041", b"\r"]), 1)
        case _:
            return drawn.choice(NASTY)
