"""Wrong controllers of KRaft: each breaks one rule, and a named invariant detects it.

`python -m verification.kraft --mutants` plays seeds with each until one breaks. The same seed is then played with
correct controllers, and must be good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from controller.kraft import alter_partition as isr_changes
from controller.kraft import broker_registrations, partition_changes, quorum_controller, replication_control
from controller.kraft.broker_heartbeats import BrokerHeartbeats, ControlState
from controller.kraft.cluster_view import ClusterView
from controller.kraft.pending_replies import PendingReplies
from controller.kraft.quorum_controller import QuorumController
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, Offset
from protocol.records.metadata_records import RegisterBrokerRecord
from verification.kraft.controller_invariants import InvariantBroken
from verification.kraft.controller_world import play_controllers
from verification.mutants.mutant import applied

if TYPE_CHECKING:
    from collections.abc import Callable

    from verification.mutants.mutant import Patches


_CONTROLLER: Any = quorum_controller
_REGISTRATIONS: Any = broker_registrations
"""Modules whose imported functions are replaced where they are called."""


class ControllerMutant(msgspec.Struct, frozen=True):
    """A controller that is wrong in one way. `invariants`: those that may detect it."""

    wrong: str
    patches: Callable[[], Patches]
    invariants: tuple[str, ...]


def ignores_isr_epochs() -> Patches:
    def refused(view: Any, leader: Any, topic: Any, partition: Any, proposed: Any) -> ErrorCode:
        error = right(view, leader, topic, partition, proposed)
        old = (ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.FENCED_LEADER_EPOCH)
        return ErrorCode.NONE if error in old and leader == partition.leader else error

    right = isr_changes._refused
    return [(isr_changes, "_refused", refused)]


def accepts_stale_broker_epoch() -> Patches:
    def changed(view: Any, request: Any) -> Any:
        known = view.image.brokers.get(request.broker)
        epoch = known.epoch if known is not None else request.broker_epoch
        return right(view, msgspec.structs.replace(request, broker_epoch=epoch))

    right = _CONTROLLER.alter_partition
    return [(_CONTROLLER, "alter_partition", changed)]


def lets_any_broker_join() -> Patches:
    return [(isr_changes, "_eligible", lambda view, replica, epoch: True)]


def unfences_too_early() -> Patches:
    def next_state(self: BrokerHeartbeats, request: Any, registered_at: Offset, leads: Any) -> Any:
        return right(self, request, Offset(-1), leads)

    right = BrokerHeartbeats.next_state
    return [(BrokerHeartbeats, "next_state", next_state)]


def unfences_against_its_wish() -> Patches:
    def next_state(self: BrokerHeartbeats, request: Any, registered_at: Offset, leads: Any) -> Any:
        present, state = right(self, request, registered_at, leads)
        wrong = present is ControlState.FENCED and request.want_fence and not request.want_shut_down
        return (present, ControlState.UNFENCED) if wrong else (present, state)

    right = BrokerHeartbeats.next_state
    return [(BrokerHeartbeats, "next_state", next_state)]


def keeps_unclean_in_elr() -> Patches:
    def left(view: ClusterView, broker: BrokerId, *, clean: bool) -> Any:
        return []

    return [(_REGISTRATIONS, "leave_partitions", left)]


def takes_stops_for_clean() -> Patches:
    right = _REGISTRATIONS.leave_partitions
    return [(_REGISTRATIONS, "leave_partitions", lambda view, broker, *, clean: right(view, broker, clean=True))]


def drops_last_member() -> Patches:
    def changed_isr(self: Any, unclean: bool) -> Any:
        if unclean:
            return right(self, unclean)
        return self.isr if self.isr != self._before.isr else None

    right = partition_changes._Change._changed_isr
    return [(partition_changes._Change, "_changed_isr", changed_isr)]


def elects_fenced() -> Patches:
    return [(ClusterView, "is_active", lambda self, broker: broker in self.image.brokers)]


def elects_who_leaves() -> Patches:
    def updates(view: Any, partitions: Any, *, remove: Any = -1, add: Any = -1, unclean: Any = -1) -> Any:
        return right(view, partitions, add=remove if remove != -1 else add, unclean=unclean)

    right = replication_control.leader_and_isr_updates
    return [(replication_control, "leader_and_isr_updates", updates)]


def forgets_to_resign() -> Patches:
    def renounce(self: QuorumController, reason: str) -> None:
        log = self._log
        self._log = _NeverResigns(log)  # type: ignore[assignment]
        right(self, reason)
        self._log = log

    right = QuorumController._renounce
    return [(QuorumController, "_renounce", renounce)]


class _NeverResigns:
    def __init__(self, log: Any) -> None:
        self._log = log

    def resign(self, epoch: Any) -> None:
        """Do nothing."""


def replies_before_commit() -> Patches:
    return [(PendingReplies, "add", lambda self, offset, complete: complete(True))]


def forgets_waiting_replies() -> Patches:
    def fail_all(self: PendingReplies) -> None:
        self._waiting.clear()
        self._written = self._committed

    return [(PendingReplies, "fail_all", fail_all)]


def keeps_uncommitted_state() -> Patches:
    def apply(self: QuorumController, now: Any, records: Any, last: Any) -> None:
        self._view.image = self.image
        right(self, now, records, last)

    right = QuorumController._apply
    return [(QuorumController, "_apply", apply)]


def no_new_sessions() -> Patches:
    def claim(self: QuorumController, now: Any, epoch: Any) -> None:
        before = self._heartbeats
        right(self, now, epoch)
        for broker, contact in self._heartbeats._brokers.items():
            known = before._brokers.get(broker)
            contact.contact_ms = known.contact_ms if known is not None else 0.0
        contacts = self._heartbeats._contacts
        contacts.update({key: (0.0, session) for key, (_, session) in contacts.items()})
        self._tasks.fence_at(self._heartbeats.next_expiry_ms)

    right = QuorumController._claim
    return [(QuorumController, "_claim", claim)]


def epoch_without_new_registration() -> Patches:
    def registered(*arguments: Any) -> Any:
        records, response = right(*arguments)
        view, request = arguments[0], arguments[-1]
        known = view.image.brokers.get(request.broker)
        if known is not None and not response.error:
            last = records[-1]
            assert isinstance(last, RegisterBrokerRecord)
            response = msgspec.structs.replace(response, broker_epoch=last.epoch + 1)
        return records, response

    right = _CONTROLLER.register_broker
    return [(_CONTROLLER, "register_broker", registered)]


CONTROLLER_MUTANTS: dict[str, ControllerMutant] = {
    "ignores-isr-epochs": ControllerMutant(
        "an ISR change with an old leader or partition epoch is accepted", ignores_isr_epochs,
        ("isr-change-epochs", "answered-committed"),
    ),
    "accepts-stale-broker-epoch": ControllerMutant(
        "AlterPartition of a former incarnation is accepted", accepts_stale_broker_epoch, ("broker-epoch",)
    ),
    "lets-any-broker-join": ControllerMutant(
        "fenced brokers and former incarnations join the ISR", lets_any_broker_join, ("isr-eligible",)
    ),
    "unfences-too-early": ControllerMutant(
        "a broker is unfenced before it has read its registration", unfences_too_early, ("unfenced-caught-up",)
    ),
    "unfences-against-its-wish": ControllerMutant(
        "a broker that wants to be fenced is unfenced", unfences_against_its_wish, ("unfenced-caught-up",)
    ),
    "keeps-unclean-in-elr": ControllerMutant(
        "an incarnation after an unclean stop stays in ISR and ELR, and is elected", keeps_unclean_in_elr,
        ("unclean-stop-leaves", "leader-active"),
    ),
    "takes-stops-for-clean": ControllerMutant(
        "a broker that stopped uncleanly stays in the ELR, and may be elected from it", takes_stops_for_clean,
        ("unclean-stop-leaves",),
    ),
    "drops-last-member": ControllerMutant(
        "without ELR the last member leaves the ISR", drops_last_member, ("isr-kept",)
    ),
    "elects-fenced": ControllerMutant("a fenced broker is elected", elects_fenced, ("leader-active",)),
    "elects-who-leaves": ControllerMutant(
        "the broker that is fenced or stops stays leader", elects_who_leaves, ("leader-active",)
    ),
    "forgets-to-resign": ControllerMutant(
        "a controller that renounces goes on leading the quorum", forgets_to_resign, ("resigns",)
    ),
    "replies-before-commit": ControllerMutant(
        "responses do not wait for the commit", replies_before_commit, ("answered-committed",)
    ),
    "forgets-waiting-replies": ControllerMutant(
        "a controller that renounces leaves requests without a response", forgets_waiting_replies, ("answered-once",)
    ),
    "keeps-uncommitted-state": ControllerMutant(
        "uncommitted records change the committed state, and survive the end of the term", keeps_uncommitted_state,
        ("committed-image",),
    ),
    "no-new-sessions": ControllerMutant(
        "a claim gives brokers no new session", no_new_sessions, ("session-kept",)
    ),
    "reports-another-epoch": ControllerMutant(
        "a registration is answered with another broker epoch than is written", epoch_without_new_registration,
        ("answered-committed",),
    ),
}  # fmt: skip


def search(name: str, seeds: int, first: int = 0) -> dict[str, Any]:
    """The first seed that breaks an invariant.

    `detected`: by one of the mutant's, and correct controllers are good with that seed.
    """
    mutant = CONTROLLER_MUTANTS[name]
    row: dict[str, Any] = {"mutant": name, "wrong": mutant.wrong, "by": "", "seed": -1, "detected": False}
    for seed in range(first, first + seeds):
        with applied(mutant):
            by = broken_by(seed)
        if by:
            return row | {"by": by, "seed": seed, "detected": by in mutant.invariants and not broken_by(seed)}
    return row


def broken_by(seed: int) -> str:
    """Name of the invariant that a seed breaks, or the type of another error; "": none."""
    try:
        play_controllers(seed)
    except InvariantBroken as broken:
        return broken.name
    except Exception as error:
        return type(error).__name__
    return ""
