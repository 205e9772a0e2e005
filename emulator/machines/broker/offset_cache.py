"""What groups have committed, as one partition of the offsets topic says it: rebuilt from its log, then kept.

The last record of a key counts, by its place in the log: answers to appends may come in another order than the
appends (semantics 6).
"""

import msgspec

from protocol.ids import Offset, TopicPartition
from protocol.records.format import iter_headers, read_records
from protocol.records.group_metadata import StoredGroup, decode_group
from protocol.records.offset_commits import CommittedOffset, GroupKey, OffsetKey, decode_key, decode_value

KEYS_MAX = 1_000_000
"""Offsets held per partition of the offsets topic. A commit beyond it is refused."""


class _Held(msgspec.Struct, frozen=True):
    """`at`: offset of its record in the offsets topic."""

    committed: CommittedOffset
    at: Offset


class OffsetCache:
    """`loaded_to`: the log has been read up to here (exclusive). `loading`: nothing is answered yet. `groups`: those
    whose members the log has told, until somebody takes them."""

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
        """Whatever it has committed, by topic and partition."""
        keys = sorted((key for key in self._held if key.group == group), key=lambda key: (key.topic, key.partition))
        return [(key, self._held[key].committed) for key in keys]

    def names(self) -> set[str]:
        """Of groups that have committed something."""
        return {key.group for key in self._held}

    def committed(self, key: OffsetKey, committed: CommittedOffset, at: Offset) -> None:
        """Its record lies at `at`, in sync. An older one that is heard of later changes nothing."""
        held = self._held.get(key)
        if held is None or held.at < at:
            self._held[key] = _Held(committed, at)

    def drop(self, topic_partitions: list[TopicPartition]) -> list[OffsetKey]:
        """Nothing is committed of these any more; returns of whom it was."""
        gone = set(topic_partitions)
        keys = [key for key in self._held if (key.topic, key.partition) in gone]
        self.drop_keys(keys)
        return keys

    def drop_keys(self, keys: list[OffsetKey]) -> None:
        for key in keys:
            del self._held[key]

    def load(self, data: bytes) -> None:
        """The next entries of the log. Raises what is wrong with records that no coordinator wrote:
        protocol.records.errors.CorruptRecord, UnreadableRecord."""
        for position, header in iter_headers(data):
            for record in read_records(data, position):
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
