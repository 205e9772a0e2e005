"""A run's directory that another program or a fault has damaged.

The audit neither believes, follows nor waits for any of it: the verdict is unknown with the reason, or one line refuses
the directory.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.audited_run import write_verdict
from audit.checks.check_registry import CHECKS
from audit.input import AuditInputError, find_runs
from audit.report import write_report
from audit.report.report_input import read_timeline
from emulator.regular_files import NotRegular, read_regular, write_whole
from emulator.runs import directory
from emulator.runs.run_events import read
from emulator.runs.verdict_file import Verdict
from protocol.events import EVENT_FORMAT, EVENTS, FIELDS
from protocol.events.event_parsing import LINE_BYTES_MAX, NEEDED, event_in, problem_of
from protocol.undecodable import UNDECODABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


VALUES: dict[type, Any] = {int: 1, float: 1.0, str: "t", bool: True}


def line_of(name: str, seq: int, **changed: Any) -> dict[str, Any]:
    """An event of that name with all its fields; `changed` to None: without it."""
    event = EVENTS[name]
    fields: dict[str, Any] = {
        "format": EVENT_FORMAT, "run": "r", "node": "broker-0", "incarnation": 1, "seq": seq, "cause": "start",
        "mono_ms": float(seq), "wall_ms": float(seq), "at_ms": float(seq), "level": event.LEVEL, "event": name,
        **{field: VALUES[FIELDS[field]] for field in event.__struct_fields__},
    }  # fmt: skip
    fields |= {"buckets": "1:4"} if "buckets" in fields else {}
    return {key: value for key, value in (fields | changed).items() if value is not None}


def stopped() -> bytes:
    return msgspec.json.encode(line_of("node_stopped", 5))


def encoded(*lines: dict[str, Any] | bytes) -> bytes:
    return b"".join((line if isinstance(line, bytes) else msgspec.json.encode(line)) + b"\n" for line in lines)


SOUND = (
    line_of("node_started", 1, roles="broker", az="az-0"),
    line_of("role_changed", 2, role="leader", leader=0, isr="0"),
    line_of("batch_appended", 3, base_offset=0, last_offset=0),
    line_of("high_watermark_moved", 4),
)

LACKING = (
    *(("node_started", "az"), ("batch_appended", "topic"), ("operation_ended", "outcome"), ("log_truncated", "to")),
    *(("timer_lateness", "buckets"), ("role_changed", "leader_epoch")),
)

BROKEN: dict[str, bytes] = {
    **{f"no {field} in {name}": encoded(line_of(name, 5, **{field: None})) for name, field in LACKING},
    "at_ms 1e15": encoded(line_of("node_stopped", 5, at_ms=1e15)),
    "at_ms infinite": encoded(stopped().replace(b'"at_ms":5.0', b'"at_ms":1e999')),
    "at_ms of 400 digits": encoded(stopped().replace(b'"at_ms":5.0', b'"at_ms":5' + b"0" * 399)),
    "digest of 65 bits": encoded(line_of("batch_appended", 5, digest=1) | {"digest": 2**63}),
    "at_ms NaN": encoded(stopped().replace(b'"at_ms":5.0', b'"at_ms":NaN')),
    "buckets": encoded(line_of("timer_lateness", 5, buckets="abc")),
    "long buckets": encoded(line_of("timer_lateness", 5, buckets="1:1 " * 50_000)),
    "seq of 64 bits": encoded(line_of("node_stopped", 2**63 - 1)),
    "seq of 100 bits": encoded(stopped().replace(b'"seq":5', b'"seq":5' + b"9" * 30)),
    "offsets of 64 bits": encoded(line_of("batch_appended", 5, base_offset=1 - 2**63, last_offset=2**63 - 1)),
    "topic null": encoded(line_of("batch_appended", 5) | {"topic": None}),
    "a list for a number": encoded(line_of("batch_appended", 5, partition=[1])),
    "truth for a number": encoded(line_of("batch_appended", 5, base_offset=True)),
    "deep list": encoded(b"[" * 20_000),
    "deep object": encoded(b'{"a":' * 20_000),
    "latin-1": encoded(stopped().replace(b"broker-0", b"br\xf6ker-0")),
    "zeros": encoded(b"\0" * 5_000),
    "other things": encoded(b"{}", b"1", b'"x"', b"true"),
    "foreign text": b"hello\nworld\n",
    "random bytes": bytes(range(1, 256)) * 40 + b"\n",
    "very long": b'{"x":"' + b"x" * (LINE_BYTES_MAX + 1) + b'"}\n',
    "another format": encoded(line_of("node_stopped", 5, format=3)),
    "unknown event": encoded(line_of("node_stopped", 5, event="node_fell_over")),
}  # fmt: skip
"""{what is wrong: lines behind those that are sound}"""

TAILS = {
    "a torn line": b'{"format":1,"event":"nod',
    "torn, not UTF-8": b'{"node":"\xe4\xff',
    "torn, deep": b"[" * 20_000,
}
"""Remains that a death may leave."""


def run_with(directory: Path, lines: bytes, name: str = "broker-0.1.jsonl") -> Path:
    """A run of SOUND, with `lines` behind them in that file."""
    events = directory / "events"
    events.mkdir(parents=True)
    (events / "broker-0.1.jsonl").write_bytes(encoded(*SOUND))
    with (events / name).open("ab") as file:
        file.write(lines)
    return directory


# --- in plain Python ---


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_known_and_each_field_that_it_needs_is_missed(name: str) -> None:
    assert problem_of(line_of(name, 1)) is None
    for field in NEEDED[name]:
        assert problem_of(line_of(name, 1, **{field: None})) == f"{name} lacks {field}"


@pytest.mark.parametrize("lines", [*BROKEN.values(), *TAILS.values()], ids=[*BROKEN, *TAILS])
def test_the_report_and_every_reader_leave_out_what_is_no_event(tmp_path: Path, lines: bytes) -> None:
    run = run_with(tmp_path / "run", lines)
    [directory] = find_runs([run])
    assert read_timeline(directory).events == len(SOUND)
    assert [event["seq"] for event in read(run, set(EVENTS))] == [1, 2, 3, 4]


@given(st.sampled_from(sorted(EVENTS)), st.data())
def test_whatever_is_made_of_a_line_it_is_an_event_or_none(name: str, data: st.DataObject) -> None:
    """Any change of a line yields an event or none.

    One field has any JSON value, or bytes are changed and cut. An event has the fields that every reader relies on.
    """
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=2)
    )
    line = line_of(name, 1)
    line[data.draw(st.sampled_from(sorted(line)))] = data.draw(anything)
    try:
        text = bytearray(msgspec.json.encode(line))
    except (*UNDECODABLE, UnicodeEncodeError):
        return  # what JSON has no word for
    for _ in range(data.draw(st.integers(0, 2))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    event = event_in(bytes(text[: data.draw(st.integers(0, len(text)))]))
    if event is not None:
        assert all(type(event[field]) in (FIELDS[field], int) for field in NEEDED[event["event"]])
        assert math.isfinite(event["at_ms"]) and isinstance(event["node"], str)


# --- names that stand for something else ---


def linked(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [linked, endless, os.mkfifo, Path.mkdir], ids=["link", "device", "pipe", "folder"])
def test_only_regular_files_are_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    run = run_with(tmp_path / "run", b"")
    make(run / "events" / "x.jsonl")
    with pytest.raises(AuditInputError, match=r"x\.jsonl: cannot be read: is (no regular file|a symbolic link)"):
        find_runs([run])
    with pytest.raises(NotRegular):
        list(read(run, {"node_started"}))


@pytest.mark.parametrize("name", ["settings.json", "scenario.yaml", "observations.json"])
@pytest.mark.parametrize("make", [linked, endless, os.mkfifo], ids=["link", "device", "pipe"])
def test_what_lies_beside_the_events_is_a_regular_file_too(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    from audit.expected import expected_of

    run = run_with(tmp_path / "run", b"")
    if name == "observations.json":
        (run / "scenario.yaml").write_text("id: x\ntitle: x\nsteps:\n  - start: 0\n")
    make(run / name)
    with pytest.raises(AuditInputError, match=name):
        expected_of(run)


def test_what_is_written_takes_a_links_place_and_leaves_its_target_alone(tmp_path: Path) -> None:
    run, target = run_with(tmp_path / "run", b""), tmp_path / "target"
    target.write_text("precious")
    for name in ("verdict.json", "report.html"):
        (run / name).symlink_to(target)
    verdict = Verdict("r", "", "network", True, [], [], {}, {})
    write_verdict(verdict, run)
    write_report(run, verdict)
    assert target.read_text() == "precious"
    assert not (run / "verdict.json").is_symlink() and not (run / "report.html").is_symlink()


def test_a_file_that_is_too_long_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(NotRegular, match="is larger than 1000 bytes"):
        read_regular(path, 1_000)


def test_what_cannot_be_written_leaves_nothing_beside(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "verdict.json", b"{}")
    assert [path.name for path in tmp_path.iterdir()] == ["verdict.json"]


@pytest.mark.parametrize("writer", ["the audit", "the simulated world"])
def test_a_reader_of_a_verdict_that_is_being_written_reads_all_of_the_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str
) -> None:
    """A reader sees all of the older verdict while a new one is written.

    The writer replaces the file by another one when that is complete.
    """

    def write(run: str) -> None:
        verdict = Verdict(run, "", "network", True, [], [], {}, {})
        if writer == "the audit":
            write_verdict(verdict, tmp_path)
        else:
            directory.write_verdict(tmp_path, verdict)

    write("older")
    path = tmp_path / "verdict.json"
    older = path.read_bytes()
    with path.open("rb") as reading:
        write("newer")
        assert reading.read() == older != path.read_bytes()

    def interrupted(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write("never")
    assert b"newer" in path.read_bytes() and [file.name for file in tmp_path.iterdir()] == ["verdict.json"]


# --- folders of nodes ---


def in_folders(directory: Path) -> Path:
    """A run whose nodes have folders of their own, as in containers.

    broker-0 is sound and also writes as broker-1, which has no events; beside them are the supervisor's two.
    """
    for node, lines in (
        ("broker-0", (*SOUND, line_of("node_stopped", 5, node="broker-1"))),
        ("broker-1", (line_of("node_started", 1, node="broker-1", roles="broker", az="az-1"),)),
    ):
        folder = directory / "events" / node
        folder.mkdir(parents=True)
        (folder / f"{node}.1.jsonl").write_bytes(encoded(*lines))
    (directory / "events" / "control").mkdir()
    (directory / "events" / "control" / "injector.1.jsonl").write_bytes(
        encoded(line_of("fault_asked", 1, node="injector"))
    )
    return directory


def test_a_node_with_a_folder_speaks_for_itself_alone(tmp_path: Path) -> None:
    run = in_folders(tmp_path / "run")
    assert [len(one.files) for one in find_runs([run])] == [3]
    assert [(event["node"], event["seq"]) for event in read(run, {"node_started", "node_stopped", "fault_asked"})] == [
        ("broker-0", 1), ("broker-1", 1), ("injector", 1),
    ]  # fmt: skip
    assert [event["node"] for event in read(run, {"node_started"}, "broker-1")] == ["broker-1"]


def test_a_file_in_anothers_folder_is_refused(tmp_path: Path) -> None:
    run = in_folders(tmp_path / "run")
    (run / "events" / "broker-0" / "broker-1.2.jsonl").write_bytes(encoded(line_of("node_stopped", 2, node="broker-1")))
    with pytest.raises(AuditInputError, match=r"broker-1\.2\.jsonl: .* is in the folder of broker-0, and not named"):
        find_runs([run])
    assert not list(read(run, {"node_stopped"}))


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    run = in_folders(tmp_path / "run")
    (run / "events" / "broker-2").symlink_to(in_folders(tmp_path / "other") / "events" / "broker-0")
    assert [len(one.files) for one in find_runs([run])] == [3]


# --- through Spark ---


@pytest.mark.spark
def test_spark_keeps_apart_events_of_a_node_in_anothers_name(spark: SparkSession, tmp_path: Path) -> None:
    from audit.audited_run import audit_runs

    run, flat = in_folders(tmp_path / "run"), run_with(tmp_path / "flat", b"")
    checks = [CHECKS["dual-leader"]]
    verdict, other = audit_runs(spark, [run, flat], scratch=str(tmp_path / "scratch"), checks=checks)
    assert verdict.quarantine.reasons == {"of broker-1, incarnation 1, in the file broker-0.1.jsonl": 1}
    assert (verdict.measures["events"], other.measures["events"]) == (len(SOUND) + 2, len(SOUND))
    [kept] = (msgspec.json.decode(line) for line in (run / "quarantine.jsonl").read_bytes().splitlines())
    assert kept["file"] == "broker-0.1.jsonl" and "node_stopped" in kept["line"]


@pytest.mark.spark
def test_spark_judges_all_of_them_at_once_alike(spark: SparkSession, tmp_path: Path) -> None:
    """Spark judges all of them at once alike.

    One run, a file for each: the verdict is unknown, every broken line is counted and kept, and sound lines are
    checked.
    """
    from audit.audited_run import audit_runs

    run = run_with(tmp_path / "run", b"")
    files = {f"broker-{number}.1.jsonl": lines for number, lines in enumerate((*BROKEN.values(), *TAILS.values()), 1)}
    for name, lines in files.items():
        (run / "events" / name).write_bytes(lines)
    [verdict] = audit_runs(spark, [run], scratch=str(tmp_path / "scratch"))
    assert (verdict.valid, verdict.exit_code) == ("unknown", 3)
    assert verdict.measures["events"] == len(SOUND)
    assert verdict.quarantine.torn == len(TAILS)
    assert verdict.quarantine.reasons[f"longer than {LINE_BYTES_MAX} bytes"] == 1
    kept = [msgspec.json.decode(line)["file"] for line in (run / "quarantine.jsonl").read_bytes().splitlines()]
    for (name, lines), what in zip(files.items(), BROKEN, strict=False):
        if what not in ("random bytes", "very long"):  # of these, Java sees other lines
            assert kept.count(name) == lines.count(b"\n"), what
    assert not set(kept) & set(list(files)[len(BROKEN) :]), "what a death tore is none of the broken lines"
