"""Notices to the state machine: committed records and snapshots, and changes of leadership.

The state machine reads up to the high watermark alone. So a new leader learns of its leadership only when the control
record of its epoch is committed, and with it all earlier records.

Source: KafkaRaftClient.ListenerContext, pollListeners.
"""

from controller.quorum.epoch_states import EpochState, Resigned
from controller.quorum.leader_state import Leader
from controller.quorum.quorum_inputs import Committed, LeaderChanged, QuorumEffect, SnapshotCommitted
from controller.quorum.quorum_log import QuorumLog
from protocol.gates import Gates
from protocol.ids import FIRST_OFFSET, NO_BROKER, BrokerId, LeaderEpoch


class LeaderNotices:
    """Notices of one incarnation. `next_offset`: the first record that was not reported."""

    def __init__(self, gates: Gates, effects: list[QuorumEffect], log: QuorumLog) -> None:
        self._gates = gates
        self._log = log
        self._effects = effects
        self._leader = NO_BROKER
        self._epoch = LeaderEpoch(0)
        self.next_offset = FIRST_OFFSET

    def state_changed(self, state: EpochState) -> None:
        """Report a transition to another state than Leader and Resigned."""
        self._report(state.leader, state.epoch)

    def poll(self, state: EpochState) -> None:
        """Report what has become reportable. Source: pollListeners."""
        if state.high_watermark > self.next_offset:
            self._load_snapshot()
        if state.high_watermark > self.next_offset:
            self._effects.append(Committed(self.next_offset, state.high_watermark))
            self.next_offset = state.high_watermark
        if isinstance(state, Leader):
            read_beyond = self.next_offset > state.epoch_start
            read_up_to = self.next_offset >= state.epoch_start
            if read_beyond if self._gates.leads_after_change_record else read_up_to:
                self._report(state.leader, state.epoch)
        elif not isinstance(state, Resigned) or self._gates.resigned_is_notified:
            self._report(state.leader, state.epoch)

    def _load_snapshot(self) -> None:
        """Report the latest snapshot at the start, and where the log lacks the next record.

        Source: KafkaRaftClient.updateListenersProgress.
        """
        snapshots = self._log.snapshots
        if not snapshots or not (self.next_offset == FIRST_OFFSET or self.next_offset < self._log.start):
            return
        latest = snapshots[-1]
        if latest.end > self.next_offset:
            self._effects.append(SnapshotCommitted(latest.end, latest.epoch))
            self.next_offset = latest.end

    def _report(self, leader: BrokerId, epoch: LeaderEpoch) -> None:
        """Report a newer epoch, or the leader of the reported one."""
        newer = epoch > self._epoch
        if newer or (epoch == self._epoch and leader != NO_BROKER and self._leader == NO_BROKER):
            self._leader, self._epoch = leader, epoch
            self._effects.append(LeaderChanged(leader, epoch))
