"""Broken promises, from plain data about a finished run of either world.

Each finding names the kind of promise; `rules` then says whether the version and its settings ever made it.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from math import inf

import msgspec

from emulator.check_table import checks_despite
from emulator.judging.explain.recoveries import Recovery
from emulator.judging.explain.run_history import History, Stated
from emulator.judging.oracle.anomalies import ANOMALIES
from emulator.judging.oracle.group_promises import group_ahead_of_log
from emulator.judging.oracle.leadership_promises import (
    dual_controller,
    high_watermark_regression,
    leader_epoch_monotonicity,
)
from emulator.judging.oracle.record_promises import duplicate, lost_acknowledged, replica_divergence
from emulator.judging.oracle.truth import NO_PARTITION, Batch, Truth, Violation
from emulator.topology import identifier_named
from protocol.ids import TopicPartition


class Broken(msgspec.Struct, frozen=True):
    """One broken promise.

    - `what`: settled, ensemble, recovery, election, state, lost, duplicate, divergence, high-watermark, reread, epoch,
      epoch-order (in a log), epoch-cache (of a batch), controller, or the name of a check that no death excuses
      (ALWAYS_KEPT), one of LIVENESS, of BEHAVIOURS, or of TRANSACTIONS
    - `acks` of a lost record (-1 all); `offset` -1: no offset; `value` and `digest` of the record, "" and 0 without one
    - `broker`, `epoch`: of a leader whose high watermark decreased
    - `unexplained`: copies of a record beyond the attempts to produce it
    - `others`: replicas that differ from the final leader; `held`: (broker, epoch, digest) of all batches there
    - `found`: digests that a power loss left, if they are no part of the former log
    - `joined`: of dead replicas in the ISR, whether their leader has asked for it
    - `producer_id` (-1: none), `transaction` ("": none): of a broken promise of transactions, or of a duplicate
    - `since_ms`, `until_ms`: period in which an election was decided; since when a log is back
    """

    what: str
    text: str
    topic_partition: TopicPartition = NO_PARTITION
    offset: int = -1
    acks: int = 0
    value: str = ""
    digest: int = 0
    broker: int = -1
    epoch: int = -1
    unexplained: int = 0
    others: tuple[int, ...] = ()
    held: tuple[tuple[int, int, int], ...] = ()
    found: tuple[int, ...] = ()
    joined: bool = False
    producer_id: int = -1
    transaction: str = ""
    since_ms: float = 0.0
    until_ms: float = inf


def committed_beyond_all(truth: Truth) -> Iterator[Violation]:
    """Commits of a group beyond the end of every replica's log; no death excuses them."""
    for found in group_ahead_of_log(truth):
        ends = (last + 1 for _, _, last, _ in truth.appended.get(found.topic_partition, ()))
        if found.offset > max(ends, default=0):
            yield found


ALWAYS_KEPT: dict[str, Callable[[Truth], Iterator[Violation]]] = {
    **{name: ANOMALIES[name] for name in checks_despite("crashes")},
    "group-ahead-of-log": committed_beyond_all,
}
"""Checks of the oracle that machines pass whatever dies."""


def broken_promises(truth: Truth, history: History) -> Iterator[Broken]:
    """Broken promises in logs, terms and states."""
    for text in history.contradictions:
        yield Broken("ensemble", text)
    for topic_partition, stated in history.states.items():
        if topic_partition not in history.in_metadata_log:  # `metadata_log_checks` has their rules
            yield from _states(topic_partition, stated)
    for found in lost_acknowledged(truth):
        acks, value, digest = (found.details[name] for name in ("acks", "value", "digest"))
        yield Broken("lost", found.text, found.topic_partition, found.offset, acks, value, digest)
    for found in duplicate(truth):
        yield _duplicate(truth, history, found)
    for found in replica_divergence(truth):
        others, held = _held(truth, found)
        yield Broken("divergence", found.text, found.topic_partition, found.offset, others=others, held=held)
    for back in truth.watermarks_back:
        text = f"{back.node}, leader of epoch {back.epoch}, moved its high watermark back from {back.was} to {back.now}"
        broker = identifier_named(back.node)
        yield Broken("high-watermark", text, back.topic_partition, back.now, epoch=back.epoch, broker=broker)
    for found in high_watermark_regression(truth):
        if "node" not in found.details:
            yield Broken("reread", found.text, found.topic_partition, found.offset)
    for found in leader_epoch_monotonicity(truth):
        in_log = "older_at" in found.details
        epoch = found.details["leader_epoch"] if in_log else -1
        yield Broken("epoch-order" if in_log else "epoch", found.text, found.topic_partition, found.offset, epoch=epoch)
    for found in dual_controller(truth):
        yield Broken("controller", found.text)
    for name, anomaly in ALWAYS_KEPT.items():
        for found in anomaly(truth):
            yield Broken(name, found.text, found.topic_partition, found.offset)


def _duplicate(truth: Truth, history: History, found: Violation) -> Broken:
    """A duplicate; each attempt of each operation that produced it accounts for one copy."""
    digest, copies = found.details["digest"], found.details["copies"]
    produced = (found.topic_partition, digest)
    writes = [write for write in truth.writes if (write.topic_partition, write.digest) == produced]
    attempts = sum(history.attempts.get(write.operation, 0) for write in writes)
    value = min((write.value for write in writes), default="")
    unexplained = max(0, copies - attempts)
    transaction = min((write.transaction for write in writes), default="")
    return Broken(
        "duplicate", found.text, found.topic_partition, found.offset, value=value, unexplained=unexplained,
        transaction=transaction,
    )  # fmt: skip


def _held(truth: Truth, found: Violation) -> tuple[tuple[int, ...], tuple[tuple[int, int, int], ...]]:
    """(replicas that differ from the final leader, all batches at the offset).

    If the leader holds none there, every replica with a batch differs. Batches are in the order of each log: before
    0.11 several may begin at one offset (semantics 11.9).
    """
    held = {
        node: [(batch.epoch, batch.digest) for batch in log if batch.first == found.offset]
        for node, log in truth.logs[found.topic_partition].items()
    }
    leaders = held.get(truth.final_leader(found.topic_partition) or "", [])
    others = sorted(identifier_named(node) for node, batches in held.items() if batches and batches != leaders)
    nodes = sorted(held, key=identifier_named)
    return tuple(others), tuple((identifier_named(node), *batch) for node in nodes for batch in held[node])


def _states(topic_partition: TopicPartition, stated: list[Stated]) -> Iterator[Broken]:
    """Broken rules of states (semantics 1.6, 4.2).

    A leader is elected from the ISR; epochs rise; a leader alone never changes the epoch.
    """
    for was, now in pairwise(stated):
        before, after = was.state, now.state
        if after.zk_version != before.zk_version + 1:
            yield Broken(
                "state", f"after version {before.zk_version} of the state comes {after.zk_version}", topic_partition
            )
        if after.leader_epoch < before.leader_epoch:
            yield Broken(
                "state", f"after leader epoch {before.leader_epoch} comes {after.leader_epoch}", topic_partition
            )
        if after.leader != before.leader and after.leader_epoch == before.leader_epoch:
            text = f"in leader epoch {after.leader_epoch} the leader was {before.leader}, then {after.leader}"
            yield Broken("state", text, topic_partition)
        if after.leader != -1 and after.leader not in before.isr:
            text = f"broker-{after.leader} was elected; the ISR was {list(before.isr)}"
            yield Broken("election", text, topic_partition, since_ms=was.at_ms, until_ms=now.at_ms)


def broken_recoveries(recoveries: Iterable[Recovery]) -> Iterator[Broken]:
    """Broken rules of recovery (semantics 3).

    A killed process loses nothing of its log; a power loss leaves a prefix, a lost disk nothing.
    """
    for one in recoveries:
        expected = [] if one.disk else one.held[: len(one.recovered)] if one.power else one.held
        if one.recovered != expected:
            text = f"{one.node} held {_ends(one.held)} when it died and {_ends(one.recovered)} when it was back"
            found = tuple(batch.digest for batch in one.recovered) if one.power and not one.disk else ()
            broker = identifier_named(one.node)
            yield Broken("recovery", text, one.topic_partition, broker=broker, found=found, since_ms=one.at_ms)


def _ends(log: list[Batch]) -> str:
    return f"{len(log)} batches up to offset {log[-1].last}" if log else "nothing"
