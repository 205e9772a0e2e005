"""A client of one server: its connection, and what it waits for."""

from collections import deque

import msgspec

from protocol.messages.base import Message


class Pending(msgspec.Struct):
    """A request in line. `request` 0: answered here, in its turn; otherwise the quorum's, `answer` once it is
    there."""

    correlation_id: int
    message: Message
    request: int = 0
    answer: Message | None = None


class Client(msgspec.Struct):
    """A connection, and its session once it has one."""

    connection: int
    peer: str
    session: int = 0
    timeout_ms: int = 0
    pending: deque[Pending] = msgspec.field(default_factory=deque)
