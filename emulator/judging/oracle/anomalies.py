"""The fifteen anomalies, each found in the truth about a run. One function per check gives the violations, in order.

What counts as one violation is fixed by the name of the check and is the same in the audit:

    lost-acknowledged             one acknowledged record that the final leader does not hold at its offset
    duplicate                     one batch that lies in the final leader's log more often than it was produced
    reordered                     one acknowledged record that lies below one that the same client asked for earlier
    read-then-lost                one batch that was read and that the final leader does not hold where it was read
    phantom-read                  one batch that was read and that no replica ever held
    read-above-high-watermark     one batch of an answer that ends at or above the high watermark it came with
    read-gap                      one batch that does not begin right behind the one that its reader was given before
    replica-divergence            one offset at which batches of two replicas begin and differ
    log-matching                  one offset of one leader epoch at which different batches were ever appended
    dual-leader                   one leader that goes on taking records while one of a later epoch leads elsewhere
    dual-controller               one controller that goes on while one of a later epoch is it elsewhere; one
                                  controller epoch that several nodes had
    high-watermark-regression     one move back of a leader's high watermark in one epoch; one offset read with two
                                  contents
    high-watermark-above-log-end  one life of a broker's process in which a replica's high watermark was above
                                  whatever its log reached
    leader-epoch-monotonicity     one step back of a replica's epoch; one epoch that begins in a log before an older
                                  one ends; one epoch with two leaders
    partition-state               one committed state of a partition and rule that it breaks: its leader epoch or
                                  controller epoch is older than the state's before, it has another leader in the same
                                  leader epoch, its leader is not in its in-sync replicas
"""

from collections.abc import Callable, Iterator

from emulator.judging.oracle.leadership import (
    dual_controller,
    dual_leader,
    high_watermark_above_log_end,
    high_watermark_regression,
    leader_epoch_monotonicity,
    partition_state,
)
from emulator.judging.oracle.reads import phantom_read, read_above_high_watermark, read_gap, read_then_lost
from emulator.judging.oracle.records import duplicate, log_matching, lost_acknowledged, reordered, replica_divergence
from emulator.judging.oracle.truth import Truth
from emulator.judging.oracle.violations import Violation

ANOMALIES: dict[str, Callable[[Truth], Iterator[Violation]]] = {
    "lost-acknowledged": lost_acknowledged,
    "duplicate": duplicate,
    "reordered": reordered,
    "read-then-lost": read_then_lost,
    "phantom-read": phantom_read,
    "read-above-high-watermark": read_above_high_watermark,
    "read-gap": read_gap,
    "replica-divergence": replica_divergence,
    "log-matching": log_matching,
    "dual-leader": dual_leader,
    "dual-controller": dual_controller,
    "high-watermark-regression": high_watermark_regression,
    "high-watermark-above-log-end": high_watermark_above_log_end,
    "leader-epoch-monotonicity": leader_epoch_monotonicity,
    "partition-state": partition_state,
}
"""In the order in which verdicts list them."""
