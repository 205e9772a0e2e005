"""A znode tree in a snapshot."""

import msgspec

from emulator.machines.session.open_session import Session


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
