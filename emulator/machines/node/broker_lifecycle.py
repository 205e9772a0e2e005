"""Lifecycle of a broker's registration in KRaft. Kraft-semantics 3.1.

    starting --registered, caught up--> recovery --unfenced--> running
    running --stop--> pending-controlled-shutdown --the controller permits it--> shutting-down

One request is under way at a time. After an error a running broker only tries again: it never registers anew, fences
itself or stops serving.

Source: BrokerLifecycleManager.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar

import msgspec

from emulator.machines.broker.broker_context import BrokerContext
from protocol.errors import ErrorCode
from protocol.events import BrokerLifecycleChanged
from protocol.ids import Offset
from protocol.messages.kraft_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from protocol.messages.message_base import Message

Response = TypeVar("Response", BrokerRegistrationResponse, BrokerHeartbeatResponse)

NEXT: Final = ("broker-lifecycle-next",)
"""Timer of the next registration or heartbeat."""
REGISTRATION_LIMIT: Final = ("broker-registration-limit",)
SHUTDOWN_LIMIT: Final = ("broker-shutdown-limit",)
STARTING_MS: Final = 10.0
"""Pause between heartbeats of a registered broker that is not caught up."""
RESEND_MS: Final = 100.0
"""First pause after an error; it doubles with each error in a row.

Source: BrokerLifecycleManager.resendExponentialBackoff.
"""
RESEND_JITTER: Final = 0.02
RESEND_DOUBLINGS: Final = 20
FIRST_SHUTDOWN_MS: Final = 50.0
"""Pause after the first heartbeat of a controlled shutdown."""
SHUTDOWN_LIMIT_MS: Final = 300_000.0
"""Limit of a controlled shutdown: BrokerServer.shutdown, KafkaBroker.brokerShutdownTimeout."""


class LifecycleState(StrEnum):
    """State of a broker, by Kafka's BrokerState."""

    NOT_RUNNING = "not-running"
    STARTING = "starting"
    RECOVERY = "recovery"
    RUNNING = "running"
    PENDING_CONTROLLED_SHUTDOWN = "pending-controlled-shutdown"
    SHUTTING_DOWN = "shutting-down"


class LifecycleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a broker's registration (KRaft)."""

    broker_heartbeat_interval_ms: int = 2_000
    broker_session_timeout_ms: int = 9_000
    initial_broker_registration_timeout_ms: int = 60_000

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "LifecycleSettings":
        """Settings for Kafka's names (`broker.heartbeat.interval.ms`); other names are ignored."""
        names = {name: name.replace("_", ".") for name in cls.__struct_fields__}
        known = {name: settings[key] for name, key in names.items() if key in settings}
        return msgspec.convert(known, cls, strict=False)


class LifecycleListener(Protocol):
    """The broker's process, as the lifecycle calls it back."""

    def caught_up(self) -> None:
        """Publish the image, and load the logs, if that is still to be done.

        The image has the broker's own registration.
        """
        ...

    def unfenced(self) -> None:
        """The controller has unfenced the broker."""
        ...

    def registration_timed_out(self) -> None:
        """The broker was not registered within `initial.broker.registration.timeout.ms`."""
        ...

    def may_shut_down(self) -> None:
        """The controller has moved the broker's leaderships, or the limit has passed."""
        ...


class HeartbeatChannel(Protocol):
    """Channel to the active controller."""

    def send(self, request: Message, version: int, done: Callable[[Message | None], None]) -> None: ...


class BrokerLifecycle:
    """The registration of one life of a broker. `incarnation`: a uuid's text, new in each life.

    `metadata_offset`: the last offset that the broker has applied, -1 none.
    """

    def __init__(
        self,
        context: BrokerContext,
        settings: LifecycleSettings,
        node: str,
        rack: str,
        channel: HeartbeatChannel,
        metadata_offset: Callable[[], Offset],
        listener: LifecycleListener,
    ) -> None:
        self._context = context
        self._settings = settings
        self._node = node
        self._rack = rack
        self._channel = channel
        self._metadata_offset = metadata_offset
        self._listener = listener
        self._incarnation = ""
        self._previous_epoch = -1
        self.state = LifecycleState.NOT_RUNNING
        self._ready_to_unfence = False
        self._in_flight = False
        self._at_once = False
        """The next request follows at once when the present one has ended."""
        self._failures = 0
        """Errors in a row."""
        self._asked_to_shut_down = False
        self._emitted: tuple[str, int, int] = ("", -1, 0)

    def start(self, incarnation: str, previous_epoch: int) -> None:
        """Register. `previous_epoch`: of the last life, if that stopped cleanly."""
        self._incarnation, self._previous_epoch = incarnation, previous_epoch
        self._become(LifecycleState.STARTING)
        limit_ms = self._settings.initial_broker_registration_timeout_ms
        self._context.set_timer(REGISTRATION_LIMIT, limit_ms, self._registration_limit)
        self._next()

    def ready_to_unfence(self) -> None:
        """Ask to be unfenced from now on: the first image is published, the logs are loaded."""
        self._ready_to_unfence = True
        self._hurry()

    def begin_shutdown(self) -> None:
        """Begin a controlled shutdown, or end at once: the broker does not run yet."""
        if self.state != LifecycleState.RUNNING:
            self._shut_down()
            return
        self._become(LifecycleState.PENDING_CONTROLLED_SHUTDOWN)
        self._context.set_timer(SHUTDOWN_LIMIT, SHUTDOWN_LIMIT_MS, self._shut_down)
        self._hurry()

    def close(self) -> None:
        """End without the controller: no further request."""
        for key in (NEXT, REGISTRATION_LIMIT, SHUTDOWN_LIMIT):
            self._context.out.cancel_timer(key)
        self._become(LifecycleState.SHUTTING_DOWN)

    @property
    def registered(self) -> bool:
        return self._context.broker_epoch >= 0

    @property
    def ended(self) -> bool:
        return self.state == LifecycleState.SHUTTING_DOWN

    # --- requests ---

    def _hurry(self) -> None:
        """Source: BrokerLifecycleManager.scheduleNextCommunicationImmediately."""
        if self._in_flight:
            self._at_once = True
        else:
            self._next()

    def _schedule(self, after_ms: float) -> None:
        if self._at_once:
            after_ms = 0.0
        self._at_once = False
        self._context.set_timer(NEXT, after_ms, self._next)

    def _again(self) -> None:
        """Send the next request after the interval."""
        self._schedule(self._settings.broker_heartbeat_interval_ms)

    def _failed(self) -> None:
        """Send the next request after the interval.

        In older versions it follows after a pause that grows with each error.

        Source: BrokerLifecycleManager.scheduleNextCommunicationAfterFailure.
        """
        self._at_once = False
        if self._context.gates.heartbeat_retries_for_interval:
            self._again()
            return
        jitter = self._context.chance.between(1.0 - RESEND_JITTER, 1.0 + RESEND_JITTER)
        pause_ms = RESEND_MS * 2.0 ** min(self._failures, RESEND_DOUBLINGS) * jitter
        self._failures += 1
        self._schedule(min(pause_ms, self._settings.broker_session_timeout_ms))

    def _next(self) -> None:
        if self._in_flight or self.ended:
            return
        self._context.out.cancel_timer(NEXT)
        self._in_flight = True
        if self.registered:
            self._heartbeat()
        else:
            self._register()

    def _register(self) -> None:
        context = self._context
        request = BrokerRegistrationRequest(
            context.broker, self._incarnation, self._node, self._rack, self._previous_epoch
        )
        self._channel.send(request, BrokerRegistrationRequest.VERSIONS[1], self._registered)

    def _registered(self, response: Message | None) -> None:
        success = self._success(response, BrokerRegistrationResponse)
        if success is not None:
            self._context.broker_epoch = success.broker_epoch
            self._context.out.cancel_timer(REGISTRATION_LIMIT)
            self._tell()
            self._schedule(0.0)

    def _success(self, response: Message | None, kind: type[Response]) -> Response | None:
        """The response to a request that has succeeded; None: it has failed, and is sent again."""
        self._in_flight = False
        if self.ended:
            return None
        if isinstance(response, kind):
            if not response.error:
                self._failures = 0
                return response
            self._tell(response.error)
        self._failed()
        return None

    def _registration_limit(self) -> None:
        if not self.registered and not self.ended:
            self._listener.registration_timed_out()

    def _heartbeat(self) -> None:
        context = self._context
        request = BrokerHeartbeatRequest(
            context.broker,
            context.broker_epoch,
            self._metadata_offset(),
            not self._ready_to_unfence,
            self.state == LifecycleState.PENDING_CONTROLLED_SHUTDOWN,
        )
        self._channel.send(request, BrokerHeartbeatRequest.VERSIONS[1], self._heartbeat_answered)

    def _heartbeat_answered(self, response: Message | None) -> None:
        success = self._success(response, BrokerHeartbeatResponse)
        if success is not None:
            self._succeeded(success)

    def _succeeded(self, response: BrokerHeartbeatResponse) -> None:
        match self.state:
            case LifecycleState.STARTING:
                if response.is_caught_up:
                    self._become(LifecycleState.RECOVERY)
                    self._schedule(STARTING_MS)
                    self._listener.caught_up()
                else:
                    self._schedule(STARTING_MS)
            case LifecycleState.RECOVERY:
                self._again()
                if not response.is_fenced:
                    self._become(LifecycleState.RUNNING)
                    self._listener.unfenced()
            case LifecycleState.PENDING_CONTROLLED_SHUTDOWN:
                if response.should_shut_down:
                    self._shut_down()
                else:
                    first, self._asked_to_shut_down = not self._asked_to_shut_down, True
                    if first:
                        self._schedule(FIRST_SHUTDOWN_MS)
                    else:
                        self._again()
            case _:
                self._tell()
                self._again()

    def _shut_down(self) -> None:
        if not self.ended:
            self.close()
            self._listener.may_shut_down()

    # --- events ---

    def _become(self, state: LifecycleState) -> None:
        self.state = state
        self._tell()

    def _tell(self, error: int = ErrorCode.NONE) -> None:
        """Emit the state, if it or the error has changed."""
        emitted = (self.state.value, self._context.broker_epoch, int(error))
        if emitted != self._emitted:
            self._emitted = emitted
            self._context.emit(BrokerLifecycleChanged(*emitted))
