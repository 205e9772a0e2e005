"""Registered pre-tests of queries and tables.

A part of the audit without a pre-test is always asked, so that a new check needs none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from audit.pretests.pretested_run import PretestedRun

Kind = Literal["violations", "evidence", "counted", "about", "table"]
"""Part of an audit.

Violations, evidence or subjects of a check, a question about the run, or a derived table.
"""
Pretest = Callable[[PretestedRun], bool]

PRETESTS: Final[dict[tuple[Kind, str], Pretest]] = {}
"""{part: its pre-test}, of the imported modules; `audit.pretests.part_pretests` imports all."""


def pretest(kind: Kind, *names: str) -> Callable[[Pretest], Pretest]:
    """Register a function that returns False only for a run in which these parts have no row."""

    def register(test: Pretest) -> Pretest:
        for name in names:
            assert (kind, name) not in PRETESTS, (kind, name)
            PRETESTS[kind, name] = test
        return test

    return register
