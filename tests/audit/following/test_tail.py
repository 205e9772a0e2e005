"""The growing end of event files.

Whole lines, each once, oldest first, a bounded number at a time.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.following import tail
from audit.following.tail import Tail


def line(node: str, at_ms: float, size: int = 0) -> bytes:
    return b'{"node":"%s","at_ms":%.1f,"x":"%s"}\n' % (node.encode(), at_ms, b"x" * size)


def add(path: Path, *data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(data))


def read(tail: Tail) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    taken = tail.take()
    assert not taken.broken
    for piece in taken.pieces:
        found[piece.file] = found.get(piece.file, b"") + piece.data
    return found


def test_each_line_is_taken_once_when_it_is_whole(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    followed = Tail(events)
    assert read(followed) == {}
    first, second, third = (line("broker-0", at) for at in (1, 2, 3))
    add(events / "broker-0.1.jsonl", first, second[:-4])
    assert read(followed) == {"broker-0.1.jsonl": first}
    assert read(followed) == {}
    add(events / "broker-0.1.jsonl", second[-4:], third[:1])
    add(events / "session-0" / "session-0.1.jsonl", line("session-0", 2))
    add(events / "broker-0.1.wire.jsonl", line("broker-0", 2))
    assert read(followed) == {"broker-0.1.jsonl": second, "session-0.1.jsonl": line("session-0", 2)}
    assert followed.newest_ms == 2.0
    assert [piece.data for piece in followed.torn()] == [third[:1] + b"\n"]


def test_a_new_life_is_read_after_all_of_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "CHUNK_BYTES", 100)
    old = [line("broker-0", at) for at in range(40)]
    new = [line("broker-0", at) for at in range(50, 60)]
    add(tmp_path / "broker-0.1.jsonl", *old)
    add(tmp_path / "broker-0.2.jsonl", *new)
    followed = Tail(tmp_path)
    taken = []
    while pieces := followed.take(150).pieces:
        taken += pieces
    assert b"".join(piece.data for piece in taken) == b"".join(old + new)


def test_of_a_backlog_the_oldest_goes_first_and_the_progress_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "CHUNK_BYTES", 400)
    add(tmp_path / "busy.1.jsonl", *(line("busy", at / 10) for at in range(1_000)))
    add(tmp_path / "idle.1.jsonl", line("idle", 30.0), line("idle", 60.0))
    followed = Tail(tmp_path)
    behind: list[float] = []
    seen_ms = {"busy.1.jsonl": 0.0, "idle.1.jsonl": 0.0}
    while (taken := followed.take(2_000)).behind_ms is not None:
        assert sum(len(piece.data) for piece in taken.pieces) <= 2_400
        behind.append(taken.behind_ms)
        for piece in taken.pieces:
            seen_ms[piece.file] = max(seen_ms[piece.file], float(piece.data.split(b'"at_ms":')[-1].split(b",")[0]))
        # whatever is older than this has been read, of every file
        assert seen_ms["busy.1.jsonl"] >= taken.behind_ms
    assert behind == sorted(behind)
    assert len(behind) > 10


def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "CHUNK_BYTES", 64)
    monkeypatch.setattr(tail, "LINE_BYTES_MAX", 256)
    long, fits = line("broker-0", 2, 1_000), line("broker-0", 3, 150)
    add(tmp_path / "broker-0.1.jsonl", line("broker-0", 1), long[:-1])
    followed = Tail(tmp_path)
    assert read(followed) == {"broker-0.1.jsonl": line("broker-0", 1)}
    add(tmp_path / "broker-0.1.jsonl", b"\n", fits)
    assert read(followed) == {"broker-0.1.jsonl": long[:64] + b"\n" + fits}


def test_an_unreadable_file_is_reported_once(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    (events / "broker-0.1.jsonl").symlink_to("elsewhere")
    add(events / "broker-1" / "broker-2.1.jsonl", line("broker-2", 1))
    add(events / "broker-3.1.jsonl", line("broker-3", 1), line("broker-3", 2))
    followed = Tail(events)
    taken = followed.take()
    assert taken.broken == [
        "broker-0.1.jsonl: is a symbolic link; only regular files are read",
        "broker-1/broker-2.1.jsonl: is not named after the node whose folder it is in",
    ]
    assert [piece.file for piece in taken.pieces] == ["broker-3.1.jsonl"]
    (events / "broker-3.1.jsonl").write_bytes(b"")
    assert followed.take().broken == ["broker-3.1.jsonl: cannot be read any more: it became shorter"]
    assert followed.take().broken == []
