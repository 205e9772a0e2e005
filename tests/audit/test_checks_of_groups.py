"""As `test_checks`: what groups have committed, and find."""

from __future__ import annotations

import pytest

from tests.audit.conftest import Audit
from tests.audit.trace import healthy

pytestmark = pytest.mark.spark
TOGETHER = True

ZNODES = -1
"""Asked instead of a broker: where old consumers keep their offsets."""


# --- group-ahead-of-log ---


def test_a_group_that_has_committed_what_is_not_there_is_ahead(audit: Audit) -> None:
    check = audit(healthy().group("commit", 4)).checks["group-ahead-of-log"]
    assert [(one["offset"], one["group"], one["log_end"]) for one in check.evidence] == [(4, "g", 3)]


def test_what_a_kafka_client_committed_and_the_log_lost_is_ahead(audit: Audit) -> None:
    trace = healthy().append(0, "d", at=3, epoch=0, as_leader=True).truncate(0, 3, log_end=4, high_watermark=3)
    check = audit(trace.group("commit", 4, client_id="app")).checks["group-ahead-of-log"]
    assert [(one["offset"], one["log_end"]) for one in check.evidence] == [(4, 3)]


def test_an_offset_that_no_log_ever_reached_is_a_kafka_clients_own(audit: Audit) -> None:
    """`kafka-consumer-groups --reset-offsets`, say."""
    check = audit(healthy().group("commit", 40, client_id="app")).checks["group-ahead-of-log"]
    assert (check.verdict, check.judged) == ("held", 1)


def test_a_group_that_has_committed_the_logs_end_is_not(audit: Audit) -> None:
    trace = healthy().group("commit", 4).group("commit", 3).group("commit", 9, outcome="unknown")
    assert audit(trace).checks["group-ahead-of-log"].verdict == "held"


def test_a_group_is_ahead_of_a_reported_log_or_of_none(audit: Audit) -> None:
    trace = healthy().append(0, "g", at=7, epoch=0).group("commit", 40)
    assert audit(trace).checks["group-ahead-of-log"].verdict == "unknown"


# --- committed-offset-regression ---


def test_less_than_was_acknowledged_is_a_regression_for_any_observer(audit: Audit) -> None:
    trace = healthy().start("client-1", "client")
    trace.group("commit", 2).group("commit", 3, client=1).group("committed", 2)
    check = audit(trace).checks["committed-offset-regression"]
    assert [(one["offset"], one["committed"]) for one in check.evidence] == [(2, 3)]


def test_nothing_found_of_what_was_committed_is_one_too(audit: Audit) -> None:
    assert audit(healthy().group("commit", 2).group("committed", -1)).checks["committed-offset-regression"].count == 1


def test_a_client_that_commits_less_has_gone_back_itself(audit: Audit) -> None:
    trace = healthy().group("commit", 3).group("commit", 1).group("committed", 1)
    assert audit(trace).checks["committed-offset-regression"].verdict == "held"


def test_a_commit_that_may_have_been_done_later_explains_what_is_found(audit: Audit) -> None:
    trace = healthy().group("commit", 1, outcome="unknown").group("commit", 3).group("committed", 1)
    assert audit(trace).checks["committed-offset-regression"].verdict == "held"


def test_a_commit_that_certainly_failed_explains_nothing(audit: Audit) -> None:
    trace = healthy().group("commit", 1, outcome="failed").group("commit", 3).group("committed", 1)
    assert audit(trace).checks["committed-offset-regression"].verdict == "violated"


def test_without_groups_there_are_no_findings_about_them(audit: Audit) -> None:
    checks = audit(healthy()).checks
    assert {checks[name].verdict for name in ("group-ahead-of-log", "committed-offset-regression")} == {"skipped"}


# --- two stores of one group ---


def test_what_is_ahead_in_one_store_is_so_whatever_is_in_the_other(audit: Audit) -> None:
    check = audit(healthy().group("commit", 4, broker=ZNODES).group("commit", 3)).checks["group-ahead-of-log"]
    assert [(one["offset"], one["store"]) for one in check.evidence] == [(4, "znodes")]


def test_a_look_at_one_store_is_not_held_against_the_other(audit: Audit) -> None:
    trace = healthy().group("commit", 1, broker=ZNODES).group("commit", 3).group("committed", 1, broker=ZNODES)
    assert audit(trace.group("committed", 3)).checks["committed-offset-regression"].verdict == "held"


def test_a_commit_in_one_store_does_not_explain_what_is_found_in_the_other(audit: Audit) -> None:
    trace = healthy().group("commit", 3).group("commit", 1, broker=ZNODES).group("committed", 1)
    check = audit(trace).checks["committed-offset-regression"]
    assert [(one["offset"], one["committed"]) for one in check.evidence] == [(1, 3)]
