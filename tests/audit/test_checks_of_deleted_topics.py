"""As `test_checks`: operations in progress when their topic was deleted and recreated."""

from __future__ import annotations

import pytest

from protocol import events as e
from tests.audit.conftest import Audit
from tests.audit.trace import TOPIC, Trace, digest_of

pytestmark = pytest.mark.spark
TOGETHER = True

OF_READS = (
    *("read-then-lost", "phantom-read", "read-gap", "non-monotonic-read", "skipped-read", "unseen"),
    *("inconsistent-offsets", "high-watermark-regression"),
)


def _recreated(value: str = "", *, again: bool = True) -> Trace:
    """a, b and c, deleted; then d in the topic of the same name, if it is there `again`.

    A produce of `value` was begun before.
    """
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2))
    for offset, kept in enumerate("abc"):
        trace.produce(kept, at=offset)
    if value:
        trace.emit("client-0", e.OperationInvoked("client-0.1:99", "produce", TOPIC, 0, -1, value, -1, -1))
        trace.emit("client-0", e.AttemptSent("client-0.1:99", 1, 0, digest_of(value)))
    for broker in (0, 1, 2):
        trace.deleted(broker, 3)
    trace.removed()
    if again:
        for broker in (0, 1, 2):
            trace.created(broker)
        trace.leader(1, epoch=0, followers=(0, 2)).produce("d", at=0, leader=1, followers=(0, 2))
    return trace


def _acknowledged(trace: Trace, value: str, at: int) -> Trace:
    """The produce that was begun before."""
    trace.emit("client-0", e.AttemptEnded("client-0.1:99", 1, 0, at, ""))
    reported = (TOPIC, 0, at, -1, digest_of(value), -1, 1, 1, False)
    return trace.emit("client-0", e.OperationEnded("client-0.1:99", "produce", "ok", 0, *reported))


def _taken(trace: Trace, value: str, at: int) -> Trace:
    """By the topic that is there now."""
    trace.append(1, value, at=at, epoch=0, as_leader=True)
    for follower in (0, 2):
        trace.append(follower, value, at=at, epoch=0)
    return trace.watermark(1, at + 1, previous=at, epoch=0)


def test_what_waited_for_the_next_topic_of_the_name_and_is_lost_there_is_lost(audit: Audit) -> None:
    trace = _acknowledged(_taken(_recreated("x"), "x", 1), "x", 1)
    check = audit(trace.truncate(1, 1, log_end=2)).checks["lost-acknowledged"]
    assert [(one["partition"], one["offset"], one["value"]) for one in check.evidence] == [("t-0", 1, "x")]


def test_what_waited_for_it_and_is_there_is_kept(audit: Audit) -> None:
    check = audit(_acknowledged(_taken(_recreated("x"), "x", 1), "x", 1)).checks["lost-acknowledged"]
    assert check.verdict == "held"


def test_what_was_deleted_before_its_answer_came_is_not_lost(audit: Audit) -> None:
    """b was acknowledged where the topic that was deleted had it."""
    assert audit(_acknowledged(_recreated("b"), "b", 1)).checks["lost-acknowledged"].verdict == "held"


@pytest.mark.parametrize("again", [True, False])
def test_an_answer_that_comes_after_the_deletion_gives_what_was_there(audit: Audit, again: bool) -> None:
    """Its reader was paused meanwhile."""
    trace = _recreated(again=again)
    operation = trace.consume(0)
    for offset, value in enumerate("abc"):
        trace.read(value, at=offset, epoch=0, high_watermark=3, operation=operation)
    if again:
        trace.read("d", at=0, epoch=0, high_watermark=1, broker=1)
    checks = audit(trace).checks
    assert {name: checks[name].verdict for name in OF_READS} == dict.fromkeys(OF_READS, "held")


def test_what_no_life_had_is_lost_to_its_reader(audit: Audit) -> None:
    checks = audit(_recreated().read("y", at=0, epoch=0, high_watermark=3, broker=1)).checks
    assert [checks[name].count for name in ("read-then-lost", "phantom-read")] == [1, 1]


def test_what_the_next_topic_gave_and_lost_is_lost_to_its_reader(audit: Audit) -> None:
    trace = _taken(_recreated(), "x", 1).read("x", at=1, epoch=0, high_watermark=2, broker=1)
    assert audit(trace.truncate(1, 1, log_end=2)).checks["read-then-lost"].count == 1
