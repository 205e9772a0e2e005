"""Validation of a leader's messages against its earlier ones and its follower's state.

A leader that keeps the protocol never contradicts them. If a message does, the leadership term ends: the follower
writes nothing of it, and an election decides.
"""

from emulator.machines.session.quorum import Replica
from emulator.machines.session.tree import Tree
from protocol.messages.ensemble import History, NewLeader, Proposal, Transaction
from protocol.messages.message_base import Message
from protocol.undecodable import UNDECODABLE, why

WEIGHED = frozenset((Proposal, NewLeader, History))
"""Messages that can contradict earlier state; most of a leader's messages are none of these."""


def out_of_line(message: Message, replica: Replica, epoch: int) -> str:
    """Reason why the message is invalid; "" if it is valid.

    `epoch`: the one offered in this term, 0 none.
    """
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
    """(objection, the zxid at which the log then ends)."""
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
