"""The events of a stream: what a reader gets that has a number, an old one, or none."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.cluster.page import stream_history
from emulator.cluster.page.state_deltas import Delta, applied
from emulator.cluster.page.stream_history import NO_EVENT, StreamHistory

RUN = "9f3a01c2"
Event = tuple[str, str, dict[str, Any]]


def events_in(data: bytes) -> list[Event]:
    """(id, kind, data) of each."""
    events = []
    for block in data.decode().split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        events.append((fields["id"], fields["event"], msgspec.json.decode(fields["data"])))
    return events


def follow(state: Any, data: bytes) -> Any:
    """The state of a reader after these events."""
    for _, kind, content in events_in(data):
        if kind == "snapshot":
            state = content["state"]
        elif kind == "delta":
            state = applied(state, msgspec.convert({"set": content["set"], "remove": content["remove"]}, Delta))
    return state


def test_a_snapshot_then_what_changed_and_the_time_once_a_second() -> None:
    history = StreamHistory(RUN)
    assert history.since(NO_EVENT) == (b"", NO_EVENT)
    assert history.add({"a": 1, "b": 2}, 100.0)
    data, number = history.since(NO_EVENT)
    assert events_in(data) == [(f"{RUN}.0", "snapshot", {"at_ms": 100.0, "state": {"a": 1, "b": 2}})]
    assert not history.add({"a": 1, "b": 2}, 1_099.0) and history.since(number) == (b"", number)
    assert history.add({"a": 1, "b": 2}, 1_100.0) and history.add({"a": 3}, 1_101.0)
    assert events_in(history.since(number)[0]) == [
        (f"{RUN}.1", "time", {"at_ms": 1_100.0}),
        (f"{RUN}.2", "delta", {"at_ms": 1_101.0, "set": [[["a"], 3]], "remove": [["b"]]}),
    ]
    assert events_in(history.end()) == [(f"{RUN}.2", "end", {})]


@pytest.mark.parametrize("event_id", ["", "0", f"{RUN}.", f"{RUN}.-1", f"{RUN}.7", f"{RUN}.x", "ffffffff.1", "a.b.1"])
def test_an_id_that_is_not_of_this_history_yields_a_snapshot(event_id: str) -> None:
    history = StreamHistory(RUN)
    for n in range(3):
        history.add({"n": n}, float(n))
    data, number = history.since(history.number_of(event_id))
    assert [kind for _, kind, _ in events_in(data)] == ["snapshot"] and number == 2


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30), st.data())
def test_a_reader_has_the_state_whenever_it_reads(changes: list[tuple[int, int]], data: st.DataObject) -> None:
    """A slow reader and a resumed one, too, with a history of three events."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_history, "EVENTS_MAX", 3)
        history, number = StreamHistory(RUN), NO_EVENT
        state: dict[str, int] = {}
        seen: Any = None
        for n, (key, value) in enumerate(changes):
            state = {**state, str(key): value}
            history.add(state, float(n))
            if data.draw(st.booleans()):
                resumed = history.number_of(f"{RUN}.{number}") if number != NO_EVENT else NO_EVENT
                events, number = history.since(resumed)
                seen = follow(seen, events)
                assert seen == state


def test_the_history_is_bounded_in_events_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_history, "HISTORY_BYTES_MAX", 1_000)
    history = StreamHistory(RUN)
    history.add({"a": ""}, 0.0)
    for n in range(20):
        history.add({"a": str(n) * 300}, float(n))
    for number, kinds in ((19, ["delta"]), (18, ["snapshot"]), (5, ["snapshot"])):
        assert [kind for _, kind, _ in events_in(history.since(number)[0])] == kinds
