"""Rules of the oracle as they are defined: every pair compared.
Slow, and the measure of the quick ones.
"""

from collections.abc import Iterator
from math import inf

from emulator.judging.oracle.liveness import isr_bound_ms, lasting
from emulator.judging.oracle.partition_incarnations import plain_topic
from emulator.judging.oracle.truth import LeaderView, OfGroup, State, Term, Truth, Write
from emulator.machines.client.client_state import Read
from emulator.topology import identifier_named
from protocol.ids import TopicPartition

Found = tuple[TopicPartition, int, str]
"""Of a violation: partition, offset, and what tells it from others."""


def holds(truth: Truth, topic_partition: TopicPartition, digest: int, offset: int) -> bool | None:
    leader = truth.final_leader(topic_partition)
    log = truth.logs.get(topic_partition, {}).get(leader or "")
    if log is None:
        return None
    return any(one.digest == digest and (offset < 0 or one.first <= offset <= one.last) for one in log)


def unseen(truth: Truth) -> Iterator[Found]:
    for write in truth.writes:
        place, offset = write.topic_partition, write.offset
        if write.outcome != "ok" or offset < 0 or place[0] in truth.gone:
            continue
        stretches: dict[tuple[str, int], list[Read]] = {}
        for given in truth.reads:
            if given.topic_partition == place:
                stretches.setdefault((given.operation, given.stretch), []).append(given.read)
        passed = [
            operation
            for (operation, _), reads in stretches.items()
            if min(read.base_offset for read in reads) <= offset < max(read.last_offset for read in reads)
            and write.ended < max(read.ended for read in reads)
            and not any(
                read.digest == write.digest and read.base_offset <= offset <= read.last_offset for read in reads
            )
        ]
        if passed and holds(truth, place, write.digest, offset):
            yield place, offset, f"{write.operation} {min(passed)} {len(passed)}"


def phantom_read(truth: Truth) -> set[Found]:
    found = set()
    for given in truth.reads:
        (topic, partition), read = given.topic_partition, given.read
        ever = [
            (first, last)
            for (of, number), batches in truth.appended.items()
            for _, first, last, digest in batches
            if (plain_topic(of), number, digest) == (plain_topic(topic), partition, read.digest)
        ]
        if not any(first <= read.base_offset <= last for first, last in ever):
            found.add(((plain_topic(topic), partition), read.base_offset, str(read.digest)))
    return found


def allowed(truth: Truth, write: Write) -> str:
    if write.acks != -1:
        return "acks<=1"
    epochs = [
        epoch
        for epoch, first, last, digest in truth.appended.get(write.topic_partition, ())
        if digest == write.digest and first <= write.offset <= last
    ]
    for term in truth.leaders:
        if term.topic_partition != write.topic_partition or term.found is None:
            continue
        began_with = any(digest == write.digest and first <= write.offset <= last for digest, first, last in term.found)
        if epochs and max(epochs) < term.epoch and not began_with:
            return "unclean.leader.election"
    for one in truth.forgotten:
        if one.topic_partition == write.topic_partition and one.to <= write.offset < one.log_end:
            return "not flushed"
    return ""


def acknowledged_below_min_insync(truth: Truth) -> Iterator[Found]:
    for write in truth.writes:
        if write.acks != -1 or write.outcome != "ok":
            continue
        node = f"broker-{write.broker}"
        leader_views = [
            one for one in truth.leader_views if (one.topic_partition, one.node) == (write.topic_partition, node)
        ]
        for view, until in _too_small(leader_views):
            if view.ended <= write.ended < until and write.offset >= view.high_watermark:
                yield write.topic_partition, write.offset, f"{write.operation} {node} {view.in_sync} {view.least}"
                break


def _too_small(leader_views: list[LeaderView]) -> Iterator[tuple[LeaderView, float]]:
    until: float = inf
    for view in reversed(leader_views):
        if 0 <= view.in_sync < view.least:
            yield view, until
        else:
            until = float(view.ended)


def too_few_copies(truth: Truth) -> Iterator[Found]:
    settled = {
        state.topic_partition
        for state, _, _ in lasting(truth, isr_bound_ms)
        if state.until_ms is None and state.leader >= 0
    }
    for write in truth.writes:
        place = write.topic_partition
        if write.acks != -1 or write.outcome != "ok" or place not in settled or place[0] in truth.gone:
            continue
        nodes = [one.node for one in truth.leader_views if one.topic_partition == place]
        least: dict[str, list[int]] = {node: [] for node in nodes}
        for one in truth.leader_views:
            if one.topic_partition == place:
                least[one.node].append(one.least)
        if f"broker-{write.broker}" not in least or place not in truth.assignments:
            continue
        replicas = truth.assignments[place]
        needed = min(*(min(some) for some in least.values()), len(replicas))
        held = [
            node
            for node, log in truth.logs.get(place, {}).items()
            if identifier_named(node) in replicas
            and any(
                batch.digest == write.digest and (write.offset < 0 or batch.first <= write.offset <= batch.last)
                for batch in log
            )
        ]
        if len(held) < needed and holds(truth, place, write.digest, write.offset):
            yield place, write.offset, f"{write.operation} {len(held)} {needed}"


def committed_offset_regression(truth: Truth) -> Iterator[Found]:
    for look in truth.of_groups:
        if look.kind != "committed" or look.outcome != "ok":
            continue
        known = [
            one
            for one in truth.of_groups
            if (one.kind, one.group, one.topic_partition) == ("commit", look.group, look.topic_partition)
            and one.in_znodes in (look.in_znodes, None)
        ]
        before = [one for one in known if one.outcome == "ok" and one.over <= look.begun]
        last = max(before, key=lambda one: one.ended, default=None)
        if last is None or look.offset >= last.offset:
            continue
        if not any(one.requested == look.offset and _may_follow(one, last, look) for one in known):
            yield look.topic_partition, look.offset, f"{look.operation} {last.operation}"


def _may_follow(commit: OfGroup, last: OfGroup, look: OfGroup) -> bool:
    if commit.begun >= look.over:
        return False
    return commit.outcome in ("", "unknown") or (commit.outcome == "ok" and commit.over > last.begun)


def overlapping(terms: list[Term]) -> list[tuple[Term, Term]]:
    pairs = []
    of_partition: dict[TopicPartition | None, list[Term]] = {}
    for term in terms:
        of_partition.setdefault(term.topic_partition, []).append(term)
    for held in of_partition.values():
        held.sort(key=lambda term: term.epoch)
        for place, stale in enumerate(held):
            for newer in held[place + 1 :]:
                if newer.epoch != stale.epoch and newer.node != stale.node:
                    to_ms = min(inf if term.to_ms is None else term.to_ms for term in (stale, newer))
                    if max(stale.from_ms, newer.from_ms) < to_ms:
                        pairs.append((stale, newer))
    return pairs


def elected_uncleanly(states: list[State], topic_partition: TopicPartition, leader_epoch: int) -> bool:
    before: State | None = None
    for state in states:
        if state.topic_partition != topic_partition:
            continue
        if state.leader_epoch == leader_epoch:
            if before is None or state.created or state.leader < 0:
                return False
            return state.leader != before.leader and state.leader not in before.isr
        before = state
    return False
