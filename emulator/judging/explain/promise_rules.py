"""Finds the rule of docs/semantics.md that allows a broken promise; "": the run has failed.

The version's features, the settings and the events decide, never the seed."""

from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.divergence_explanation import Partings
from emulator.judging.explain.idempotence import ANY_PARTITION, idempotent_writes
from emulator.judging.explain.losses import Losses, another_led
from emulator.judging.explain.replica_logs import ReplicaLogs
from emulator.judging.explain.run_history import Followed, History, Led, LostTail
from emulator.judging.explain.stopped import EARLIER_LIFE, HALF_WAY, UNKNOWN_REGISTRATION, still
from emulator.judging.explain.unclean import UncleanElections
from emulator.runs.resolve import Resolved
from protocol.gates import Gates
from protocol.ids import TopicPartition


def gates_of(resolved: Resolved) -> Gates:
    """Features of the cluster's brokers, which all have one version in the catalogue."""
    return resolved.spec.gates(next(iter(resolved.spec.settings)))


BEHIND_ITS_SUCCESSOR = "4.3 (KAFKA-6082): a controller's writes do not depend on its epoch"
COPIED_FROM_THE_PAST = "8 (KAFKA-6880): a follower copied from a leader of the past what that one then cut off"
EMPTY_EPOCH = "8 (KAFKA-10706): the entry of an epoch in which nothing was written stays in the cache"
EMPTY_EPOCH_ON_FETCH = "2.1: who cuts as it fetches drops no entry of an epoch in which nothing was written"
LEFT_BEHIND = "4.5: a replica that is moved away while its broker is dead is told nothing, and stays"


BEFORE_MS = 0.0005
"""Less than the resolution of times."""


class Rules:
    """All rules. `tails`: records that power losses removed.

    `losses`: rules of losses; `partings`: of divergence.
    """

    def __init__(self, resolved: Resolved, history: History, *, tails: list[LostTail]) -> None:
        self.gates = gates_of(resolved)
        self._history = history
        self._tails = tails
        self._unclean = UncleanElections(resolved, history.unclean)
        self._idempotent = idempotent_writes(resolved.scenario.steps)
        logs = self._logs = ReplicaLogs(self.gates, history, tails)
        self.losses = Losses(self.gates, history, logs, self._unclean)
        self.partings = Partings(self.gates, history, logs)

    @property
    def events(self) -> list[str]:
        """Descriptions of the events that caused allowed losses and divergences."""
        return [*self.losses.events, *self.partings.events]

    def allowing(self, broken: Broken) -> str:
        """The rule that allows the broken promise; "" if none does."""
        match broken.what:
            case "lost" if broken.acks == 0 and self._never_written(broken):
                return "1.8: acks=0 gets no response, so no client learns that nothing was written"
            case "lost":
                return self.losses.lost(broken)
            case "reread":
                return self.losses.reread(broken)
            case "duplicate":
                return self._stored_twice(broken)
            case "election":
                on = self._unclean.may_be(broken.topic_partition[0], broken.since_ms, broken.until_ms)
                return "4.2: unclean election is on" if on else ""
            case "divergence":
                return (
                    self.partings.divergence(broken)
                    or self._written_again(broken)
                    or self._copied_behind(broken)
                    or self._copied_from_the_past(broken)
                    or self._without_fetcher(broken)
                    or self._left_behind(broken)
                )
            case "epoch-order":
                return self.partings.epoch_order(broken)
            case "epoch-cache":
                return self._displaced(broken)
            case "high-watermark":
                return self._led_again(broken)
            case "controller":
                return "" if self.gates.controller_epoch_multi else BEHIND_ITS_SUCCESSOR
            case "recovery" if broken.found and self._history.gone.get(broken.topic_partition, set()).issuperset(
                broken.found
            ):
                return "3: power loss undoes what was not synced of names, and a deleted topic's log is back"
            case "recovery" if self._thrown_away(broken):
                return "3: power loss undoes what was not synced of names, and a log that was being thrown away is back"
            case _:
                return ""

    def _thrown_away(self, broken: Broken) -> bool:
        """Whether the recovered log is a prefix of the reported one: its deletion is unreported."""
        held = self._logs.held(broken.topic_partition, broken.broker)
        before = [one.record.digest for one in held if one.at(broken.since_ms - BEFORE_MS)]
        return bool(broken.found) and tuple(before[: len(broken.found)]) == broken.found

    def _never_written(self, broken: Broken) -> bool:
        """Whether no leader appended it: the receiver did not lead, or did not run."""
        written = self._history.written.get(broken.topic_partition, [])
        return bool(broken.digest) and all(batch.digest != broken.digest for batch in written)

    def _led(self, topic_partition: TopicPartition) -> list[Led]:
        return self._history.leaders.get(topic_partition, [])

    def _copied_behind(self, broken: Broken) -> str:
        """The rule if a follower of an older epoch copied batches behind the offset; otherwise "".

        No epoch of its log shows that the two logs differ before it.
        """
        copied = self._history.ahead.get(broken.topic_partition, [])
        if not self.gates.fences_by_epoch and any(
            broken.offset < one.first
            and another_led(self._history, broken.topic_partition, one.followed, one.epoch, -1)
            for one in copied
        ):
            return "8 (KAFKA-6880): a follower of an epoch of the past copied behind what its leader does not have"
        return ""

    def _copied_from_the_past(self, broken: Broken) -> str:
        """The rule if a follower copied the record from a leader of an older epoch; otherwise "".

        That leader had not yet received the follower's epoch, and truncated the record when it did.
        """
        topic_partition, history = broken.topic_partition, self._history
        if self.gates.fences_by_epoch:
            return ""
        held = {(broker, digest) for broker, _, digest in broken.held}
        roles: list[Led | Followed] = [*history.followers.get(topic_partition, []), *self._led(topic_partition)]
        for copied in history.copied.get(topic_partition, []):
            if copied.first != broken.offset or (copied.broker, copied.digest) not in held:
                continue
            for written in history.written.get(topic_partition, []):
                same = (written.first, written.digest) == (copied.first, copied.digest)
                if not same or written.epoch >= copied.epoch or written.at_ms > copied.at_ms:
                    continue
                received = any(
                    one.broker == written.broker and one.epoch >= copied.epoch and one.at_ms <= copied.at_ms
                    for one in roles
                )
                cut = any(
                    one.broker == written.broker and one.at_ms > copied.at_ms and one.to <= broken.offset
                    for one in history.cuts.get(topic_partition, [])
                )
                if cut and not received:
                    return COPIED_FROM_THE_PAST
        return ""

    def _without_fetcher(self, broken: Broken) -> str:
        """The rule if the replica's fetcher was stopped and no order restarts it; otherwise ""."""
        rules = [still(self._history, self.gates, broken.topic_partition, other) for other in broken.others]
        return rules[0] if rules and set(rules) <= {HALF_WAY, EARLIER_LIFE, UNKNOWN_REGISTRATION} else ""

    def _left_behind(self, broken: Broken) -> str:
        """The rule if the replica was moved away while its broker was dead; otherwise ""."""
        topic_partition, history = broken.topic_partition, self._history
        assigned = history.assignments.get(topic_partition, [])
        for broker in broken.others:
            with_it = [number for number, one in enumerate(assigned) if broker in one.replicas]
            if not with_it or with_it[-1] == len(assigned) - 1:
                return ""
            gone_ms = assigned[with_it[-1] + 1].at_ms
            followed = [role.at_ms for role in history.followers.get(topic_partition, []) if role.broker == broker]
            led = [role.at_ms for role in history.leaders.get(topic_partition, []) if role.broker == broker]
            if max([*followed, *led], default=0.0) >= gone_ms:
                return ""
        return LEFT_BEHIND if broken.others else ""

    def _stored_twice(self, broken: Broken) -> str:
        topic, partition = broken.topic_partition
        numbered = {(topic, partition, broken.value), (topic, ANY_PARTITION, broken.value)} & self._idempotent
        once = numbered or broken.transaction
        return "" if once or broken.unexplained else "6: without idempotence each attempt stores a copy"

    def _led_again(self, broken: Broken) -> str:
        """The rule if no controller saw the leader die: it leads on from its checkpoint."""
        lives = [led for led in self._led(broken.topic_partition) if led.broker == broken.broker]
        again = sum(led.epoch == broken.epoch for led in lives) > 1
        return "3: a leader that is back in its epoch begins at its checkpoint" if again else ""

    def _displaced(self, broken: Broken) -> str:
        """The rule if a later epoch's entry displaced the batch's epoch in the cache; otherwise "".

        The broker led in a later epoch and wrote nothing. That entry stayed at the log's end. A batch of the former
        epoch, when it arrived there, removed the entry of its own epoch, and is where that epoch begins now.
        """
        if self.gates.truncates_epochs_beyond_log_end and not self.gates.truncates_on_fetch:
            return ""
        led = [one for one in self._led(broken.topic_partition) if one.broker == broken.broker]
        displaced = any(
            copied.broker == broken.broker
            and copied.of == broken.epoch
            and copied.first > broken.offset
            and any(one.epoch > broken.epoch and one.at_ms <= copied.at_ms for one in led)
            for copied in self._history.copied.get(broken.topic_partition, [])
        )
        if not displaced:
            return ""
        return EMPTY_EPOCH_ON_FETCH if self.gates.truncates_on_fetch else EMPTY_EPOCH

    def _written_again(self, broken: Broken) -> str:
        """The rule if the leader lost its tail and led on in the same epoch; otherwise ""."""
        led = self._led(broken.topic_partition)
        for tail in (
            tail
            for tail in self._tails
            if tail.topic_partition == broken.topic_partition and tail.first <= broken.offset
        ):
            own = [one for one in led if one.broker == tail.broker]
            before = {one.epoch for one in own if one.at_ms <= tail.at_ms}
            if any(one.epoch in before for one in own if one.at_ms > tail.at_ms):
                return "8 (KIP-966): who lost its tail with its power led on in the same epoch"
        return ""
