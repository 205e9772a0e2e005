"""What both sides of a leadership term (`leading`, `following`) share: the replicated state, who asks whom for what.

A leadership term is the time between two elections at one server. It ends by `TermEnded`, which the server answers with
a new election; whatever was done until then stands.
"""

from typing import NamedTuple, Protocol

from emulator.machines.session.history import History
from emulator.machines.session.tree import Tree
from emulator.machines.session.znodes import Change
from protocol.machine import Now
from protocol.messages.ensemble import Transaction
from protocol.messages.session import SessionResponse
from protocol.outbox import Outbox

EPOCH_SHIFT = 32


class Limits(NamedTuple):
    """The ensemble's times: tickTime, and initLimit and syncLimit as milliseconds."""

    tick_ms: int
    init_ms: float
    sync_ms: float


class TermEnded(Exception):
    """This server follows or leads no longer, and why."""


class Host(Protocol):
    """What a term tells its server."""

    def applied(
        self, now: Now, out: Outbox, transaction: Transaction, response: SessionResponse, changes: list[Change]
    ) -> None:
        """A committed transaction is in the tree."""

    def restored(self, now: Now, out: Outbox, before: Tree) -> None:
        """The tree is another one (SNAP)."""

    def serving_changed(self, now: Now, out: Outbox, serving: bool) -> None:
        """From now on clients are served, or not."""

    def revalidated(self, now: Now, out: Outbox, request: int, valid: bool) -> None:
        """The leader's word on a session that is reopened."""

    def caught_up(self, now: Now, out: Outbox, request: int) -> None:
        """A `sync` is done."""


class Quorum(Protocol):
    """What the clients' side asks of a term, leading or following alike. Answers come through `Host`, perhaps
    at once."""

    def propose(self, now: Now, out: Outbox, transaction: Transaction) -> None:
        """Let the leader give it a zxid; its `applied` names the request."""

    def revalidate(self, now: Now, out: Outbox, request: int, session: int) -> None: ...

    def catch_up(self, now: Now, out: Outbox, request: int) -> None: ...

    def touch(self, now: Now, session: int) -> bool:
        """A sign of life of a client of ours. False: as the leader we take its session to be at another server."""


class Replica:
    """The log and the tree that its committed part makes. `tree.zxid` is the newest applied."""

    def __init__(self, history: History, host: Host) -> None:
        self.history = history
        self.tree = Tree.restored(history.snapshot)
        self._host = host

    def advance(self, now: Now, out: Outbox, committed: int) -> list[Transaction]:
        """Applies the log up to `committed`, inclusive; what was applied."""
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
        """TRUNC. What is applied was on a majority's disks, so no leader can ask to undo it."""
        assert zxid >= self.tree.zxid, f"TRUNC to {zxid:#x}, applied {self.tree.zxid:#x}"
        self.history.cut_after(zxid)

    def replace(self, now: Now, out: Outbox, snapshot: bytes) -> None:
        """SNAP."""
        before = self.tree
        tree = self.history.replace(snapshot)
        assert tree.zxid >= before.zxid, f"SNAP at {tree.zxid:#x}, applied {before.zxid:#x}"
        self.tree = tree
        self._host.restored(now, out, before)
