"""Why two logs differ: which follower was told of a leader that did not have its record, went by what its version's
rule says of where the two logs part, and so kept it (semantics 2.1, 8: KIP-101, KAFKA-6361, KAFKA-7415, KAFKA-7164).

The version alone excuses nothing. What a replica holds must be what some leader wrote at that very place, in another
epoch than what the final leader holds there; and the event must be there: an own high watermark, or an answer, behind
the record.
"""

from collections.abc import Iterator

import msgspec

from emulator.deaths.fates import Fates, LostTail
from emulator.deaths.history import UNSEEN, Cut, Followed, History, Settled, Written
from emulator.deaths.promises import Broken
from emulator.deaths.stopped import left_alone
from protocol.ids import TopicPartition
from protocol.versions import Gates

LEFT_ALONE = "8 (KAFKA-7164): the fetcher of an earlier epoch was not restarted, and cut nothing"


def parting_rule(gates: Gates) -> str:
    """Why a follower does not find where its log parts from its leader's; "": it does."""
    if not gates.has_epoch_cache:
        return "8 (KIP-101): before 0.11 nobody compares logs"
    if gates.epoch_request_version == 0:
        return "8 (KAFKA-6361): one question about one epoch is not enough"
    if not gates.assigns_epoch_on_election:
        return "8 (KAFKA-7415): an epoch in which nothing was written is not known"
    return ""


class Kept(msgspec.Struct, frozen=True):
    """A follower's `record`, from `record.at_ms` until `until_ms`, that its leader in `role` did not have. `rule`: why
    it was not cut; "": it should have been."""

    record: Written
    until_ms: float
    role: Followed
    rule: str
    why: str

    def text(self, place: TopicPartition, offset: int) -> str:
        """The event, in words."""
        topic, partition = place
        return (
            f"{topic}-{partition}@{offset}: broker-{self.role.broker} followed broker-{self.role.leader} from "
            f"{self.role.at_ms:.0f} ms on, epoch {self.role.epoch}, and kept what that one did not have: {self.why}"
        )


class Partings:
    """`events`: what made those logs part that were allowed to, in words."""

    def __init__(self, gates: Gates, history: History, tails: list[LostTail]) -> None:
        self._gates = gates
        self._history = history
        self._fates = Fates(history, tails)
        self.events: list[str] = []

    def divergence(self, broken: Broken) -> str:
        """Each of `others` has kept what it holds there. What all hold there was written there."""
        place, offset = broken.place, broken.offset
        if not parting_rule(self._gates) or not broken.others:
            return ""
        held = {broker: self._held(place, offset, broker) for broker, *_ in broken.held}
        if not all(self._is(place, held[broker], epoch, digest) for broker, epoch, digest in broken.held):
            return ""
        led = [one for broker, one in held.items() if broker not in broken.others and one is not None]
        found: list[Kept] = []
        for broker in broken.others:
            record = held.get(broker)
            if record is None or any(not self._differ(place, record, one) for one in led):
                return ""
            kept = [one for one in self._kept(place, offset, broker) if one.record == record]
            if not kept or not all(one.rule for one in kept):
                return ""
            found.append(kept[-1])
        self.events += [one.text(place, offset) for one in found]
        return found[0].rule

    def epoch_order(self, broken: Broken) -> str:
        """Somebody kept the first record of the newer epoch, and was given those of the older one by a leader that did
        not have it; whoever has both has them from there."""
        if not parting_rule(self._gates):
            return ""
        for broker in self._brokers(broken.place):
            for kept in self._kept(broken.place, broken.offset, broker):
                if kept.rule and kept.record.of == broken.epoch and self._given_older(broken, kept):
                    self.events.append(kept.text(broken.place, broken.offset))
                    return kept.rule
        return ""

    def _given_older(self, broken: Broken, kept: Kept) -> bool:
        return any(
            copied.broker == kept.role.broker
            and copied.first > broken.offset
            and 0 <= copied.of < broken.epoch
            and kept.role.at_ms <= copied.at_ms <= kept.role.until_ms
            for copied in self._history.copied.get(broken.place, [])
        )

    def _brokers(self, place: TopicPartition) -> list[int]:
        """All that ever followed."""
        return sorted({role.broker for role in self._history.followers.get(place, [])})

    def _is(self, place: TopicPartition, record: Written | None, epoch: int, digest: int) -> bool:
        """What a disk holds in the end is this record, and some leader's."""
        if record is None or not self._epochs(place, record):
            return False
        if record.digest == UNSEEN:
            return epoch in (-1, record.epoch)
        return record.digest == digest and record.of in (-1, epoch)

    def _events(self, place: TopicPartition, offset: int, broker: int) -> list[Written | Cut | LostTail]:
        """What it appended there, and what took it away: with what no event tells, which is what its leader had."""
        found = self._fates.events(place, offset, broker)
        for unseen in self._history.unseen.get(place, []):
            own = unseen.written
            if own.broker == broker and own.first <= offset <= own.last:
                copied = None if unseen.leader == broker else self._held(place, offset, unseen.leader, own.at_ms)
                if copied is not None:
                    own = msgspec.structs.replace(copied, at_ms=own.at_ms, broker=broker, epoch=own.epoch)
                found.append(own)
        return sorted(found, key=lambda event: event.at_ms)

    def _held(self, place: TopicPartition, offset: int, broker: int, at_ms: float = float("inf")) -> Written | None:
        """What it held there at that moment."""
        held: Written | None = None
        for event in self._events(place, offset, broker):
            if event.at_ms <= at_ms:
                held = event if isinstance(event, Written) else None
        return held

    def _epochs(self, place: TopicPartition, record: Written) -> set[int]:
        """The epochs in which leaders had written it there before; none: it is no leader's."""
        told = {
            one.epoch
            for one in self._history.written.get(place, [])
            if _same(one, record) and one.at_ms <= record.at_ms
        }
        return told or {
            unseen.written.epoch
            for unseen in self._history.unseen.get(place, [])
            if unseen.leader == unseen.written.broker
            and unseen.written.first <= record.first <= unseen.written.last
            and unseen.written.at_ms <= record.at_ms
            and (record.of in (-1, unseen.written.epoch))
        }

    def _differ(self, place: TopicPartition, one: Written, other: Written) -> bool:
        """Two records, that leaders wrote in two epochs."""
        return not _same(one, other) and not self._epochs(place, one) & self._epochs(place, other)

    def _kept(self, place: TopicPartition, offset: int, broker: int) -> Iterator[Kept]:
        """What it kept there, role by role."""
        events = self._events(place, offset, broker)
        ends = [event.at_ms for event in events[1:]] + [float("inf")]
        roles = [role for role in self._history.followers.get(place, []) if role.broker == broker]
        for record, until_ms in zip(events, ends, strict=True):
            if isinstance(record, Written):
                for role in roles:
                    if record.at_ms <= role.at_ms < until_ms:
                        yield from self._decided(place, offset, record, until_ms, role)

    def _decided(
        self, place: TopicPartition, offset: int, record: Written, until_ms: float, role: Followed
    ) -> Iterator[Kept]:
        """What it went by; nothing, if its leader had the record, or that role was over before it was settled."""
        if role.before is not None and left_alone(self._gates, [role.before, (role.leader, role.epoch)]):
            if not self._leader_has(place, offset, record, role, role.at_ms):
                why = f"it had fetched from there since epoch {role.before[1]}"
                yield Kept(record, until_ms, role, LEFT_ALONE, why)
            return
        settled = [
            one
            for one in self._history.settled.get(place, [])
            if one.broker == role.broker
            and one.leader == role.leader
            and role.at_ms <= one.at_ms <= role.until_ms
            and one.at_ms < until_ms
        ]
        if settled and not self._leader_has(place, offset, record, role, settled[-1].at_ms):
            right = self._right(place, offset, role, settled)
            why = f"its high watermark was {role.high_watermark}"
            if settled[-1].answered:
                why = f"it was answered that they are the same up to {settled[-1].to}"
            yield Kept(record, until_ms, role, parting_rule(self._gates) if right else "", why)

    def _leader_has(
        self, place: TopicPartition, offset: int, record: Written, role: Followed, at_ms: float
    ) -> bool:
        held = self._held(place, offset, role.leader, at_ms)
        return held is not None and _same(held, record)

    def _right(self, place: TopicPartition, offset: int, role: Followed, settled: list[Settled]) -> bool:
        """By the version's rule, what lies at `offset` is taken for the same: it is below where it would fetch if it is
        told nothing (the own high watermark, or what it was answered before); or an answer says so."""
        start = role.high_watermark
        for one in settled:
            right = self._answer_is_right(place, offset, one) if one.answered else one.to <= start
            if one.to <= offset or not right:
                return False
            start = one.to
        return True

    def _answer_is_right(self, place: TopicPartition, offset: int, settled: Settled) -> bool:
        """The leader's record there is of no later epoch than the answer, which is of the own latest or one before."""
        other = self._held(place, offset, settled.leader, settled.at_ms)
        history = self._history
        own = [
            one.of
            for one in (*history.written.get(place, []), *history.copied.get(place, []))
            if one.broker == settled.broker and one.at_ms <= settled.at_ms
        ]
        latest = settled.epoch if settled.epoch >= 0 else max(own, default=-1)
        return other is not None and other.of <= latest


def _same(one: Written, other: Written) -> bool:
    """One batch, at one place."""
    if UNSEEN in (one.digest, other.digest):
        return one is other
    return (one.first, one.digest, one.of) == (other.first, other.digest, other.of)
