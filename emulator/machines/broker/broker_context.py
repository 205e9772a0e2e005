"""Context shared by the parts of one broker: identity, gates, settings, disk, current step.

The node sets `now` and `out` at the start of every step. Nothing here acts; it saves passing six values around.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from emulator.machines.broker.settings import BrokerSettings
from emulator.storage.files import Files
from protocol.chance import Chance
from protocol.events import Event
from protocol.gates import Gates
from protocol.ids import BrokerId, TopicPartition
from protocol.machine import Now, TimerKey
from protocol.messages.session_messages import SessionError, SessionRequest, SessionResponse
from protocol.outbox import Outbox
from protocol.work import Runner, Until, Work


class SessionExpired(Exception):
    """The session expired during a call (gate `session_wait_ends_at_expiry`)."""


SessionDone = Callable[[Now, Outbox, SessionResponse], None]


class SessionCalls(Protocol):
    """ZooKeeper calls of a broker.

    A call waits, through connection losses, for its response, or (gate `session_wait_ends_at_expiry`) for the
    session's expiry.
    """

    def call(self, now: Now, out: Outbox, request: SessionRequest, done: SessionDone) -> None: ...


class Registration(Protocol):
    """A broker's registration, as the image of the metadata log has it."""

    @property
    def epoch(self) -> int: ...
    @property
    def fenced(self) -> bool: ...
    @property
    def is_active(self) -> bool: ...


class BrokerContext:
    """Context of one life of one broker."""

    __slots__ = (
        "broker", "broker_epoch", "chance", "files", "gates", "live", "now", "out", "registrations", "sessions",
        "settings", "stopping", "threads", "topic_ids",
    )  # fmt: skip

    def __init__(
        self,
        broker: BrokerId,
        gates: Gates,
        settings: BrokerSettings,
        files: Files,
        sessions: SessionCalls,
        out: Outbox,
    ) -> None:
        self.broker = broker
        self.gates = gates
        self.settings = settings
        self.files = files
        self.sessions = sessions
        self.out = out
        self.now = Now(0.0, 0.0)
        self.chance = Chance(0)
        """Chance that orders threads competing for one lock; a life's seed replaces it."""
        self.threads = Runner(lambda: self.now.mono_ms)
        self.stopping = False
        """The broker stops in an orderly way: it follows no further leader."""
        self.broker_epoch = -1
        """Epoch of this life's registration: its czxid (KIP-380), in KRaft an offset; -1 before."""
        self.topic_ids: dict[TopicPartition, str] = {}
        """Topics' ids of the replicas that the controller has ordered."""
        self.live: Collection[BrokerId] = ()
        """Live brokers by this broker's metadata."""
        self.registrations: Mapping[BrokerId, Registration] = {}
        """Registrations by this broker's image of the metadata log (KRaft)."""

    def may_be_in_isr(self, broker: BrokerId, broker_epoch: int | None) -> bool:
        """Whether a replica's broker is eligible for the ISR, by this broker's metadata.

        With ZooKeeper, if it is alive. In KRaft, if it is neither fenced nor in controlled shutdown, and from 3.5 has
        the epoch of its fetches. Source: Partition.isReplicaIsrEligible.
        """
        if not self.gates.metadata_from_image:
            return broker in self.live
        known = self.registrations.get(broker)
        if known is None or not known.is_active:
            return False
        if not self.gates.isr_members_checked_by_broker_epoch:
            return True
        return broker_epoch is not None and broker_epoch in (-1, known.epoch)

    def fetches_as_former_life(self, broker: BrokerId, broker_epoch: int) -> bool:
        """Whether a fetch has an older broker epoch than the image, where that is checked.

        Source: KAFKA-15221.
        """
        if broker_epoch < 0 or not self.gates.stale_broker_epoch_fails_fetch:
            return False
        known = self.registrations.get(broker)
        return known is not None and not known.fenced and known.epoch > broker_epoch

    def emit(self, event: Event) -> None:
        """Emit an event, about a partition with the topic's id."""
        event.name_topic(self.topic_ids)
        self.out.emit(event)

    def set_timer(self, key: TimerKey, after_ms: float, due: Callable[[], None]) -> None:
        """Set a timer; `due` is called when it fires, in a step of its own."""
        self.out.set_timer(key, after_ms, lambda now, out: due())

    def ask_session(self, request: SessionRequest, done: Callable[[SessionResponse], None]) -> None:
        """As `SessionCalls.call`; sets `now` before a response of a later step."""

        def answered(now: Now, out: Outbox, response: SessionResponse) -> None:
            self.now = now
            self.out = out
            done(response)

        self.sessions.call(self.now, self.out, request, answered)

    def await_session(self, request: SessionRequest) -> Work[SessionResponse]:
        """Send a request and wait for its response, in the caller's thread. Raises SessionExpired."""
        response = yield Until("the session service", lambda done: self.ask_session(request, done))
        assert isinstance(response, SessionResponse)
        if response.error == SessionError.SESSION_EXPIRED:
            raise SessionExpired
        return response
