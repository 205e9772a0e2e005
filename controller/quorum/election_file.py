"""The file `quorum-state`: epoch, leader and vote of one node, as JSON.

The node writes it at each durable transition, before the transition takes effect and before a message leaves. Without
the file a node may vote a second time in an epoch.

Kraft-semantics 1.1.

Source: FileQuorumStateStore, QuorumStateData.json (version 0 of kraft.version 0, version 1 of kraft.version 1).
"""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch
from protocol.records.quorum_control_records import NO_DIRECTORY
from protocol.undecodable import UNDECODABLE

QUORUM_STATE: Final = "quorum-state"


class ElectionFileDamaged(Exception):
    """A file that this module's own writes cannot have produced. The node must not start."""


class Election(msgspec.Struct, frozen=True, gc=False):
    """The durable part of a state. -1: no leader, no vote. `voted_directory` "": unknown."""

    epoch: LeaderEpoch
    leader: BrokerId = NO_BROKER
    voted: BrokerId = NO_BROKER
    voted_directory: str = ""


class ElectionStore(Protocol):
    """Storage of one file's content. Raises StorageError."""

    def read(self) -> bytes | None:
        """The content; None: there is no file."""

    def write(self, data: bytes) -> None:
        """Replace the content; it is durable on return."""


class _Voter(msgspec.Struct):
    voterId: int


class _Content(msgspec.Struct):
    """Kafka's fields in Kafka's order, of version 0."""

    clusterId: str
    leaderId: int
    leaderEpoch: int
    votedId: int
    appliedOffset: int
    currentVoters: list[_Voter]
    data_version: int


class _ContentOfVoters(msgspec.Struct):
    """Kafka's fields in Kafka's order, of version 1."""

    leaderId: int
    leaderEpoch: int
    votedId: int
    votedDirectoryId: str
    data_version: int


class _Version(msgspec.Struct):
    data_version: int


def encode_election(election: Election, voters: Sequence[BrokerId], *, voters_in_log: bool = False) -> bytes:
    """The file's content; with `voters_in_log` in version 1, which has no voters."""
    if voters_in_log:
        directory = election.voted_directory or NO_DIRECTORY
        return msgspec.json.encode(
            _ContentOfVoters(election.leader, election.epoch, election.voted, directory, 1)
        )
    content = _Content("", election.leader, election.epoch, election.voted, 0, [_Voter(one) for one in voters], 0)
    return msgspec.json.encode(content)


def decode_election(data: bytes) -> Election:
    """The election of a file's content. Raises ElectionFileDamaged."""
    try:
        version = msgspec.json.decode(data, type=_Version).data_version
        if version == 1:
            newer = msgspec.json.decode(data, type=_ContentOfVoters)
            directory = "" if newer.votedDirectoryId == NO_DIRECTORY else newer.votedDirectoryId
            return Election(
                LeaderEpoch(newer.leaderEpoch), BrokerId(newer.leaderId), BrokerId(newer.votedId), directory
            )
        content = msgspec.json.decode(data, type=_Content)
    except UNDECODABLE as error:
        raise ElectionFileDamaged(f"{QUORUM_STATE}: {error}") from None
    if version != 0:
        raise ElectionFileDamaged(f"{QUORUM_STATE}: version {version}, known are 0 and 1")
    return Election(LeaderEpoch(content.leaderEpoch), BrokerId(content.leaderId), BrokerId(content.votedId))
