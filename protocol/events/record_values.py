"""The records of a produce: how one event names several, and what each of them is.

A produce of one record says its value. One of several, which follow one another in one batch, says how many `records`
there are, and `value` is a JSON list of their values in that order; "" where they could not be read.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

VALUES_MAX: Final = 512
"""Values in one event. A batch of more records is several operations, one behind the other."""
RECORDS_MAX: Final = 1 << 16
"""Of one operation, where values are not told."""
VALUE_BYTES_MAX: Final = 256
"""Of one record's value; what is longer is cut."""
VALUES_BYTES_MAX: Final = 16 * 1024
"""Of all values of an operation together, before they are written as text: of many records each is cut shorter."""

_values = msgspec.json.Decoder(list[str])
_encoder = msgspec.json.Encoder()


def value_bytes_max(records: int) -> int:
    """How much of each value is told of an operation with so many records, at most VALUES_MAX."""
    return min(VALUE_BYTES_MAX, VALUES_BYTES_MAX // max(1, min(records, VALUES_MAX)))


def values_text(values: Sequence[bytes]) -> str:
    """`value` of an event, of these records."""
    texts = [value.decode("utf-8", "replace") for value in values]
    return texts[0] if len(texts) == 1 else _encoder.encode(texts).decode()


def cut_as_told(value: str, records: int) -> str:
    """`value` as an event of an operation with so many records tells it."""
    return value.encode("utf-8", "replace")[: value_bytes_max(records)].decode("utf-8", "replace")


def values_in(value: str, records: int) -> list[str]:
    """The value of each record, as many as there are; "" where it is not told."""
    if records <= 1:
        return [value]
    try:
        values = _values.decode(value)
    except msgspec.MsgspecError:
        values = []
    return values if len(values) == records else [""] * records
