"""Format of a controller's directory in a quorum whose voters are in the log (KIP-853).

    meta.properties                                                  node.id, directory.id
    __cluster_metadata-0/00000000000000000000-0000000000.checkpoint  kraft.version 1, the first voters

`kafka-storage format --initial-controllers` writes both for a first voter, `--no-initial-controllers` the first one for
any other controller. A node formats its directory at its first start.

Source: Formatter, MetaPropertiesEnsemble, DynamicVoters.
"""

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Final

from controller.quorum.quorum_log import BOOTSTRAP_SNAPSHOT
from controller.quorum.voter_sets import VOTERS_IN_LOG
from emulator.machines.node.metadata_log import MetadataLog
from emulator.storage.files import Files
from emulator.storage.log_directory import META_PROPERTIES
from protocol.ids import BrokerId
from protocol.records.compact_fields import UUID_BYTES, uuid_text
from protocol.records.quorum_control_records import KRaftVersion, SnapshotHeader, Voter, Voters

_DIRECTORY_ID: Final = re.compile(rb"^directory\.id=([A-Za-z0-9_-]{22})$", re.MULTILINE)


def first_directory(voter: BrokerId) -> str:
    """Directory id of a first voter, which `--initial-controllers` names for all of them."""
    return uuid_text(sha256(b"first directory of %d" % voter).digest()[:UUID_BYTES])


def directory_of(files: Files) -> str:
    """The directory id on the disk; "" if the directory is not formatted. Raises StorageError."""
    if not files.exists(META_PROPERTIES):
        return ""
    found = _DIRECTORY_ID.search(files.read(META_PROPERTIES, 0, files.size(META_PROPERTIES)))
    return found[1].decode() if found else ""


def formatted(
    files: Files,
    log: MetadataLog,
    me: BrokerId,
    first: Mapping[BrokerId, str],
    draw: Callable[[int], int],
    wall_ms: float,
) -> str:
    """Directory id of this node; formats the directory if it is not formatted.

    `first`: {first voter: its host}.

    Raises StorageError.
    """
    known = directory_of(files)
    if known:
        return known
    if me in first:
        directory = first_directory(me)
        voters = tuple(Voter(voter, first_directory(voter), host) for voter, host in sorted(first.items()))
        control = (SnapshotHeader(0), KRaftVersion(VOTERS_IN_LOG), Voters(voters))
        if BOOTSTRAP_SNAPSHOT not in log.snapshots:
            log.store_snapshot(BOOTSTRAP_SNAPSHOT, control, (), wall_ms)
    else:
        directory = uuid_text(bytes(draw(256) for _ in range(UUID_BYTES)))
    content = f"version=1\nnode.id={me}\ndirectory.id={directory}\n"
    files.write_atomically(META_PROPERTIES, content.encode())
    return directory
