"""As `test_checks`: guarantees of order and reads; states that replicas must never report."""

from __future__ import annotations

import pytest

from protocol import events as e
from tests.audit.conftest import Audit
from tests.audit.trace import TOPIC, Trace, digest_of, healthy

pytestmark = pytest.mark.spark
TOGETHER = True


def _operation(number: int, *, incarnation: int = 1) -> str:
    return f"client-0.{incarnation}:{number}"


def _acknowledged(trace: Trace, value: str, *, at: int, operation: str) -> Trace:
    client, digest = operation.partition(".")[0], digest_of(value)
    trace.emit(client, e.OperationInvoked(operation, "produce", TOPIC, 0, -1, value, -1, -1))
    trace.emit(client, e.AttemptSent(operation, 1, 0, digest)).emit(client, e.AttemptEnded(operation, 1, 0, at, ""))
    return trace.emit(client, e.OperationEnded(operation, "produce", "ok", 0, TOPIC, 0, at, 0, digest, -1))


def _stored(*values: str) -> Trace:
    """In the logs of three replicas, in this order."""
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2))
    for offset, value in enumerate(values):
        trace.append(0, value, at=offset, epoch=0, as_leader=True)
        trace.append(1, value, at=offset, epoch=0).append(2, value, at=offset, epoch=0)
    return trace.watermark(0, len(values), previous=0, epoch=0)


# --- reordered ---


def test_a_record_produced_first_that_lies_behind_is_reordered(audit: Audit) -> None:
    trace = _acknowledged(_stored("b", "a"), "b", at=0, operation=_operation(2))
    check = audit(_acknowledged(trace, "a", at=1, operation=_operation(1))).checks["reordered"]
    assert [(one["offset"], one["operation"], one["earlier"]) for one in check.evidence] == [
        (0, _operation(2), _operation(1))
    ]


def test_operations_count_as_numbers(audit: Audit) -> None:
    trace = _acknowledged(_stored("a", "b"), "a", at=0, operation=_operation(9))
    assert audit(_acknowledged(trace, "b", at=1, operation=_operation(10))).checks["reordered"].verdict == "held"


def test_a_later_life_of_a_client_begins_later_whatever_its_numbers(audit: Audit) -> None:
    trace = _acknowledged(_stored("a", "b"), "a", at=0, operation=_operation(7))
    trace.stop("client-0").start("client-0", "client")
    later = _acknowledged(trace, "b", at=1, operation=_operation(1, incarnation=2))
    assert audit(later).checks["reordered"].verdict == "held"


def test_what_is_lost_does_not_count_as_earlier(audit: Audit) -> None:
    """Acknowledged at 5 by a leader without followers.

    Its place is lost, not the later records' order.
    """
    trace = _stored("a", "b").append(1, "lost", at=5, epoch=0).truncate(1, 0, log_end=6)
    trace = _acknowledged(trace, "lost", at=5, operation=_operation(1))
    check = audit(_acknowledged(trace, "a", at=0, operation=_operation(2))).checks
    assert (check["reordered"].verdict, check["lost-acknowledged"].count) == ("held", 1)


def test_two_clients_have_no_order(audit: Audit) -> None:
    trace = _acknowledged(_stored("a", "b"), "b", at=1, operation=_operation(1)).start("client-1", "client")
    check = audit(_acknowledged(trace, "a", at=0, operation="client-1.1:2")).checks["reordered"]
    assert check.verdict == "held"


def _at_the_door(
    trace: Trace, value: str, number: int, *, client: str, at: int = -1, idempotent: bool = False
) -> Trace:
    """A produce of a Kafka client, as broker-0 saw it.

    `at` -1: its answer did not reach the client.
    """
    operation, digest = f"broker-0.1:{number}", digest_of(value)
    outcome, error = ("ok", 0) if at >= 0 else ("unknown", -2)
    trace.emit("broker-0", e.OperationInvoked(operation, "produce", TOPIC, 0, -1, value, 0, -1, client))
    trace.emit("broker-0", e.AttemptSent(operation, 1, 0, digest))
    trace.emit("broker-0", e.AttemptEnded(operation, 1, error, at, ""))
    reported = (TOPIC, 0, at, 0, digest, -1, 0, 1, idempotent)
    return trace.emit("broker-0", e.OperationEnded(operation, "produce", outcome, error, *reported))


@pytest.mark.parametrize(("other", "result"), [("one", "violated"), ("other", "held")])
def test_kafka_clients_of_one_broker_have_no_order_each_of_them_has(audit: Audit, other: str, result: str) -> None:
    trace = _at_the_door(_stored("a", "b"), "b", 1, client="one", at=1)
    check = audit(_at_the_door(trace, "a", 2, client=other, at=0)).checks["reordered"]
    assert check.verdict == result, check.reason


@pytest.mark.parametrize(("idempotent", "result"), [(True, "held"), (False, "violated")])
def test_a_retry_that_is_answered_with_its_first_place_counts_from_then(
    audit: Audit, idempotent: bool, result: str
) -> None:
    trace = _at_the_door(_stored("a", "b"), "a", 1, client="one", idempotent=idempotent)
    trace = _at_the_door(trace, "b", 2, client="one", at=1, idempotent=idempotent)
    trace = _at_the_door(trace, "a", 3, client="one", at=0, idempotent=idempotent)
    check = audit(trace).checks["reordered"]
    assert check.verdict == result, check.reason


def test_order_is_unknown_with_an_unreported_log(audit: Audit) -> None:
    trace = _acknowledged(_stored("b", "a"), "b", at=0, operation=_operation(2)).loaded(0, 9)
    assert audit(_acknowledged(trace, "a", at=1, operation=_operation(1))).checks["reordered"].verdict == "unknown"


# --- read-then-lost, phantom-read ---


def test_what_was_read_and_cut_is_read_then_lost_once(audit: Audit) -> None:
    trace = healthy().read("c", at=2, epoch=0, high_watermark=3).read("c", at=2, epoch=0, high_watermark=3)
    trace.leader(1, epoch=1).truncate(1, 2, log_end=3).append(1, "d", at=2, epoch=1, as_leader=True)
    check = audit(trace).checks["read-then-lost"]
    assert [(one["offset"], one["times"]) for one in check.evidence] == [(2, 2)]


def test_what_was_read_and_stays_is_kept(audit: Audit) -> None:
    trace = healthy().read("c", at=2, epoch=0, high_watermark=3).leader(1, epoch=1)
    assert audit(trace).checks["read-then-lost"].verdict == "held"


def test_kept_records_are_unknown_without_the_leaders_reported_log(audit: Audit) -> None:
    trace = healthy().leader(1, epoch=1).truncate(1, 0, log_end=3).loaded(1, 7)
    assert audit(trace).checks["read-then-lost"].verdict == "unknown"


def test_a_record_that_no_client_wrote_is_a_phantom(audit: Audit) -> None:
    check = audit(healthy().read("x", at=2, epoch=0, high_watermark=3)).checks["phantom-read"]
    assert [(one["offset"], one["digest"]) for one in check.evidence] == [(2, digest_of("x"))]


def test_what_was_written_elsewhere_is_a_phantom_where_it_was_read(audit: Audit) -> None:
    assert audit(healthy().read("c", at=1, epoch=0, high_watermark=3)).checks["phantom-read"].count == 1


def test_what_was_written_and_cut_is_no_phantom(audit: Audit) -> None:
    trace = healthy().append(0, "d", at=3, epoch=0, as_leader=True).read("d", at=3, epoch=0, high_watermark=4)
    checks = audit(trace.truncate(0, 3, log_end=4)).checks
    assert (checks["phantom-read"].verdict, checks["read-then-lost"].count) == ("held", 1)


# --- read-above-high-watermark, read-gap ---


@pytest.mark.parametrize(("high_watermark", "verdict"), [(3, "held"), (2, "violated"), (0, "violated")])
def test_nothing_is_read_above_the_high_watermark(audit: Audit, high_watermark: int, verdict: str) -> None:
    trace = healthy().read("c", at=2, epoch=0, high_watermark=high_watermark)
    assert audit(trace).checks["read-above-high-watermark"].verdict == verdict


def _polled(*spans: tuple[int, int], operation: str = "client-0.1:90") -> Trace:
    trace = healthy()
    for base, last in spans:
        read = e.RecordsRead(operation, TOPIC, 0, base, last, 0, digest_of("abc"[base]), 3, 0)
        trace.emit("client-0", read)
    return trace


@pytest.mark.parametrize("spans", [((0, 0), (2, 2)), ((0, 0), (0, 0)), ((1, 1), (0, 0))])
def test_a_poll_that_skips_repeats_or_goes_back_has_a_gap(audit: Audit, spans: tuple[tuple[int, int], ...]) -> None:
    check = audit(_polled(*spans)).checks["read-gap"]
    assert (check.count, check.evidence[0]["before"]) == (1, spans[0][1])


def test_an_unbroken_poll_has_none_wherever_the_next_one_begins(audit: Audit) -> None:
    trace = _polled((0, 0), (1, 1), (2, 2)).read("a", at=0, epoch=0, high_watermark=3)
    assert audit(trace).checks["read-gap"].verdict == "held"


@pytest.mark.parametrize(("leader_epoch", "broker"), [(1, 0), (0, 1)])
def test_a_position_may_be_reset_before_another_broker_or_epoch_is_read(
    audit: Audit, leader_epoch: int, broker: int
) -> None:
    read = e.RecordsRead("client-0.1:90", TOPIC, 0, 0, 0, leader_epoch, digest_of("a"), 3, broker)
    assert audit(_polled((2, 2)).emit("client-0", read)).checks["read-gap"].verdict == "held"


def test_who_reads_may_begin_in_the_middle_of_a_batch(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2))
    for broker in (0, 1, 2):
        trace.append(broker, "abc", at=0, last=2, epoch=0, as_leader=broker == 0)
    trace.watermark(0, 3, previous=0, epoch=0).read("abc", at=1, epoch=0, high_watermark=3)
    checks = audit(trace).checks
    assert (checks["phantom-read"].verdict, checks["read-then-lost"].verdict) == ("held", "held")


def test_without_reads_there_are_no_findings_about_them(audit: Audit) -> None:
    checks = audit(Trace().cluster().leader(0, epoch=0).produce("a", at=0)).checks
    about_reads = [name for name, check in checks.items() if check.subject == "batches read"]
    assert {checks[name].verdict for name in about_reads} == {"skipped"}
    assert len(about_reads) == 8


# --- log-matching, high-watermark-above-log-end ---


def test_an_offset_of_one_epoch_with_two_contents_does_not_match_also_if_one_is_cut(audit: Audit) -> None:
    trace = healthy().append(0, "d", at=3, epoch=0, as_leader=True).truncate(0, 3, log_end=4)
    check = audit(trace.append(1, "e", at=3, epoch=0)).checks["log-matching"]
    assert [(one["offset"], one["leader_epoch"]) for one in check.evidence] == [(3, 0)]


def test_an_offset_of_two_epochs_may_differ(audit: Audit) -> None:
    trace = healthy().append(0, "d", at=3, epoch=0, as_leader=True).append(1, "e", at=3, epoch=1)
    assert audit(trace).checks["log-matching"].verdict == "held"


def test_formats_without_an_epoch_are_not_matched(audit: Audit) -> None:
    trace = healthy().append(0, "d", at=3, epoch=-1, as_leader=True).append(1, "e", at=3, epoch=-1)
    assert audit(trace).checks["log-matching"].verdict == "held"


def test_a_high_watermark_above_all_that_a_log_ever_held_is_wrong(audit: Audit) -> None:
    check = audit(healthy().watermark(0, 100, previous=3, epoch=0)).checks["high-watermark-above-log-end"]
    assert [(one["node"], one["high_watermark"], one["log_end"]) for one in check.evidence] == [("broker-0", 100, 3)]


def test_it_is_wrong_of_a_follower_too(audit: Audit) -> None:
    trace = healthy().watermark(1, 4, previous=3, epoch=0, leading=False)
    assert audit(trace).checks["high-watermark-above-log-end"].count == 1


def test_what_was_found_on_disk_counts_as_held_and_another_life_is_another(audit: Audit) -> None:
    trace = healthy().stop("broker-1").start("broker-1").loaded(1, 3)
    assert audit(trace.watermark(1, 3, previous=0, epoch=0)).checks["high-watermark-above-log-end"].verdict == "held"


def test_a_log_that_is_wiped_to_start_elsewhere_ends_there(audit: Audit) -> None:
    trace = healthy().truncate(1, 40, log_end=3, reason="full").watermark(1, 40, previous=0, epoch=0, leading=False)
    assert audit(trace).checks["high-watermark-above-log-end"].verdict == "held"


# --- partition-state, dual-controller ---


@pytest.mark.parametrize(
    ("leader", "epoch", "isr", "controller_epoch", "rule"),
    [
        (1, 3, (1,), 2, "leader epoch 3 after 4"),
        (1, 5, (1,), 1, "controller epoch 1 after 2"),
        (1, 4, (1,), 2, "leader 1 after 0 in the same leader epoch 4"),
        (1, 5, (0, 2), 2, "leader 1 is not in its in-sync replicas 0,2"),
    ],
)
def test_a_state_that_contradicts_the_one_before(
    audit: Audit, leader: int, epoch: int, isr: tuple[int, ...], controller_epoch: int, rule: str
) -> None:
    trace = healthy().state(leader=0, epoch=4, isr=(0, 1, 2), controller_epoch=2)
    trace.state(leader=leader, epoch=epoch, isr=isr, controller_epoch=controller_epoch)
    check = audit(trace).checks["partition-state"]
    assert [one["text"].partition(" (zxid")[0] for one in check.evidence] == [rule]


def test_states_that_follow_one_another(audit: Audit) -> None:
    trace = healthy().state(leader=0, epoch=0, isr=(0,)).state(leader=-1, epoch=1, isr=(0,), controller_epoch=2)
    trace.state(leader=0, epoch=2, isr=(0,), controller_epoch=2)
    assert audit(trace).checks["partition-state"].verdict == "held"


def test_one_servers_word_is_enough_and_counts_once(audit: Audit) -> None:
    trace = healthy().state(leader=0, epoch=4, isr=(0, 1))
    again = e.ZnodeChanged("/brokers/topics/t/partitions/0/state", "changed", 9, 9, '{"leader":1,"leader_epoch":2,"isr":[1],"controller_epoch":1}')  # fmt: skip  # noqa: E501
    assert audit(trace.emit("session-0", again).emit("session-1", again)).checks["partition-state"].count == 1


def test_two_controllers_of_one_epoch_are_one_too_many_whenever_they_were(audit: Audit) -> None:
    trace = healthy().controller("broker-2", epoch=1, active=False).controller("broker-1", epoch=1)
    check = audit(trace).checks["dual-controller"]
    assert [(one["controller_epoch"], one["nodes"]) for one in check.evidence] == [(1, ["broker-1", "broker-2"])]
