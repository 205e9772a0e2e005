"""Changed files of every type that a command reads, and the commands that read them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

WRONG: Final[tuple[Any, ...]] = (
    None, True, False, -1, 0, 1, 99, 2**31, 2**63, 2**64, -(2**63), 10**400, 0.5, -0.0, 1e300, "", " ", "x", "\ud800",
    "\0", "a" * 300, "0", "t-0", "broker-0", "../../etc", "\x1b[2J", [], [[]], [None], {}, {"a": 1}, {"": {}},
    [99], [-1], ["x"] * 2000,
)  # fmt: skip
WORDS: Final = (
    "", "0", "-1", "1", "2147483648", "9" * 400, "nan", ".inf", "1e400", "true", "null", "~", "[]", "{}", "[[]]",
    "{a: 1}", "''", "'", '"', "*a", "&a [*a]", "!!map", "!!python/object:os.system x", "- x", "a: b", "? [a]", "2.8",
    "x" * 300, "\ufeff", "\x07", "${HOME}", "${x:?}", "%s", "\u2028", "1:2:3", "0x10", "0o7", "2001-01-01", "1_000",
    "<<: {a: 1}", "|", ">", "#", "\t",
)  # fmt: skip
BYTES: Final = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"\n", b"{", b"}", b"[" * 5000, b"\\", b'"', b"\x1f\x8b", b"9" * 500, b"\r",
)  # fmt: skip


class Read(NamedTuple):
    """A file of the folder of `input_folder`, and a command that reads it."""

    file: str
    words: str


JSON: Final = (
    Read("observations.json", "compare run observations.json"),
    Read("observations.json", "compare observations.json az-isolated-leader@2.8"),
    Read("observations.json", "sim observations.json --seeds 1..1"),
    Read("observations.json", "run observations.json --world sim --out out"),
    Read("observations.json", "scenarios show observations.json"),
    Read("goldens/1.json", "sim az-isolated-leader --seeds 1..1 --golden goldens"),
    Read("run/observations.json", "compare run az-isolated-leader@2.8"),
    Read("run/observations.json", "report run"),
    Read("run/observations.json", "audit run run-2"),
    Read("run/verdict.json", "report run"),
    Read("run/settings.json", "report run"),
    Read("run/settings.json", "audit run run-2"),
    Read("run/settings.json", "log --as-kafka broker-0 --run run"),
    Read("run/settings.json", "log broker-0 t-0 --run run"),
    Read("run/cluster.json", "status --cluster run"),
    Read("run/cluster.json", "audit run"),
    Read("campaign/campaign.json", "report campaign"),
    Read("campaign/campaign.json", "sim scenario.yaml --seeds 1..2 --out campaign"),
    Read("campaign/campaign.json", "sql campaign"),
    Read("finds/fuzz.json", "fuzz --runs 2 --out finds"),
)
LINES: Final = tuple(
    Read(f"run/events/{node}.1.jsonl", words)
    for node in ("broker-0", "broker-1", "client-0", "observer", "session-0")
    for words in (
        "report run", "explain run a", "explain run 0 --partition t-0", "diff run run-2",
        "log --as-kafka broker-0 --run run", "log broker-0 t-0 --run run", "audit run run-2",
    )
)  # fmt: skip
WIRE: Final = tuple(
    Read("run/events/broker-0.1.wire.jsonl", words) for words in ("report run", "diff run run-2", "audit run")
)
TEXT: Final = (
    Read("scenario.yaml", "scenarios check scenario.yaml"),
    Read("scenario.yaml", "run scenario.yaml --world sim --out out"),
    Read("scenario.yaml", "sim scenario.yaml --seeds 1..1"),
    Read("scenario.yaml", "sweep scenario.yaml --seeds 1..1 --set min.insync.replicas=1,2"),
    Read("run/scenario.yaml", "compare run az-isolated-leader@2.8"),
    Read("run/scenario.yaml", "report run"),
    Read("run/scenario.yaml", "audit run run-2"),
    Read("sweep.yaml", "sweep sweep.yaml"),
    Read("three-az.yml", "up three-az.yml"),
    Read("three-az.yml", "attach three-az.yml"),
    Read("three-az.yml", "advise --topology three-az.yml --fault az-0-is-cut-off-load --seeds 1..1"),
    Read("server.properties", "settings server.properties"),
    Read("server.properties", "run scenario.yaml --world sim --out out --settings server.properties"),
    Read("server.properties", "advise server.properties --fault az-0-is-cut-off-load --seeds 1..1"),
    Read("own_check.py", "audit run --check own_check.py"),
)
BINARY: Final = (
    Read("campaign/runs/*/*/part-*.parquet", "report campaign"),
    Read("campaign/runs/*/*/part-*.parquet", "sim scenario.yaml --seeds 1..2 --out campaign"),
    Read("run/data/broker-0/t-0/*.log", "log broker-0 t-0 --run run"),
    Read("run/data/broker-1/t-0/leader-epoch-checkpoint", "log broker-0 t-0 --run run"),
    Read("run/data/broker-0/replication-offset-checkpoint", "log broker-0 t-0 --run run"),
    Read("run/data/broker-0/meta.properties", "log broker-0 t-0 --run run"),
    Read("run/data/broker-0/t-0/*.log", "report run"),
)
READS: Final = (*JSON, *LINES, *WIRE, *TEXT, *BINARY)


def change(number: int, folder: Path) -> Read:
    """Changes one of the folder's files; returns which, and what then reads it."""
    chance = Random(number)
    read = READS[number % len(READS)]
    path = sorted(folder.glob(read.file))[0]
    data = path.read_bytes()
    for _ in range(chance.choice((1, 1, 1, 2))):
        data = _changed(chance, read, data)
    path.write_bytes(data)
    return read


def _changed(chance: Random, read: Read, data: bytes) -> bytes:
    if read in BINARY or chance.random() < 0.15:
        return chance.choice(OF_BYTES)(chance, data)
    try:
        if read in JSON:
            return _json_changed(chance, data)
        if read in (*LINES, *WIRE):
            return _lines_changed(chance, data)
        return _text_changed(chance, data.decode()).encode("utf-8", "surrogatepass")
    except ValueError:  # it was changed before, and is no JSON or text any more
        return chance.choice(OF_BYTES)(chance, data)


def _json_changed(chance: Random, data: bytes) -> bytes:
    document = json.loads(data)
    places = list(_places(document))
    if not places:
        return json.dumps(chance.choice(WRONG)).encode()
    # Values deep inside are the most; each depth has its turn.
    depth = chance.choice(sorted({depth for _, _, depth in places}))
    holder, key, _ = chance.choice([place for place in places if place[2] == depth])
    match chance.randrange(8):
        case 0 | 1:
            del holder[key]
        case 2 if isinstance(holder, list):
            holder.insert(key, chance.choice(holder))
        case 2:
            holder[chance.choice(("x", "", "\0", "format"))] = holder.pop(key)
        case 3 if isinstance(holder[key], int) and not isinstance(holder[key], bool):
            holder[key] += chance.choice((1, -1, 1000, 2**31, -(2**31), 2**62))
        case 4:
            other, place, _ = chance.choice(places)
            holder[key] = json.loads(json.dumps(other[place]))
        case _:
            holder[key] = chance.choice(WRONG)
    return json.dumps(document).encode()


def _places(document: Any, depth: int = 0) -> list[tuple[Any, Any, int]]:
    """(what holds it, its key, how deep) of every value inside."""
    keys: list[Any] = list(document) if isinstance(document, dict) else []
    if isinstance(document, list):
        keys = list(range(len(document)))
    return [place for key in keys for place in [(document, key, depth), *_places(document[key], depth + 1)]]


def _lines_changed(chance: Random, data: bytes) -> bytes:
    lines = data.splitlines()
    if not lines:
        return b"{}\n"
    at = chance.randrange(len(lines))
    match chance.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, chance.choice(lines))
        case 2:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            lines[at] = _json_changed(chance, lines[at])
    return b"\n".join(lines) + b"\n"


def _text_changed(chance: Random, text: str) -> str:
    words = list(re.finditer(r"[^\s:=,\[\]{}]+", text))
    lines = text.splitlines()
    at = chance.randrange(len(lines)) if lines else 0
    match chance.randrange(6):
        case 0 | 1 | 2 if words:
            word = chance.choice(words)
            return text[: word.start()] + chance.choice(WORDS) + text[word.end() :]
        case 3 if lines:
            lines.insert(at, chance.choice(lines))
        case 4 if lines:
            del lines[at]
        case 5 if lines:
            lines[at] = " " * chance.randrange(6) + lines[at].lstrip()
        case _:
            lines.insert(at, chance.choice(WORDS))
    return "\n".join(lines) + "\n"


def _truncated(chance: Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _beheaded(chance: Random, data: bytes) -> bytes:
    return data[chance.randrange(len(data) + 1) :]


def _flipped(chance: Random, data: bytes) -> bytes:
    flipped = bytearray(data)
    for _ in range(chance.choice((1, 1, 4, 40)) if data else 0):
        flipped[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(flipped)


def _inserted(chance: Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(BYTES) + data[at:]


def _doubled(chance: Random, data: bytes) -> bytes:
    return data + data[chance.randrange(len(data) + 1) :]


def _emptied(chance: Random, data: bytes) -> bytes:
    return b""


OF_BYTES: Final[tuple[Callable[[Random, bytes], bytes], ...]] = (
    _truncated, _truncated, _beheaded, _flipped, _flipped, _inserted, _doubled, _emptied,
)  # fmt: skip
