"""Properties of a node's machine, apart from failures: speed of its disk, its wall clock."""

from typing import Final

import msgspec

SYNCS: Final = frozenset({"fsync", "sync_directory"})
"""Storage operations that wait for the disk itself."""


AHEAD: Final = {True: "ahead", False: "behind"}


class Hardware(msgspec.Struct, frozen=True):
    """Properties in scenario ms.

    `operation_ms`: additional time of each storage operation; `fsync_ms`: of each fsync, instead. `clock_ahead_ms`:
    lead of the wall clock over the others'; timers are not affected.
    """

    operation_ms: float = 0.0
    fsync_ms: float = 0.0
    clock_ahead_ms: float = 0.0

    @property
    def slow(self) -> bool:
        """Whether the disk is slow."""
        return self.operation_ms > 0.0 or self.fsync_ms > 0.0

    def takes_ms(self, operation: str) -> float:
        """Additional time of one storage operation, in ms."""
        return self.fsync_ms if operation in SYNCS else self.operation_ms


    @property
    def text(self) -> str:
        """Text of the deviations; "": none."""
        parts = []
        if self.operation_ms > 0.0:
            parts.append(f"its disk takes {self.operation_ms:g} ms longer an operation")
        if self.fsync_ms > 0.0:
            parts.append(f"its disk takes {self.fsync_ms:g} ms longer an fsync")
        if self.clock_ahead_ms:
            parts.append(f"its wall clock is {abs(self.clock_ahead_ms):g} ms {AHEAD[self.clock_ahead_ms > 0.0]}")
        return ", ".join(parts)


SOUND: Final = Hardware()
