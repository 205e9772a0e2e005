"""Kafka's small text files in a log directory: parsed strictly, formatted exactly.

    leader-epoch-checkpoint (one per partition)       replication-offset-checkpoint (high watermarks)
        0                                             recovery-point-offset-checkpoint
        2                <- number of entries         log-start-offset-checkpoint (0.11 and later)
        0 0              <- epoch, start offset           0
        1 5                                               1
    meta.properties                                       t 0 7   <- topic, partition, offset
        version=0
        broker.id=0

Source: docs/semantics.md 3. An empty file is valid and holds nothing, and so, as Kafka reads it, is one that
ends after the version. Anything else that is not exactly this is an error that names file and line.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from protocol.ids import LeaderEpoch, Offset

VERSION: Final = 0

Offsets = dict[tuple[str, int], Offset]
"""{(topic, partition): offset}."""

LeaderEpochs = list[tuple[LeaderEpoch, Offset]]
"""[(epoch, its start offset)], both ascending."""


class CheckpointDamaged(ValueError):
    """A checkpoint file that Kafka could not have written; `line` counts from 1."""

    def __init__(self, path: str, line: int, reason: str) -> None:
        super().__init__(f"{path} line {line}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


def format_offsets(offsets: Mapping[tuple[str, int], Offset]) -> bytes:
    """Format the content of a checkpoint of offsets, partitions in order."""
    return _format(f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items()))


def parse_offsets(data: bytes, path: str) -> Offsets:
    """Parse a checkpoint of offsets. Raises CheckpointDamaged, naming `path` and the line."""
    return dict(_parsed_offsets(data, path))


@lru_cache(maxsize=8)
def _parsed_offsets(data: bytes, path: str) -> Offsets:
    """Parse the contents once: a broker with many partitions reads the file for each of them."""
    offsets: Offsets = {}

    def parse(line: str) -> None:
        topic, partition, offset = _words(line, "topic, partition and offset", 3)
        key = (topic, _number(partition, "partition"))
        if key in offsets:
            raise ValueError(f"{topic}-{partition} is there twice")
        offsets[key] = Offset(_number(offset, "offset"))

    _parse(data, path, parse)
    return offsets


def format_leader_epochs(entries: Sequence[tuple[LeaderEpoch, Offset]]) -> bytes:
    """Format the content of a leader epoch checkpoint."""
    return _format(f"{epoch} {start_offset}" for epoch, start_offset in entries)


def parse_leader_epochs(data: bytes, path: str) -> LeaderEpochs:
    """Parse a leader epoch checkpoint. Raises CheckpointDamaged, naming `path` and the line."""
    entries: LeaderEpochs = []

    def parse(line: str) -> None:
        epoch_word, start_word = _words(line, "epoch and start offset", 2)
        epoch = LeaderEpoch(_number(epoch_word, "epoch"))
        start_offset = Offset(_number(start_word, "start offset"))
        # Equal start offsets exist: until 2.0.0 an epoch without records stayed (docs/semantics.md 3).
        if entries and (epoch <= entries[-1][0] or start_offset < entries[-1][1]):
            last_epoch, last_start = entries[-1]
            raise ValueError(f"epoch {epoch} from {start_offset} after epoch {last_epoch} from {last_start}")
        entries.append((epoch, start_offset))

    _parse(data, path, parse)
    return entries


def format_meta_properties(broker: int) -> bytes:
    """Format meta.properties, without the cluster id that Kafka adds from 0.10.1 on."""
    return f"version={VERSION}\nbroker.id={broker}\n".encode()


def _format(entries: Iterable[str]) -> bytes:
    lines = list(entries)
    return "".join(f"{line}\n" for line in (str(VERSION), str(len(lines)), *lines)).encode()


def _parse(data: bytes, path: str, parse_entry: Callable[[str], None]) -> None:
    lines = _lines(data, path)
    if not lines:
        return
    if lines[0] != str(VERSION):
        raise CheckpointDamaged(path, 1, f"version {lines[0]!r}, known is {VERSION}")
    if len(lines) == 1:
        return
    try:
        expected = _number(lines[1], "number of entries")
    except ValueError as error:
        raise CheckpointDamaged(path, 2, str(error)) from None
    entries = lines[2:]
    for number, line in enumerate(entries, start=3):
        if number - 2 > expected:
            raise CheckpointDamaged(path, number, f"{len(entries)} entries, but {expected} in line 2")
        try:
            parse_entry(line)
        except ValueError as error:
            raise CheckpointDamaged(path, number, str(error)) from None
    if len(entries) < expected:
        raise CheckpointDamaged(path, len(lines) + 1, f"{len(entries)} entries, but {expected} in line 2")


def _lines(data: bytes, path: str) -> list[str]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CheckpointDamaged(path, line, "is not UTF-8 text") from None
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _words(line: str, meaning: str, count: int) -> list[str]:
    words = line.split()
    if len(words) != count:
        raise ValueError(f"{line!r} is not {meaning}")
    return words


def _number(word: str, meaning: str) -> int:
    """Parse a plain number of 0 or more, without sign. Raises ValueError."""
    if not (word.isascii() and word.isdigit()):
        raise ValueError(f"{meaning} {word!r} is not a number of 0 or more")
    return int(word)
