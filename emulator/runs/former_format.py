"""Lines of event format 1, in which events had no topic ids, with ids.

The numbers of a topic's incarnations are its ids. An incarnation ends when the controller removes the topic
(`topic_removed`). An event is of the incarnation in which it happened, an operation of the one in which it began.
Clients learn of deletions late: a write that waited until the topic existed again is of the last incarnation, up to its
end, whose log took its record. A batch that was read is of the last one, up to then, that had it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

import msgspec

from protocol.events import (
    EVENTS,
    BatchAppended,
    LogCreated,
    LogDeleted,
    LogLoaded,
    OfTopic,
    OperationEnded,
    OperationInvoked,
    RecordsRead,
    TopicRemoved,
)
from protocol.events.event_parsing import LINE_BYTES_MAX
from protocol.undecodable import UNDECODABLE

FORMER_FORMAT = 1
BEGINNING = b'{"format":1,'
"""Of each line of that format, as it was written."""
REMOVED = f'"{TopicRemoved.NAME}"'.encode()
"""Only a run with this text has a topic with several incarnations."""
_OF_TOPICS = frozenset(name for name, event in EVENTS.items() if issubclass(event, OfTopic))
_Held = tuple[int, int, int, int]
"""A batch in a log: digest, first offset, last offset, incarnation."""


class _Line(msgspec.Struct):
    event: str
    topic: str
    at_ms: float
    node: str = ""
    partition: int = -1
    operation: str = ""
    digest: int = 0
    offset: int = -1
    base_offset: int = -1
    last_offset: int = -1


_decode = msgspec.json.Decoder(_Line).decode


def with_topic_ids(files: Iterable[bytes]) -> Iterator[bytes]:
    """The text of each of a run's files, in order, with ids where a topic was removed."""
    texts = [*files]
    lives = _Lives(line for text in texts for line in _lines(text))
    for text in texts:
        yield b"".join(_with_id(raw, lives) for raw in text.splitlines(keepends=True))


def _lines(text: bytes) -> Iterator[_Line]:
    return (line for raw in text.splitlines() if (line := _line(raw)) is not None)


def _line(raw: bytes) -> _Line | None:
    """None: no event about a topic, or a broken line, which the readers count."""
    if len(raw) > LINE_BYTES_MAX or not raw.startswith(BEGINNING):
        return None
    try:
        return _decode(raw)
    except UNDECODABLE:
        return None


def _with_id(raw: bytes, lives: "_Lives") -> bytes:
    line = _line(raw)
    if line is None or line.event not in _OF_TOPICS or line.topic not in lives.removed_ms:
        return raw
    whole, _, end = raw.rpartition(b"}")
    return b'%b,"topic_id":"%d"}%b' % (whole, lives.of(line), end)


class _Lives:
    """Numbers of the incarnations, from 1."""

    def __init__(self, lines: Iterable[_Line]) -> None:
        kept = [*lines]
        self.removed_ms: dict[str, list[float]] = {}
        for line in kept:
            if line.event == TopicRemoved.NAME:
                self.removed_ms.setdefault(line.topic, []).append(line.at_ms)
        for times in self.removed_ms.values():
            times.sort()
        self._begun_ms: dict[str, float] = {}
        self._held: dict[tuple[str, int], list[_Held]] = {}
        logs: dict[tuple[str, str, int], list[_Held]] = {}
        for line in kept:
            if line.topic in self.removed_ms:
                self._note(line, logs.setdefault((line.node, line.topic, line.partition), []))

    def _note(self, line: _Line, log: list[_Held]) -> None:
        """Note what a log holds.

        A log that outlived its topic is of the next incarnation, which reuses it.
        """
        held: list[_Held] = []
        if line.event == OperationInvoked.NAME:
            self._begun_ms[line.operation] = line.at_ms
        elif line.event == BatchAppended.NAME:
            held = [(line.digest, line.base_offset, line.last_offset, self._at(line.topic, line.at_ms))]
        elif line.event == LogLoaded.NAME:
            held = [(*batch[:3], self._at(line.topic, line.at_ms)) for batch in log]
        elif line.event in (LogCreated.NAME, LogDeleted.NAME):
            log.clear()
        log += held
        self._held.setdefault((line.topic, line.partition), []).extend(held)

    def _at(self, topic: str, at_ms: float) -> int:
        return bisect_left(self.removed_ms[topic], at_ms) + 1

    def of(self, line: _Line) -> int:
        """The incarnation of an event."""
        life = self._at(line.topic, line.at_ms)
        if line.event == RecordsRead.NAME:
            return self._last_with(line, line.base_offset, life, life)
        if line.event == OperationEnded.NAME:
            begun = self._at(line.topic, self._begun_ms.get(line.operation, line.at_ms))
            return self._last_with(line, line.offset, life, begun) if begun != life else life
        return life

    def _last_with(self, line: _Line, offset: int, up_to: int, otherwise: int) -> int:
        """The last incarnation up to one that had the batch at `offset`, -1: anywhere."""
        held = self._held.get((line.topic, line.partition), ())
        lives = [
            life
            for digest, first, last, life in held
            if digest == line.digest and life <= up_to and (offset < 0 or first <= offset <= last)
        ]
        return max(lives, default=otherwise)
