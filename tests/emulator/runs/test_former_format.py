"""Lines of event format 1 get topic ids where a topic was removed."""

import msgspec
import pytest

from emulator.runs.former_format import with_topic_ids
from protocol import events as e

OF_T = ("t", 0)


def line(event: e.Event, at_ms: float, node: str = "broker-0") -> bytes:
    envelope = {"format": 1, "run": "r", "node": node, "incarnation": 1, "seq": 1, "at_ms": at_ms, "event": event.NAME}
    fields = msgspec.to_builtins(event)
    fields.pop("topic_id", None)
    return msgspec.json.encode(envelope | fields) + b"\n"


def appended(at_ms: float, digest: int, offset: int = 0, node: str = "broker-0") -> bytes:
    return line(e.BatchAppended(*OF_T, offset, offset, 0, digest, True), at_ms, node)


def ended(at_ms: float, digest: int, offset: int = 0) -> bytes:
    return line(e.OperationEnded("c.1:1", "produce", "ok", 0, *OF_T, offset, 0, digest, -1), at_ms)


def read(at_ms: float, digest: int) -> bytes:
    return line(e.RecordsRead("c.1:2", *OF_T, 0, 0, 0, digest, 1, 0), at_ms)


REMOVED = line(e.TopicRemoved("t", 1), 10.0)
BEGUN = line(e.OperationInvoked("c.1:1", "produce", *OF_T, -1, "v", 0, -1), 5.0)
LOGS = appended(6.0, digest=1) + appended(16.0, digest=2)


def ids(*texts: bytes) -> list[str | None]:
    converted = b"".join(with_topic_ids(texts)).splitlines()
    return [msgspec.json.decode(one).get("topic_id") for one in converted]


def test_an_event_is_of_the_life_in_which_it_happened() -> None:
    assert ids(appended(10.0, 1) + appended(10.5, 2), REMOVED) == ["1", "2", "1"]


@pytest.mark.parametrize(
    ("late", "life"),
    [
        (ended(20.0, digest=2), "2"),
        (ended(20.0, digest=1), "1"),
        (ended(20.0, digest=2, offset=7), "1"),
        (ended(9.0, digest=1), "1"),
        (read(20.0, digest=1), "1"),
        (read(20.0, digest=2), "2"),
        (read(20.0, digest=3), "2"),
    ],
    ids=["waited for the next", "held before", "elsewhere", "in time", "read late", "read of the next", "never had"],
)
def test_late_responses_are_of_the_incarnation_whose_log_had_the_record(late: bytes, life: str) -> None:
    assert ids(REMOVED, BEGUN, LOGS, late)[-1] == life


def test_a_log_that_outlived_its_topic_is_of_the_life_that_reuses_it() -> None:
    found = line(e.LogLoaded(*OF_T, 0, 1, 0, False), 15.0)
    assert ids(REMOVED, appended(6.0, digest=1) + found, read(20.0, digest=1))[-1] == "2"
    made = line(e.LogCreated(*OF_T, ""), 15.0)
    assert ids(REMOVED, appended(6.0, digest=1) + made, read(20.0, digest=1))[-1] == "1"


def test_all_else_stays_as_it_is() -> None:
    others = [
        line(e.BatchAppended("u", 0, 0, 0, 0, 1, True), 5.0), line(e.NodeStopped(0, ""), 6.0), BEGUN,
        b'{"format":1,"event":"batch_appended","topic":"t"\n', b"\xff\n", b"no end",
    ]  # fmt: skip
    text = b"".join(others)
    assert next(iter(with_topic_ids([text, REMOVED]))) == text
    current = appended(5.0, 1).replace(b'"format":1', b'"format":2')
    assert next(iter(with_topic_ids([current, REMOVED]))) == current
