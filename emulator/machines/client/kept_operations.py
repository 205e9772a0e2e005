"""Operations kept in memory for later queries, and the kept part of each."""

from typing import TypeVar

import msgspec

Operation = TypeVar("Operation")


class Read(msgspec.Struct, frozen=True):
    """One entry of a log as a consumer received it: records [base_offset, last_offset].

    `high_watermark` came with it, from `broker`. `ended`: number of the kept operations that had ended by then.
    """

    base_offset: int
    last_offset: int
    leader_epoch: int
    digest: int
    high_watermark: int
    broker: int
    ended: int = 0


class Left(msgspec.Struct, frozen=True):
    """A consumer left the position `offset` (see `PositionLeft`).

    `reads`: number of entries it had received.
    """

    reads: int
    offset: int
    reason: str


class Requested(msgspec.Struct):
    """One try of a kept operation. `timeout_ms` as in `AttemptSent`.

    `sent_ms`, `ended_ms`: set by an observer, None until then. `ended`: a response came, or the client gave up.
    """

    operation: str
    attempt: int
    broker: int
    timeout_ms: int
    sent_ms: float | None = None
    ended_ms: float | None = None
    ended: bool = False


class Kept(list[Operation]):
    """Operations (`operations.KeptOperations`) in the order in which they began.

    `ended`: ended ones, in the order of their ends. `requested`: all their tries, in the order of sending. `news`:
    tries that left or ended since the last `noted`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[Operation] = []
        self.requested: list[Requested] = []
        self.news: list[Requested] = []

    def tried(self, requested: Requested) -> None:
        """Add a try that is about to leave."""
        self.requested.append(requested)
        self.news.append(requested)

    def noted(self, at_ms: float) -> None:
        """Set the time of the new tries: they have left, or ended, by now."""
        for requested in self.news:
            if requested.sent_ms is None:
                requested.sent_ms = at_ms
            if requested.ended and requested.ended_ms is None:
                requested.ended_ms = at_ms
        self.news.clear()
