"""docs/protocol.md, from the registry of protocol/messages: frames, messages, fields."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, NewType, Union, get_args, get_origin

import msgpack  # type: ignore[import-untyped]
import msgspec

from docs.generate.markdown_tables import code, notice, table
from docs.generate.source import docstring_of
from protocol.framing import MAX_FRAME_BYTES, encode
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.messages import REGISTRY
from protocol.messages.message_base import DIRECTIONS, Message
from protocol.messages.replication_messages import FetchPartition, FetchRequest

_ORDER = ("replication", "leadership", "session", "ensemble", "control", "status", "workload")
_SOURCE = "protocol/messages"

_HEAD = """# Protocol

Everything on a connection is a frame: a four-byte big-endian length, then one msgpack array.

```
[api_key, direction, version, correlation_id, {{field: value, ...}}]
```

- `direction`: {directions}.
- `correlation_id` pairs a response with its request.
- The body is a map from field names to values. A field at its default is not sent; an unknown field is
  refused.
- The length counts the array only. It is 1 to {bound} bytes; anything else ends the connection before a
  byte is kept.
- The first frame of a TCP connection is a `Hello` with its opener, its purpose and the run's token. A connection of
  another run is refused. The purposes are `fetcher`, `controller`, `to-controller`, `session`, `ensemble`, `client`,
  `observe` and `control`.

API keys up to 56 are Kafka's own. Keys from 1000 on are the emulator's: the emulator's ZooKeeper, its ensemble, and the
injector's control. The field `records` has Kafka's own bytes: v2 batches, or v1 message sets below 0.11.

## A frame, byte by byte

A follower requests the records of t-0 from offset 5, as in 2.8 (Fetch version 12):

```
{example}
```

Any msgpack library reads it. Without the length, Python's `msgpack.unpackb` gives:

```
{unpacked}
```

## Messages

*Since* is the first version of the message that has the field; older ones leave it at its default. A gate decides
which version is sent ([versions.md](versions.md)).
"""

_WORDS = {
    "replication": "Copying and reading logs",
    "leadership": "Metadata, and the controller's requests",
    "session": "ZooKeeper and its clients",
    "ensemble": "ZooKeeper servers among themselves",
    "control": "The injector's own connection",
    "status": "A node's own view",
    "workload": "Requests of the player to client nodes",
}


def example_frame() -> bytes:
    """The worked example."""
    request = FetchPartition("t", 0, Offset(5), current_leader_epoch=LeaderEpoch(1), last_fetched_epoch=LeaderEpoch(1))
    return encode(FetchRequest(BrokerId(2), 500, 1, 10_485_760, [request]), correlation_id=7, version=12)


def page(root: Path) -> str:
    head = _HEAD.format(
        directions=", ".join(f"{number} {name}" for number, name in enumerate(DIRECTIONS)),
        bound=f"{MAX_FRAME_BYTES:,}",
        example=_hex(example_frame()),
        unpacked=_unpacked(example_frame()),
    )
    parts = [notice(_SOURCE), head]
    for name in _ordered_modules():
        module = sys.modules[f"protocol.messages.{name}"]
        members = {
            place: message for place, message in sorted(REGISTRY.items()) if message.__module__ == module.__name__
        }
        if not members:
            continue
        parts.append(f"### {_WORDS.get(name, name.capitalize())}\n")
        if text := docstring_of(root / _SOURCE / f"{name}.py").partition("\n\n")[2]:
            parts.append(text + "\n")
        for (api_key, direction), message in members.items():
            parts.append(_message(api_key, direction, message))
    return "\n".join(parts)


def _ordered_modules() -> list[str]:
    present = {message.__module__.rpartition(".")[2] for message in REGISTRY.values()}
    return [*(name for name in _ORDER if name in present), *sorted(present - set(_ORDER))]


def _message(api_key: int, direction: int, message: type[Message]) -> str:
    low, high = message.VERSIONS
    versions = f"version {low}" if low == high else f"versions {low} to {high}"
    parts = [f"#### {api_key} {message.API_NAME}, {DIRECTIONS[direction]}\n"]
    parts.append(f"{versions[0].upper()}{versions[1:]}. {_docstring(message)}".rstrip() + "\n")
    fields = msgspec.structs.fields(message)
    if fields:
        parts.append(_fields(message))
    for struct in _nested(message):
        parts.append(f"`{struct.__name__}`: {_docstring(struct)}".rstrip(": ") + "\n")
        parts.append(_fields(struct))
    return "\n".join(parts)


def _docstring(struct: type[Any]) -> str:
    """A class's own docstring, never an inherited one."""
    return " ".join((struct.__dict__.get("__doc__") or "").split())


def _fields(struct: type[Any]) -> str:
    rows = []
    for field in msgspec.structs.fields(struct):
        metas = list(_metas(field.type))
        extra = next((meta.extra for meta in metas if meta.extra), None) or {}
        meaning = next((meta.description for meta in metas if meta.description), "")
        since = extra.get("since") or ""
        default = "" if field.required else _default(field)
        rows.append((code(field.encode_name), _kind(field.type), extra.get("unit", ""), default, since, meaning))
    return table(("field", "type", "unit", "default", "since", "meaning"), rows)


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    return code(repr(value) if not isinstance(value, int) or isinstance(value, bool) else int(value))


def _metas(kind: Any) -> Iterator[msgspec.Meta]:
    if get_origin(kind) is Annotated:
        inner, *metas = get_args(kind)
        yield from (meta for meta in metas if isinstance(meta, msgspec.Meta))
        yield from _metas(inner)


def _kind(kind: Any) -> str:
    """`list[int]`, `bytes`, `DivergingEpoch or none`."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _kind(get_args(kind)[0])
    if origin in (Union, UnionType):
        return " or ".join(_kind(part) for part in get_args(kind))
    if isinstance(kind, NewType):
        return _kind(kind.__supertype__)
    if kind is type(None):
        return "none"
    if origin is not None:
        inner = ", ".join("..." if part is Ellipsis else _kind(part) for part in get_args(kind))
        return f"{getattr(origin, '__name__', origin)}[{inner}]"
    return str(getattr(kind, "__name__", kind))


def _structs_in(kind: Any) -> Iterator[type[Any]]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for part in get_args(kind):
        yield from _structs_in(part)


def _nested(message: type[Any]) -> list[type[Any]]:
    """Structs inside a message, outermost first; messages inside have a section of their own."""
    found: list[type[Any]] = []
    waiting = [message]
    while waiting:
        for field in msgspec.structs.fields(waiting.pop(0)):
            for struct in _structs_in(field.type):
                if struct not in found and not issubclass(struct, Message):
                    found.append(struct)
                    waiting.append(struct)
    return found


def _hex(frame: bytes) -> str:
    lines = [f"{frame[:4].hex(' ')}    the length: {len(frame) - 4} bytes follow"]
    body = frame[4:]
    for start in range(0, len(body), 16):
        part = body[start : start + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{part.hex(' '):<47}    {shown}")
    return "\n".join(lines)


def _unpacked(frame: bytes) -> str:
    api_key, direction, version, correlation_id, body = msgpack.unpackb(frame[4:])
    lines = [f"[{api_key}, {direction}, {version}, {correlation_id},", " {"]
    lines += [f"    {name!r}: {value!r}," for name, value in body.items()]
    return "\n".join([*lines, " }]"])
