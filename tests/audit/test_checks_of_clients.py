"""As `test_checks`: guarantees for acknowledgements, consumers and groups across leaders."""

from __future__ import annotations

import pytest

from protocol import events as e
from tests.audit.conftest import Audit
from tests.audit.trace import Trace, digest_of, healthy

pytestmark = pytest.mark.spark
TOGETHER = True


def _succeeded() -> Trace:
    """a, b and c, then broker-1 leads with all of them and takes d and e."""
    trace = healthy().leader(1, epoch=1, followers=(0, 2))
    return trace.produce("d", at=3, epoch=1, leader=1, followers=(0, 2)).produce(
        "e", at=4, epoch=1, leader=1, followers=(0, 2)
    )


def _given(trace: Trace, operation: str, values: str, *, at: int, epoch: int) -> Trace:
    for offset, value in enumerate(values, at):
        trace.read(value, at=offset, epoch=epoch, high_watermark=9, broker=epoch, operation=operation)
    return trace


# --- lost-acknowledged: broken or allowed ---


def test_what_acks_all_promised_and_nothing_allows_to_be_lost_is_a_broken_promise(audit: Audit) -> None:
    """A follower that was in sync is elected and has cut what it had."""
    trace = healthy().truncate(1, 2, log_end=3).leader(1, epoch=1, followers=(2,))
    check = audit(trace).checks["lost-acknowledged"]
    assert (check.count, check.allowed, check.evidence[0]["allowed"]) == (1, {}, "")


def test_what_only_the_leader_answered_for_may_be_lost(audit: Audit) -> None:
    trace = healthy().produce("x", at=3, followers=(), acks=1).leader(1, epoch=1, followers=(2,))
    assert audit(trace).checks["lost-acknowledged"].allowed == {"acks<=1": 1}


@pytest.mark.parametrize("acks", [-1, 1])
def test_a_reused_sequence_number_loses_the_clients_record_alone(audit: Audit, acks: int) -> None:
    """Some clients number other records anew as a retry.

    The leader answers them with the offset of the first.
    """
    trace = healthy().answered_as_duplicate("x", "b", at=1).ended("x", at=1, acks=acks, broker=0)
    verdict = audit(trace)
    check = verdict.checks["lost-acknowledged"]
    assert (check.verdict, check.count, check.allowed) == ("violated", 1, {"duplicate sequence": 1})
    text = check.evidence[0]["text"]
    assert "at offset 1 as a duplicate: producer 7 had used sequence number 5 for the record there" in text
    others = {name: one.verdict for name, one in verdict.checks.items() if name != "lost-acknowledged"}
    assert "violated" not in others.values() and "unknown" not in others.values(), others


def test_a_retry_that_is_answered_as_a_duplicate_loses_nothing(audit: Audit) -> None:
    trace = healthy().answered_as_duplicate("b", "b", at=1).ended("b", at=1, broker=0)
    assert audit(trace).checks["lost-acknowledged"].verdict == "held"


@pytest.mark.parametrize(("sent", "at"), [("x", 2), ("y", 1)])
def test_what_was_answered_as_a_duplicate_elsewhere_explains_no_loss(audit: Audit, sent: str, at: int) -> None:
    """Another offset or another digest explains no acknowledgement, so events are missing."""
    trace = healthy().answered_as_duplicate(sent, "b", at=1).ended("x", at=at, broker=0)
    verdict = audit(trace)
    assert verdict.checks["lost-acknowledged"].allowed == {}
    assert verdict.checks["duplicate"].verdict == "unknown"


def test_a_record_that_a_replica_had_was_not_lost_by_a_reused_sequence_number(audit: Audit) -> None:
    trace = healthy().produce("x", at=3).answered_as_duplicate("x", "y", at=3).truncate(1, 3, log_end=4)
    check = audit(trace.leader(1, epoch=1, followers=(2,))).checks["lost-acknowledged"]
    assert (check.verdict, check.allowed) == ("violated", {})


def test_an_unclean_election_allows_what_is_lost_by_it(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0).produce("a", at=0, followers=())
    trace.leader(1, epoch=1).produce("b", at=0, epoch=1, leader=1, followers=())
    assert audit(trace).checks["lost-acknowledged"].allowed == {"unclean.leader.election": 1}


@pytest.mark.parametrize(("cut", "allowed"), [(False, {}), (True, {"unclean.leader.election": 1})])
def test_a_replica_that_has_a_record_does_not_lose_it_by_being_elected(
    audit: Audit, cut: bool, allowed: dict[str, int]
) -> None:
    """A replica outside the ISR that has the record, unless it had cut it off.

    As leader it loses the record some other way.
    """
    trace = Trace().cluster().leader(0, epoch=0).produce("a", at=0, followers=(1,))
    if cut:
        trace.truncate(1, 0, log_end=1).leader(1, epoch=1)
    else:
        trace.leader(1, epoch=1).truncate(1, 0, log_end=1)
    check = audit(trace).checks["lost-acknowledged"]
    assert (check.count, check.allowed) == (1, allowed)


def test_an_unclean_election_before_a_record_was_written_allows_nothing(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0, followers=(2,)).leader(1, epoch=1, followers=(2,))
    trace.produce("b", at=0, epoch=1, leader=1, followers=(2,)).truncate(2, 0, log_end=1).leader(2, epoch=2)
    check = audit(trace).checks["lost-acknowledged"]
    assert (check.count, check.allowed) == (1, {})


def test_what_a_replica_had_not_flushed_may_be_lost(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0).produce("a", at=0, followers=()).produce("b", at=1, followers=())
    trace.kill("broker-0", "power-loss").start("broker-0").loaded(0, 1).leader(0, epoch=1)
    assert audit(trace).checks["lost-acknowledged"].allowed == {"not flushed": 1}


def test_what_was_cut_before_a_restart_was_not_lost_by_it(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0).produce("a", at=0, followers=()).truncate(0, 0, log_end=1)
    trace.kill("broker-0").start("broker-0").loaded(0, 0).leader(0, epoch=1)
    check = audit(trace).checks["lost-acknowledged"]
    assert (check.count, check.allowed) == (1, {})


def test_a_log_that_was_moved_away_and_back_was_not_lost_by_a_disk(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0).produce("a", at=0, followers=())
    trace.deleted(0, 1, reason="replica-moved").created(0).leader(0, epoch=1)
    check = audit(trace).checks["lost-acknowledged"]
    assert (check.count, check.allowed) == (1, {})


@pytest.mark.parametrize("what", ["power-loss", "lose-unsynced", "lose-disk"])
def test_remains_on_a_lost_leaders_disk_are_unknown_before_it_starts(audit: Audit, what: str) -> None:
    trace = Trace().cluster().leader(0, epoch=0).produce("a", at=0, followers=()).kill("broker-0", what)
    assert audit(trace).checks["lost-acknowledged"].verdict == "unknown"


# --- acknowledged-below-min-insync ---


def _alone(min_insync: int = 2) -> Trace:
    """The leader is told that it is alone in its ISR."""
    trace = Trace().cluster().role(0, "leader", epoch=0, min_insync=min_insync)
    return trace.in_sync(0, "0", high_watermark=0, min_insync=min_insync)


def test_acks_all_that_a_lone_leader_acknowledges_is_below_the_least(audit: Audit) -> None:
    trace = _alone().append(0, "a", at=0, epoch=0, as_leader=True).watermark(0, 1, previous=0, epoch=0)
    check = audit(trace.ended("a", at=0)).checks["acknowledged-below-min-insync"]
    assert [(one["offset"], one["in_sync"], one["min_insync_replicas"]) for one in check.evidence] == [(0, 1, 2)]


@pytest.mark.parametrize("acks", [1, 0])
def test_the_least_means_nothing_to_other_acks(audit: Audit, acks: int) -> None:
    trace = _alone().append(0, "a", at=0, epoch=0, as_leader=True).ended("a", at=0, acks=acks)
    assert (
        audit(trace.ended("b", at=-1, error=19, outcome="failed")).checks["acknowledged-below-min-insync"].verdict
        == "skipped"
    )


def test_what_was_committed_before_the_isr_shrank_may_be_acknowledged_after(audit: Audit) -> None:
    trace = Trace().cluster().role(0, "leader", epoch=0, min_insync=2).append(0, "a", at=0, epoch=0, as_leader=True)
    trace.watermark(0, 1, previous=0, epoch=0).in_sync(0, "0", high_watermark=1, min_insync=2)
    assert audit(trace.ended("a", at=0)).checks["acknowledged-below-min-insync"].verdict == "held"


def test_a_follower_in_sync_again_may_acknowledge(audit: Audit) -> None:
    trace = _alone().append(0, "a", at=0, epoch=0, as_leader=True).in_sync(0, "0,1", high_watermark=0, min_insync=2)
    trace.watermark(0, 1, previous=0, epoch=0)
    assert audit(trace.ended("a", at=0)).checks["acknowledged-below-min-insync"].verdict == "held"


def test_without_a_leaders_role_nothing_is_known_of_what_it_took_for_in_sync(audit: Audit) -> None:
    trace = Trace().cluster().append(0, "a", at=0, epoch=0, as_leader=True).ended("a", at=0)
    assert audit(trace).checks["acknowledged-below-min-insync"].verdict == "unknown"


# --- non-monotonic-read, skipped-read ---


def test_what_a_consumer_had_and_is_given_again_by_the_next_leader_goes_back(audit: Audit) -> None:
    trace = _succeeded()
    operation = trace.consume(0)
    checks = audit(_given(_given(trace, operation, "abc", at=0, epoch=0), operation, "c", at=2, epoch=1)).checks
    assert [(one["offset"], one["before"]) for one in checks["non-monotonic-read"].evidence] == [(2, 2)]
    assert (checks["read-gap"].verdict, checks["skipped-read"].verdict) == ("held", "held")


def test_what_lies_between_two_leaders_and_is_not_given_is_skipped_and_unseen(audit: Audit) -> None:
    trace = _succeeded()
    operation = trace.consume(0)
    checks = audit(_given(_given(trace, operation, "abc", at=0, epoch=0), operation, "e", at=4, epoch=1)).checks
    assert [(one["offset"], one["before"]) for one in checks["skipped-read"].evidence] == [(4, 2)]
    assert [(one["offset"], one["reader"]) for one in checks["unseen"].evidence] == [(3, operation)]
    assert checks["non-monotonic-read"].verdict == "held"


def test_a_consumer_that_resumes_at_its_position_skips_nothing(audit: Audit) -> None:
    trace = _succeeded()
    operation = trace.consume(0)
    checks = audit(_given(_given(trace, operation, "abc", at=0, epoch=0), operation, "de", at=3, epoch=1)).checks
    assert {checks[name].verdict for name in ("non-monotonic-read", "skipped-read", "unseen")} == {"held"}


@pytest.mark.parametrize(("values", "at"), [("bcde", 1), ("e", 4)])
def test_a_consumer_that_has_left_its_position_may_go_on_anywhere(audit: Audit, values: str, at: int) -> None:
    trace = _succeeded()
    operation = trace.consume(0)
    _given(trace, operation, "abc", at=0, epoch=0).left(operation, 3)
    checks = audit(_given(trace, operation, values, at=at, epoch=1)).checks
    assert {checks[name].verdict for name in ("non-monotonic-read", "skipped-read", "unseen")} == {"held"}


# --- unseen ---


def test_what_was_acknowledged_after_a_consumer_had_passed_is_not_missed(audit: Audit) -> None:
    """The consumer read the history that was cut off.

    In the history that goes on, other records lie there, which came later.
    """
    trace = Trace().cluster().leader(0, epoch=0).produce("a", at=0, followers=()).produce("x", at=1, followers=())
    trace.produce("y", at=2, followers=())
    _given(trace, trace.consume(0), "axy", at=0, epoch=0)
    trace.leader(1, epoch=1)
    for offset, value in enumerate("abc"):
        trace.produce(value, at=offset, epoch=1, leader=1, followers=())
    assert audit(trace).checks["unseen"].verdict == "held"


def test_what_was_read_in_place_of_what_is_there_leaves_it_unseen(audit: Audit) -> None:
    trace = healthy()
    operation = trace.consume(0)
    check = audit(_given(trace, operation, "axc", at=0, epoch=0)).checks["unseen"]
    assert [one["offset"] for one in check.evidence] == [1]


def test_of_three_hundred_who_read_what_is_lost_the_one_that_passed_by_is_found(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0)
    for broker in range(3):
        trace.append(broker, "x", at=1, epoch=0, as_leader=broker == 0)
    operations = [trace.consume(1) for _ in range(300)]
    for operation in operations:
        trace.read("x", at=1, epoch=0, high_watermark=2, operation=operation)
    for broker in (1, 2, 0):
        trace.truncate(broker, 1, log_end=2)
    trace.leader(1, epoch=1, followers=(2, 0))
    for offset, value in enumerate("km", start=1):
        trace.produce(value, at=offset, epoch=1, leader=1, followers=(2, 0))
    trace.read("m", at=2, epoch=1, high_watermark=3, broker=1, operation=operations[137])
    check = audit(trace).checks["unseen"]
    assert [(one["offset"], one["reader"]) for one in check.evidence] == [(1, operations[137])]


def test_an_unreported_final_leader_leaves_no_record_known_to_be_unseen(audit: Audit) -> None:
    trace = healthy().append(0, "g", at=7, epoch=0)
    operation = trace.consume(0)
    assert audit(_given(trace, operation, "axc", at=0, epoch=0)).checks["unseen"].verdict == "unknown"


# --- inconsistent-offsets ---


def test_one_offset_read_as_two_things_is_inconsistent_for_any_reader(audit: Audit) -> None:
    trace = healthy().read("c", at=2, epoch=0, high_watermark=3).read("x", at=2, epoch=1, high_watermark=3, broker=1)
    check = audit(trace).checks["inconsistent-offsets"]
    assert [(one["offset"], sorted(one["epochs"])) for one in check.evidence] == [(2, [0, 1])]


def test_what_begins_within_another_batch_contradicts_it_too(audit: Audit) -> None:
    trace = healthy().read("batch", at=3, last=6, epoch=0, high_watermark=9)
    assert audit(trace.read("x", at=5, epoch=0, high_watermark=9)).checks["inconsistent-offsets"].count == 1


def test_a_batch_that_is_read_from_its_middle_is_the_same(audit: Audit) -> None:
    trace = healthy().read("batch", at=3, last=6, epoch=0, high_watermark=9)
    trace.read("batch", at=5, last=6, epoch=0, high_watermark=9).read("d", at=7, epoch=0, high_watermark=9)
    assert audit(trace).checks["inconsistent-offsets"].verdict == "held"


# --- offset-out-of-range ---


def test_a_position_that_was_come_to_and_is_none_is_a_surprise(audit: Audit) -> None:
    trace = healthy()
    operation = trace.consume(0)
    check = audit(_given(trace, operation, "abc", at=0, epoch=0).left(operation, 3)).checks["offset-out-of-range"]
    assert [(one["offset"], one["operation"]) for one in check.evidence] == [(3, operation)]


def test_so_is_one_that_the_cluster_named(audit: Audit) -> None:
    trace = healthy()
    assert audit(trace.left(trace.consume(), 7)).checks["offset-out-of-range"].count == 1


def test_a_clients_own_requests_are_not_judged(audit: Audit) -> None:
    trace = healthy()
    assert audit(trace.left(trace.consume(7), 7)).checks["offset-out-of-range"].verdict == "held"


def test_a_seek_is_no_surprise(audit: Audit) -> None:
    trace = healthy()
    assert audit(trace.left(trace.consume(0), 2, "seek")).checks["offset-out-of-range"].verdict == "held"


def test_lines_that_are_missed_leave_what_is_found_of_groups_unknown(audit: Audit) -> None:
    trace = healthy().group("commit", 3).group("committed", 3)
    del trace.files["client-0", 1, False][-3]
    checks = audit(trace).checks
    assert {checks[name].verdict for name in ("inconsistent-offsets", "committed-offset-regression")} == {"unknown"}


@pytest.mark.parametrize(
    ("node", "names"),
    [
        (
            "client-0",
            (
                *("phantom-read", "read-above-high-watermark", "read-gap", "non-monotonic-read", "skipped-read"),
                *("offset-out-of-range", "acknowledged-below-min-insync"),
            ),
        ),
        ("broker-1", ("log-matching", "high-watermark-above-log-end")),
        ("session-0", ("partition-state",)),
    ],
)
def test_a_line_that_is_missed_leaves_what_held_without_it_unknown(
    audit: Audit, node: str, names: tuple[str, ...]
) -> None:
    trace = _succeeded()
    operation = trace.consume(0)
    trace.seqs[node] += 1
    _given(_given(trace, operation, "abc", at=0, epoch=0), operation, "de", at=3, epoch=1)
    checks = audit(trace.leader(1, epoch=2, followers=(0, 2))).checks
    assert {name: checks[name].verdict for name in names} == dict.fromkeys(names, "unknown")


# --- failed-but-stored ---


def test_a_record_that_failed_for_certain_and_is_in_the_log(audit: Audit) -> None:
    trace = healthy().append(0, "d", at=3, epoch=0, as_leader=True).ended("d", at=-1, outcome="failed", error=19)
    check = audit(trace).checks["failed-but-stored"]
    assert [(one["partition"], one["operation"]) for one in check.evidence] == [("t-0", "client-0.1:5")]


@pytest.mark.parametrize("other", ["none", "unknown", "open", "ok"])
def test_failed_records_that_are_not_stored_or_that_another_operation_accounts_for(audit: Audit, other: str) -> None:
    trace = healthy().ended("d", at=-1, outcome="failed", error=19)
    if other != "none":
        trace.append(0, "d", at=3, epoch=0, as_leader=True)
    if other == "open":
        trace.emit("client-0", e.AttemptSent("client-0.1:99", 1, 0, digest_of("d")))
    elif other != "none":
        trace.ended("d", at=3 if other == "ok" else -1, outcome=other)
    assert audit(trace).checks["failed-but-stored"].verdict == "held"
