"""Messages of a report: joined from both ends' events, stopped ones too.

Bounded, without gaps.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from audit.input import read_directory
from audit.report import report_messages as m
from audit.report.drawn import kafka_name
from audit.report.moments import MOMENTS_MAX, length, moments, windows
from audit.report.report_frames import message_choices
from audit.report.report_messages import KINDS, Message, Messages, kind_of, read_messages
from audit.report.report_timeline import Band, Mark, Node, Timeline
from protocol.messages import REGISTRY

_seq = count(1)


def frame(event: str, node: str, peer: str, at_ms: float, number: int = 0, api: str = "Fetch", **more: Any) -> bytes:
    fields = {"format": 1, "run": "run", "node": node, "incarnation": 1, "seq": next(_seq), "cause": "", "at_ms": at_ms,
              "level": "wire", "event": f"frame_{event}", "connection": "broker-1.1#1", "peer": peer,
              "purpose": "fetcher", "number": number, "api": api, "api_direction": "request", "correlation": 1,
              "size_bytes": 9}  # fmt: skip
    return msgspec.json.encode(fields | more) + b"\n"


def stopped(node: str, peer: str, at_ms: float, **more: Any) -> bytes:
    return frame("stopped", node, peer, at_ms, **({"rule": "rule-1", "action": "held"} | more))


def kept(folder: Path, *lines: bytes, at: tuple[float, ...] = (), end_ms: float = 1_000.0) -> Messages:
    events = folder / "run" / "events"
    events.mkdir(parents=True)
    for line in lines:
        node = msgspec.json.decode(line).get("node", "broker-0") if line.startswith(b"{") else "broker-0"
        with (events / f"{node}.1.wire.jsonl").open("ab") as file:
            file.write(line)
    return read_messages(read_directory(folder / "run"), at, end_ms)


def test_a_frame_that_was_sent_is_the_one_that_was_received(tmp_path: Path) -> None:
    found = kept(
        tmp_path,
        frame("sent", "broker-1", "broker-0", 1.0, 1),
        frame("sent", "broker-1", "broker-0", 2.0, 2),
        frame("received", "broker-0", "broker-1", 2.5, 2),
        frame("sent", "broker-0", "broker-1", 3.0, 1, api_direction="response"),
        frame("received", "broker-1", "broker-0", 4.0, 1, api_direction="response"),
    )
    assert found == Messages(
        recorded=True,
        total=3,
        kept=[
            Message(1.0, "broker-1", "broker-0", "Fetch", response=False),
            Message(2.0, "broker-1", "broker-0", "Fetch", response=False, received_ms=2.5),
            Message(3.0, "broker-0", "broker-1", "Fetch", response=True, received_ms=4.0),
        ],
    )


def test_what_its_sender_held_is_the_frame_that_was_just_sent(tmp_path: Path) -> None:
    """It may arrive after the heal."""
    [first, second] = kept(
        tmp_path,
        frame("sent", "broker-1", "broker-0", 1.0, 1),
        frame("sent", "broker-1", "broker-0", 200.0, 2),
        stopped("broker-1", "broker-0", 200.0),
        frame("received", "broker-0", "broker-1", 900.0, 2),
        frame("received", "broker-0", "broker-1", 1.5, 1),
    ).kept
    assert first.stopped_ms is None
    assert (second.stopped_ms, second.rule, second.at_receiver, second.received_ms) == (200.0, "rule-1", False, 900.0)


def test_a_real_process_reports_held_frames_when_it_releases_them(tmp_path: Path) -> None:
    """A frame dropped or never let through leaves no other trace.

    The opener sends requests on it.
    """
    [before, held, dead, dropped] = kept(
        tmp_path,
        frame("sent", "broker-0", "broker-1", 1.0, 1, api_direction="response"),
        frame("received", "broker-1", "broker-0", 1.5, 1, api_direction="response"),
        stopped("broker-0", "broker-1", 2.0),
        frame("sent", "broker-0", "broker-1", 800.0, 2, api_direction="response"),
        frame("received", "broker-1", "broker-0", 801.0, 2, api_direction="response"),
        stopped("broker-0", "broker-1", 900.0),
        stopped("broker-1", "broker-0", 950.0, action="dropped"),
    ).kept
    assert before.stopped_ms is None
    assert (held.sent_ms, held.stopped_ms, held.received_ms, held.response) == (2.0, 2.0, 801.0, True)
    assert dead == Message(900.0, "broker-0", "broker-1", "Fetch", response=True, stopped_ms=900.0, rule="rule-1")
    assert (dropped.sender, dropped.response, dropped.received_ms) == ("broker-1", False, None)


def test_what_is_only_delayed_does_not_die(tmp_path: Path) -> None:
    [one] = kept(
        tmp_path,
        frame("sent", "broker-1", "broker-0", 1.0, 1),
        stopped("broker-1", "broker-0", 1.0, action="delayed"),
        frame("received", "broker-0", "broker-1", 101.0, 1),
    ).kept
    assert (one.stopped_ms, one.received_ms) == (None, 101.0)


def test_what_its_receiver_stopped_is_the_oldest_frame_under_way(tmp_path: Path) -> None:
    [arrived, dead, later] = kept(
        tmp_path,
        frame("sent", "broker-1", "broker-0", 1.0, 1),
        frame("received", "broker-0", "broker-1", 2.0, 1),
        frame("sent", "broker-1", "broker-0", 3.0, 2),
        stopped("broker-0", "broker-1", 4.0),
        frame("sent", "broker-1", "broker-0", 5.0, 3),
    ).kept
    assert arrived.stopped_ms is None and later.stopped_ms is None
    assert (dead.stopped_ms, dead.at_receiver, dead.received_ms) == (4.0, True, None)


def test_lines_that_are_no_frames_are_left_to_the_verdict(tmp_path: Path) -> None:
    found = kept(tmp_path, b'{"event":"frame_sent"}\n', b'"event":"frame_\n', frame("sent", "broker-1", "x", 1e300, 1),
                 frame("received", "broker-0", "broker-1", 1.0, 7))  # fmt: skip
    assert found == Messages(recorded=True)


def test_a_run_without_the_wire_level_has_none(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    assert read_messages(read_directory(tmp_path), (), 1.0) == Messages()


def test_too_many_are_those_around_moments_and_none_of_them_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(m, "MESSAGES_MAX", 50)
    monkeypatch.setattr(m, "HALF_MS", 40.0)
    lines = [frame("sent", "broker-1", "broker-0", float(n), n) for n in range(1_000)]
    pings = [frame("sent", "broker-1", "session-0", n + 0.5, 2_000 + n, "SessionPing") for n in range(1_000)]
    found = kept(tmp_path, *lines, *pings, at=(100.0, 700.0))
    assert found.total == 2_000 and not found.chatter
    assert found.within == [(90.0, 110.0), (690.0, 710.0)]
    assert [one.sent_ms for one in found.kept] == [*map(float, range(90, 111)), *map(float, range(690, 711))]


def test_of_files_too_big_to_be_read_only_windows_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [frame("sent", "broker-1", "broker-0", float(n), n) for n in range(1_000)]
    monkeypatch.setattr(m, "READ_MAX_BYTES", sum(map(len, lines)) // 10)
    monkeypatch.setattr(m, "SOUGHT_BYTES", 500)
    found = kept(tmp_path, *lines, at=(500.0,))
    assert found.total is None and found.within is not None
    [(begin, end)] = found.within
    assert 40 < end - begin <= 100
    assert [one.sent_ms for one in found.kept] == [n * 1.0 for n in range(1_000) if begin <= n <= end]


def test_windows_that_overlap_are_one() -> None:
    assert windows((1.0, 5.0, 100.0), 3.0) == [(0.0, 8.0), (97.0, 103.0)]
    assert length([(0.0, 8.0), (97.0, 103.0)]) == 14.0


def test_moments_are_what_is_rare() -> None:
    timeline = Timeline(bands=[Band("cut", 10.0, 20.0, True)], nodes={"n": Node("n", marks=[Mark(15.0, "stop", "")])})
    assert moments(timeline) == [10.0, 15.0, 20.0]
    timeline.bands = [Band("cut", float(n), n + 0.5, True) for n in range(MOMENTS_MAX)]
    assert MOMENTS_MAX / 2 <= len(moments(timeline)) <= MOMENTS_MAX


def test_every_message_between_nodes_has_a_kind() -> None:
    """But those of the emulator itself."""
    named = {cls.API_NAME for cls in REGISTRY.values()}
    kinds = {name: kind_of(name) for name in named}
    assert kinds["Fetch"] == "fetch" and kinds["LeaderAndIsr"] == "order" and kinds["EnsembleVote"] == "ensemble"
    assert {name for names in KINDS.values() for name in names} <= named
    for kind in KINDS:
        assert f'value="{kind}"' in message_choices()


def test_names_are_kafkas() -> None:
    assert kafka_name("OffsetForLeaderEpoch") == "OFFSET_FOR_LEADER_EPOCH"
    assert kafka_name("LeaderAndIsr") == "LEADER_AND_ISR"
