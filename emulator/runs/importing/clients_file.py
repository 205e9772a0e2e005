"""An application's own sends, of `--clients FILE`: JSON lines, or CSV with a header.

    {"at": "2026-11-29T03:38:59.120Z", "topic": "t", "partition": 0, "offset": 2, "acks": "1", "value": "c",
     "outcome": "acknowledged", "client": "orders-1"}

| field | meaning |
|---|---|
| `topic`, `partition` | of the record |
| `value` | the record's value as text, or `value_base64` |
| `outcome` | `acknowledged`, `failed`, `unknown` (a timeout); default: `acknowledged` with an offset, else `unknown` |
| `offset` | of an acknowledgement; -1 or absent: none was returned |
| `acks` | `all` (or -1), `1`, `0`; default `all` |
| `at` | the time of the acknowledgement: ISO 8601 (UTC without a zone), or milliseconds since 1970 |
| `client`, `broker`, `error` | optional: client.id; the leader's id; Kafka's error code |
"""

import base64
import binascii
import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from emulator.regular_files import lines_of, open_regular
from protocol.undecodable import UNDECODABLE

LINE_BYTES_MAX: Final = 8 << 20
OPERATIONS_MAX: Final = 2_000_000
_OUTCOMES: Final = {"acknowledged": "ok", "ok": "ok", "failed": "failed", "unknown": "unknown"}
_ACKS: Final = {"all": -1, "-1": -1, "1": 1, "0": 0}
NUMBER_MAX: Final = 1 << 53


class BadClientsFile(ValueError):
    """A line of the file that cannot be understood; the message has its place."""


class Sent(NamedTuple):
    """A record that a client sent.

    `at_ms` None: no time; `offset` -1: none. `outcome`: ok, failed, unknown.
    """

    line: int
    at_ms: float | None
    topic: str
    partition: int
    offset: int
    acks: int
    value: bytes
    outcome: str
    error: int
    client: str
    broker: int


def read_clients(path: Path) -> Iterator[Sent]:
    """Sends in the file's order. Raises BadClientsFile, OSError."""
    with open_regular(path, follow=True) as file:
        rows = _csv_rows(file) if path.suffix.lower() == ".csv" else _json_rows(path, file)
        for count, (number, row) in enumerate(rows, start=1):
            if count > OPERATIONS_MAX:
                raise BadClientsFile(f"{path}: more than {OPERATIONS_MAX} records; import those of the incident's time")
            try:
                yield _sent(number, row)
            except (KeyError, ValueError, TypeError, OverflowError, binascii.Error) as error:
                what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
                raise BadClientsFile(f"{path} line {number}: {what}; see docs/after-an-incident.md") from error


def _json_rows(path: Path, file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines_of(file, LINE_BYTES_MAX), start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line)
        except UNDECODABLE as error:
            raise BadClientsFile(f"{path} line {number}: is not JSON; one object a line is expected") from error
        if not isinstance(row, dict):
            raise BadClientsFile(f"{path} line {number}: is no JSON object")
        yield number, row


def _csv_rows(file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.TextIOWrapper(file, "utf-8", "replace", newline=""))
    for row in reader:
        yield reader.line_num, {name: value for name, value in row.items() if value not in ("", None)}


def _sent(number: int, row: dict[str, Any]) -> Sent:
    offset = _whole("offset", row.get("offset", -1))
    outcome = str(row.get("outcome", "acknowledged" if offset >= 0 else "unknown"))
    if outcome not in _OUTCOMES:
        raise ValueError(f"outcome {outcome[:40]!r}: is none of acknowledged, failed, unknown")
    acks = str(row.get("acks", "all")).lower()
    if acks not in _ACKS:
        raise ValueError(f"acks {acks[:40]!r}: is none of all, 1, 0")
    coded = row.get("value_base64")
    value = str(row["value"]).encode() if coded is None else base64.b64decode(coded, validate=True)
    return Sent(
        number, _time(row.get("at")), str(row["topic"]), _whole("partition", row["partition"]), offset, _ACKS[acks],
        value, _OUTCOMES[outcome], _whole("error", row.get("error", 0)), str(row.get("client", ""))[:249],
        _whole("broker", row.get("broker", -1)),
    )  # fmt: skip


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"{name} {value!r:.40}: is no whole number")
    number = int(value)
    if abs(number) > NUMBER_MAX:
        raise ValueError(f"{name}: is out of range")
    return number


def _time(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) or str(value).replace(".", "", 1).isdigit():
        return float(value)
    text = str(value).replace(",", ".")
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp() * 1000
