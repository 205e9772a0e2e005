"""Collected files that are damaged, foreign or made to harm."""

import gzip
import random
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path

import pytest

from audit.expected import expected_of
from emulator.runs.importing import byte_lines
from emulator.runs.importing.byte_lines import ByteLines, DamagedArchive
from emulator.runs.importing.collected_nodes import NothingCollected
from emulator.runs.importing.incident_run import page_of, read_incident
from emulator.runs.importing.line_layouts import LineLayout
from emulator.runs.importing.log_reader import LogReader
from emulator.runs.run_events import LeftOut, read
from protocol.events import EVENTS
from tests.emulator.runs.importing.conftest import import_folders
from tests.real_logs import RUNS

SERVER = "[2026-11-29 03:38:53,658] INFO {} (kafka.server.KafkaServer)\n"
SOME = ("az-isolated-leader@3.9", "incident-unclean-restart@0.10.2", "kraft-unclean-election@3.9")


def reader_of(path: Path) -> LogReader:
    return LogReader(ByteLines(path), LineLayout("[%d] %p %m (%c)%n", UTC))


def lines_of(count: int) -> str:
    return "".join(SERVER.format(f"[KafkaServer id=0] line {number}") for number in range(count))


def test_a_line_of_a_hundred_megabytes_is_left_out_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    with path.open("wb") as file:
        file.write(SERVER.format("starting").encode())
        for _ in range(100):
            file.write(b"x" * (1 << 20))
        file.write(b"\n" + SERVER.format("[KafkaServer id=0] started").encode())
    reader = reader_of(path)
    tracemalloc.start()
    found = [one.form for one in reader.found()]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == ["server-starts", "started"]
    assert reader.damaged["too-long"] == 1
    assert peak < 16 << 20


def test_a_bomb_is_read_no_further_than_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_lines, "EXPANSION_BYTES_MIN", 8 << 20)
    path = tmp_path / "server.log.gz"
    path.write_bytes(gzip.compress(b"\n" * (64 << 20)))
    with pytest.raises(DamagedArchive, match="expands more than"):
        for _ in ByteLines(path).blocks():
            pass


def test_a_compressed_file_that_ends_early_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = gzip.compress(lines_of(2_000).encode())
    (tmp_path / "broker-0").mkdir()
    (tmp_path / "broker-0" / "server.log.gz").write_bytes(whole[: len(whole) // 2])
    record = import_folders(tmp_path / "run", tmp_path / "broker-0")
    assert record.gaps and "ends early" in record.gaps[0]


def test_escapes_and_markup_stay_text(tmp_path: Path) -> None:
    folder = tmp_path / "broker-0"
    folder.mkdir()
    hostile = "\x1b[31m<script>alert(1)</script>\x1b]0;title\x07"
    (folder / "server.log").write_text(SERVER.format("starting") + hostile + "\n" + lines_of(5))
    import_folders(tmp_path / "run", folder)
    quarantine = (tmp_path / "run" / "import-quarantine.jsonl").read_text()
    assert "\x1b" not in quarantine
    assert "<script>alert" not in page_of("run", read_incident(tmp_path / "run"))


def test_links_and_paths_lead_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "broker-0"
    (folder / "data" / "t-0").mkdir(parents=True)
    secret = tmp_path / "secret.log"
    secret.write_text(lines_of(5))
    (folder / "server.log").symlink_to(secret)
    (folder / "data" / "t-0" / "00000000000000000000.log").symlink_to(secret)
    (folder / "controller.log").write_text(lines_of(5))
    record = import_folders(tmp_path / "run", folder)
    assert record.unread == [["server.log", "is no regular file"]]
    assert not list((tmp_path / "run" / "data").rglob("*.log"))


def test_data_of_zookeeper_is_named_as_unread(tmp_path: Path) -> None:
    (tmp_path / "in" / "broker-0").mkdir(parents=True)
    (tmp_path / "in" / "broker-0" / "server.log").write_text(lines_of(5))
    (tmp_path / "in" / "zk" / "version-2").mkdir(parents=True)
    (tmp_path / "in" / "zk" / "version-2" / "log.100000001").write_bytes(b"ZKLG" + b"\0" * 64)
    record = import_folders(tmp_path / "run", tmp_path / "in")
    assert [(name, "not read" in why) for name, why in record.unread] == [("zk/version-2", True)]


def test_a_folder_without_a_brokers_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.log").write_text("hello\n" * 10)
    with pytest.raises(NothingCollected, match="holds no broker's log lines"):
        import_folders(tmp_path / "run", tmp_path)


# --- damaged lines ---


def damaged(lines: list[bytes], generator: random.Random) -> Iterator[bytes]:
    """A line in three is cut, doubled, moved, or followed by a foreign one."""
    held: list[bytes] = []
    for line in lines:
        kind = generator.randrange(12)
        if kind == 0:
            yield line[: generator.randrange(len(line) + 1)]
        elif kind == 1:
            yield line[generator.randrange(len(line) + 1) :]
        elif kind == 2:
            yield line
            yield line
        elif kind == 3:
            yield line
            yield bytes(generator.randrange(32, 256) for _ in range(generator.randrange(200)))
        elif kind == 4:
            held.append(line)
        else:
            yield line
            if held and generator.random() < 0.1:
                yield held.pop()
    yield from held


def damage_all(source: Path, target: Path, seed: int) -> None:
    """Copy a run's files with damaged log lines."""
    generator = random.Random(seed)
    for path in sorted(source.rglob("*")):
        if not path.is_file() or path.name == "truth.json":
            continue
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        if path.suffix == ".log" and not path.stem.isdigit():
            data = b"\n".join(damaged(data.split(b"\n"), generator))
        elif path.stem.isdigit() and generator.random() < 0.3 and data:
            place = generator.randrange(len(data))
            data = data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]
        copy.write_bytes(data)


@pytest.mark.parametrize("seed", range(6))
def test_no_verdict_is_better_than_damaged_lines(
    seed: int, real_logs: Path, tmp_path: Path, imported: Callable[[str], Path]
) -> None:
    """Each line of the run is an event; the gaps make a check without a finding unknown."""
    name = RUNS[seed % len(RUNS)]
    damage_all(real_logs / name, tmp_path / "damaged", seed)
    record = import_folders(tmp_path / "run", tmp_path / "damaged")
    left_out: LeftOut = LeftOut()
    assert sum(1 for _ in read(tmp_path / "run", tuple(EVENTS), left_out=left_out)) > 0
    assert not left_out
    assert record.gaps
    assert set(record.gaps) <= set(expected_of(tmp_path / "run").gaps)
    page_of("run", read_incident(tmp_path / "run"))
