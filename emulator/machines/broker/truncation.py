"""Truncation offset of a follower for its leader's response. Pure arithmetic; semantics 2.1.

answer undefined            -> the fetch offset (the own high watermark in round one)
epoch undefined (v0)        -> min(answer, log end)
leader's epoch e is ours    -> min(our end of e, leader's end of e, log end), done
we have only older than e   -> our end of the older one, and a further request
"""

import msgspec

from emulator.machines.broker.replica_log import Log
from protocol.ids import LeaderEpoch, Offset


class Cut(msgspec.Struct, frozen=True):
    """Truncate to `offset`; `complete`: no further request is needed."""

    offset: Offset
    complete: bool


def cut_for(log: Log, fetch_offset: Offset, epoch: LeaderEpoch, end_offset: Offset) -> Cut:
    """The follower's truncation for the leader's response (`epoch`, `end_offset`)."""
    if end_offset == -1:
        return Cut(fetch_offset, complete=True)
    if epoch == -1:
        return Cut(min(end_offset, log.log_end), complete=True)
    own_epoch, own_end = log.end_offset_for_epoch(epoch)
    if (own_epoch, own_end) == (-1, -1):
        return Cut(min(end_offset, log.log_end), complete=True)
    if own_epoch != epoch:
        return Cut(min(own_end, log.log_end), complete=False)
    return Cut(min(own_end, end_offset, log.log_end), complete=True)
