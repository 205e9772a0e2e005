"""Where a consumer stands in one partition, and what must be known before it may read on.

    looking-up  --committed--> fetching; --nothing committed--> resetting      (of a group: ask its coordinator)
    resetting   --offset listed--> fetching          (no position: ask the leader for the log's begin or end)
    fetching    --leader of a newer epoch--> validating   (2.3 and later, KIP-320)
    validating  --same history--> fetching; --shorter history--> truncated
    fetching    --offset out of range--> resetting, or stopped without a policy
    truncated   is fetching from the point of divergence with a policy, stopped without one

Positions carry two epochs: that of the last record read (whose history is it?) and the newest of a leader it
was checked with.
"""

from typing import Literal

import msgspec

from emulator.machines.client.client_settings import ConsumerSettings
from emulator.machines.client.operations import Operation
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, LeaderEpoch, Offset
from protocol.messages.replication import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

State = Literal["looking-up", "resetting", "validating", "fetching", "stopped"]


class ReadProblem(msgspec.Struct, frozen=True):
    """Why reading a partition stopped; Java throws an exception of this name.

    - NoOffsetForPartitionException: no position, and `auto.offset.reset` is none.
    - OffsetOutOfRangeException: `offset` is not in the log, and the policy is none.
    - LogTruncationException: the log was cut below `offset`; `diverging_offset` is where the common history
      ends, -1 if the leader knows none.
    - KafkaException, of the old consumer InvalidMessageException: a record or batch at `offset` is damaged.
    - IllegalStateException: an answer to a fetch with an error that no consumer expects.
    - UNKNOWN or a code's name: another answer with such an error.
    """

    topic: str
    partition: int
    error: str
    offset: Offset
    diverging_offset: Offset = NO_OFFSET


class Position(msgspec.Struct):
    """`offset` is the next to read, -1 while resetting. Epochs -1: unknown.

    `committed`: what the group had committed when this one began, None if nothing, or not looked up.
    `busy`: a request about this partition is under way, or, of where to read, was sent at `asked_ms`; `generation`
    tells its answer whether it is still wanted.
    """

    operation: Operation
    offset: Offset
    state: State
    offset_epoch: LeaderEpoch = EPOCH_UNKNOWN
    leader_epoch: LeaderEpoch = EPOCH_UNKNOWN
    high_watermark: Offset = NO_OFFSET
    committed: Offset | None = None
    busy: bool = False
    asked_ms: float = 0.0
    generation: int = 0
    not_before_ms: float = 0.0
    paused: bool = False

    def seek(self, offset: Offset, epoch: LeaderEpoch = EPOCH_UNKNOWN) -> None:
        """Read on from `offset`; answers under way are for the old position."""
        self.offset = offset
        self.offset_epoch = epoch
        self.state = "fetching"
        self.generation += 1
        self.busy = False

    def restart(self) -> None:
        """Ask where to begin."""
        self.offset, self.offset_epoch = NO_OFFSET, EPOCH_UNKNOWN
        self.state = "resetting"
        self.generation += 1
        self.busy = False

    def stop(self) -> None:
        self.state = "stopped"
        self.generation += 1
        self.busy = False

    def hold(self) -> None:
        """Stay there: answers under way are for nobody."""
        self.paused = True
        self.generation += 1
        self.busy = False

    def meet_leader(self, epoch: LeaderEpoch) -> None:
        """The metadata names a leader of `epoch`: one newer than checked with must be asked whether it has
        our history.
        """
        if epoch <= self.leader_epoch:
            return
        self.leader_epoch = epoch
        if self.state in ("fetching", "validating"):
            self.generation += 1
            self.busy = False
            if self.state == "validating":
                self.not_before_ms = 0.0  # SubscriptionState.validatePosition: nextRetryTimeMs = null
            # Without a record read there is no epoch to compare, and nothing to have been cut off.
            self.state = "validating" if self.offset_epoch >= 0 else "fetching"


def reset_timestamp(settings: ConsumerSettings) -> int | None:
    """What to ask ListOffsets for; None: the policy is none."""
    match settings.auto_offset_reset:
        case "earliest" | "smallest":
            return EARLIEST_TIMESTAMP
        case "latest" | "largest":
            return LATEST_TIMESTAMP
        case "none":
            return None
