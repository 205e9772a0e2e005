"""A session as the tree holds it: replicated like the znodes. Semantics 5.1."""

import msgspec


class Session(msgspec.Struct):
    """`owner`: the node that opened it. `ephemerals`: paths that vanish with it."""

    session: int
    timeout_ms: int
    password: int
    owner: str
    ephemerals: set[str] = msgspec.field(default_factory=set)
