"""Recorded inputs, and the proof that a machine answers them with byte-identical effects.

A recording is a stream of msgpack arrays, each after its four-byte big-endian length, one for each input, in order:

    [mono_ms, wall_ms, input, effects_crc]

`input` is [connection, payload] for a frame (its bytes as received, without the length), otherwise the input as a map
with its type. `effects_crc`: CRC-32 of the effects of all inputs so far, in their canonical bytes; null when the step
raised.
"""

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from protocol.framing import decode
from protocol.machine import (
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Emit,
    Input,
    Machine,
    MessageReceived,
    Now,
    Send,
    Started,
    StopRequested,
    TimerFired,
)
from protocol.undecodable import UNDECODABLE

_encoder = msgspec.msgpack.Encoder()
_LENGTH = struct.Struct(">I")
_Plain = Started | ConnectionAccepted | ConnectionOpened | ConnectionLost | TimerFired | StopRequested
_decoder = msgspec.msgpack.Decoder(tuple[float, float, tuple[int, bytes] | _Plain, int | None])


class ReplayError(Exception):
    """A recording that cannot be read, or effects that differ. Names the input's number."""


class Recorded(msgspec.Struct, frozen=True):
    """One input of a recording; `effects_crc` None: the step raised."""

    now: Now
    event: Input
    effects_crc: int | None


def effect_bytes(effect: Effect) -> bytes:
    """An effect's canonical bytes.

    Messages and events carry their names: two of the same fields differ.
    """
    if isinstance(effect, Send):
        message = effect.message
        named: Sequence[Any] = (
            "send", effect.connection, effect.correlation_id, effect.version,
            message.API_KEY, message.DIRECTION, message,
        )  # fmt: skip
        return _encoder.encode(named)
    if isinstance(effect, Emit):
        return _encoder.encode(("emit", effect.event.NAME, effect.event))
    return _encoder.encode(effect)


def effects_crc(effects: Sequence[Effect], crc: int) -> int:
    """Continue the running CRC."""
    for effect in effects:
        crc = zlib.crc32(effect_bytes(effect), crc)
    return crc


def record_bytes(now: Now, event: Input, payload: bytes | None, crc: int | None) -> bytes:
    """One recorded input behind its length.

    `payload`: the frame's bytes if the input is a message.
    """
    what: Any = event
    if isinstance(event, MessageReceived):
        assert payload is not None, "a message is recorded as its frame"
        what = (event.connection, payload)
    data = _encoder.encode((now.mono_ms, now.wall_ms, what, crc))
    return _LENGTH.pack(len(data)) + data


def read(recording: Path) -> Iterator[Recorded]:
    """The inputs of a file without a torn last one (of a killed process).

    Raises ReplayError, OSError.
    """
    data = recording.read_bytes()
    position, number = 0, 0
    while len(data) - position >= _LENGTH.size:
        (size_bytes,) = _LENGTH.unpack_from(data, position)
        position += _LENGTH.size
        if len(data) - position < size_bytes:
            return
        number += 1
        try:
            mono_ms, wall_ms, what, crc = _decoder.decode(data[position : position + size_bytes])
        except UNDECODABLE as error:
            raise ReplayError(f"{recording}: input {number}: {error}") from error
        position += size_bytes
        yield Recorded(Now(mono_ms, wall_ms), _input(what), crc)


def replay(recording: Path, machine_factory: Callable[[], Machine]) -> int:
    """Step a fresh machine through a recording; return the number of identical answers.

    Raises ReplayError at the first input whose effects differ from those recorded.
    """
    machine = machine_factory()
    crc, number = 0, 0
    for recorded in read(recording):
        number += 1
        try:
            effects = machine.step(recorded.now, recorded.event)
        except Exception as error:
            if recorded.effects_crc is None:
                return number
            raise ReplayError(f"{recording}: input {number}: raised {error!r}, recorded were effects") from error
        if recorded.effects_crc is None:
            raise ReplayError(f"{recording}: input {number} ({recorded.event}): raised when recorded, gave effects now")
        crc = effects_crc(effects, crc)
        if crc != recorded.effects_crc:
            raise ReplayError(f"{recording}: input {number} ({recorded.event}): effects differ: {effects}")
    return number


def _input(what: "tuple[int, bytes] | _Plain") -> Input:
    if not isinstance(what, tuple):
        return what
    connection, payload = what
    frame = decode(payload)
    return MessageReceived(connection, frame.correlation_id, frame.version, frame.message)
