"""Event files: the envelope, its order, what is written when."""

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.worlds.network.event_file import UNFLUSHED_MAX, EventFile
from protocol.events import ENVELOPE, FIELDS, ConnectionChanged, MachineFault, OperationInvoked
from protocol.machine import Now

NOW = Now(12.5, 1_000_012.5)
FAULT = MachineFault(what="kill", target="broker-0")
WIRE = ConnectionChanged(connection="a.1#1", peer="a", purpose="client", change="opened", reason="")
CLIENT = OperationInvoked("op", "produce", "t", 0, -1, "v", 0, -1)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_line_is_the_envelope_in_its_order_and_the_events_own_fields(tmp_path: Path) -> None:
    file = EventFile(tmp_path, "run-1", "broker-0", 2, ("replica",))
    file.write(FAULT, "command", NOW)
    file.close()
    (line,) = lines(tmp_path / "events" / "broker-0.2.jsonl")
    assert list(line) == [*ENVELOPE, "what", "target", "directory", "life"]
    assert line == {
        "format": 2, "run": "run-1", "node": "broker-0", "incarnation": 2, "seq": 1, "cause": "command",
        "mono_ms": 12.5, "wall_ms": 1_000_012.5, "at_ms": 12.5, "level": "replica", "event": "machine_fault",
        "what": "kill", "target": "broker-0", "directory": "", "life": 0,
    }  # fmt: skip
    assert all(isinstance(value, FIELDS[name]) for name, value in line.items())


def test_wire_events_have_their_own_file_and_share_the_sequence(tmp_path: Path) -> None:
    file = EventFile(tmp_path, "r", "a", 1, ("client", "replica", "wire"))
    for event in (FAULT, WIRE, CLIENT):
        file.write(event, "", NOW)
    file.close()
    assert [line["seq"] for line in lines(tmp_path / "events" / "a.1.jsonl")] == [1, 3]
    assert [line["seq"] for line in lines(tmp_path / "events" / "a.1.wire.jsonl")] == [2]


def test_unrequested_levels_are_not_counted_either(tmp_path: Path) -> None:
    file = EventFile(tmp_path, "r", "a", 1, ("client",))
    for event in (FAULT, WIRE, CLIENT):
        file.write(event, "", NOW)
    file.close()
    assert [line["seq"] for line in lines(tmp_path / "events" / "a.1.jsonl")] == [1]
    assert not (tmp_path / "events" / "a.1.wire.jsonl").exists()


def test_only_client_events_are_urgent_and_memory_is_bounded(tmp_path: Path) -> None:
    file = EventFile(tmp_path, "r", "a", 1, ("client", "replica"))
    path = tmp_path / "events" / "a.1.jsonl"
    file.write(FAULT, "", NOW)
    assert [file.urgent] == [False] and path.stat().st_size == 0
    file.write(CLIENT, "", NOW)
    assert [file.urgent] == [True]
    file.flush()
    assert [file.urgent] == [False] and len(lines(path)) == 2
    for _ in range(UNFLUSHED_MAX + 1):
        file.write(FAULT, "", NOW)
    assert len(lines(path)) == UNFLUSHED_MAX + 3
    file.close()


def test_a_later_writer_appends(tmp_path: Path) -> None:
    for _ in range(2):
        file = EventFile(tmp_path, "r", "a", 1, ("replica",))
        file.write(FAULT, "", NOW)
        file.close()
    assert len(lines(tmp_path / "events" / "a.1.jsonl")) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "events" / "a.1.jsonl"
    path.parent.mkdir()
    path.symlink_to("/dev/full")
    file = EventFile(tmp_path, "r", "a", 1, ("client", "replica"))
    file.write(CLIENT, "", NOW)
    with pytest.raises(OSError, match="No space left on device") as full:
        file.flush()
    assert full.value.filename == str(path)
