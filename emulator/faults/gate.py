"""A gate: TCP's behaviour while nothing gets through, and the time of its next try."""

from emulator.faults.links import DATA, ORPHAN_TRIES, Retransmission, given_up_at, retransmission_at
from protocol.link_rules import LinkRule


class Gate:
    """Shut since the first loss; opens at the retransmission after the heal."""

    __slots__ = ("_gives_up_ms", "_of", "_orphaned_ms", "first_lost_ms", "release_ms")

    def __init__(self) -> None:
        self._of = DATA
        self._gives_up_ms: float | None = None
        """Time when TCP gives up the frames lost now, computed at first use; None: not computed yet."""
        self._orphaned_ms: float | None = None
        """Time of the process's close. TCP gives up earlier without a process."""
        self.first_lost_ms: float | None = None
        self.release_ms: float | None = None

    def orphan(self, now_ms: float) -> None:
        """Note that the process has closed its end, so that TCP gives up earlier."""
        self._orphaned_ms = now_ms
        self._gives_up_ms = None

    def shut(self, now_ms: float, of: Retransmission) -> None:
        """Shut the gate. `of`: schedule of retransmissions; that of the first loss counts."""
        if self.first_lost_ms is None:
            self.first_lost_ms = now_ms
            self._of = of
            self._gives_up_ms = None
        self.release_ms = None

    def healed(self, now_ms: float, rule: LinkRule) -> None:
        if self.first_lost_ms is None:
            return
        instant = rule.recovery == "instant" or rule.kind == "hold"
        self.release_ms = now_ms if instant else retransmission_at(self.first_lost_ms, now_ms, self._of)

    def open(self) -> None:
        self.first_lost_ms = None
        self.release_ms = None

    @property
    def gives_up_ms(self) -> float | None:
        """Time when TCP gives up if nothing gets through until then."""
        if self.first_lost_ms is None:
            return None
        if self._gives_up_ms is None:
            self._gives_up_ms = self._given_up_at(self.first_lost_ms)
        return self._gives_up_ms

    def _given_up_at(self, first_lost_ms: float) -> float:
        if self._orphaned_ms is None:
            return given_up_at(first_lost_ms, self._of)
        # If TCP tried more often before the close, the next retransmission is the last.
        next_ms = retransmission_at(first_lost_ms, self._orphaned_ms, self._of)
        return max(next_ms, given_up_at(first_lost_ms, self._of._replace(tries=ORPHAN_TRIES)))
