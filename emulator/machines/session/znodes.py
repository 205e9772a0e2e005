"""What a tree is made of: znodes, sessions, the changes that watchers and observers hear of, and paths.
Semantics 5.1."""

from functools import lru_cache
from typing import NamedTuple

import msgspec

ROOT = "/"
DATA_MAX_BYTES = 1024 * 1024
"""ZooKeeper's jute.maxbuffer: one znode's data."""


class Znode:
    """`version` counts data changes, `created_children` names sequential ones; zxids of creation, data and
    children."""

    __slots__ = ("children", "created_children", "czxid", "data", "mzxid", "owner", "pzxid", "version")

    def __init__(self, data: bytes, zxid: int, owner: int) -> None:
        self.data = data
        self.version = 0
        self.created_children = 0
        self.czxid = zxid
        self.mzxid = zxid
        self.pzxid = zxid
        self.owner = owner
        self.children: set[str] = set()


class Session(msgspec.Struct):
    """`owner`: the node that opened it. `ephemerals`: paths that vanish with it."""

    session: int
    timeout_ms: int
    password: int
    owner: str
    ephemerals: set[str] = msgspec.field(default_factory=set)


class Change(NamedTuple):
    """`kind`: created, changed or deleted. `version`, `data` and `czxid`: after it (of a deletion: before it)."""

    kind: str
    path: str
    version: int
    data: bytes
    czxid: int


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or ROOT


@lru_cache(maxsize=4096)
def valid_path(path: str) -> bool:
    """Absolute, no empty, "." or ".." part, no trailing slash."""
    if path == ROOT:
        return True
    if not path.startswith("/") or "\0" in path:
        return False
    return all(part not in ("", ".", "..") for part in path[1:].split("/"))
