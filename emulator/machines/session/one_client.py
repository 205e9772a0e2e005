"""A session client of one server: its connection and its pending requests."""

from collections import deque

import msgspec

from protocol.messages.message_base import Message


class Pending(msgspec.Struct):
    """A pending request.

    `request` 0: answered here, in its turn. Otherwise the quorum's; `answer` is set when it has come.
    """

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
