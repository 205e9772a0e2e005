"""A session in the replicated tree. Semantics 5.1."""

import msgspec


class Session(msgspec.Struct):
    """A session. `owner`: the node that opened it. `ephemerals`: paths that end with it."""

    session: int
    timeout_ms: int
    password: int
    owner: str
    ephemerals: set[str] = msgspec.field(default_factory=set)
