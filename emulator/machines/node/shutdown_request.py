"""Request of a controlled shutdown: first part of an orderly stop (semantics 4.2).

    read /controller in ZooKeeper -> connect -> ControlledShutdown -> done
              ^                                         | refused, lost, late: a pause, next attempt

`controlled.shutdown.max.retries` attempts in all. Each begins with ZooKeeper and waits for it without limit, as
every call does. A pause follows each failed attempt, the last one included. Then the broker stops all the same.
"""

from collections.abc import Callable

import msgspec

from controller.session_calls import Procedure, Procedures, SessionLost, perform
from emulator.machines.broker.broker_context import BrokerContext
from emulator.topology import DEDICATED_FROM, node_name
from protocol.errors import ErrorCode
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, Now
from protocol.messages.leadership_messages import ControlledShutdownRequest, ControlledShutdownResponse
from protocol.messages.session_messages import GetData, SessionError
from protocol.outbox import Outbox
from protocol.purposes import TO_CONTROLLER
from protocol.znodes import CONTROLLER, broker_path, decode_broker, decode_controller

PAUSE = ("controlled-shutdown-pause",)
LIMIT = ("controlled-shutdown-limit",)
"""Timer of one attempt: until it is connected, then until the response."""


class NoController(msgspec.Struct, frozen=True):
    """`/controller` is absent."""


class NotRegistered(msgspec.Struct, frozen=True):
    """There is a controller, and its broker is not registered (its session has just ended)."""


Found = str | NoController | NotRegistered
"""Name of the controller's node, or the reason why it is unknown."""


class ControlledShutdown:
    """Controlled shutdown of one broker.

    `over` is called once: the controller has moved everything, or the attempts are used up.
    """

    def __init__(self, context: BrokerContext, procedures: Procedures, over: Callable[[], None]) -> None:
        self._context = context
        self._procedures = procedures
        self._over = over
        self._left = context.settings.controlled_shutdown_max_retries
        self._node = ""
        """Node of the last attempt; "" if the broker could not reach it."""
        self._connection = 0
        self._opened = False
        self._correlation = 0
        self._awaiting = False

    def begin(self) -> None:
        self._attempt()

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, ConnectionOpened):
            self._opened = True
            self._request()
        elif isinstance(event, ConnectionLost):
            self._connection = 0
            awaited = self._awaiting or not self._opened
            self._disconnect()
            if awaited:
                self._failed()
        elif isinstance(event.message, ControlledShutdownResponse) and event.correlation_id == self._correlation:
            self._answered(event.message)  # other messages are no responses to the request

    def _late(self) -> None:
        self._disconnect()
        self._failed()

    def _attempt(self) -> None:
        if self._left == 0:
            self._over()
            return
        self._left -= 1
        now, out, find = self._context.now, self._context.out, _find_controller()
        self._procedures.task(now, out, "shutdown", "find controller", find, self._found, self._session_failed).start()

    def _session_failed(self, now: Now, out: Outbox, error: Exception) -> None:
        """Give up, and stop, as Kafka: the session has expired (from 1.1 a call ends with it)."""
        self._context.now = now
        if not isinstance(error, SessionLost):
            raise error
        self._over()

    def _found(self, now: Now, out: Outbox, found: Found) -> None:
        self._context.now = now
        if isinstance(found, NoController) and self._context.gates.needs_controller_to_try_shutdown_again:
            self._over()
            return
        if isinstance(found, str) and found != self._node:
            self._disconnect()
            self._node = found
        if not self._node:
            self._failed()
        elif self._connection:
            self._request()
        else:
            self._opened = False
            self._connection = out.open(self._node, TO_CONTROLLER, self._on_connection_event)
            self._context.set_timer(LIMIT, self._context.settings.controller_socket_timeout_ms, self._late)

    def _request(self) -> None:
        context = self._context
        self._correlation += 1
        self._awaiting = True
        request = ControlledShutdownRequest(context.broker, context.broker_epoch)
        context.out.send(self._connection, request, self._correlation)
        waits_ms = context.settings.controller_socket_timeout_ms
        if context.gates.shutdown_answer_within_request_timeout:
            waits_ms = context.settings.request_timeout_ms
        context.set_timer(LIMIT, waits_ms, self._late)

    def _answered(self, response: ControlledShutdownResponse) -> None:
        if not self._awaiting:
            return
        self._awaiting = False
        self._context.out.cancel_timer(LIMIT)
        if response.error == ErrorCode.NONE and not response.remaining:
            self._over()
        else:
            self._failed()

    def _failed(self) -> None:
        self._context.out.cancel_timer(LIMIT)
        pause_ms = self._context.settings.controlled_shutdown_retry_backoff_ms
        self._context.set_timer(PAUSE, pause_ms, self._attempt)

    def _disconnect(self) -> None:
        if self._connection:
            self._context.out.close(self._connection)
        self._connection = 0
        self._node = ""
        self._awaiting = False


def _find_controller() -> Procedure[Found]:
    """Find the controller's node in ZooKeeper."""
    controller_znode = yield from perform(GetData(CONTROLLER))
    if controller_znode.error == SessionError.NO_NODE:
        return NoController()
    controller = decode_controller(controller_znode.data)
    if controller >= DEDICATED_FROM:
        return node_name(controller)  # a dedicated controller is not registered
    registered = yield from perform(GetData(broker_path(controller)))
    if registered.error == SessionError.NO_NODE:
        return NotRegistered()
    return decode_broker(controller, registered.data, registered.czxid).host
