"""The end of a snapshot in an event file that is still written."""

from pathlib import Path

import pytest

from emulator.cluster import event_snapshot
from emulator.cluster.event_snapshot import end_of, is_past

LINES = [b'{"seq":%d,"at_ms":%d.5,"event":"x"}\n' % (n, n * 10) for n in range(200)]


@pytest.mark.parametrize("tail_bytes", [16, 100, 1 << 20])
@pytest.mark.parametrize("torn", [b"", b'{"seq":200,"at_ms":1'])
def test_it_is_after_the_last_whole_line_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tail_bytes: int, torn: bytes
) -> None:
    monkeypatch.setattr(event_snapshot, "TAIL_BYTES", tail_bytes)
    path = tmp_path / "broker-0.1.jsonl"
    path.write_bytes(b"".join(LINES) + torn)
    for moment_ms, lines in ((-1.0, 0), (0.5, 1), (995.0, 100), (1990.5, 200), (9e9, 200)):
        assert end_of(path, moment_ms) == sum(map(len, LINES[:lines])), (moment_ms, lines)


def test_an_empty_file_and_a_file_of_one_torn_line_have_nothing_yet(tmp_path: Path) -> None:
    path = tmp_path / "broker-0.1.jsonl"
    path.write_bytes(b"")
    assert end_of(path, 1.0) == 0
    path.write_bytes(LINES[0][:-3])
    assert end_of(path, 1.0) == 0


def test_a_file_is_past_a_moment_once_it_has_a_whole_line_of_after_it(tmp_path: Path) -> None:
    """Lines are written in order: then all that came before is there."""
    path = tmp_path / "broker-0.1.jsonl"
    for written, past in ((b"", False), (LINES[0], False), (b"".join(LINES[:101]), False), (LINES[101][:-1], False),
                          (b"\n", True), (LINES[102][:9], True)):  # fmt: skip
        with path.open("ab") as file:
            file.write(written)
        assert is_past(path, 1000.5) is past, written
