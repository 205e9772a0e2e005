"""A follow's findings of the cases in `tests/check_cases` are those of the audit."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.runs.verdict_file import CheckVerdict
from tests.audit.following.folding import events_in, in_fifths
from tests.check_cases.case_files import Case, Expectation, cases, surprises

FOLLOWED = (
    "dual-leader", "dual-controller", "lost-acknowledged",
    "dual-quorum-leader", "quorum-high-watermark", "metadata-divergence",
)  # fmt: skip


def expected_of(case: Case) -> list[Expectation]:
    """The audit's violations, but for the checks of which the case says otherwise."""
    own = {one.check for one in case.expected["follow"]}
    of_audit = [one for one in case.expected["spark"] if one.check in FOLLOWED and one.check not in own]
    return [one for one in (*case.expected["follow"], *of_audit) if one.verdict == "violated"]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases() if case.expected["spark"]])
def test_a_follow_finds_what_the_case_expects(case: Case) -> None:
    files = [events_in(lines) for (*_, wire), lines in sorted(case.trace().files.items()) if not wire]
    violations = [one for one in in_fifths(files).findings.standing if one.violation]
    found: dict[str, list[dict[str, Any]]] = {check: [] for check in FOLLOWED}
    for one in sorted(violations, key=lambda one: (one.details.get("offset", -1), one.at_ms)):
        found[one.finding].append({**one.details, "from_ms": one.at_ms, "to_ms": one.to_ms})
    checks = {
        name: CheckVerdict(verdict="violated" if rows else "held", expected=False, count=len(rows), evidence=rows)
        for name, rows in found.items()
    }
    assert surprises(expected_of(case), checks) == []
