"""The player's side of a client process's errands: a connection per request, closed when it is answered.

The client always answers, so there is no time-out here: work takes as long as it takes. Only the client's
death ends a request otherwise.
"""

from collections.abc import Callable

import msgspec

from emulator.machines.client.exchange import Failure
from protocol.machine import ConnectionLost, ConnectionOpened, Input, MessageReceived, Now, Outbox
from protocol.messages.base import Message
from protocol.messages.workload import ClientAttempt, ToldAttempt
from protocol.purposes import CLIENT

ASKED_MAX = 256

Answered = Callable[[Now, Outbox, Message | Failure], None]
Told = Callable[[Now, Outbox, ToldAttempt], None]


class TooManyAsked(RuntimeError):
    """More requests at once than ASKED_MAX."""


class _Asked(msgspec.Struct, frozen=True):
    request: Message
    answered: Answered
    told: Told | None


class ClientAsker:
    """Requests of one player to client processes. A component: its owner hands it the inputs that it
    `handles`.
    """

    def __init__(self) -> None:
        self._asked: dict[int, _Asked] = {}

    def ask(self, out: Outbox, client: str, request: Message, answered: Answered, told: Told | None = None) -> None:
        """Ask node `client`. `told` hears of attempts as they end, `answered` of the end.

        Raises TooManyAsked.
        """
        if len(self._asked) >= ASKED_MAX:
            raise TooManyAsked(f"{ASKED_MAX} requests to clients are under way, no more at a time")
        self._asked[out.open(client, CLIENT)] = _Asked(request, answered, told)

    def handles(self, event: Input) -> bool:
        if isinstance(event, ConnectionOpened | ConnectionLost | MessageReceived):
            return event.connection in self._asked
        return False

    def handle(self, now: Now, event: Input, out: Outbox) -> None:
        match event:
            case ConnectionOpened(connection=connection):
                out.send(connection, self._asked[connection].request, 1)
            case ConnectionLost(connection=connection, reason=reason):
                asked = self._asked.pop(connection)
                asked.answered(now, out, Failure("ConnectionResetError", reason, True))
            case MessageReceived(connection=connection, message=ClientAttempt(attempt=attempt)):
                told = self._asked[connection].told
                if told is not None:
                    told(now, out, attempt)
            case MessageReceived(connection=connection, message=message):
                asked = self._asked.pop(connection)
                out.close(connection)
                asked.answered(now, out, message)
            case _:
                raise AssertionError(event)
