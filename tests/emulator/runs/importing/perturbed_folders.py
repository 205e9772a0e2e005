"""Collected folders of real brokers, changed as operators' collections differ.

Changes without a loss: other folders' names, rotated and compressed files, other layouts and time zones, a clock that
is ahead. Changes with a loss: some nodes, server.log alone, no data.
"""

import gzip
import random
import re
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Final, NamedTuple

ENTRY: Final = re.compile(rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] ([A-Z]+) (.*) \(([\w.$]+)\)\s*\Z", re.DOTALL)
_OPEN: Final = re.compile(rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] ")
_CAUGHT_UP: Final = re.compile(rb"(lastCaughtUpTimeMs: )(\d+)")
LAYOUTS: Final = (
    b"[%d] %p %m (%c)",
    b"%d %p [main] %c: %m",
    b"%d %p [main] %c - %m",
    b"[%d] [%p] [main] %c - %m",
    b"%d %p %m (%c)",
)
FOLDER_NAMES: Final = ("host-a", "10.0.3.7", "kafka_prod_x", "ip-10-1-2", "rack4")


class Change(NamedTuple):
    """A change of a collection.

    `layout`, `zone_h`, `names`, `rotated`, `compressed`, `ahead_ms` of the first node: without a loss. `nodes_left` (0:
    all), `server_log_alone`, `no_data`: with a loss.
    """

    layout: bytes
    zone_h: int
    names: bool
    rotated: int
    compressed: bool
    ahead_ms: int
    nodes_left: int
    server_log_alone: bool
    no_data: bool

    @property
    def loses(self) -> bool:
        return bool(self.nodes_left or self.server_log_alone or self.no_data)


def drawn(generator: random.Random, *, loses: bool) -> Change:
    """A change that a seed chooses."""
    return Change(
        generator.choice(LAYOUTS), generator.choice((0, 0, 2, -5)), generator.random() < 0.5,
        generator.choice((0, 0, 1, 3)), generator.random() < 0.3, generator.choice((0, 0, 4_000, -7_000)),
        generator.choice((0, 1, 2)) if loses else 0, loses and generator.random() < 0.4,
        loses and generator.random() < 0.4,
    )  # fmt: skip


def perturb(source: Path, target: Path, change: Change, generator: random.Random) -> list[str]:
    """Write a changed copy. Returns the names of the nodes' folders that are left."""
    folders = sorted(path for path in source.iterdir() if path.is_dir() and not path.name.startswith("copy"))
    first = folders[0]
    if change.nodes_left:
        folders = sorted(generator.sample(folders, min(change.nodes_left, len(folders))))
    for number, folder in enumerate(folders):
        name = FOLDER_NAMES[number % len(FOLDER_NAMES)] + f"-{number}x" if change.names else folder.name
        copy = target / name
        copy.mkdir(parents=True)
        shutil.copy(folder / "server.properties", copy)
        for log in sorted(folder.glob("*.log")):
            if not change.server_log_alone or log.name == "server.log":
                ahead_ms = change.ahead_ms if folder == first else 0
                lines = list(_rewritten(log.read_bytes().split(b"\n"), change, ahead_ms))
                _write(copy, log.name, lines, change)
        if not change.no_data:
            shutil.copytree(folder / "data", copy / "data")
    return [folder.name for folder in folders]


def _rewritten(lines: Sequence[bytes], change: Change, ahead_ms: int) -> Iterator[bytes]:
    for line in lines:
        found = ENTRY.match(line)
        if found is not None:
            date = _moved(found[1], change, ahead_ms)
            text = change.layout.replace(b"%d", date).replace(b"%p", found[2]).replace(b"%c", found[4])
            yield text.replace(b"%m", _CAUGHT_UP.sub(lambda one: _later(one, ahead_ms), found[3]))
        elif (opened := _OPEN.match(line)) is not None:  # an entry of several lines has its logger in another layout
            yield b"[" + _moved(opened[1], change, ahead_ms) + line[24:] if change.layout == LAYOUTS[0] else b""
        else:
            yield line


def _later(found: re.Match[bytes], ahead_ms: int) -> bytes:
    return found[1] + str(int(found[2]) + ahead_ms).encode()


def _moved(date: bytes, change: Change, ahead_ms: int) -> bytes:
    at = datetime.strptime(date.decode(), "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC) + timedelta(milliseconds=ahead_ms)
    local = at.astimezone(timezone(timedelta(hours=change.zone_h)))
    return f"{local:%Y-%m-%d %H:%M:%S},{local.microsecond // 1000:03d}".encode()


def _write(folder: Path, name: str, lines: list[bytes], change: Change) -> None:
    """One file, or rotated ones: the oldest has the highest number."""
    parts = change.rotated + 1
    size = -(-len(lines) // parts)
    for part in range(parts):
        text = b"\n".join(lines[part * size : (part + 1) * size]) + b"\n"
        later = parts - 1 - part
        path = folder / (f"{name}.{later}" if later else name)
        if change.compressed:
            path = path.with_name(f"{path.name}.gz")
            text = gzip.compress(text)
        path.write_bytes(text)
