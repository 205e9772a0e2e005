"""Structs of the session service: sessions, stored znodes, pending requests, followers."""

from collections import deque

import msgspec

from protocol.messages.message_base import Message


class Session(msgspec.Struct):
    """A session. `owner`: the node that opened it. `ephemerals`: paths that end with it."""

    session: int
    timeout_ms: int
    password: int
    owner: str
    ephemerals: set[str] = msgspec.field(default_factory=set)


class StoredZnode(msgspec.Struct, array_like=True):
    path: str
    data: bytes
    version: int
    created_children: int
    czxid: int
    mzxid: int
    pzxid: int
    owner: int


class StoredTree(msgspec.Struct, array_like=True):
    zxid: int
    znodes: list[StoredZnode]
    sessions: list[Session]


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


class Learner(msgspec.Struct):
    """One follower's connection.

    `synchronised`: it has the beginning of the leader's log and gets proposals. `acked`: newest zxid on its disk.
    """

    connection: int
    server: int
    accepted_epoch: int
    received_ms: float
    last_zxid: int = -1
    synchronised: bool = False
    up_to_date: bool = False
    acked: int = -1
