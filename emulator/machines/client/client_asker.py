"""The player's side of a client process's errands: a connection per request, closed when it is answered.

The client always answers, so there is no time-out here: work takes as long as it takes. Only the client's
death ends a request otherwise.
"""

from collections.abc import Callable

from emulator.machines.client.failure import Failure, TooManyAsked
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, Now
from protocol.messages.base import Message
from protocol.messages.workload import ClientAttempt, ToldAttempt
from protocol.outbox import Outbox
from protocol.purposes import CLIENT

ASKED_MAX = 256

Answered = Callable[[Now, Outbox, Message | Failure], None]
Told = Callable[[Now, Outbox, ToldAttempt], None]


class _Asked:
    __slots__ = ("answered", "request", "told")

    def __init__(self, request: Message, answered: Answered, told: Told | None) -> None:
        self.request = request
        self.answered = answered
        self.told = told


class ClientAsker:
    """Requests of one player to client processes."""

    def __init__(self) -> None:
        self._asked: dict[int, _Asked] = {}

    def ask(self, out: Outbox, client: str, request: Message, answered: Answered, told: Told | None = None) -> None:
        """Ask node `client`. `told` hears of attempts as they end, `answered` of the end.

        Raises TooManyAsked.
        """
        if len(self._asked) >= ASKED_MAX:
            raise TooManyAsked(f"{ASKED_MAX} requests to clients are under way, no more at a time")
        self._asked[out.open(client, CLIENT, self._heard)] = _Asked(request, answered, told)

    def _heard(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        asked = self._asked[event.connection]
        if isinstance(event, ConnectionOpened):
            out.send(event.connection, asked.request, 1)
        elif isinstance(event, ConnectionLost):
            del self._asked[event.connection]
            asked.answered(now, out, Failure("ConnectionResetError", event.reason, True))
        elif isinstance(event.message, ClientAttempt):
            if asked.told is not None:
                asked.told(now, out, event.message.attempt)
        else:
            del self._asked[event.connection]
            out.close(event.connection)
            asked.answered(now, out, event.message)
