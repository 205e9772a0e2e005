"""Plain values as JSON inside a page, where a script finds them.

Clients' values in it may be hostile. Nothing in it ends the element or begins another, and no Unicode line separator is
left, which older scripts took for the end of a line.
"""

from __future__ import annotations

from typing import Any

import msgspec

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_TABLE = str.maketrans(_ESCAPES)


def island(identifier: str, values: Any) -> str:
    """An element with data, which no browser executes."""
    text = msgspec.json.encode(values).decode().translate(_TABLE)
    return f'<script type="application/json" id="{identifier}">{text}</script>'
