"""Change of a partition: elections, the ISR and the eligible leader replicas, as one record.

A broker is *acceptable* as a leader if it is registered, unfenced and not in controlled shutdown. It is *valid* if it
is also in the ISR, or in the ELR while the ISR is empty. Kraft-semantics 6 and 7.

Source: PartitionChangeBuilder, PartitionReassignmentReplicas.
"""

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from controller.kraft.metadata_image import PartitionRegistration
from protocol.ids import NO_LEADER, BrokerId
from protocol.records.metadata_records import UNCHANGED, PartitionChangeRecord

Replicas = tuple[BrokerId, ...]
Election = Literal["online", "unclean", "preferred"]
NO_REPLICAS: Final[Replicas] = ()


class ChangeRules(msgspec.Struct, frozen=True, kw_only=True):
    """Rules of a change. `min_isr`: the topic's, at most its replication factor."""

    elr_enabled: bool
    min_isr: int
    shrink_raises_epoch: bool
    reassigned_replicas_all_in_isr: bool
    elects_fenced_last_known_leader: bool


class TargetState(msgspec.Struct, kw_only=True):
    """Target of a change; None: as it is. `unclean_stops`: replicas that stopped uncleanly."""

    isr: Replicas | None = None
    replicas: Replicas | None = None
    adding: Replicas | None = None
    removing: Replicas | None = None
    recovering: bool | None = None
    unclean_stops: Replicas = ()
    election: Election = "online"


def partition_change(
    topic_id: str,
    number: int,
    partition: PartitionRegistration,
    acceptable: Callable[[BrokerId], bool],
    rules: ChangeRules,
    target: TargetState,
) -> PartitionChangeRecord | None:
    """The record that changes `partition` to `target`; None: there is nothing to change."""
    return _Change(partition, acceptable, rules, target).record(topic_id, number)


class _Change:
    """State of one change. The attributes without a leading underscore are targets."""

    def __init__(
        self,
        partition: PartitionRegistration,
        acceptable: Callable[[BrokerId], bool],
        rules: ChangeRules,
        target: TargetState,
    ) -> None:
        self._before = partition
        self._acceptable = acceptable
        self._rules = rules
        self._unclean_stops = target.unclean_stops
        self._election = target.election
        self.isr = partition.isr if target.isr is None else target.isr
        self.replicas = partition.replicas if target.replicas is None else target.replicas
        self.adding = partition.adding if target.adding is None else target.adding
        self.removing = partition.removing if target.removing is None else target.removing
        self.recovering = partition.recovering if target.recovering is None else target.recovering
        self.elr = partition.elr
        self.leader: int = UNCHANGED

    def record(self, topic_id: str, number: int) -> PartitionChangeRecord | None:
        """Kafka's order of steps: each sees the effects of those before it."""
        before = self._before
        self._complete_reassignment()
        self._populate_elr()
        unclean = self._elect()
        if self.leader == UNCHANGED and not set(before.replicas) <= set(self.replicas):
            self.leader = before.leader
        if unclean or not self._rules.elr_enabled:
            self.elr = NO_REPLICAS
        isr = self._changed_isr(unclean)
        shrinks = isr is not None and not set(before.isr) <= set(isr)
        if self.leader == UNCHANGED and shrinks and self._rules.shrink_raises_epoch:
            self.leader = before.leader
        change = PartitionChangeRecord(
            topic_id,
            number,
            self.leader,
            isr,
            _changed(before.replicas, self.replicas) if self.replicas else None,
            _changed(before.adding, self.adding),
            _changed(before.removing, self.removing),
            self.recovering if self.recovering != before.recovering else None,
            _changed(before.elr, self.elr),
            self._last_known_leader(),
        )
        return None if change == PartitionChangeRecord(topic_id, number) else change

    def _changed_isr(self, unclean: bool) -> Replicas | None:
        """The ISR to write. Only with ELR it may be empty; otherwise the last members stay."""
        if unclean:
            return (BrokerId(self.leader),)
        if self.isr or self._rules.elr_enabled:
            return _changed(self._before.isr, self.isr)
        return None

    def _complete_reassignment(self) -> None:
        """Source: PartitionReassignmentReplicas.maybeCompleteReassignment."""
        if not self.adding and not self.removing:
            return
        isr = tuple(one for one in self.isr if one not in self.removing)
        replicas = tuple(one for one in self.replicas if one not in self.removing)
        if self.removing and (not isr or not replicas):
            return
        needed = replicas if self._rules.reassigned_replicas_all_in_isr else self.adding
        if set(needed) <= set(isr):
            self.isr, self.replicas = isr, replicas
            self.adding = self.removing = NO_REPLICAS

    def _populate_elr(self) -> None:
        """Source: maybePopulateTargetElr."""
        if not self._rules.elr_enabled:
            return
        if len(self.isr) >= self._rules.min_isr:
            self.elr = NO_REPLICAS
            return
        members = {*self.elr, *self._before.isr} - {*self.isr} - {*self._unclean_stops}
        self.elr = tuple(sorted(members))

    # --- elections ---

    def _elect(self) -> bool:
        """Elect a leader, if another one is needed. Returns whether the election was unclean."""
        leader, unclean = self._elected()
        if leader == self._before.leader:
            return False
        if leader in self.elr:
            self.isr = (leader,)
            self.elr = tuple(one for one in self.elr if one != leader)
        self.leader = leader
        if unclean:
            self.recovering = True
        return unclean

    def _elected(self) -> tuple[BrokerId, bool]:
        """The leader (-1 none), and whether its election is unclean."""
        current = self._before.leader
        first = (self.replicas[0], current) if self._election == "preferred" else (current,)
        for replica in (*first, *self.replicas):
            if self._valid(replica):
                return replica, False
        if self._last_known_leader_can_lead():
            return self._before.last_known_elr[0], True
        if self._election == "unclean":
            for replica in self.replicas:
                if self._acceptable(replica):
                    return replica, True
        return NO_LEADER, False

    def _valid(self, replica: BrokerId) -> bool:
        in_sync = replica in self.isr or (not self.isr and replica in self.elr)
        return in_sync and self._acceptable(replica)

    def _last_known_leader_can_lead(self) -> bool:
        """Source: canElectLastKnownLeader."""
        if not self._rules.elr_enabled or self.elr or self.isr or len(self._before.last_known_elr) != 1:
            return False
        return self._rules.elects_fenced_last_known_leader or self._acceptable(self._before.last_known_elr[0])

    def _last_known_leader(self) -> Replicas | None:
        """The last known leader to write. Source: maybeUpdateLastKnownLeader."""
        if not self._rules.elr_enabled:
            return None
        known = self._before.last_known_elr
        if self.leader == NO_LEADER and not known:
            return (self._before.leader,)
        if self.leader >= 0 and known:
            return NO_REPLICAS
        return None


def _changed(before: Replicas, after: Replicas) -> Replicas | None:
    return None if after == before else after
