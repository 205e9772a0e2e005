"""Position of a consumer in one partition, and its states.

    looking-up  --committed--> fetching; --nothing committed--> resetting      (of a group: ask its coordinator)
    resetting   --offset listed--> fetching          (no position: ask the leader for the log's begin or end)
    fetching    --leader of a newer epoch--> validating   (2.3 and later, KIP-320)
    validating  --same history--> fetching; --shorter history--> truncated
    fetching    --offset out of range--> resetting, or stopped without a policy
    truncated   is fetching from the point of divergence with a policy, stopped without one

Positions carry two epochs: that of the last record read (the history's), and the newest of a leader that has
validated the position.
"""

from typing import Literal

import msgspec

from emulator.machines.client.client_operations import Operation
from emulator.machines.client.client_settings import ConsumerSettings
from protocol.ids import EPOCH_UNKNOWN, NO_BROKER, NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.messages.replication_messages import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

State = Literal["looking-up", "resetting", "validating", "fetching", "stopped"]


class ReadProblem(msgspec.Struct, frozen=True):
    """Reason why reading a partition stopped; Java throws an exception of this name.

    - NoOffsetForPartitionException: no position, and `auto.offset.reset` is none.
    - OffsetOutOfRangeException: `offset` is not in the log, and the policy is none.
    - LogTruncationException: the log was truncated below `offset`; `diverging_offset` is the end of the common
      history, -1 if the leader knows none.
    - KafkaException, of the old consumer InvalidMessageException: a record or batch at `offset` is damaged.
    - IllegalStateException: a fetch response with an error that no consumer expects.
    - UNKNOWN or a code's name: another response with such an error.
    """

    topic: str
    partition: int
    error: str
    offset: Offset
    diverging_offset: Offset = NO_OFFSET


class Position(msgspec.Struct):
    """Position in one partition. `offset` is the next to read, -1 while resetting.

    Epochs -1: unknown. `readable_end`: first offset that the consumer cannot read yet, by the last response: the high
    watermark, at read_committed the last stable offset. `committed`: the group's committed offset when this position
    began, None if there was none, or it was not looked up. `busy`: a request about this partition is under way, or,
    for a position, was sent at `sent_ms`. `generation` shows whether its response is still wanted.
    """

    operation: Operation
    offset: Offset
    state: State
    offset_epoch: LeaderEpoch = EPOCH_UNKNOWN
    leader_epoch: LeaderEpoch = EPOCH_UNKNOWN
    high_watermark: Offset = NO_OFFSET
    readable_end: Offset = NO_OFFSET
    committed: Offset | None = None
    busy: bool = False
    sent_ms: float = 0.0
    generation: int = 0
    not_before_ms: float = 0.0
    paused: bool = False
    preferred: BrokerId = NO_BROKER
    """The follower that the leader named for reading (KIP-392); -1: the leader itself."""
    preferred_until_ms: float = 0.0

    def prefer(self, replica: BrokerId, until_ms: float) -> None:
        """Read from a follower for some time; naming the same again gives no more time.

        Source: SubscriptionState.updatePreferredReadReplica.
        """
        if replica != self.preferred:
            self.preferred, self.preferred_until_ms = replica, until_ms

    def prefer_leader(self) -> bool:
        """Read from the leader; whether a follower was preferred."""
        preferred, self.preferred = self.preferred, NO_BROKER
        return preferred >= 0

    def seek(self, offset: Offset, epoch: LeaderEpoch = EPOCH_UNKNOWN) -> None:
        """Read on from `offset`; responses under way are for the old position."""
        self.offset = offset
        self.offset_epoch = epoch
        self.state = "fetching"
        self.generation += 1
        self.busy = False

    def restart(self) -> None:
        """Begin again: request the offset to read from."""
        self.offset, self.offset_epoch = NO_OFFSET, EPOCH_UNKNOWN
        self.state = "resetting"
        self.generation += 1
        self.busy = False

    def stop(self) -> None:
        self.state = "stopped"
        self.generation += 1
        self.busy = False

    def hold(self) -> None:
        """Keep the position: responses under way are ignored."""
        self.paused = True
        self.generation += 1
        self.busy = False

    def meet_leader(self, epoch: LeaderEpoch) -> None:
        """Note the metadata's leader epoch; a newer leader has to validate the position."""
        if epoch <= self.leader_epoch:
            return
        self.leader_epoch = epoch
        self.preferred = NO_BROKER
        if self.state in ("fetching", "validating"):
            self.generation += 1
            self.busy = False
            if self.state == "validating":
                self.not_before_ms = 0.0  # SubscriptionState.validatePosition: nextRetryTimeMs = null
            # Without a record read there is no epoch to compare, and no history to be truncated.
            self.state = "validating" if self.offset_epoch >= 0 else "fetching"


def reset_timestamp(settings: ConsumerSettings) -> int | None:
    """Timestamp for ListOffsets by the reset policy; None: the policy is none."""
    match settings.auto_offset_reset:
        case "earliest" | "smallest":
            return EARLIEST_TIMESTAMP
        case "latest" | "largest":
            return LATEST_TIMESTAMP
        case "none":
            return None
