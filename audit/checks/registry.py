"""All checks, in the order in which verdicts list them."""

from __future__ import annotations

import difflib

from audit.checks.check import Check
from audit.checks.dual_controller import DUAL_CONTROLLER
from audit.checks.dual_leader import DUAL_LEADER
from audit.checks.duplicates import DUPLICATES
from audit.checks.high_watermark_regression import HIGH_WATERMARK_REGRESSION
from audit.checks.leader_epoch_monotonicity import LEADER_EPOCH_MONOTONICITY
from audit.checks.lost_acknowledged import LOST_ACKNOWLEDGED
from audit.checks.replica_divergence import REPLICA_DIVERGENCE

CHECKS: dict[str, Check] = {
    check.name: check
    for check in (
        LOST_ACKNOWLEDGED,
        DUPLICATES,
        REPLICA_DIVERGENCE,
        DUAL_LEADER,
        DUAL_CONTROLLER,
        HIGH_WATERMARK_REGRESSION,
        LEADER_EPOCH_MONOTONICITY,
    )
}


def check_named(name: str) -> Check:
    """Raises KeyError, with the nearest known name in its message."""
    if name in CHECKS:
        return CHECKS[name]
    close = difflib.get_close_matches(name, CHECKS, n=1)
    raise KeyError(f"no check is called {name!r}" + (f"; nearest: {close[0]}" if close else ""))
