"""As `test_checks`: topics of one name, told apart by the ids in their events."""

from __future__ import annotations

from typing import Self

import pytest

from protocol import events as e
from tests.audit.conftest import Audit
from tests.audit.trace import TOPIC, Trace, digest_of

pytestmark = pytest.mark.spark
TOGETHER = True


class OfIds(Trace):
    """A trace whose events about a topic have the id `topic_id`, unless they have one."""

    topic_id = "1"

    def emit(self, node: str, event: e.Event, *, at_ms: float | None = None) -> Self:
        if isinstance(event, e.OfTopic) and not event.topic_id:
            event.topic_id = self.topic_id
        return super().emit(node, event, at_ms=at_ms)


def _recreated() -> OfIds:
    """a, b and c in the topic 1, which is deleted; then d in the topic 2 of the same name."""
    trace = OfIds().cluster().leader(0, epoch=0, followers=(1, 2))
    for offset, kept in enumerate("abc"):
        trace.produce(kept, at=offset)
    for broker in (0, 1, 2):
        trace.deleted(broker, 3)
    trace.removed()
    trace.has_ids, trace.topic_id = True, "2"
    for broker in (0, 1, 2):
        trace.created(broker)
    return trace.leader(1, epoch=0, followers=(0, 2)).produce("d", at=0, leader=1, followers=(0, 2))


def _of(trace: OfIds, topic_id: str) -> OfIds:
    """Events to come are of that topic."""
    trace.topic_id = topic_id
    return trace


def test_a_late_acknowledgement_of_the_deleted_topic_is_no_loss(audit: Audit) -> None:
    """By its time alone it would be of the topic that is there, which never had it."""
    assert audit(_of(_recreated(), "1").ended("b", at=1)).checks["lost-acknowledged"].verdict == "held"


def test_an_acknowledgement_of_the_topic_that_is_there_is_judged_there(audit: Audit) -> None:
    check = audit(_recreated().ended("b", at=1)).checks["lost-acknowledged"]
    assert [(one["partition"], one["offset"], one["value"]) for one in check.evidence] == [("t-0", 1, "b")]


def test_a_late_read_of_the_deleted_topic_is_of_that_topic(audit: Audit) -> None:
    trace = _of(_recreated(), "1").read("b", at=1, epoch=0, high_watermark=3)
    assert audit(trace).checks["read-then-lost"].verdict == "held"


def test_a_late_event_of_a_deleted_log_changes_no_log_of_the_next(audit: Audit) -> None:
    """The broker was paused meanwhile: it appends to the topic 1 after the topic 2 has begun."""
    late = _of(_recreated(), "1").append(0, "x", at=3, epoch=0)
    assert audit(late).checks["replica-divergence"].verdict == "held"


@pytest.mark.parametrize("topic_id", ["1", "2"])
def test_an_operation_without_an_id_is_of_the_topic_in_which_it_began(audit: Audit, topic_id: str) -> None:
    """With acks=0 no response names the topic: the record of the deleted one is gone on request."""
    trace, operation = _recreated(), "client-0.1:99"
    if topic_id == "1":
        trace.emit("client-0", e.OperationInvoked(operation, "produce", TOPIC, 0, 0, "y", 0, -1), at_ms=1.0)
        trace.later(1_000)
    else:
        trace.emit("client-0", e.OperationInvoked(operation, "produce", TOPIC, 0, 0, "y", 0, -1))
    trace.topic_id = ""
    reported = (TOPIC, 0, -1, -1, digest_of("y"), 0, 0, 1, False)
    trace.emit("client-0", e.OperationEnded(operation, "produce", "ok", 0, *reported))
    check = audit(trace).checks["lost-acknowledged"]
    assert check.count == (0 if topic_id == "1" else 1)
