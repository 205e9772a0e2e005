"""Heartbeats of brokers at the active controller: sessions, reported offsets, next states.

Only the active controller has this state, and none of it is in the metadata log. Until 3.9 an unfenced broker has a
session. From 4.0 on a session is a contact time for a broker's id and epoch, fenced or not.

Kraft-semantics 3.3 and 3.4.

Source: BrokerHeartbeatManager, BrokerHeartbeatTracker.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final

import msgspec

from controller.kraft.hash_order import session_bucket
from protocol.gates import Gates
from protocol.ids import NO_OFFSET, BrokerId, Offset
from protocol.messages.kraft_messages import BrokerHeartbeatRequest

CONTACTS_MAX: Final = 10_000
"""Bound of the contact times; the oldest is dropped.

Heartbeats with invented epochs would fill it.
"""
NO_LIMIT: Final = float("inf")


class ControlState(Enum):
    """State of a broker by its heartbeats: BrokerControlState."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled-shutdown"
    SHUTDOWN_NOW = "shutdown-now"

    @property
    def is_fenced(self) -> bool:
        return self in (ControlState.FENCED, ControlState.SHUTDOWN_NOW)


class BrokerContact(msgspec.Struct):
    """Contents of a broker's heartbeats.

    `shutdown_offset` -1: it is not in controlled shutdown.
    """

    fenced: bool
    contact_ms: float
    metadata_offset: Offset = NO_OFFSET
    shutdown_offset: Offset = NO_OFFSET

    @property
    def shuts_down(self) -> bool:
        return self.shutdown_offset >= 0

    @property
    def state(self) -> ControlState:
        if self.shuts_down:
            return ControlState.CONTROLLED_SHUTDOWN
        return ControlState.FENCED if self.fenced else ControlState.UNFENCED


class BrokerHeartbeats:
    """Heartbeats since this controller's claim."""

    def __init__(self, gates: Gates, session_timeout_ms: float) -> None:
        self._gates = gates
        self._session_timeout_ms = session_timeout_ms
        self._brokers: dict[BrokerId, BrokerContact] = {}
        self._contacts: dict[tuple[BrokerId, int], tuple[float, int]] = {}
        """{(id, epoch): (last contact, number of the session)}, oldest contact first (from 4.0 on)."""
        self._sessions = 0
        """Number of sessions so far."""

    # --- what the records say ---

    def register(self, now_ms: float, broker: BrokerId, *, fenced: bool) -> None:
        """Add a broker, or adopt the fencing that a record has written."""
        known = self._brokers.get(broker)
        if known is None:
            known = self._brokers[broker] = BrokerContact(fenced, now_ms)
        # A record that does not change the fencing makes the offset unknown until the next heartbeat.
        offset = known.metadata_offset if known.fenced != fenced else NO_OFFSET
        self.touch(now_ms, broker, fenced=fenced, metadata_offset=offset)

    def remove(self, broker: BrokerId) -> None:
        self._brokers.pop(broker, None)

    def touch(self, now_ms: float, broker: BrokerId, *, fenced: bool, metadata_offset: Offset) -> None:
        """Note a contact.

        A fenced broker leaves its controlled shutdown: the next heartbeat lets it stop.
        """
        contact = self._brokers[broker]
        contact.fenced, contact.contact_ms, contact.metadata_offset = fenced, now_ms, metadata_offset
        if fenced:
            contact.shutdown_offset = NO_OFFSET

    def fence(self, broker: BrokerId) -> None:
        if broker in self._brokers:
            self._brokers[broker].fenced = True

    def note_contact(self, now_ms: float, broker: BrokerId, epoch: int) -> None:
        """Note a heartbeat on its arrival, whatever becomes of it (KAFKA-17793).

        Before 4.0 nothing is noted.
        """
        if self._gates.sessions_by_epoch:
            known = self._contacts.pop((broker, epoch), None)
            if known is None:
                self._sessions += 1
            if len(self._contacts) >= CONTACTS_MAX:
                del self._contacts[next(iter(self._contacts))]
            self._contacts[broker, epoch] = (now_ms, self._sessions if known is None else known[1])

    def begin_shutdown(self, broker: BrokerId, offset: Offset) -> None:
        """Let the broker stop when all active brokers have read `offset`; an earlier one stays."""
        contact = self._brokers[broker]
        if not contact.shuts_down:
            contact.shutdown_offset = offset

    # --- sessions ---

    def has_valid_session(self, now_ms: float, broker: BrokerId, epoch: int) -> bool:
        if self._gates.sessions_by_epoch:
            contact = self._contacts.get((broker, epoch))
            return contact is not None and not self._is_expired(now_ms, contact[0])
        known = self._brokers.get(broker)
        return known is not None and not known.fenced and not self._is_expired(now_ms, known.contact_ms)

    def remove_expired(self, now_ms: float) -> tuple[BrokerId, int | None] | None:
        """An expired session: (broker, epoch; None: its present one).

        Until 3.9 the oldest. From 4.0 on the first of the map of sessions; it is removed.
        """
        if self._gates.sessions_by_epoch:
            return self._remove_first_expired(now_ms)
        oldest = min(self._unfenced(), key=lambda one: self._brokers[one].contact_ms, default=None)
        if oldest is None or not self._is_expired(now_ms, self._brokers[oldest].contact_ms):
            return None
        return oldest, None

    def _remove_first_expired(self, now_ms: float) -> tuple[BrokerId, int] | None:
        """Remove the first expired session of the map.

        Source: BrokerHeartbeatTracker.maybeRemoveExpired.
        """
        contacts = self._contacts
        expired: list[tuple[int, int, tuple[BrokerId, int]]] = []
        for session, (contact_ms, number) in contacts.items():
            if not self._is_expired(now_ms, contact_ms):
                break  # the others are younger
            expired.append((session_bucket(*session, len(contacts)), number, session))
        if not expired:
            return None
        first = min(expired)[2]
        del contacts[first]
        return first

    @property
    def next_expiry_ms(self) -> float:
        """Time of the next expiry of an unfenced broker's session (nextCheckTimeNs, up to 3.9)."""
        contacts = [self._brokers[broker].contact_ms for broker in self._unfenced()]
        return min(contacts, default=NO_LIMIT) + self._session_timeout_ms

    def _is_expired(self, now_ms: float, contact_ms: float) -> bool:
        return now_ms >= contact_ms + self._session_timeout_ms

    def _unfenced(self) -> list[BrokerId]:
        return [broker for broker, contact in self._brokers.items() if not contact.fenced]

    # --- states ---

    @property
    def usable(self) -> dict[BrokerId, bool]:
        """{broker that may get replicas: whether it is fenced}. Source: usableBrokers."""
        return {broker: one.fenced for broker, one in sorted(self._brokers.items()) if not one.shuts_down}

    def next_state(
        self, request: BrokerHeartbeatRequest, registered_at: Offset, has_leaderships: Callable[[], bool]
    ) -> tuple[ControlState, ControlState]:
        """The present state of a registered broker and the next one.

        Source: calculateNextBrokerState.
        """
        contact = self._brokers[request.broker]
        present = contact.state
        if present is ControlState.FENCED:
            if request.want_shut_down:
                return present, ControlState.SHUTDOWN_NOW
            unfence = not request.want_fence and request.metadata_offset >= registered_at
            return present, ControlState.UNFENCED if unfence else present
        if present is ControlState.UNFENCED:
            if request.want_fence:
                return present, ControlState.SHUTDOWN_NOW if request.want_shut_down else ControlState.FENCED
            if request.want_shut_down:
                leads = has_leaderships()
                return present, ControlState.CONTROLLED_SHUTDOWN if leads else ControlState.SHUTDOWN_NOW
            return present, present
        may_stop = not has_leaderships() and contact.shutdown_offset <= self._lowest_active_offset()
        return present, ControlState.SHUTDOWN_NOW if may_stop else present

    def _lowest_active_offset(self) -> float:
        active = [one.metadata_offset for one in self._brokers.values() if not one.fenced and not one.shuts_down]
        return min(active, default=NO_LIMIT)
