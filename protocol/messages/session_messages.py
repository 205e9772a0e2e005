"""Messages between a session client and a session server (the emulator's ZooKeeper).

Keys are 1000 + ZooKeeper's opcode. A response has its request's key, in the order of the requests of a connection.
Error codes are ZooKeeper's (`SessionError`). Semantics 5.
"""

from enum import IntEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from protocol.messages.message_base import ONE_WAY, RESPONSE, Int32, Int64, Message, Millis, register, unit

OPERATIONS_MAX = 100_000
"""Maximum operations of a request, and results of a response.

An empty result takes a byte of a frame and a microsecond to decode.
"""


class SessionError(IntEnum):
    """ZooKeeper's error codes in use here."""

    OK = 0
    CONNECTION_LOSS = -4
    MARSHALLING_ERROR = -5
    BAD_ARGUMENTS = -8
    RUNTIME_INCONSISTENCY = -2
    NO_NODE = -101
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111
    SESSION_EXPIRED = -112
    SESSION_MOVED = -118

    @classmethod
    def _missing_(cls, value: object) -> "SessionError":
        """A peer may send any code; an unknown one is treated as this."""
        return cls.RUNTIME_INCONSISTENCY


@register
class ConnectRequest(Message):
    """First on a connection. `session_id` 0 opens a session; else reopens it with its password."""

    API_KEY = 1090
    API_NAME = "SessionConnect"
    session_timeout_ms: Millis
    last_zxid: Annotated[Int64, unit("zxid", "newest the client has seen; a server behind it refuses")] = 0
    session_id: Int64 = 0
    password: Int64 = 0


@register
class ConnectResponse(Message):
    """`session_timeout_ms`: as negotiated.

    0 means that the session is expired, and the server closes the connection.
    """

    API_KEY = 1090
    API_NAME = "SessionConnect"
    DIRECTION = RESPONSE
    session_timeout_ms: Millis
    session_id: Int64 = 0
    password: Int64 = 0


class Create(msgspec.Struct, tag="create", tag_field="op", omit_defaults=True):
    """Create a znode. `sequential` appends a ten-digit counter of the parent to the path."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


class Delete(msgspec.Struct, tag="delete", tag_field="op", omit_defaults=True):
    """Delete a znode. `version` -1: any."""

    path: str
    version: Int32 = -1


class SetData(msgspec.Struct, tag="set", tag_field="op", omit_defaults=True):
    """Set a znode's data. `version` -1: any; otherwise BAD_VERSION if it differs."""

    path: str
    data: bytes
    version: Int32 = -1


class Check(msgspec.Struct, tag="check", tag_field="op", omit_defaults=True):
    """Condition in a multi: the znode exists with this version."""

    path: str
    version: Int32


class GetData(msgspec.Struct, tag="get", tag_field="op", omit_defaults=True):
    path: str
    watch: bool = False


class Exists(msgspec.Struct, tag="exists", tag_field="op", omit_defaults=True):
    path: str
    watch: bool = False


class GetChildren(msgspec.Struct, tag="children", tag_field="op", omit_defaults=True):
    path: str
    watch: bool = False


class Sync(msgspec.Struct, tag="sync", tag_field="op", omit_defaults=True):
    """The server first catches up with the ensemble's leader."""

    path: str = "/"


WriteOp = Create | Delete | SetData | Check
Operation = Create | Delete | SetData | GetData | Exists | GetChildren | Sync | Check


class OpResult(msgspec.Struct, omit_defaults=True):
    """Result of one operation. `version`, `czxid`: the znode's afterwards."""

    error: Int32 = 0
    path: str = ""
    data: bytes = b""
    version: Int32 = -1
    czxid: Int64 = 0
    owner: Annotated[Int64, unit("session id", "of an ephemeral; 0 none")] = 0
    children: list[str] = []


@register
class SessionRequest(Message):
    """One operation, or several atomic write operations (`multi`)."""

    API_KEY = 1014
    API_NAME = "SessionOperation"
    ops: Annotated[list[Operation], Meta(max_length=OPERATIONS_MAX)]
    multi: bool = False


@register
class SessionResponse(Message):
    """`error` 0: all done; in a failed multi the first failing operation's code (`results`)."""

    API_KEY = 1014
    API_NAME = "SessionOperation"
    DIRECTION = RESPONSE
    results: Annotated[list[OpResult], Meta(max_length=OPERATIONS_MAX)]
    error: Int32 = 0
    zxid: Int64 = 0


@register
class PingRequest(Message):
    API_KEY = 1011
    API_NAME = "SessionPing"


@register
class PingResponse(Message):
    API_KEY = 1011
    API_NAME = "SessionPing"
    DIRECTION = RESPONSE
    zxid: Int64 = 0


@register
class CloseSessionRequest(Message):
    """End the session and its ephemerals; the connection is closed after the response."""

    API_KEY = 1110
    API_NAME = "SessionClose"


@register
class CloseSessionResponse(Message):
    API_KEY = 1110
    API_NAME = "SessionClose"
    DIRECTION = RESPONSE


@register
class SetWatchesRequest(Message):
    """Watches of a client that reconnected with the same session, and the newest zxid seen.

    Watches on missed changes fire immediately.
    """

    API_KEY = 1101
    API_NAME = "SessionSetWatches"
    last_zxid: Int64
    data_watches: list[str] = []
    exists_watches: list[str] = []
    child_watches: list[str] = []


@register
class SetWatchesResponse(Message):
    API_KEY = 1101
    API_NAME = "SessionSetWatches"
    DIRECTION = RESPONSE


@register
class WatchFired(Message):
    """A watch fired, once. `kind`: created, deleted, changed (data) or children.

    Sent before the response to any later read.
    """

    API_KEY = 1111
    API_NAME = "SessionWatch"
    DIRECTION = ONE_WAY
    kind: str
    path: str
    zxid: Int64 = 0


@register
class ObserveRequest(Message):
    """Emulator only: an observer (no session) requests a copy, then every committed change."""

    API_KEY = 1190
    API_NAME = "Observe"
    prefixes: list[str]


class ObservedZnode(msgspec.Struct, omit_defaults=True):
    """`data` None: deleted. `zxid` orders changes; one transaction may change several znodes."""

    path: str
    zxid: Int64
    version: Int32 = -1
    data: bytes | None = None
    czxid: Int64 = 0


@register
class Observed(Message):
    """Changes ordered by zxid. `serving` false: this server has no quorum and may be behind."""

    API_KEY = 1190
    API_NAME = "Observe"
    DIRECTION = ONE_WAY
    serving: bool
    zxid: Int64
    changes: list[ObservedZnode]
