"""A leader's state of its followers, and the history that equalises logs (semantics 5.3)."""

import msgspec

from emulator.machines.session.transaction_history import History as OwnHistory
from protocol.messages.ensemble import History


class Learner(msgspec.Struct):
    """One follower's connection.

    `synchronised`: it has the beginning of the leader's log and gets proposals. `acked`: newest zxid on its disk.
    """

    connection: int
    server: int
    accepted_epoch: int
    received_ms: float
    last_zxid: int = -1
    synchronised: bool = False
    up_to_date: bool = False
    acked: int = -1


def history_for(own: OwnHistory, theirs: int) -> History:
    """History for a follower whose newest zxid is `theirs`: DIFF, TRUNC or SNAP.

    The newest zxid of the leader's that is not above theirs is in their log, too. Within an epoch both logs are
    beginnings of one sequence. An epoch of theirs that the leader lacks never had a majority, so it has no
    transactions.
    """
    common = own.newest_up_to(theirs)
    if common is None:
        return History("snap", 0, own.snapshot, own.after(own.snapshot_zxid))
    if common == theirs:
        return History("diff", 0, b"", own.after(theirs))
    return History("trunc", common, b"", own.after(common))
