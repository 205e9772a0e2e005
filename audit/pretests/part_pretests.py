"""All pre-tests, applied to runs."""

from __future__ import annotations

from collections.abc import Sequence

from audit.pretests import (  # they register their functions
    evidence_pretests,
    leadership_pretests,
    liveness_pretests,
    record_pretests,
    replica_pretests,
    transaction_pretests,
)
from audit.pretests.pretest_registry import PRETESTS, Kind
from audit.pretests.pretested_run import PretestedRun

MODULES = (
    *(record_pretests, replica_pretests, leadership_pretests, liveness_pretests, evidence_pretests),
    transaction_pretests,
)


def may_have_rows(kind: Kind, name: str, runs: Sequence[PretestedRun]) -> bool:
    """Whether that part may have a row of one of the runs."""
    test = PRETESTS.get((kind, name))
    return test is None or any(test(run) for run in runs)
