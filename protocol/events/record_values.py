"""Values of a produce's records in one event.

A produce of one record has its value. A produce of several records, consecutive in one batch, has their number in
`records`, and `value` is a JSON list of their values in that order; "" where the values could not be read.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from protocol.undecodable import UNDECODABLE

VALUES_MAX: Final = 512
"""Maximum values in one event. A larger batch is several consecutive operations."""
RECORDS_MAX: Final = 1 << 16
"""Maximum records of an operation without values."""
VALUE_BYTES_MAX: Final = 256
"""Maximum bytes of one record's value; a longer one is cut."""
VALUES_BYTES_MAX: Final = 16 * 1024
"""Maximum bytes of an operation's values together, before escaping.

Of many records each is cut shorter.
"""

_values = msgspec.json.Decoder(list[str])
_encoder = msgspec.json.Encoder()


def value_bytes_max(records: int) -> int:
    """Maximum bytes of each value in an operation with so many records, at most VALUES_MAX."""
    return min(VALUE_BYTES_MAX, VALUES_BYTES_MAX // max(1, min(records, VALUES_MAX)))


def values_text(values: Sequence[bytes]) -> str:
    """Field `value` of an event, for these records."""
    texts = [value.decode("utf-8", "replace") for value in values]
    return texts[0] if len(texts) == 1 else _encoder.encode(texts).decode()


def cut_value(value: str, records: int) -> str:
    """`value` cut as in an event of an operation with so many records."""
    return value.encode("utf-8", "replace")[: value_bytes_max(records)].decode("utf-8", "replace")


def values_in(value: str, records: int) -> list[str]:
    """The value of each record; "" where it is missing."""
    if records <= 1:
        return [value]
    try:
        values = _values.decode(value)
    except UNDECODABLE:
        values = []
    return values if len(values) == records else [""] * records
