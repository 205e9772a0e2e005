"""Finds the rule of docs/semantics.md by which a replica's fetcher stays stopped.

The run's events decide; "" means no rule."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf

from emulator.judging.explain.run_history import History
from emulator.topology import broker_name
from protocol.gates import Gates
from protocol.ids import TopicPartition
from protocol.kinds import IgnoredReason

HALF_WAY = "8 (KAFKA-9307): an order that a lost session ended half-way leaves a replica that follows no leader"
UNKNOWN_REGISTRATION = "8 (KAFKA-9839): an order for a registration that the broker does not know is not carried out"
OFFLINE = "1.7 (KAFKA-9769): a lost session that keeps a replica from getting a log takes it offline"
EARLIER_LIFE = "8 (KAFKA-7235): orders are for a broker, not for a life of it"
REMOVED = "was removed while epochs were asked for"
FENCED = "FENCED_LEADER_EPOCH"


def still(history: History, gates: Gates, topic_partition: TopicPartition, broker: int) -> str:
    """The rule that stopped this replica's fetcher and keeps it stopped; "": none does."""
    stopped = history.stopped.get((topic_partition, broker))
    if stopped is None:
        return ""
    if not left_alone(gates, stopped.roles):
        return ""
    match stopped.how:
        case IgnoredReason.HALF_WAY if gates.session_wait_ends_at_expiry:
            return HALF_WAY
        case IgnoredReason.NEWER_REGISTRATION if gates.newer_broker_epoch_fails_orders:
            return UNKNOWN_REGISTRATION
        case "removed" if not gates.broker_epochs and unseen(history, broker, stopped.at_ms):
            return EARLIER_LIFE
        case "failed" if FENCED in stopped.reason and not gates.broker_epochs and unseen(history, broker):
            return EARLIER_LIFE  # the order that would end it went to that incarnation
        case "failed" if FENCED in stopped.reason and gates.fences_by_epoch:
            return "2.2: a follower that is fenced with its own epoch stops fetching until the next LeaderAndIsr"
        case "failed" if gates.removed_partition_ends_fetcher and REMOVED in stopped.reason:
            return "8 (KAFKA-8012): a partition that is removed while epochs are asked for ends the fetcher"
        case "failed":
            return "2.4: batches that do not continue the log stop the fetcher"
        case _:
            return ""


def unknown_registration(history: History, gates: Gates, topic_partition: TopicPartition, broker: int) -> str:
    """The rule by which its newest orders have failed for good; "": none does.

    UpdateMetadata fails like the LeaderAndIsr before it.
    """
    stopped = history.stopped.get((topic_partition, broker))
    failed = stopped is not None and stopped.how is IgnoredReason.NEWER_REGISTRATION
    return UNKNOWN_REGISTRATION if failed and gates.newer_broker_epoch_fails_orders else ""


def left_alone(gates: Gates, roles: Sequence[tuple[int, int]]) -> bool:
    """Whether successive orders to follow (leader, epoch) start no fetcher (1.7, makeFollower)."""
    for (leader, epoch), (next_leader, next_epoch) in pairwise(roles):
        if leader != next_leader:
            return False
        if gates.fetcher_restart == "leader-or-epoch-jump" and next_epoch > epoch + 1:
            return False
        if gates.fetcher_restart == "leader-or-epoch" and next_epoch != epoch:
            return False
    return True


def unseen(history: History, broker: int, at_ms: float = inf) -> bool:
    """Whether the controller had seen nothing of this broker since before its incarnation."""
    terms = [term for term in history.terms if term.at_ms <= at_ms]
    lives = [begun_ms for begun_ms in history.lives.get(broker_name(broker), []) if begun_ms <= at_ms]
    if len(lives) < 2 or not terms:
        return False
    named = [named_ms for named_ms in history.named.get((terms[-1].node, broker), []) if named_ms <= at_ms]
    return max(terms[-1].at_ms, *named, 0.0) < lives[-1]
