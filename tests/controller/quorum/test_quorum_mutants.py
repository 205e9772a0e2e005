"""Wrong quorums are detected, each by an invariant that names its fault.

`python -m verification.quorum --mutants` searches from seed 1 on.
"""

import pytest

from controller.quorum.leader_state import Leader
from verification.mutants.mutant import applied
from verification.quorum.mutant_search import search
from verification.quorum.quorum_mutants import QUORUM_MUTANTS

FIRST = {
    "votes-twice": 12, "forgets-its-vote": 214, "votes-for-a-shorter-log": 8, "campaigns-in-the-same-epoch": 12,
    "commits-an-old-epochs-entry": 5, "compares-no-logs": 5, "skips-truncation": 5, "truncates-to-the-leaders-end": 813,
    "never-checks-its-quorum": 3, "changes-voters-twice-at-once": 39, "counts-itself-after-its-removal": 85,
    "counts-the-voters-before": 4, "keeps-truncated-voters": 1240, "snapshots-uncommitted-records": 4,
    "snapshots-without-voters": 19,
}  # fmt: skip
"""Seeds to begin with: the first one that detects the mutant, or 1."""
SEEDS = 100


@pytest.mark.parametrize("name", QUORUM_MUTANTS)
def test_a_wrong_quorum_is_detected(name: str) -> None:
    row = search(name, SEEDS, FIRST.get(name, 1))
    assert row["detected"], row


def test_there_are_at_least_ten_and_they_leave_nothing_behind() -> None:
    assert len(QUORUM_MUTANTS) >= 10
    before = Leader._advance
    with applied(QUORUM_MUTANTS["commits-an-old-epochs-entry"]):
        assert Leader._advance is not before
    assert Leader._advance is before
