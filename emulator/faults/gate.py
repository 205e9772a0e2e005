"""A gate: what TCP does while nothing gets through, and when it tries again."""

from emulator.faults.links import DATA, Retransmission, given_up_at, retransmission_at
from protocol.link_rules import LinkRule


class Gate:
    """Shut since the first loss; opens at the retransmission after the heal."""

    __slots__ = ("_gives_up_ms", "_of", "first_lost_ms", "release_ms")

    def __init__(self) -> None:
        self._of = DATA
        self._gives_up_ms: float | None = None
        """Of what is lost now, once somebody has asked; None: nobody has."""
        self.first_lost_ms: float | None = None
        self.release_ms: float | None = None

    def shut(self, now_ms: float, of: Retransmission) -> None:
        """`of`: how what is lost now is repeated; what is lost first decides."""
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
        """When TCP gives up if nothing gets through until then."""
        if self.first_lost_ms is None:
            return None
        if self._gives_up_ms is None:
            self._gives_up_ms = given_up_at(self.first_lost_ms, self._of)
        return self._gives_up_ms
