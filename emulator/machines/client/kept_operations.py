"""Operations that are kept for whoever asks about them later, and what is kept of each."""

from typing import TypeVar

import msgspec

Operation = TypeVar("Operation")


class Read(msgspec.Struct, frozen=True):
    """One entry of a log as a consumer was given it: records [base_offset, last_offset], the high watermark that came
    with it, and who gave it. `ended`: how many of the operations that are kept had ended by then."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    digest: int
    high_watermark: int
    broker: int
    ended: int = 0


class Left(msgspec.Struct, frozen=True):
    """A consumer left the position `offset` (see `PositionLeft`), having been given as many entries as `reads` says."""

    reads: int
    offset: int
    reason: str


class Requested(msgspec.Struct):
    """One try of an operation, of those that are kept. `timeout_ms` as in `AttemptSent`. `sent_ms`, `ended_ms`: noted
    by whoever looks on, None until then; `ended`: it was answered, or was given up."""

    operation: str
    attempt: int
    broker: int
    timeout_ms: int
    sent_ms: float | None = None
    ended_ms: float | None = None
    ended: bool = False


class Kept(list[Operation]):
    """Operations (`operations.KeptOperations`) in the order in which they began; `ended`: those that did, in the order
    in which they did. `requested`: all their tries, in the order in which they left; `news`: those that left or ended
    since somebody looked."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[Operation] = []
        self.requested: list[Requested] = []
        self.news: list[Requested] = []

    def tried(self, requested: Requested) -> None:
        """It is about to leave."""
        self.requested.append(requested)
        self.news.append(requested)

    def noted(self, at_ms: float) -> None:
        """What is new has left, or ended, by now."""
        for requested in self.news:
            if requested.sent_ms is None:
                requested.sent_ms = at_ms
            if requested.ended and requested.ended_ms is None:
                requested.ended_ms = at_ms
        self.news.clear()
