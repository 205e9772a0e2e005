"""Leader epochs of one replica: the start offset of each epoch.

A list of (epoch, start offset), growing in both. Truncation rests on its answer to this question: where does epoch
E end in this log? (KIP-101, KIP-279; semantics 2.1 and 3.) Every change rewrites the file
`leader-epoch-checkpoint`.

    epochs     0        1            3
    offsets    0 1 2 3  4 5 6 7 8 9  10 11 ...      end_offset_for(2) = (1, 10)
"""

from emulator.storage.checkpoints import LeaderEpochs, format_leader_epochs
from emulator.storage.files import Files
from protocol.events.log_events import EPOCHS_MAX
from protocol.gates import Gates
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, LeaderEpoch, Offset

UNDEFINED = (EPOCH_UNKNOWN, NO_OFFSET)
"""(epoch, end offset) of an undefined answer."""

Noted = tuple[LeaderEpoch, Offset, LeaderEpoch, Offset, int, str]
"""(epoch, its start, the previous entry: epoch, start; number of entries, their text)"""


class LeaderEpochCache:
    """Epoch entries of one replica, mirrored in `path`."""

    __slots__ = ("_files", "_gates", "_path", "_writes", "entries", "unreported")

    def __init__(self, files: Files, path: str, gates: Gates, entries: LeaderEpochs) -> None:
        self._files = files
        self._path = path
        self._gates = gates
        self._writes = gates.has_epoch_cache
        self.entries = entries
        self.unreported: list[Noted] = []
        """Entries noted since the last `tell`."""

    def tell(self) -> list[Noted]:
        """Take the entries noted since the last call, for events."""
        reported, self.unreported = self.unreported, []
        return reported

    @property
    def text(self) -> str:
        """The newest entries, in the text of events: "0:0 2:57"."""
        return " ".join(f"{epoch}:{start}" for epoch, start in self.entries[-EPOCHS_MAX:])

    @property
    def latest(self) -> LeaderEpoch:
        """The newest epoch; -1 when empty."""
        return self.entries[-1][0] if self.entries else EPOCH_UNKNOWN

    def assign(self, epoch: LeaderEpoch, start_offset: Offset) -> None:
        """Note that `epoch` begins at `start_offset`, unless that is known already."""
        entries = self.entries
        if not self._writes:
            return
        if entries:
            last_epoch, last_start = entries[-1]
            if self._gates.epoch_cache_strict_assign:
                if epoch == last_epoch and start_offset >= last_start:
                    return
                while entries and (entries[-1][0] >= epoch or entries[-1][1] >= start_offset):
                    entries.pop()
            elif epoch <= last_epoch or start_offset < last_start:
                return
        before_epoch, before_start = entries[-1] if entries else UNDEFINED
        entries.append((epoch, start_offset))
        self.unreported.append((epoch, start_offset, before_epoch, before_start, len(entries) - 1, self.text))
        self._flush()

    def end_offset_for(self, epoch: LeaderEpoch, log_end: Offset) -> tuple[LeaderEpoch, Offset]:
        """(largest epoch <= `epoch`, its end); version 0 of the request omits the epoch.

        UNDEFINED by the table of semantics 2.1.
        """
        entries = self.entries
        if epoch == -1 or not entries:
            at_end = epoch == -1 and not entries and self._gates.no_epochs_end_at_log_end
            return (epoch, log_end) if at_end else UNDEFINED
        last = entries[-1][0]
        if epoch == last:
            return epoch, log_end
        if epoch > last:
            return UNDEFINED
        if epoch < entries[0][0]:
            if self._gates.epoch_entry_below_first_answered:
                return epoch, entries[0][1]
            return UNDEFINED
        for index in range(len(entries) - 1, 0, -1):
            if entries[index - 1][0] <= epoch < entries[index][0]:
                return entries[index - 1][0], entries[index][1]
        raise AssertionError((epoch, entries))

    def truncate_from_end(self, offset: Offset) -> None:
        """Drop entries that start at or beyond `offset`."""
        if self.entries and self.entries[-1][1] >= offset >= 0:
            self.entries = [entry for entry in self.entries if entry[1] < offset]
            self._flush()

    def truncate_from_start(self, offset: Offset) -> None:
        """Move the log's begin to `offset`: the epoch in force there keeps one entry, moved to it."""
        if self.entries and self.entries[0][1] < offset:
            older = [entry for entry in self.entries if entry[1] <= offset]
            self.entries = [(older[-1][0], offset)] + [entry for entry in self.entries if entry[1] > offset]
            self._flush()

    def clear(self) -> None:
        if self.entries:
            self.entries = []
            self._flush()

    def _flush(self) -> None:
        self._files.write_atomically(self._path, format_leader_epochs(self.entries))
