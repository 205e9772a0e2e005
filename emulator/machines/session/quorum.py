"""Shared parts of `leading` and `following`: replicated state, and the interfaces of a term.

A leadership term is the time between two elections at one server. It ends by `TermEnded`, and the server then
begins a new election. All that was done until then stays.
"""

from typing import NamedTuple, Protocol

from emulator.machines.session.transaction_history import History
from emulator.machines.session.tree import Tree
from emulator.machines.session.znode import Change
from protocol.machine import Now
from protocol.messages.ensemble import Transaction
from protocol.messages.session_messages import SessionResponse
from protocol.outbox import Outbox

EPOCH_SHIFT = 32


class Limits(NamedTuple):
    """The ensemble's time limits: tickTime, and initLimit and syncLimit in milliseconds."""

    tick_ms: int
    init_ms: float
    sync_ms: float


class TermEnded(Exception):
    """This server no longer follows or leads; the message says why."""


class Host(Protocol):
    """Callbacks of a term, implemented by its server."""

    def applied(
        self, now: Now, out: Outbox, transaction: Transaction, response: SessionResponse, changes: list[Change]
    ) -> None:
        """Handle a committed transaction, which the tree contains already."""

    def restored(self, now: Now, out: Outbox, before: Tree) -> None:
        """Handle a replaced tree (SNAP)."""

    def serving_changed(self, now: Now, out: Outbox, serving: bool) -> None:
        """Begin or stop serving clients."""

    def revalidated(self, now: Now, out: Outbox, request: int, valid: bool) -> None:
        """Handle the leader's decision on a session that is reopened."""

    def caught_up(self, now: Now, out: Outbox, request: int) -> None:
        """Handle the completion of a `sync`."""


class Quorum(Protocol):
    """Operations of a term, leading or following, for the server's clients.

    Responses come through `Host`, perhaps at once.
    """

    def propose(self, now: Now, out: Outbox, transaction: Transaction) -> None:
        """Have the leader assign a zxid; `applied` then names the request."""

    def revalidate(self, now: Now, out: Outbox, request: int, session: int) -> None: ...

    def catch_up(self, now: Now, out: Outbox, request: int) -> None: ...

    def touch(self, now: Now, session: int) -> bool:
        """Note a sign of life of a client. False: to this leader its session is at another server."""


class Replica:
    """The log, and the tree of its committed part. `tree.zxid` is the newest applied."""

    def __init__(self, history: History, host: Host) -> None:
        self.history = history
        self.tree = Tree.restored(history.snapshot)
        self._host = host

    def advance(self, now: Now, out: Outbox, committed: int) -> list[Transaction]:
        """Apply the log up to `committed`, inclusive; returns the applied transactions."""
        tree = self.tree
        if committed <= tree.zxid:
            return []
        applied: list[Transaction] = []
        for transaction in self.history.after(tree.zxid):
            if transaction.zxid > committed:
                break
            response, changes = tree.apply(transaction)
            applied.append(transaction)
            self._host.applied(now, out, transaction, response, changes)
        self.history.compact(tree)
        return applied

    def cut_after(self, zxid: int) -> None:
        """TRUNC. Applied transactions are on a majority's disks, so no leader can undo them."""
        assert zxid >= self.tree.zxid, f"TRUNC to {zxid:#x}, applied {self.tree.zxid:#x}"
        self.history.cut_after(zxid)

    def replace(self, now: Now, out: Outbox, snapshot: bytes) -> None:
        """SNAP: replace tree and log."""
        before = self.tree
        tree = self.history.replace(snapshot)
        assert tree.zxid >= before.zxid, f"SNAP at {tree.zxid:#x}, applied {before.zxid:#x}"
        self.tree = tree
        self._host.restored(now, out, before)
