"""Learners: what a leader knows of each follower, and how it makes a follower's log equal to its own (semantics
5.3)."""

import msgspec

from emulator.machines.session.history import History as OwnHistory
from protocol.messages.ensemble import History


class Learner(msgspec.Struct):
    """One follower's connection. `synchronised`: it has our log's beginning and gets proposals; `acked`: newest
    zxid on its disk."""

    connection: int
    server: int
    accepted_epoch: int
    heard_ms: float
    last_zxid: int = -1
    synchronised: bool = False
    up_to_date: bool = False
    acked: int = -1


def history_for(own: OwnHistory, theirs: int) -> History:
    """What a follower whose newest zxid is `theirs` needs: DIFF, TRUNC or SNAP.

    The newest zxid of ours that is not above theirs is in their log too: within an epoch both logs are
    beginnings of one sequence, and an epoch of theirs that we lack never had a majority, so it has no
    transactions.
    """
    common = own.newest_up_to(theirs)
    if common is None:
        return History("snap", 0, own.snapshot, own.after(own.snapshot_zxid))
    if common == theirs:
        return History("diff", 0, b"", own.after(theirs))
    return History("trunc", common, b"", own.after(common))
