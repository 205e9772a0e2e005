"""The newest batches of replicas, read from segments while they change."""

from pathlib import Path

import pytest

from emulator.cluster.page import log_windows
from emulator.cluster.page.log_windows import LogWindows
from protocol.ids import LeaderEpoch, Offset
from protocol.records import format as records

PLACE, NODE = "t-0", "broker-0"


def batch(offset: int, *values: str, epoch: int = 0) -> bytes:
    encoded = records.encode([value.encode() for value in values], magic=2, timestamp_ms=0)
    return records.place(encoded, Offset(offset), LeaderEpoch(epoch))


def segment(run: Path, base: int = 0, folder: str = "") -> Path:
    path = run / "data" / NODE / folder / PLACE / f"{base:020}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def look(windows: LogWindows) -> list[list[int | str]]:
    return windows.look([(PLACE, NODE)]).get(PLACE, {}).get(NODE, [])


def test_the_newest_batches_of_a_replica_as_they_grow_and_are_cut_off(tmp_path: Path) -> None:
    windows, path = LogWindows(tmp_path), segment(tmp_path)
    assert windows.look([(PLACE, NODE)]) == {}
    path.write_bytes(batch(0, "a") + batch(1, "b", "c"))
    assert look(windows) == [[0, 0, 0, "a"], [1, 2, 0, "b +1"]]
    kept = path.read_bytes()
    path.write_bytes(kept + batch(3, "d", epoch=1)[:-5])
    assert len(look(windows)) == 2, "half a batch is none"
    path.write_bytes(kept + batch(3, "d", epoch=1))
    assert look(windows)[2:] == [[3, 3, 1, "d"]]
    path.write_bytes(batch(0, "a") + batch(1, "x" * 30, epoch=2))
    assert look(windows) == [[0, 0, 0, "a"], [1, 1, 2, "x" * 24]], "others at the same offsets"
    path.write_bytes(b"")
    assert look(windows) == []
    path.unlink()
    assert windows.look([(PLACE, NODE)]) == {}


def test_a_window_has_a_bounded_number_of_batches_and_begins_again_below_a_truncation(tmp_path: Path) -> None:
    windows, path = LogWindows(tmp_path), segment(tmp_path)
    first = b"".join(batch(n, str(n)) for n in range(200))
    path.write_bytes(first)
    assert [one[0] for one in look(windows)] == list(range(152, 200))
    path.write_bytes(first + batch(200, "new"))
    assert [one[0] for one in look(windows)] == list(range(153, 201))
    path.write_bytes(first[: len(first) // 200 * 3])
    assert look(windows)[0][0] == 0 and len(look(windows)) <= 3


def test_a_file_of_several_reads_is_found_in_several_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_windows, "READ_BYTES_MAX", 1_000)
    windows, path = LogWindows(tmp_path), segment(tmp_path)
    path.write_bytes(b"".join(batch(n, "v" * 100) for n in range(30)))
    looks = [look(windows) for _ in range(3)]
    assert looks[0] == [] and looks[-1][-1][:2] == [29, 29]


def test_the_newest_segment_in_any_log_directory_counts_and_no_link_is_read(tmp_path: Path) -> None:
    windows = LogWindows(tmp_path)
    segment(tmp_path, 0, "d1").write_bytes(batch(0, "old"))
    segment(tmp_path, 7, "d1").write_bytes(batch(7, "new"))
    assert look(windows) == [[7, 7, 0, "new"]]
    target = tmp_path / "elsewhere"
    target.write_bytes(batch(8, "secret"))
    segment(tmp_path, 8, "d1").symlink_to(target)
    assert windows.look([(PLACE, NODE)]) == {}


def test_a_damaged_file_is_left_out_and_a_damaged_batch_has_no_text(tmp_path: Path) -> None:
    windows, path = LogWindows(tmp_path), segment(tmp_path)
    damaged = bytearray(batch(0, "a"))
    damaged[-3] ^= 0xFF
    path.write_bytes(bytes(damaged))
    assert look(windows) == [[0, 0, 0, ""]]
    path.write_bytes(b"\xff" * 200)
    assert windows.look([(PLACE, NODE)]) == {}
