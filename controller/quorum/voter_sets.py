"""Voters of the quorum: a set of them, and the sets of a log by offset (KIP-853).

    offset 0    (static set, kraft.version 0)
    offset 40   KRaftVersion 1, Voters {0, 1, 2}
    offset 97   Voters {0, 1, 2, 3}      <- the last set counts at once, committed or not

A key is an id and a directory. A voter without a directory has the id alone, as every static one.

Source: VoterSet, ReplicaKey, VoterSetHistory, KRaftControlRecordStateMachine.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple, TypeVar

import msgspec

from protocol.ids import BrokerId, Offset
from protocol.records.quorum_control_records import ControlRecord, KRaftVersion, Voter, Voters

_Value = TypeVar("_Value")
VOTERS_IN_LOG = 1
"""First level of `kraft.version` whose voters are in the log."""


class ReplicaKey(NamedTuple):
    """A replica of the metadata log. `directory` "": unknown."""

    id: BrokerId
    directory: str = ""


def matches(voter: Voter, key: ReplicaKey) -> bool:
    """Whether the key is the voter's: a voter without a directory has the id alone."""
    return voter.id == key.id and voter.directory in ("", key.directory)


class VoterSet(msgspec.Struct, frozen=True, gc=False):
    """Voters with different ids, in the order of their ids."""

    voters: tuple[Voter, ...] = ()

    @property
    def ids(self) -> list[BrokerId]:
        return [voter.id for voter in self.voters]

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def of(self, identifier: BrokerId) -> Voter | None:
        for voter in self.voters:  # each poll asks several times, so without a generator
            if voter.id == identifier:
                return voter
        return None

    def has(self, key: ReplicaKey) -> bool:
        for voter in self.voters:
            if voter.id == key.id:
                return voter.directory in ("", key.directory)
        return False

    def with_voter(self, voter: Voter) -> "VoterSet":
        """The set with a voter, in place of one with its id."""
        others = [one for one in self.voters if one.id != voter.id]
        return VoterSet(tuple(sorted((*others, voter), key=lambda one: one.id)))

    def without(self, key: ReplicaKey) -> "VoterSet":
        return VoterSet(tuple(voter for voter in self.voters if not matches(voter, key)))


def static_set(voters: Iterable[BrokerId]) -> VoterSet:
    """The set of `controller.quorum.voters`: without directories."""
    return VoterSet(tuple(Voter(voter) for voter in sorted(voters)))


class VoterHistory:
    """Voters and levels of `kraft.version`, by the offset of their record.

    Before the first record the static set counts.

    `next_offset`: end of the log that was read.
    """

    def __init__(self, static: VoterSet) -> None:
        self._static = static
        self._sets: list[tuple[Offset, VoterSet]] = []
        self._levels: list[tuple[Offset, int]] = []
        self.next_offset = Offset(0)

    @property
    def last(self) -> VoterSet:
        """The voters that count now."""
        return self._sets[-1][1] if self._sets else self._static

    @property
    def last_offset(self) -> Offset | None:
        """Offset of the last set's record; -1: of a bootstrap snapshot; None: the set is static."""
        return self._sets[-1][0] if self._sets else None

    @property
    def level(self) -> int:
        """The level of `kraft.version`."""
        return self._levels[-1][1] if self._levels else 0

    @property
    def is_in_log(self) -> bool:
        """Whether the voters are in the log, and may change."""
        return self.level >= VOTERS_IN_LOG

    def at(self, offset: Offset) -> tuple[int, VoterSet | None]:
        """Level and voters of the records up to `offset`, for a snapshot. None: the set is static."""
        level = bisect_right(self._levels, offset, key=lambda entry: entry[0])
        voters = bisect_right(self._sets, offset, key=lambda entry: entry[0])
        return self._levels[level - 1][1] if level else 0, self._sets[voters - 1][1] if voters else None

    def changes(self) -> Iterator[tuple[Offset, frozenset[ReplicaKey], frozenset[ReplicaKey]]]:
        """Offset of each known record of the voters, and the keys before and after it."""
        for (_, before), (offset, after) in pairwise(self._sets):
            yield offset, _keys(before), _keys(after)

    def note(self, offset: Offset, record: ControlRecord) -> None:
        """Apply a control record of the log, or of a snapshot, then with the snapshot's last offset."""
        if isinstance(record, Voters):
            self._sets.append((offset, VoterSet(record.voters)))
        elif isinstance(record, KRaftVersion):
            self._levels.append((offset, record.level))

    def clear(self) -> None:
        self._sets.clear()
        self._levels.clear()

    def truncate(self, end: Offset) -> None:
        """Forget records from `end` on, which the log has lost."""
        self._sets = [entry for entry in self._sets if entry[0] < end]
        self._levels = [entry for entry in self._levels if entry[0] < end]
        self.next_offset = min(self.next_offset, end)

    def forget_below(self, start: Offset) -> None:
        """Forget sets that no record from `start` on needs: all but the last one before it."""
        self._sets = _needed(self._sets, start)
        self._levels = _needed(self._levels, start)


def _keys(voters: VoterSet) -> frozenset[ReplicaKey]:
    return frozenset(ReplicaKey(voter.id, voter.directory) for voter in voters.voters)


def _needed(entries: list[tuple[Offset, _Value]], start: Offset) -> list[tuple[Offset, _Value]]:
    known = bisect_right(entries, start, key=lambda entry: entry[0])
    return entries[max(0, known - 1) :]
