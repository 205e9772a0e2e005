"""Validation of a line as an event: all its fields present, of their type and in range.

Readers rely on events as on a Struct. So a `batch_appended` line without a topic is no event, and counts as broken. The
audit applies the same rule in Spark (`audit.event_lines`), to the fields of its tables.
"""

import math
import re
import sys
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from protocol.events import ENVELOPE, EVENTS, FIELDS, FORMATS_READ
from protocol.events.record_values import RECORDS_MAX
from protocol.undecodable import UNDECODABLE

ENVELOPE_NEEDED: Final = ("node", "incarnation", "seq", "at_ms", "run")
TIME_MS_MAX: Final = 1e12
"""Maximum of the scenario's clock and of a timer's lateness: thirty years."""
NUMBER_MAX: Final = 1 << 53
"""Maximum of offsets, epochs and counts: JSON readers agree on it, and sums do not overflow."""
COUNTS_MAX: Final[dict[str, int]] = {"records": RECORDS_MAX}
"""{a number that stands for so many rows: its maximum}; the minimum is 1."""
WIDE: Final = frozenset(("digest", "session", "zxid"))
"""Numbers that are only compared, and may have 64 bits."""
WIDE_MAX: Final = (1 << 63) - 1
CLOCKS: Final = frozenset(("mono_ms", "wall_ms"))
"""Clocks with another origin."""
_BUCKET: Final = r"[0-9]{1,12}([.][0-9]{1,6})?(e[+][0-9]{1,2})?:[0-9]{1,15}"
BUCKETS_PATTERN: Final = rf"^({_BUCKET}( {_BUCKET})*)?$"
"""Pattern of a text of `protocol.lateness.buckets_text`."""
BUCKETS_CHARACTERS_MAX: Final = 4_096
LINE_BYTES_MAX: Final = 8 << 20
"""Maximum length of a line.

The longest value that can be produced, written in escapes, and its envelope fit several times. A longer line is no
event, and is not decoded.
"""
NAME_SHOWN_MAX: Final = 40

NEEDED: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(field.name for field in msgspec.structs.fields(event) if field.required)
    for name, event in EVENTS.items()
}
"""{event: its required fields}; fields that came later have defaults."""
BOUNDED: Final = frozenset(name for name, kind in FIELDS.items() if kind is int) - WIDE
TIMES: Final = frozenset(name for name, kind in FIELDS.items() if kind is float) - CLOCKS


class _AtMs(msgspec.Struct, frozen=True):
    at_ms: float


_times = msgspec.json.Decoder(_AtMs)
_buckets = re.compile(BUCKETS_PATTERN)


def event_in(line: bytes) -> dict[str, Any] | None:
    """The event of a line; None: the line has none."""
    fields = object_in(line)
    return fields if fields is not None and problem_of(fields) is None else None


def placed_in(line: bytes) -> dict[str, Any] | None:
    """A line's object, even if incomplete, with an event name and a place in its node's order.

    Otherwise None.
    """
    fields = object_in(line) or {}
    if not isinstance(fields.get("event"), str):
        return None
    return None if any(fields.get(name) is None or _wrong(name, fields[name]) for name in ENVELOPE_NEEDED) else fields


def at_ms_in(line: bytes) -> float:
    """Scenario time of a line, in ms; -inf for a missing or impossible time."""
    try:
        at_ms = _times.decode(line).at_ms
    except UNDECODABLE:
        return -math.inf
    return at_ms if abs(at_ms) <= TIME_MS_MAX else -math.inf


def object_in(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line, an event or not."""
    if len(line) > LINE_BYTES_MAX:
        return None
    try:
        fields = msgspec.json.decode(line)
    except UNDECODABLE:
        return None
    return fields if isinstance(fields, dict) else None


def problem_of(fields: dict[str, Any]) -> str | None:
    """Reason why the object is no event, in a few words; None: it is one."""
    if "format" not in fields:
        return "no format"
    if fields["format"] not in FORMATS_READ:
        return f"unknown format {str(fields['format'])[:NAME_SHOWN_MAX]}"
    name = fields.get("event")
    if name is None:
        return "no event"
    if not isinstance(name, str) or name not in EVENTS:
        return f"unknown event {str(name)[:NAME_SHOWN_MAX]}"
    for needed in ENVELOPE_NEEDED:
        if fields.get(needed) is None:
            return f"no {needed}"
    lacking = [field for field in NEEDED[name] if fields.get(field) is None]
    if lacking:
        return f"{name} lacks {', '.join(lacking)}"
    return problem_of_values(fields, (*ENVELOPE, *EVENTS[name].__struct_fields__))


def problem_of_values(fields: dict[str, Any], names: Iterable[str] = tuple(FIELDS)) -> str | None:
    """Reason why one of the present fields `names` has an impossible value; None: none has."""
    for name in names:
        value = fields.get(name)
        if value is not None and (wrong := _wrong(name, value)):
            return wrong
    return None


def _wrong(field: str, value: object) -> str | None:
    kind = FIELDS[field]
    if kind is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"{field} is no number"
        possible = abs(value) <= (TIME_MS_MAX if field in TIMES else sys.float_info.max)  # NaN is not
        return None if possible else f"{field} is out of range"
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return f"{field} is of another type"
    if kind is int and isinstance(value, int):
        least, most = (-NUMBER_MAX, NUMBER_MAX) if field in BOUNDED else (-WIDE_MAX - 1, WIDE_MAX)
        if not least <= value <= most:
            return f"{field} is out of range"
    if field in COUNTS_MAX and isinstance(value, int) and not 1 <= value <= COUNTS_MAX[field]:
        return f"{field} is out of range"
    if field == "buckets" and isinstance(value, str) and not are_buckets(value):
        return "buckets cannot be read"
    return None


def are_buckets(text: str) -> bool:
    return len(text) <= BUCKETS_CHARACTERS_MAX and _buckets.match(text) is not None
