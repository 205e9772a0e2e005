"""Which rule of docs/semantics.md allows what was found: decided by the version's gates, the settings and what
happened, never by the seed. An empty answer: none does, and the run has failed."""

from collections.abc import Iterator
from itertools import pairwise
from math import inf

import msgspec

from emulator.deaths.history import UNTOLD, Cut, History, Led, Stated, Written
from emulator.deaths.idempotence import ANY_PARTITION, idempotent_writes, is_true
from emulator.deaths.promises import Broken
from emulator.deaths.stopped import EARLIER_LIFE, HALF_WAY, left_alone, still
from emulator.runs.resolve import Resolved
from emulator.scenario import model as m
from protocol.ids import TopicPartition
from protocol.versions import Gates, gates_for

FETCHED_ON = "8 (KAFKA-6880): a follower of an epoch of the past counted as holding what it had not, and led"
FETCHER_KEPT = (
    "8 (KAFKA-7164): the fetcher of an earlier epoch was not restarted, counted as holding what it had not, and led"
)
UNCLEAN = "unclean.leader.election.enable"


def gates_of(resolved: Resolved) -> Gates:
    """Of the cluster's brokers, which are all alike in the catalogue."""
    spec = resolved.spec
    settings = next(iter(spec.settings.values()))
    return gates_for(spec.kafka_version, str(settings.get("inter.broker.protocol.version") or spec.kafka_version))


class LostTail(msgspec.Struct, frozen=True):
    """`broker` came back at `at_ms` without its log's records [first, last]: a power loss took them, or its `disk` is
    another."""

    at_ms: float
    broker: int
    place: TopicPartition
    first: int
    last: int
    disk: bool = False

    def had(self, place: TopicPartition, offset: int) -> bool:
        """Whether that record was in what is gone."""
        return self.place == place and self.first <= offset <= self.last


class Rules:
    """`power`: somebody lost power; `tails`: what that took."""

    def __init__(self, resolved: Resolved, history: History, *, power: bool, tails: list[LostTail]) -> None:
        self.gates = gates_of(resolved)
        self._history = history
        self._power = power
        self._tails = tails
        self._unclean = {topic: unclean_enabled(resolved, topic) for topic in {place[0] for place in history.states}}
        self._idempotent = idempotent_writes(resolved.scenario.steps)

    def allowing(self, broken: Broken) -> str:
        """The rule, and what it says here; "" if nothing allows it."""
        match broken.what:
            case "lost" if broken.acks == 0 and self._never_written(broken):
                return "1.8: acks=0 is not answered, and nobody tells that nothing was written"
            case "lost" if broken.acks != m.ALL_ACKS:
                return self._unheard_of(broken.place)
            case "lost" | "reread":
                return self._committed_may_go(broken)
            case "duplicate":
                return self._stored_twice(broken)
            case "election":
                return "4.2: unclean election is on" if self._unclean.get(broken.place[0]) else ""
            case "divergence":
                return (
                    self._divergence()
                    or self._written_again(broken.place)
                    or self._copied_behind(broken)
                    or self._follows_nobody(broken)
                )
            case "epoch-order":
                return self._divergence()
            case "high-watermark":
                return self._led_again(broken)
            case _:
                return ""

    # --- records ---

    def _unheard_of(self, place: TopicPartition) -> str:
        """acks 0 and 1: what only the leader has goes with its leadership (1.8), and with its power (3)."""
        elected = {stated.state.leader for stated in self._history.states.get(place, [])}
        if len(elected - {-1}) > 1:
            return "1.8: acks=1 is answered by the leader alone, and the leader changed"
        return "3: power loss takes what was not synced" if self._power else ""

    def _committed_may_go(self, broken: Broken) -> str:
        """A record below the high watermark is gone."""
        place, offset = broken.place, broken.offset
        states = self._history.states.get(place, [])
        if self._unclean.get(place[0]) and _elected_outside(states):
            return "4.2: an unclean election"
        if self._lost_tail_led(place, offset):
            return "8 (KIP-966): who lost its tail with its power stayed in the ISR, and led"
        if self._gone_with_its_last_leader(place, offset):
            return "3: power loss took it from its last leader, and nobody has led since"
        if self._empty_disk_led(place, offset):
            return "8 (KIP-903): who lost its disk was let into the ISR, and led"
        if not self.gates.expand_needs_epoch_start and self._joined_behind(place, offset):
            return "8 (KAFKA-7128): a replica joined the ISR behind the leader epoch's start, and led"
        counted = "" if self.gates.fences_by_epoch else self._counted_from_the_past(broken)
        if counted:
            return counted
        if not self.gates.has_epoch_cache and self._other_record_led(broken):
            return "8 (KIP-101): before 0.11 nobody compares logs, and who held another record in its place led"
        if self.gates.truncates_to_high_watermark and self._cut_then_led(broken, "high-watermark"):
            return "8 (KIP-101): a follower cut to its high watermark, and then led"
        if not self.gates.assigns_epoch_on_election and self._cut_then_led(broken, "high-watermark", "epoch"):
            return "8 (KAFKA-7415): an epoch was not known, a follower cut what was committed, and then led"
        return ""

    def _lost_tail_led(self, place: TopicPartition, offset: int) -> bool:
        """Somebody came back without the record, was in the ISR all the time from then on, and led."""
        states = self._history.states.get(place, [])
        for tail in self._tails:
            if not tail.had(place, offset):
                continue
            for stated in _since(states, tail.at_ms):
                if tail.broker not in stated.state.isr:
                    break
                if stated.state.leader == tail.broker:
                    return True
        return False

    def _gone_with_its_last_leader(self, place: TopicPartition, offset: int) -> bool:
        """Others may have the record; but who asks for it asks a leader, and there is none."""
        last = max(self._led(place), key=lambda led: led.epoch, default=None)
        return last is not None and any(
            tail.had(place, offset) and tail.broker == last.broker and last.at_ms <= tail.at_ms
            for tail in self._tails
        )

    def _empty_disk_led(self, place: TopicPartition, offset: int) -> bool:
        """Somebody came back with another disk, and led before it had the record again."""
        return any(
            led.broker == tail.broker and led.at_ms >= tail.at_ms and led.log_end <= offset
            for tail in self._tails
            if tail.disk and tail.had(place, offset)
            for led in self._led(place)
        )

    def _joined_behind(self, place: TopicPartition, offset: int) -> bool:
        """Somebody led without the record who had joined the ISR of a leader that began beyond that."""
        leaders = self._led(place)
        for led in (led for led in leaders if led.log_end <= offset):
            for before, after in pairwise(self._history.states.get(place, [])):
                joined = led.broker in after.state.isr and led.broker not in before.state.isr
                if joined and after.at_ms <= led.at_ms:
                    epoch = after.state.leader_epoch
                    starts = [one.log_end for one in leaders if one.epoch == epoch and one.at_ms <= after.at_ms]
                    if starts and starts[-1] > led.log_end:
                        return True
        return False

    def _never_written(self, broken: Broken) -> bool:
        """No leader appended it: whoever was asked did not lead, or was not there."""
        written = self._history.written.get(broken.place, [])
        return bool(broken.digest) and all(batch.digest != broken.digest for batch in written)

    def _written(self, broken: Broken) -> Iterator[Written]:
        """Appends by leaders of what is gone; of anything at its offset if it is not known by its digest."""
        for batch in self._history.written.get(broken.place, []):
            if batch.first <= broken.offset <= batch.last and broken.digest in (0, batch.digest):
                yield batch

    def _counted_from_the_past(self, broken: Broken) -> str:
        """Somebody who led later fetched from the writer, when the record was acknowledged, as it had begun to in an
        epoch since which another had led: it counted as holding what lies before. It had not been told of a later
        epoch, or its fetcher was left alone when it was."""
        history, place = self._history, broken.place
        for batch in self._written(broken):
            at_ms = history.acknowledged.get((place, batch.digest), batch.at_ms)
            for fetched in history.fetched.get(place, []):
                led_later = any(led.broker == fetched.broker and led.at_ms > at_ms for led in self._led(place))
                if not (fetched.at_ms <= at_ms < fetched.until_ms and fetched.source == batch.broker and led_later):
                    continue
                told = [
                    (followed.leader, followed.epoch)
                    for followed in history.followers.get(place, [])
                    if followed.broker == fetched.broker and fetched.at_ms < followed.at_ms <= at_ms
                ]
                roles = [(fetched.source, fetched.epoch), *told]
                if self._another_led(place, fetched.epoch, batch.epoch, batch.broker) and left_alone(self.gates, roles):
                    return FETCHER_KEPT if told else FETCHED_ON
        return ""

    def _another_led(self, place: TopicPartition, after: int, before: int, than: int) -> bool:
        """Somebody else than this broker, in an epoch between these two."""
        return any(after < led.epoch < before and led.broker != than for led in self._led(place))

    def _led(self, place: TopicPartition) -> list[Led]:
        return self._history.leaders.get(place, [])

    def _copied_behind(self, broken: Broken) -> str:
        """A follower of an epoch of the past copied what lies behind: no epoch of its log tells that the two differ
        before it."""
        copied = self._history.ahead.get(broken.place, [])
        if not self.gates.fences_by_epoch and any(
            broken.offset < one.first and self._another_led(broken.place, one.followed, one.epoch, -1) for one in copied
        ):
            return "8 (KAFKA-6880): a follower of an epoch of the past copied behind what its leader does not have"
        return ""

    def _follows_nobody(self, broken: Broken) -> str:
        """Whoever was stopped, and told nothing that would make it follow again, cuts nothing."""
        rules = [still(self._history, self.gates, broken.place, other) for other in broken.others]
        return rules[0] if rules and set(rules) <= {HALF_WAY, EARLIER_LIFE} else ""

    def _stored_twice(self, broken: Broken) -> str:
        topic, partition = broken.place
        numbered = {(topic, partition, broken.value), (topic, ANY_PARTITION, broken.value)} & self._idempotent
        return "" if numbered or broken.unexplained else "6: without idempotence each attempt stores a copy"

    def _other_record_led(self, broken: Broken) -> bool:
        """Somebody led later whose log reached beyond the record, and whose own there was another, appended before."""
        history, place, offset = self._history, broken.place, broken.offset
        appended = [*history.written.get(place, []), *history.copied.get(place, [])]
        began_ms = min((batch.at_ms for batch in self._written(broken)), default=inf)
        for led in (led for led in self._led(place) if led.at_ms > began_ms and led.log_end > offset):
            own = [
                b for b in appended if b.broker == led.broker and b.at_ms <= led.at_ms and b.first <= offset <= b.last
            ]
            if own and max(own, key=lambda batch: batch.at_ms).digest != broken.digest != 0:
                return True
        return False

    def _cut_then_led(self, broken: Broken, *reasons: str) -> bool:
        """A replica that had the record cut it for one of these reasons, or died in the midst of it, and led later."""
        began_ms = min((batch.at_ms for batch in self._written(broken)), default=inf)
        return any(
            led.broker == cut.broker and led.at_ms >= cut.at_ms >= began_ms
            for cut in self._history.cuts.get(broken.place, [])
            if (cut.reason in reasons or self._untold(broken.place, cut)) and cut.to <= broken.offset < cut.log_end
            for led in self._led(broken.place)
        )

    def _untold(self, place: TopicPartition, cut: Cut) -> bool:
        """Nobody told of the cut, and no power loss took what is gone."""
        lost = any(tail.broker == cut.broker and tail.had(place, cut.to) for tail in self._tails)
        return cut.reason == UNTOLD and not lost

    def _led_again(self, broken: Broken) -> str:
        """No controller has seen its leader die: it leads on in the same epoch, from what it had written down."""
        lives = [led for led in self._led(broken.place) if led.broker == broken.broker]
        again = sum(led.epoch == broken.epoch for led in lives) > 1
        return "3: a leader that is back in its epoch begins at its checkpoint" if again else ""

    def _written_again(self, place: TopicPartition) -> str:
        """The same, and its tail is gone: what it writes now has the epoch of what its followers still hold."""
        led = self._led(place)
        for tail in (tail for tail in self._tails if tail.place == place):
            own = [one for one in led if one.broker == tail.broker]
            before = {one.epoch for one in own if one.at_ms <= tail.at_ms}
            if any(one.epoch in before for one in own if one.at_ms > tail.at_ms):
                return "8 (KIP-966): who lost its tail with its power led on in the same epoch"
        return ""

    def _divergence(self) -> str:
        gates = self.gates
        if not gates.has_epoch_cache:
            return "8 (KIP-101): before 0.11 nobody compares logs"
        if gates.epoch_request_version == 0:
            return "8 (KAFKA-6361): one question about one epoch is not enough"
        if not gates.assigns_epoch_on_election:
            return "8 (KAFKA-7415): an epoch in which nothing was written is not known"
        return ""


def unclean_enabled(resolved: Resolved, topic: str) -> bool:
    """A topic's own setting wins."""
    for step in resolved.scenario.steps:
        if isinstance(step, m.CreateTopic) and step.topic == topic and UNCLEAN in step.configs:
            return is_true(step.configs[UNCLEAN])
    return any(is_true(settings.get(UNCLEAN)) for settings in resolved.spec.settings.values())


def _elected_outside(states: list[Stated]) -> bool:
    return any(
        after.state.leader != -1 and after.state.leader not in before.state.isr for before, after in pairwise(states)
    )


def _since(states: list[Stated], at_ms: float) -> list[Stated]:
    """The state that held at a moment, and all later ones."""
    later = [stated for stated in states if stated.at_ms > at_ms]
    before = [stated for stated in states if stated.at_ms <= at_ms]
    return [*before[-1:], *later]
