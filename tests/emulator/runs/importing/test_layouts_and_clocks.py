"""Layouts of lines, their times, and the clocks of several hosts."""

from datetime import UTC
from pathlib import Path

import pytest

from emulator.runs.importing.clients_file import BadClientsFile, read_clients
from emulator.runs.importing.line_layouts import LineLayout, UnknownZone, UnusablePattern, zone_named
from emulator.runs.importing.log_reader import known_layouts, layout_of
from tests.emulator.runs.importing.conftest import import_folders
from tests.real_logs import truth_of

AT_MS = 1795923533658.0


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("[%d] %p %m (%c)%n", b"[2026-11-29 03:38:53,658] INFO an (odd) it (kafka.server.KafkaServer)"),
        ("%d{ISO8601} %p %m (%c) [%t]%n", b"2026-11-29T03:38:53.658 INFO an (odd) it (kafka.server.KafkaServer) [m]"),
        ("%d %-5p [%t] %c - %m%n", b"2026-11-29 03:38:53,658 INFO  [main] kafka.server.KafkaServer - an (odd) it"),
        ("%d{dd/MM/yyyy HH:mm:ss.SSS} %c %m", b"29/11/2026 03:38:53.658 kafka.server.KafkaServer an (odd) it"),
        ("%d{UNIX_MILLIS} %c %m", b"1795923533658 kafka.server.KafkaServer an (odd) it"),
        ("%d{yyyy-MM-dd HH:mm:ss,SSSXXX} %c %m", b"2026-11-29 05:38:53,658+02:00 kafka.server.KafkaServer an (odd) it"),
    ],
)  # fmt: skip
def test_a_layout_reads_its_line(pattern: str, line: bytes) -> None:
    header = LineLayout(pattern, UTC).header(line)
    assert header is not None
    assert (header.wall_ms, header.logger, header.message) == (AT_MS, b"kafka.server.KafkaServer", b"an (odd) it")


def test_a_zone_moves_lines_without_one() -> None:
    line = b"[2026-11-29 04:38:53,658] INFO x (kafka.server.KafkaServer)"
    header = LineLayout("[%d] %p %m (%c)%n", zone_named("+01:00")).header(line)
    assert header is not None and header.wall_ms == AT_MS
    with pytest.raises(UnknownZone, match="Mars/Olympus"):
        zone_named("Mars/Olympus")


@pytest.mark.parametrize(
    ("pattern", "why"), [("%p %m", "has no %d"), ("%d{HH:mm} %m", "lacks"), ("%d %Q %m", "unknown")]
)
def test_a_pattern_that_cannot_be_read_says_why(pattern: str, why: str) -> None:
    with pytest.raises(UnusablePattern, match=why):
        LineLayout(pattern, UTC)


def test_the_layout_of_a_file_is_the_one_that_most_lines_fit() -> None:
    lines = [b"2026-11-29T03:38:53,658 INFO x (kafka.server.KafkaServer) [main]"] * 5 + [b"\tat stack"] * 20
    found = layout_of(lines, known_layouts(None, UTC))
    assert found is not None and found.pattern == "%d{ISO8601} %p %m (%c) [%t]%n"
    assert layout_of([b"no log line"] * 9, known_layouts(None, UTC)) is None


def shifted(source: Path, target: Path, node: str, hours: int) -> None:
    """Copy a run's files; the clock of one node is ahead by so many hours."""
    for path in source.rglob("*"):
        if not path.is_file():
            continue
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        if path.parent.name == node and path.suffix == ".log":
            for hour in range(3, 2, -1):
                data = data.replace(b"[2026-11-29 %02d:" % hour, b"[2026-11-29 %02d:" % (hour + hours))
        copy.write_bytes(data)


def test_a_clock_that_is_ahead_is_noticed_and_put_right(real_logs: Path, tmp_path: Path) -> None:
    name = "kraft-az-isolated-leader@3.9"
    shifted(real_logs / name, tmp_path / "logs", "broker-1", 2)
    record = import_folders(tmp_path / "run", tmp_path / "logs")
    [clock] = record.clocks
    assert clock.node == "broker-1"
    assert abs(clock.ahead_ms - 7_200_000) < 2_000
    assert truth_of(real_logs / name)


def test_an_applications_file_is_json_lines_or_csv(tmp_path: Path) -> None:
    json, csv = tmp_path / "sends.jsonl", tmp_path / "sends.csv"
    at = '"at": "2026-11-29T03:38:53.658Z"'
    json.write_text('{"topic": "t", "partition": 0, "offset": 2, "acks": "1", "value": "c", ' + at + "}\n")
    csv.write_text("topic,partition,offset,acks,value,at\nt,0,2,1,c,1795923533658\n")
    of_json, of_csv = next(read_clients(json)), next(read_clients(csv))
    assert of_json._replace(line=0) == of_csv._replace(line=0)
    assert (of_json.outcome, of_json.acks, of_json.value, of_json.at_ms) == ("ok", 1, b"c", AT_MS)
    json.write_text('{"topic": "t", "partition": 0, "value": "c", "acks": "2"}\n')
    with pytest.raises(BadClientsFile, match="line 1: acks '2': is none of all, 1, 0"):
        list(read_clients(json))
