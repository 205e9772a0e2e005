"""State of one ZooKeeper server on disk; only this survives its death.

Four files in its directory, as ZooKeeper's:

- `acceptedEpoch`, `currentEpoch`: the newest epoch promised to a leader, and the newest whose leader's history this
  is;
- `snapshot`: a tree, at a committed zxid;
- `log`: transactions after `base_zxid`, each as [length, CRC-32, msgpack]; its first record is the base.

The log may hold transactions that are not committed; a later leader may truncate them (TRUNC). A torn tail means
that the node died within an append. Loading truncates it: no server acknowledged it, because an acknowledgement
follows the fsync.
"""

import struct
import zlib
from bisect import bisect_right

import msgspec

from emulator.machines.session.tree import Tree
from emulator.storage.files import Files
from protocol.messages.ensemble import Transaction
from protocol.undecodable import UNDECODABLE

ACCEPTED_EPOCH = "acceptedEpoch"
CURRENT_EPOCH = "currentEpoch"
SNAPSHOT = "snapshot"
LOG = "log"

LOG_MAX_TRANSACTIONS = 20_000
"""Log length that triggers snapshot and truncation (ZooKeeper's snapCount: 100,000)."""
LOG_KEPT_TRANSACTIONS = 500
"""Transactions kept before the snapshot, so that a follower slightly behind gets a DIFF.

ZooKeeper's commitLogCount.
"""

_HEADER = struct.Struct(">II")
_encode = msgspec.msgpack.Encoder().encode
_decode_transaction = msgspec.msgpack.Decoder(Transaction).decode
_decode_base = msgspec.msgpack.Decoder(int).decode


class HistoryDamaged(Exception):
    """A file that this module's own writes cannot have produced. The server must not start."""


class History:
    """Log, snapshot and epochs of one server.

    `zxids[i]` is of `transactions[i]`; all are above `base_zxid`. Every method that changes state is durable when
    it returns.
    """

    def __init__(
        self, files: Files, *, log_max: int = LOG_MAX_TRANSACTIONS, log_kept: int = LOG_KEPT_TRANSACTIONS
    ) -> None:
        assert log_kept < log_max
        self._files = files
        self._log_max = log_max
        self._log_kept = log_kept
        self.accepted_epoch = self._read_epoch(ACCEPTED_EPOCH)
        self.current_epoch = self._read_epoch(CURRENT_EPOCH)
        self.snapshot = self._read_snapshot()
        self.snapshot_zxid = Tree.restored(self.snapshot).zxid
        self.base_zxid = 0
        self.transactions: list[Transaction] = []
        self.zxids: list[int] = []
        self._ends: list[int] = []
        self._base_end = 0
        self._load_log()
        if self.base_zxid > self.snapshot_zxid:
            raise HistoryDamaged(f"{LOG} begins after {self.base_zxid:#x}, {SNAPSHOT} ends at {self.snapshot_zxid:#x}")

    @property
    def last_zxid(self) -> int:
        """Newest logged zxid, committed or not; at least the snapshot's."""
        return max(self.zxids[-1] if self.zxids else self.base_zxid, self.snapshot_zxid)

    # --- epochs ---------------------------------------------------------------------------------------------

    def accept_epoch(self, epoch: int) -> None:
        assert epoch >= self.accepted_epoch, (epoch, self.accepted_epoch)
        if epoch > self.accepted_epoch:
            self._files.write_atomically(ACCEPTED_EPOCH, str(epoch).encode())
            self.accepted_epoch = epoch

    def enter_epoch(self, epoch: int) -> None:
        assert self.current_epoch <= epoch <= self.accepted_epoch, (self.current_epoch, epoch, self.accepted_epoch)
        if epoch > self.current_epoch:
            self._files.write_atomically(CURRENT_EPOCH, str(epoch).encode())
            self.current_epoch = epoch

    # --- log ------------------------------------------------------------------------------------------------

    def append(self, transactions: list[Transaction]) -> None:
        """Append in order of zxids, all newer than `last_zxid`, with one fsync."""
        if not transactions:
            return
        chunks: list[bytes] = []
        end = self._ends[-1] if self._ends else self._base_end
        last = self.last_zxid
        for transaction in transactions:
            assert transaction.zxid > last, f"{transaction.zxid:#x} after {last:#x}"
            last = transaction.zxid
            record = _record(_encode(transaction))
            chunks.append(record)
            end += len(record)
            self._ends.append(end)
            self.zxids.append(last)
        self.transactions.extend(transactions)
        size = self._files.append(LOG, b"".join(chunks))
        assert size == end, f"{LOG} has {size} bytes, {end} were written"
        self._files.fsync(LOG)

    def after(self, zxid: int) -> list[Transaction]:
        """Logged transactions above `zxid`, which must not lie before the log."""
        assert zxid >= self.base_zxid
        return self.transactions[bisect_right(self.zxids, zxid) :]

    def holds(self, zxid: int) -> bool:
        """Whether the log contains `zxid`: its successors can be sent as a DIFF."""
        if zxid == self.base_zxid:
            return True
        place = bisect_right(self.zxids, zxid)
        return place > 0 and self.zxids[place - 1] == zxid

    def newest_up_to(self, zxid: int) -> int | None:
        """The newest logged zxid that is not above `zxid`; None if the log begins after it."""
        if zxid < self.base_zxid:
            return None
        place = bisect_right(self.zxids, zxid)
        return self.zxids[place - 1] if place else self.base_zxid

    def cut_after(self, zxid: int) -> None:
        """TRUNC: drop every transaction above `zxid`, which the log holds."""
        assert self.holds(zxid) and zxid >= self.snapshot_zxid, (
            f"cut after {zxid:#x}, {self.base_zxid:#x}..{self.last_zxid:#x}"
        )
        place = bisect_right(self.zxids, zxid)
        del self.transactions[place:], self.zxids[place:], self._ends[place:]
        self._files.truncate(LOG, self._ends[-1] if self._ends else self._base_end)
        self._files.fsync(LOG)

    def replace(self, snapshot: bytes) -> Tree:
        """SNAP: replace all state by this snapshot; returns its tree."""
        tree = Tree.restored(snapshot)
        # The log goes first: a server that dies in between has an empty history, which any leader can fill. The other
        # order could leave old transactions beside a tree that they do not belong to.
        self._rewrite_log(0, [])
        self._files.write_atomically(SNAPSHOT, snapshot)
        self.snapshot, self.snapshot_zxid = snapshot, tree.zxid
        self._rewrite_log(tree.zxid, [])
        return tree

    def compact(self, tree: Tree) -> bool:
        """Bound the log: if it is long, `tree` (committed) becomes the snapshot. Whether it did."""
        if len(self.transactions) < self._log_max or tree.zxid == self.snapshot_zxid:
            return False
        snapshot = tree.snapshot()
        self._files.write_atomically(SNAPSHOT, snapshot)
        self.snapshot, self.snapshot_zxid = snapshot, tree.zxid
        first_kept = max(0, bisect_right(self.zxids, tree.zxid) - self._log_kept)
        if first_kept:
            self._rewrite_log(self.zxids[first_kept - 1], self.transactions[first_kept:])
        return True

    # --- files ----------------------------------------------------------------------------------------------

    def _read_epoch(self, path: str) -> int:
        if not self._files.exists(path):
            return 0
        text = self._files.read(path, 0, 32)
        if not text.isdigit():
            raise HistoryDamaged(f"{path} holds {text!r}, not a number")
        return int(text)

    def _read_snapshot(self) -> bytes:
        if not self._files.exists(SNAPSHOT):
            return Tree().snapshot()
        snapshot = self._files.read(SNAPSHOT, 0, self._files.size(SNAPSHOT))
        try:
            Tree.restored(snapshot)
        except UNDECODABLE as error:
            raise HistoryDamaged(f"{SNAPSHOT}: {error}") from error
        return snapshot

    def _rewrite_log(self, base_zxid: int, transactions: list[Transaction]) -> None:
        records = [_record(_encode(base_zxid))]
        self._base_end = end = len(records[0])
        self._ends = []
        for transaction in transactions:
            records.append(_record(_encode(transaction)))
            end += len(records[-1])
            self._ends.append(end)
        self.base_zxid = base_zxid
        self.transactions = transactions
        self.zxids = [transaction.zxid for transaction in transactions]
        self._files.write_atomically(LOG, b"".join(records))

    def _load_log(self) -> None:
        if not self._files.exists(LOG):
            self._rewrite_log(self.snapshot_zxid, [])
            return
        data = self._files.read(LOG, 0, self._files.size(LOG))
        payloads, whole = _records(data)
        if whole < len(data):
            self._files.truncate(LOG, whole)
            self._files.fsync(LOG)
        if not payloads:
            raise HistoryDamaged(f"{LOG} lacks its first record")
        try:
            self.base_zxid = _decode_base(payloads[0][0])
            self._base_end = payloads[0][1]
            for payload, end in payloads[1:]:
                self.transactions.append(_decode_transaction(payload))
                self._ends.append(end)
        except UNDECODABLE as error:
            raise HistoryDamaged(f"{LOG}: {error}") from error
        self.zxids = [transaction.zxid for transaction in self.transactions]


def _record(payload: bytes) -> bytes:
    return _HEADER.pack(len(payload), zlib.crc32(payload)) + payload


def _records(data: bytes) -> tuple[list[tuple[bytes, int]], int]:
    """Whole records as (payload, end in the file), and the position of the first torn one."""
    found: list[tuple[bytes, int]] = []
    position = 0
    while position + _HEADER.size <= len(data):
        length, crc = _HEADER.unpack_from(data, position)
        end = position + _HEADER.size + length
        payload = data[position + _HEADER.size : end]
        if end > len(data) or zlib.crc32(payload) != crc:
            break
        found.append((payload, end))
        position = end
    return found, position
