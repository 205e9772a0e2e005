"""The oracle's verdicts of the cases in `tests/check_cases`."""

from __future__ import annotations

import pytest

from emulator.check_table import CHECKS
from emulator.judging.oracle.judge import judge_truth
from emulator.runs.verdict_file import CheckVerdict
from tests.check_cases.case_files import Case, cases, surprises
from tests.check_cases.truth_of_trace import truth_of_trace

CASES = [pytest.param(case, id=case.name) for case in cases() if case.expected["oracle"]]


@pytest.mark.parametrize("case", CASES)
def test_the_oracle_judges_as_the_case_expects(case: Case) -> None:
    judged = judge_truth(truth_of_trace(case.trace()))
    checks = {name: CheckVerdict(expected=False, **check) for name, check in judged.items()}
    assert surprises(case.expected["oracle"], checks) == []


@pytest.mark.parametrize("judge", ["spark", "oracle"])
@pytest.mark.parametrize("verdict", ["violated", "held"])
def test_each_check_has_a_case_to_reject_and_one_to_accept(judge: str, verdict: str) -> None:
    of_checks = {one.check for case in cases() for one in case.expected[judge] if one.verdict == verdict}
    assert set(CHECKS) - of_checks == set()


def test_case_names_are_unique() -> None:
    names = [case.name for case in cases()]
    assert sorted(names) == sorted(set(names))
