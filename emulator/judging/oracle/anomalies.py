"""Anomalies: a function per check that finds its violations in the truth about a run.

The name of a check defines one violation, in the audit as well:

    lost-acknowledged             one acknowledged record that the final leader does not hold at its offset
    duplicate                     one batch that the final leader's log has more often than it was produced
    reordered                     one acknowledged record below one that the same client requested earlier
    acknowledged-below-min-insync  one record acknowledged with acks=all by a leader with too few in-sync replicas
    read-then-lost                one batch that was read and that the final leader does not hold where it was read
    phantom-read                  one batch that was read and that no replica ever held
    read-above-high-watermark     one batch of a response that ends at or above the response's high watermark
    read-gap                      one batch that does not begin right behind the batch that its reader got before
    non-monotonic-read            one batch that begins at or before the last offset that another leader returned
    skipped-read                  one batch that begins behind the next offset of the batch that another leader returned
    unseen                        one acknowledged record of the final leader that a consumer's reads skipped
    inconsistent-offsets          one batch that begins within another that was read
    offset-out-of-range           one position that a consumer had reached, and that its log no longer had
    group-ahead-of-log            one group and partition whose last commit is beyond the final leader's log end
    committed-offset-regression   one read of a group's committed offset that finds less than was committed
    replica-divergence            one offset at which batches of two running replicas in the ISR begin and differ
    log-matching                  one offset of one leader epoch at which different batches were ever appended
    dual-leader                   one leader that appends records while one of a later epoch leads elsewhere
    dual-controller               one controller epoch in which partitions' states were decided when a later one was
        committed; one controller epoch that several nodes had
    high-watermark-regression     one decrease of a leader's high watermark in one epoch; one offset read with two
        contents
    high-watermark-above-log-end  one incarnation of a broker in which a replica's high watermark was above the largest
        end of its log
    leader-epoch-monotonicity     one decrease of a replica's epoch; one epoch that begins in a log before an older
        one ends; one epoch with two leaders
    partition-state               one committed state of a partition and rule that it breaks: its leader epoch or
        controller epoch is older than the state's before, it has another leader in the same
        leader epoch, its leader is not in its in-sync replicas
    fenced-leader-change          one version of a partition's state that a leader takes for its own change of the ISR,
        though a later leader epoch was committed by then
    committed-truncated           one truncation of a replica's log below a high watermark that the replica had reached
    epoch-cache                   one entry of a leader epoch cache that begins above a log's end, in one incarnation of
        a broker; one epoch of a final log that its cache does not have where it begins
    checkpoint-ahead              one replica whose log, at one start, ended below its checkpointed high watermark
    no-leader                     one committed state without a leader that lasts too long in a quiescent period
    under-replicated              one committed state with fewer in-sync replicas than assigned that does so
    unanswered-request            one attempt of a client without a response for too long in a quiescent period
    too-few-copies                one record acknowledged with acks=all that fewer replicas hold than must
"""

from collections.abc import Callable, Iterator

from emulator.judging.oracle.group_promises import committed_offset_regression, group_ahead_of_log, offset_out_of_range
from emulator.judging.oracle.leadership_promises import (
    dual_controller,
    dual_leader,
    high_watermark_above_log_end,
    high_watermark_regression,
    leader_epoch_monotonicity,
    partition_state,
)
from emulator.judging.oracle.liveness import no_leader, unanswered_request, under_replicated
from emulator.judging.oracle.promise_registry import acknowledged_below_min_insync, too_few_copies
from emulator.judging.oracle.read_promises import (
    inconsistent_offsets,
    non_monotonic_read,
    phantom_read,
    read_above_high_watermark,
    read_gap,
    read_then_lost,
    skipped_read,
)
from emulator.judging.oracle.record_promises import (
    duplicate,
    log_matching,
    lost_acknowledged,
    reordered,
    replica_divergence,
)
from emulator.judging.oracle.replica_promises import (
    checkpoint_ahead,
    committed_truncated,
    epoch_cache,
    fenced_leader_change,
)
from emulator.judging.oracle.truth import Truth, Violation
from emulator.judging.oracle.unseen import unseen

ANOMALIES: dict[str, Callable[[Truth], Iterator[Violation]]] = {
    "lost-acknowledged": lost_acknowledged,
    "duplicate": duplicate,
    "reordered": reordered,
    "acknowledged-below-min-insync": acknowledged_below_min_insync,
    "read-then-lost": read_then_lost,
    "phantom-read": phantom_read,
    "read-above-high-watermark": read_above_high_watermark,
    "read-gap": read_gap,
    "non-monotonic-read": non_monotonic_read,
    "skipped-read": skipped_read,
    "unseen": unseen,
    "inconsistent-offsets": inconsistent_offsets,
    "offset-out-of-range": offset_out_of_range,
    "group-ahead-of-log": group_ahead_of_log,
    "committed-offset-regression": committed_offset_regression,
    "replica-divergence": replica_divergence,
    "log-matching": log_matching,
    "dual-leader": dual_leader,
    "dual-controller": dual_controller,
    "high-watermark-regression": high_watermark_regression,
    "high-watermark-above-log-end": high_watermark_above_log_end,
    "leader-epoch-monotonicity": leader_epoch_monotonicity,
    "partition-state": partition_state,
    "fenced-leader-change": fenced_leader_change,
    "committed-truncated": committed_truncated,
    "epoch-cache": epoch_cache,
    "checkpoint-ahead": checkpoint_ahead,
    "no-leader": no_leader,
    "under-replicated": under_replicated,
    "unanswered-request": unanswered_request,
    "too-few-copies": too_few_copies,
}
"""{check: its function}, in the order of verdicts."""
