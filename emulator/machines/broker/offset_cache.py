"""Committed offsets of one partition of the offsets topic: loaded from its log, and updated.

The last record of a key counts, by its offset: responses to appends may come in another order than the appends
(semantics 6). An offset of a transaction is *pending* until the transaction's marker.
"""

from collections import Counter

import msgspec

from protocol.ids import Offset, TopicPartition
from protocol.records.format import iter_headers, read_records
from protocol.records.group_metadata import StoredGroup, decode_group
from protocol.records.offset_commits import CommittedOffset, GroupKey, OffsetKey, decode_key, decode_value
from protocol.records.transaction_markers import decode_marker

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

    __slots__ = ("_held", "_keys", "_pending", "_unanswered", "groups", "loaded_to", "loading")

    def __init__(self, log_start: Offset) -> None:
        self._held: dict[OffsetKey, _Held] = {}
        self._keys: dict[str, set[OffsetKey]] = {}
        """{group: its keys of `_held`}: each status reads a few groups among up to KEYS_MAX offsets."""
        self.groups: dict[str, StoredGroup] = {}
        self.loaded_to = log_start
        self.loading = True
        self._pending: dict[int, dict[OffsetKey, _Held | None]] = {}
        """{producer id: {key: its offset in an open transaction.

        None: its record is not in sync yet}}
        """
        self._unanswered: Counter[OffsetKey] = Counter()
        """Commits whose records are not in sync yet."""

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
        keys = sorted(self._keys.get(group, ()), key=lambda key: (key.topic, key.partition))
        return [(key, self._held[key].committed) for key in keys]

    def names(self) -> set[str]:
        """Names of groups with committed offsets."""
        return set(self._keys)

    def committed(self, key: OffsetKey, committed: CommittedOffset, at: Offset) -> None:
        """Set the committed offset of a record at `at`, in sync; an older record changes nothing."""
        held = self._held.get(key)
        if held is None or held.at < at:
            self._hold(key, _Held(committed, at))

    def _hold(self, key: OffsetKey, held: _Held) -> None:
        self._held[key] = held
        self._keys.setdefault(key.group, set()).add(key)

    def _forget(self, key: OffsetKey) -> None:
        if self._held.pop(key, None) is not None:
            keys = self._keys[key.group]
            keys.remove(key)
            if not keys:
                del self._keys[key.group]

    # --- commits under way, and transactions ---

    def prepare(self, keys: list[OffsetKey]) -> None:
        """Note commits that are being appended."""
        self._unanswered.update(keys)

    def answered(self, keys: list[OffsetKey]) -> None:
        """Note the end of commits that were prepared."""
        self._unanswered.subtract(keys)
        for key in keys:
            if self._unanswered[key] <= 0:
                del self._unanswered[key]

    def prepare_transactional(self, producer_id: int, keys: list[OffsetKey]) -> None:
        """Note offsets of a transaction that are being appended."""
        pending = self._pending.setdefault(producer_id, {})
        for key in keys:
            pending.setdefault(key, None)

    def transactional(self, producer_id: int, key: OffsetKey, committed: CommittedOffset, at: Offset) -> None:
        """Set a pending offset of a transaction, unless the transaction has ended meanwhile."""
        pending = self._pending.get(producer_id)
        if pending is not None and key in pending:
            known = pending[key]
            if known is None or known.at < at:
                pending[key] = _Held(committed, at)

    def transactional_failed(self, producer_id: int, keys: list[OffsetKey]) -> None:
        """Drop pending offsets whose append failed; those of earlier appends stay."""
        pending = self._pending.get(producer_id, {})
        for key in keys:
            if key in pending and pending[key] is None:
                del pending[key]
        if not pending:
            self._pending.pop(producer_id, None)

    def transaction_ended(self, producer_id: int, *, commits: bool) -> None:
        """Make the pending offsets of a transaction visible, or drop them."""
        for key, held in self._pending.pop(producer_id, {}).items():
            if commits and held is not None:
                self.committed(key, held.committed, held.at)

    def is_unstable(self, key: OffsetKey) -> bool:
        """Whether an offset is pending, or a commit of it is under way.

        Source: GroupMetadata.hasPendingOffsetCommitsForTopicPartition.
        """
        return key in self._unanswered or any(key in pending for pending in self._pending.values())

    def drop(self, topic_partitions: list[TopicPartition]) -> list[OffsetKey]:
        """Drop the committed offsets of deleted partitions; returns their keys."""
        gone = set(topic_partitions)
        keys = [key for key in self._held if (key.topic, key.partition) in gone]
        self.drop_keys(keys)
        return keys

    def drop_keys(self, keys: list[OffsetKey]) -> None:
        for key in keys:
            self._forget(key)

    def load(self, data: bytes) -> None:
        """Load the next entries of the log.

        Raises errors of records that no coordinator wrote: protocol.records.errors.CorruptRecord, UnreadableRecord.
        """
        for position, header in iter_headers(data):
            if header.is_control:
                marker = decode_marker(data, position)
                if marker is not None:
                    self.transaction_ended(header.producer_id, commits=marker.commits)
                self.loaded_to = header.next_offset
                continue
            for record in read_records(data, position, header):
                key = decode_key(record.key or b"")
                if isinstance(key, GroupKey):
                    self.groups.pop(key.group, None)
                    if record.value is not None:
                        self.groups[key.group] = decode_group(record.value)
                elif record.value is None:
                    self._forget(key)
                elif header.is_transactional:
                    self.prepare_transactional(header.producer_id, [key])
                    self.transactional(header.producer_id, key, decode_value(record.value), record.offset)
                else:
                    self._hold(key, _Held(decode_value(record.value), record.offset))
            self.loaded_to = header.next_offset
