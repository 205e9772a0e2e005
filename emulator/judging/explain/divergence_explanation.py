"""Explains divergence of logs: the leader change and truncation rule that kept a record.

The follower got a leader without the record and truncated by its version's rule (semantics 2.1, 8: KIP-101,
KAFKA-6361, KAFKA-7415, KAFKA-7164).

The version alone excuses nothing. A replica's record must be one that a leader wrote at that very offset, in another
epoch than the final leader's record there. The event must exist as well: an own high watermark, or a leader's response,
behind the record. Where two batches lie at one offset (`replica_logs`), a replica has kept the first of them so and
received the other.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import msgspec

from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.replica_logs import ReplicaLogs
from emulator.judging.explain.run_history import UNSEEN, Followed, History, Settled, Written
from emulator.judging.explain.stopped import left_alone
from protocol.gates import Gates
from protocol.ids import TopicPartition

LEFT_ALONE = "8 (KAFKA-7164): the fetcher of an earlier epoch was not restarted, and cut nothing"


def parting_rule(gates: Gates) -> str:
    """The rule by which a follower misses the offset at which the logs diverge; "": it finds it."""
    if not gates.has_epoch_cache:
        return "8 (KIP-101): before 0.11 no follower compares logs"
    if gates.epoch_request_version == 0:
        return "8 (KAFKA-6361): one question about one epoch is not enough"
    if not gates.assigns_epoch_on_election:
        return "8 (KAFKA-7415): an epoch in which nothing was written is not known"
    return ""


Batches = tuple[Written, ...]
"""Batches at one offset of a log in order: one or none; before 0.11 perhaps several."""


class Kept(msgspec.Struct, frozen=True):
    """A follower's `record` that it kept although its leader in `role` had `theirs` there.

    It kept the record from `record.at_ms` until `until_ms`. `rule`: the rule that allows it; "": none does.
    """

    record: Written
    until_ms: float
    role: Followed
    theirs: Batches
    rule: str
    why: str

    def text(self, topic_partition: TopicPartition, offset: int) -> str:
        """Description of the event."""
        topic, partition = topic_partition
        kept = "kept what that one did not have"
        if _has(self.theirs, self.record):
            kept = "took its log for the same, where that one had more"
        return (
            f"{topic}-{partition}@{offset}: broker-{self.role.broker} followed broker-{self.role.leader} from "
            f"{self.role.at_ms:.0f} ms on, epoch {self.role.epoch}, and {kept}: {self.why}"
        )


class Partings:
    """Rules of divergence. `events`: descriptions of the events that caused allowed divergences."""

    def __init__(self, gates: Gates, history: History, logs: ReplicaLogs) -> None:
        self._gates = gates
        self._history = history
        self._logs = logs
        self.events: list[str] = []

    def divergence(self, broken: Broken) -> str:
        """The rule that allows a divergence; "": none does.

        Each of `others` has kept its record there. Where several batches lie, a replica kept the one and received the
        other. A leader wrote every batch there.
        """
        topic_partition, offset = broken.topic_partition, broken.offset
        if not parting_rule(self._gates):
            return ""
        held = {broker: self._lies(topic_partition, offset, broker) for broker, *_ in broken.held}
        on_disk: dict[int, list[tuple[int, int]]] = {}
        for broker, epoch, digest in broken.held:
            on_disk.setdefault(broker, []).append((epoch, digest))
        if not all(self._are(topic_partition, held[broker], batches) for broker, batches in on_disk.items()):
            return ""
        led = [one for broker, one in held.items() if broker not in broken.others]
        found = [self._parted(topic_partition, offset, broker, held.get(broker, ()), led) for broker in broken.others]
        found += [
            self._buried(topic_partition, offset, *pair) for batches in held.values() for pair in pairwise(batches)
        ]
        kept = [one for one in found if one is not None]
        if not kept or len(kept) < len(found):
            return ""
        self.events += dict.fromkeys(one.text(topic_partition, offset) for one in kept)
        return kept[0].rule

    def _parted(
        self, topic_partition: TopicPartition, offset: int, broker: int, own: Batches, led: list[Batches]
    ) -> Kept | None:
        """The last time that the replica kept a record that the leaders in `led` lack.

        Where the final leader has all its records and more: the last time that it kept its log though its leader had
        those.
        """
        theirs = [one for batches in led for one in batches]
        lacked = [one for one in own if not _has(theirs, one)]
        more = [one for one in theirs if not _has(own, one)]
        if not all(self._differ(topic_partition, one, other) for one in lacked for other in theirs):
            return None
        last: Kept | None = None
        for record in lacked or own:
            kept = [one for one in self._kept(topic_partition, offset, broker) if one.record == record]
            if lacked:
                events = [one for one in kept if not _has(one.theirs, record)]
            else:
                events = [one for one in kept if all(_has(one.theirs, other) for other in more)]
            if not events or not all(one.rule for one in kept):
                return None
            last = events[-1]
        return last

    def _buried(self, topic_partition: TopicPartition, offset: int, record: Written, above: Written) -> Kept | None:
        """The event by which a replica kept a `record` that its leader lacked, and received `above`."""
        for broker in self._brokers(topic_partition):
            given_ms = [
                one.record.at_ms for one in self._logs.over(topic_partition, offset, broker) if _same(one.record, above)
            ]
            for kept in self._kept(topic_partition, offset, broker):
                lacked = _same(kept.record, record) and not _has(kept.theirs, record)
                if kept.rule and lacked and any(kept.role.at_ms <= at_ms < kept.until_ms for at_ms in given_ms):
                    return kept
        return None

    def epoch_order(self, broken: Broken) -> str:
        """The rule that allows an older epoch behind a newer one in a log; "": none does.

        A replica kept the first record of the newer epoch, and received those of the older one from a leader without
        it. Every replica with both has them from there.
        """
        if not parting_rule(self._gates):
            return ""
        for broker in self._brokers(broken.topic_partition):
            for kept in self._kept(broken.topic_partition, broken.offset, broker):
                if kept.rule and kept.record.of == broken.epoch and self._given_older(broken, kept):
                    self.events.append(kept.text(broken.topic_partition, broken.offset))
                    return kept.rule
        return ""

    def _given_older(self, broken: Broken, kept: Kept) -> bool:
        return any(
            copied.broker == kept.role.broker
            and copied.first > broken.offset
            and 0 <= copied.of < broken.epoch
            and kept.role.at_ms <= copied.at_ms <= kept.role.until_ms
            for copied in self._history.copied.get(broken.topic_partition, [])
        )

    def _brokers(self, topic_partition: TopicPartition) -> list[int]:
        """All brokers that ever followed."""
        return sorted({role.broker for role in self._history.followers.get(topic_partition, [])})

    def _lies(self, topic_partition: TopicPartition, offset: int, broker: int) -> Batches:
        """The final batches that begin at the offset; where an unseen batch begins is unknown."""
        held = self._logs.at(topic_partition, offset, broker, float("inf"))
        return tuple(one for one in held if one.first == offset or one.digest == UNSEEN)

    def _are(self, topic_partition: TopicPartition, held: Batches, on_disk: list[tuple[int, int]]) -> bool:
        """Whether a disk's final batches are these, each written by a leader."""
        return len(held) == len(on_disk) and all(
            self._is(topic_partition, record, epoch, digest)
            for record, (epoch, digest) in zip(held, on_disk, strict=True)
        )

    def _is(self, topic_partition: TopicPartition, record: Written, epoch: int, digest: int) -> bool:
        if not self._epochs(topic_partition, record):
            return False
        if record.digest == UNSEEN:
            return epoch in (-1, record.epoch)
        return record.digest == digest and record.of in (-1, epoch)

    def _epochs(self, topic_partition: TopicPartition, record: Written) -> set[int]:
        """Epochs in which leaders had written the record there before; empty: no leader did."""
        epochs = {
            one.epoch
            for one in self._history.written.get(topic_partition, [])
            if _same(one, record) and one.at_ms <= record.at_ms
        }
        return epochs or {
            unseen.written.epoch
            for unseen in self._history.unseen.get(topic_partition, [])
            if unseen.leader == unseen.written.broker
            and unseen.written.first <= record.first <= unseen.written.last
            and unseen.written.at_ms <= record.at_ms
            and (record.of in (-1, unseen.written.epoch))
        }

    def _differ(self, topic_partition: TopicPartition, one: Written, other: Written) -> bool:
        """Whether two records differ that leaders wrote in two epochs."""
        return not _same(one, other) and not self._epochs(topic_partition, one) & self._epochs(topic_partition, other)

    def _kept(self, topic_partition: TopicPartition, offset: int, broker: int) -> Iterator[Kept]:
        """Records that the broker kept at the offset, role by role."""
        roles = [role for role in self._history.followers.get(topic_partition, []) if role.broker == broker]
        for held in self._logs.over(topic_partition, offset, broker):
            for role in roles:
                if held.at(role.at_ms):
                    yield from self._decided(topic_partition, offset, held.record, held.until_ms, role)

    def _decided(
        self, topic_partition: TopicPartition, offset: int, record: Written, until_ms: float, role: Followed
    ) -> Iterator[Kept]:
        """The decision to keep the record; none if its leader had it or the role ended before."""
        if role.before is not None and left_alone(self._gates, [role.before, (role.leader, role.epoch)]):
            theirs, differs = self._theirs(topic_partition, offset, role, role.at_ms)
            if differs:
                why = f"it had fetched from there since epoch {role.before[1]}"
                yield Kept(record, until_ms, role, theirs, LEFT_ALONE, why)
            return
        settled = [
            one
            for one in self._history.settled.get(topic_partition, [])
            if one.broker == role.broker
            and one.leader == role.leader
            and role.at_ms <= one.at_ms <= role.until_ms
            and one.at_ms < until_ms
        ]
        if not settled:
            return
        last = settled[-1]
        decided_ms = last.at_ms if last.answered else self._led_ms(topic_partition, role, last.at_ms)
        theirs, differs = self._theirs(topic_partition, offset, role, decided_ms)
        if differs:
            right = self._right(topic_partition, offset, role, settled)
            why = f"its high watermark was {role.high_watermark}"
            if last.answered:
                why = f"it was answered that they are the same up to {last.to}"
            yield Kept(record, until_ms, role, theirs, parting_rule(self._gates) if right else "", why)

    def _theirs(
        self, topic_partition: TopicPartition, offset: int, role: Followed, at_ms: float
    ) -> tuple[Batches, bool]:
        """(the leader's batches at the offset then; whether the follower's differ)"""
        own, theirs = (self._logs.at(topic_partition, offset, broker, at_ms) for broker in (role.broker, role.leader))
        same = len(own) == len(theirs) and all(_same(*pair) for pair in zip(own, theirs, strict=True))
        return theirs, not same

    def _led_ms(self, topic_partition: TopicPartition, role: Followed, at_ms: float) -> float:
        """The time `at_ms`, or the leader's later election; until then it may truncate its log."""
        led = [
            one.at_ms
            for one in self._history.leaders.get(topic_partition, [])
            if (one.broker, one.epoch) == (role.leader, role.epoch) and at_ms < one.at_ms <= role.until_ms
        ]
        return min(led, default=at_ms)

    def _right(self, topic_partition: TopicPartition, offset: int, role: Followed, settled: list[Settled]) -> bool:
        """Whether the version's rule takes the records at `offset` for equal.

        They are below the offset at which the follower would fetch without a response (its own high watermark, or the
        former response), or a response says so.
        """
        start = role.high_watermark
        for one in settled:
            right = self._answer_is_right(topic_partition, offset, one) if one.answered else one.to <= start
            if one.to <= offset or not right:
                return False
            start = one.to
        return True

    def _answer_is_right(self, topic_partition: TopicPartition, offset: int, settled: Settled) -> bool:
        """Whether the response is right: the leader's record there is of no later epoch.

        The response is about the follower's latest epoch or one before.
        """
        other = self._logs.at(topic_partition, offset, settled.leader, settled.at_ms)
        own = [
            one.record.of
            for one in self._logs.held(topic_partition, settled.broker)
            if one.record.at_ms <= settled.at_ms
        ]
        latest = settled.epoch if settled.epoch >= 0 else max(own, default=-1)
        return bool(other) and other[-1].of <= latest


def _has(batches: Iterable[Written], record: Written) -> bool:
    return any(_same(one, record) for one in batches)


def _same(one: Written, other: Written) -> bool:
    """Whether two batches are the same at the same offset."""
    if UNSEEN in (one.digest, other.digest):
        return one is other
    return (one.first, one.digest, one.of) == (other.first, other.digest, other.of)
