"""The readers of suites' reports; no suite is run here (verification/client_suites does)."""

import json

from verification import RESULTS
from verification.client_suites.client_suites_page import PAGE, parts, table
from verification.client_suites.run_suites import Failure, Played, read_report
from verification.client_suites.suites import KAFKA_PYTHON, SUITES, TRANSACTIONS, reason_of

REPORT = """<testsuites><testsuite>
<testcase classname="test.a" name="test_good"/>
<testcase classname="test.a" name="test_young"><skipped message="needs 4.0">x</skipped></testcase>
<testcase classname="test.a" name="test_transactional_offsets"><failure message="kafka.errors.T">
TransactionalIdAuthorizationFailedError</failure></testcase>
<testcase classname="test.a" name="test_transactional_messages"><failure message="assert 1 == 2">x</failure></testcase>
<testcase classname="test.a" name="test_torn_down"><error message="leaked">x</error></testcase>
</testsuite></testsuites>"""


def test_a_failure_has_a_reason_only_if_it_fails_with_just_that() -> None:
    played = read_report(REPORT, KAFKA_PYTHON, "3.0.12", "2.8")
    assert (played.passed, played.skipped, played.left_out) == (1, {"needs 4.0": 1}, ["SASL", "TLS"])
    assert [(one.test, one.reason) for one in played.failed] == [
        ("test.a.test_transactional_offsets", TRANSACTIONS),
        ("test.a.test_transactional_messages", ""),
        ("test.a.test_torn_down", ""),
    ]
    assert [one.test for one in played.unexplained] == [one.test for one in played.failed[1:]]


def test_failures_are_reported_by_reason_and_number() -> None:
    failed = [Failure("a", "m", "why"), Failure("b", "m", "why"), Failure("c", "m", "")]
    shown = table([Played("kafka-python", "3.0.12", "2.8", 7, failed, {"x": 2, "y": 1}, ["TLS"])]).splitlines()[-1]
    assert shown == "| kafka-python 3.0.12 | 2.8 | 7 | 2: why; 1: unknown reason | 3 | TLS |"


def test_the_page_shows_what_was_measured_and_every_reason_is_one_of_today_s() -> None:
    runs = json.loads((RESULTS / "client_suites.json").read_text(encoding="utf-8"))["runs"]
    played = [Played(**one | {"failed": [Failure(**it) for it in one["failed"]]}) for one in runs]
    assert parts(PAGE.read_text(encoding="utf-8"))[1] == table(played)
    assert [(one.client, one.kafka) for one in played] == [(suite.client, it) for suite in SUITES for it in suite.kafka]
    by_client = {suite.client: suite for suite in SUITES}
    for one in played:
        assert [reason_of(by_client[one.client], it.test, it.message) for it in one.failed] == [
            it.reason for it in one.failed
        ]
        assert one.unexplained == []
