"""All checks, in the order in which verdicts list them."""

from __future__ import annotations

import difflib

from audit.checks.acknowledged_below_min_insync import ACKNOWLEDGED_BELOW_MIN_INSYNC
from audit.checks.check import Check
from audit.checks.checkpoint_ahead import CHECKPOINT_AHEAD
from audit.checks.committed_offset_regression import COMMITTED_OFFSET_REGRESSION
from audit.checks.committed_truncated import COMMITTED_TRUNCATED
from audit.checks.dual_controller import DUAL_CONTROLLER
from audit.checks.dual_leader import DUAL_LEADER
from audit.checks.duplicates import DUPLICATES
from audit.checks.epoch_cache import EPOCH_CACHE
from audit.checks.fenced_leader_change import FENCED_LEADER_CHANGE
from audit.checks.group_ahead_of_log import GROUP_AHEAD_OF_LOG
from audit.checks.high_watermark_above_log_end import HIGH_WATERMARK_ABOVE_LOG_END
from audit.checks.high_watermark_regression import HIGH_WATERMARK_REGRESSION
from audit.checks.inconsistent_offsets import INCONSISTENT_OFFSETS
from audit.checks.leader_epoch_monotonicity import LEADER_EPOCH_MONOTONICITY
from audit.checks.log_matching import LOG_MATCHING
from audit.checks.lost_acknowledged import LOST_ACKNOWLEDGED
from audit.checks.no_leader import NO_LEADER
from audit.checks.non_monotonic_read import NON_MONOTONIC_READ
from audit.checks.offset_out_of_range import OFFSET_OUT_OF_RANGE
from audit.checks.partition_state import PARTITION_STATE
from audit.checks.phantom_read import PHANTOM_READ
from audit.checks.read_above_high_watermark import READ_ABOVE_HIGH_WATERMARK
from audit.checks.read_gap import READ_GAP
from audit.checks.read_then_lost import READ_THEN_LOST
from audit.checks.reordered import REORDERED
from audit.checks.replica_divergence import REPLICA_DIVERGENCE
from audit.checks.skipped_read import SKIPPED_READ
from audit.checks.too_few_copies import TOO_FEW_COPIES
from audit.checks.unanswered_request import UNANSWERED_REQUEST
from audit.checks.under_replicated import UNDER_REPLICATED
from audit.checks.unseen_records import UNSEEN

CHECKS: dict[str, Check] = {
    check.name: check
    for check in (
        LOST_ACKNOWLEDGED,
        DUPLICATES,
        REORDERED,
        ACKNOWLEDGED_BELOW_MIN_INSYNC,
        READ_THEN_LOST,
        PHANTOM_READ,
        READ_ABOVE_HIGH_WATERMARK,
        READ_GAP,
        NON_MONOTONIC_READ,
        SKIPPED_READ,
        UNSEEN,
        INCONSISTENT_OFFSETS,
        OFFSET_OUT_OF_RANGE,
        GROUP_AHEAD_OF_LOG,
        COMMITTED_OFFSET_REGRESSION,
        REPLICA_DIVERGENCE,
        LOG_MATCHING,
        DUAL_LEADER,
        DUAL_CONTROLLER,
        HIGH_WATERMARK_REGRESSION,
        HIGH_WATERMARK_ABOVE_LOG_END,
        LEADER_EPOCH_MONOTONICITY,
        PARTITION_STATE,
        FENCED_LEADER_CHANGE,
        COMMITTED_TRUNCATED,
        EPOCH_CACHE,
        CHECKPOINT_AHEAD,
        NO_LEADER,
        UNDER_REPLICATED,
        UNANSWERED_REQUEST,
        TOO_FEW_COPIES,
    )
}


def check_named(name: str) -> Check:
    """The check of that name. Raises KeyError, with the nearest known name in its message."""
    if name in CHECKS:
        return CHECKS[name]
    close = difflib.get_close_matches(name, CHECKS, n=1)
    raise KeyError(f"no check is called {name!r}" + (f"; nearest: {close[0]}" if close else ""))
