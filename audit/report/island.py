"""JSON data inside a page, for its script.

Clients' values may be hostile. No value can end the element or begin another. Unicode line separators are escaped,
because older scripts treat them as the end of a line.
"""

from __future__ import annotations

from typing import Any

import msgspec

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_TABLE = str.maketrans(_ESCAPES)


def island(identifier: str, values: Any) -> str:
    """A script element with data, which no browser executes."""
    text = msgspec.json.encode(values).decode().translate(_TABLE)
    return f'<script type="application/json" id="{identifier}">{text}</script>'
