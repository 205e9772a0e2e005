"""Znodes of a tree, and the changes reported to watches and observers. Semantics 5.1."""

from typing import NamedTuple

from emulator.machines.session.znode_paths import ROOT

DATA_MAX_BYTES = 1024 * 1024
"""Limit of one znode's data: ZooKeeper's jute.maxbuffer."""


class Znode:
    """One znode.

    `version` counts data changes, `created_children` names sequential ones. czxid, mzxid, pzxid: zxids of creation,
    data and children.
    """

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


class Change(NamedTuple):
    """Change of a znode. `kind`: created, changed or deleted.

    `version`, `data` and `czxid`: after the change (of a deletion: before it).
    """

    kind: str
    path: str
    version: int
    data: bytes
    czxid: int


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or ROOT
