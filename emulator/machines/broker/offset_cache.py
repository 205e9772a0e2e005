"""Committed offsets of one partition of the offsets topic: loaded from its log, and updated.

The last record of a key counts, by its offset: responses to appends may come in another order than the appends
(semantics 6).
"""

import msgspec

from protocol.ids import Offset, TopicPartition
from protocol.records.format import iter_headers, read_records
from protocol.records.group_metadata import StoredGroup, decode_group
from protocol.records.offset_commits import CommittedOffset, GroupKey, OffsetKey, decode_key, decode_value

KEYS_MAX = 1_000_000
"""Bound of offsets per partition of the offsets topic; further commits are refused."""


class _Held(msgspec.Struct, frozen=True):
    """A committed offset. `at`: offset of its record in the offsets topic."""

    committed: CommittedOffset
    at: Offset


class OffsetCache:
    """Committed offsets of one partition.

    `loaded_to`: the log has been read up to here (exclusive). `loading`: no request gets an answer yet. `groups`:
    loaded groups with members, until the coordinator takes them.
    """

    __slots__ = ("_held", "groups", "loaded_to", "loading")

    def __init__(self, log_start: Offset) -> None:
        self._held: dict[OffsetKey, _Held] = {}
        self.groups: dict[str, StoredGroup] = {}
        self.loaded_to = log_start
        self.loading = True

    def __len__(self) -> int:
        return len(self._held)

    def has_room(self, keys: list[OffsetKey]) -> bool:
        """Whether `keys` may be committed."""
        return len(self._held) + sum(key not in self._held for key in keys) <= KEYS_MAX

    def get(self, key: OffsetKey) -> CommittedOffset | None:
        held = self._held.get(key)
        return None if held is None else held.committed

    def of_group(self, group: str) -> list[tuple[OffsetKey, CommittedOffset]]:
        """All committed offsets of a group, by topic and partition."""
        keys = sorted((key for key in self._held if key.group == group), key=lambda key: (key.topic, key.partition))
        return [(key, self._held[key].committed) for key in keys]

    def names(self) -> set[str]:
        """Names of groups with committed offsets."""
        return {key.group for key in self._held}

    def committed(self, key: OffsetKey, committed: CommittedOffset, at: Offset) -> None:
        """Set the committed offset of a record at `at`, in sync; an older record changes nothing."""
        held = self._held.get(key)
        if held is None or held.at < at:
            self._held[key] = _Held(committed, at)

    def drop(self, topic_partitions: list[TopicPartition]) -> list[OffsetKey]:
        """Drop the committed offsets of deleted partitions; returns their keys."""
        gone = set(topic_partitions)
        keys = [key for key in self._held if (key.topic, key.partition) in gone]
        self.drop_keys(keys)
        return keys

    def drop_keys(self, keys: list[OffsetKey]) -> None:
        for key in keys:
            del self._held[key]

    def load(self, data: bytes) -> None:
        """Load the next entries of the log.

        Raises errors of records that no coordinator wrote: protocol.records.errors.CorruptRecord, UnreadableRecord.
        """
        for position, header in iter_headers(data):
            for record in read_records(data, position, header):
                key = decode_key(record.key or b"")
                if isinstance(key, GroupKey):
                    self.groups.pop(key.group, None)
                    if record.value is not None:
                        self.groups[key.group] = decode_group(record.value)
                elif record.value is None:
                    self._held.pop(key, None)
                else:
                    self._held[key] = _Held(decode_value(record.value), record.offset)
            self.loaded_to = header.next_offset
