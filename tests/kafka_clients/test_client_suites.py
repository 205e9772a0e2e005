"""The page of the clients' own suites; verification/client_suites runs them."""

import json

from verification import RESULTS
from verification.client_suites.client_suites_page import PAGE, parts, table
from verification.client_suites.run_suites import Failure, Played
from verification.client_suites.suites import SUITES, reason_of


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
