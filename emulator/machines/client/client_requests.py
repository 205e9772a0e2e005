"""The player's requests to client processes: a connection per request, closed at its end.

The client always responds, so there is no timeout here: work takes as long as it takes. Only the client's death
ends a request otherwise.
"""

from collections.abc import Callable

from emulator.machines.client.client_state import Failure, TooManyClientRequests
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, Now
from protocol.messages.message_base import Message
from protocol.messages.workload_messages import AttemptReport, ClientAttempt
from protocol.outbox import Outbox
from protocol.purposes import CLIENT

REQUESTS_MAX = 256

Answered = Callable[[Now, Outbox, Message | Failure], None]
OnAttempt = Callable[[Now, Outbox, AttemptReport], None]


class _PendingRequest:
    __slots__ = ("answered", "attempted", "request")

    def __init__(self, request: Message, answered: Answered, attempted: OnAttempt | None) -> None:
        self.request = request
        self.answered = answered
        self.attempted = attempted


class ClientRequests:
    """Requests of one player to client processes."""

    def __init__(self) -> None:
        self._pending: dict[int, _PendingRequest] = {}

    def ask(
        self, out: Outbox, client: str, request: Message, answered: Answered, attempted: OnAttempt | None = None
    ) -> None:
        """Send `request` to node `client`.

        `attempted` is called with each attempt as it ends, `answered` at the end. Raises TooManyClientRequests.
        """
        if len(self._pending) >= REQUESTS_MAX:
            raise TooManyClientRequests(f"clients: {REQUESTS_MAX} requests are under way; wait until one ends")
        self._pending[out.open(client, CLIENT, self._on_connection_event)] = _PendingRequest(
            request, answered, attempted
        )

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        pending = self._pending[event.connection]
        if isinstance(event, ConnectionOpened):
            out.send(event.connection, pending.request, 1)
        elif isinstance(event, ConnectionLost):
            del self._pending[event.connection]
            pending.answered(now, out, Failure("ConnectionResetError", event.reason, True))
        elif isinstance(event.message, ClientAttempt):
            if pending.attempted is not None:
                pending.attempted(now, out, event.message.attempt)
        else:
            del self._pending[event.connection]
            out.close(event.connection)
            pending.answered(now, out, event.message)
