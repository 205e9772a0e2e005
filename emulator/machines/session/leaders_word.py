"""A leader's word: whether what it says follows from what it said before, and from what its follower has.

A leader that keeps the protocol never says the other. Whoever says it is none, and the leadership term ends: nothing of
it is written, and an election decides who leads.
"""

from emulator.machines.session.quorum import Replica
from emulator.machines.session.tree import Tree
from protocol.messages.base import Message
from protocol.messages.ensemble import History, NewLeader, Proposal, Transaction
from protocol.undecodable import UNDECODABLE, why

WEIGHED = frozenset((Proposal, NewLeader, History))
"""What can contradict anything. Most of what a leader says is none of these."""


def out_of_line(message: Message, replica: Replica, epoch: int) -> str:
    """Why the message cannot be obeyed; "" if it can. `epoch`: the one that was offered in this term, 0 none."""
    if type(message) not in WEIGHED:
        return ""
    history = replica.history
    match message:
        case Proposal(transaction):
            return _ascending([transaction], history.last_zxid)
        case NewLeader(entered):
            known = history.current_epoch <= entered <= history.accepted_epoch
            return "" if known and entered == epoch else f"epoch {entered}, {epoch} was offered"
        case History(kind, truncate_to, snapshot, transactions):
            objection, end = _history(kind, truncate_to, snapshot, replica)
            return objection or _ascending(transactions, end)
    raise AssertionError(message)


def _history(kind: str, truncate_to: int, snapshot: bytes, replica: Replica) -> tuple[str, int]:
    """(objection, the zxid at which the log ends when this is done)."""
    history, applied = replica.history, replica.tree.zxid
    if kind == "diff":
        return "", history.last_zxid
    if kind == "trunc":
        if truncate_to < max(applied, history.snapshot_zxid) or not history.holds(truncate_to):
            return f"TRUNC to {truncate_to:#x}, applied {applied:#x}", 0
        return "", truncate_to
    try:
        zxid = Tree.restored(snapshot).zxid
    except (*UNDECODABLE, KeyError) as error:
        return f"no snapshot: {why(error)}", 0
    return (f"SNAP at {zxid:#x}, applied {applied:#x}", 0) if zxid < applied else ("", zxid)


def _ascending(transactions: list[Transaction], last: int) -> str:
    for transaction in transactions:
        if transaction.zxid <= last:
            return f"{transaction.zxid:#x} after {last:#x}"
        last = transaction.zxid
    return ""
