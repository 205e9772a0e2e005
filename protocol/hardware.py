"""What a node's machine is like, apart from what is broken: how slow its disk is, how wrong its wall clock."""

from typing import Final

import msgspec

SYNCS: Final = frozenset({"fsync", "sync_directory"})
"""Storage operations that wait for the disk itself."""


AHEAD: Final = {True: "ahead", False: "behind"}


class Hardware(msgspec.Struct, frozen=True):
    """Scenario ms. `operation_ms`: that each storage operation takes besides what it would; `fsync_ms`: that each fsync
    does, in its place. `clock_ahead_ms`: of the wall clock, before the others'; timers do not notice."""

    operation_ms: float = 0.0
    fsync_ms: float = 0.0
    clock_ahead_ms: float = 0.0

    @property
    def slow(self) -> bool:
        """Whether its disk is."""
        return self.operation_ms > 0.0 or self.fsync_ms > 0.0

    def takes_ms(self, operation: str) -> float:
        """One storage operation."""
        return self.fsync_ms if operation in SYNCS else self.operation_ms


    @property
    def text(self) -> str:
        """In words; "": it is sound."""
        told = []
        if self.operation_ms > 0.0:
            told.append(f"its disk takes {self.operation_ms:g} ms longer an operation")
        if self.fsync_ms > 0.0:
            told.append(f"its disk takes {self.fsync_ms:g} ms longer an fsync")
        if self.clock_ahead_ms:
            told.append(f"its wall clock is {abs(self.clock_ahead_ms):g} ms {AHEAD[self.clock_ahead_ms > 0.0]}")
        return ", ".join(told)


SOUND: Final = Hardware()
