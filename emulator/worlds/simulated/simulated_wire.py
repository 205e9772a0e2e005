"""A connection of the simulated world: two ends with gates, an ordered stream each way.

A message travels as bytes. It passes the sender's gate, takes its time, and passes the receiver's gate.
"""

from typing import Final

from emulator.faults.link_paths import Opening, Path

EOF: Final = None
"""Offered to a gate when the peer's kernel reports the end of the stream."""


class End:
    """One end. `connection`: its machine's id of it; `sent`, `received`: frames so far.

    `out` and `back` are this node's gates for the two directions; `last_arrival_ms` keeps this end's outgoing frames in
    order. `closed`: its machine has nothing to do with it any more; its earlier frames, and the end of the stream
    behind them, may still wait at `out`.
    """

    __slots__ = (
        "back", "closed", "connection", "incarnation", "last_arrival_ms", "node", "opened", "opening", "out",
        "outlives", "peer", "received", "refuses", "sent", "wire",
    )  # fmt: skip

    def __init__(self, wire: "Wire", node: str, incarnation: int, connection: int, out: Path, back: Path) -> None:
        self.wire = wire
        self.node = node
        self.incarnation = incarnation
        self.connection = connection
        self.out = out
        self.back = back
        self.opening: Opening | None = None
        self.opened = False
        self.closed = False
        self.sent = 0
        self.received = 0
        self.last_arrival_ms = 0.0
        self.peer: End | None = None
        self.outlives = False
        """Whether its frames pass after a heal though its process has ended."""
        self.refuses = False
        """Whether its machine closed it as if nothing listened."""


class Wire:
    """`name`: NODE.INCARNATION#ID of the opener."""

    __slots__ = ("acceptor", "name", "opener", "purpose")

    def __init__(self, name: str, purpose: str) -> None:
        self.name = name
        self.purpose = purpose
        self.opener: End | None = None
        self.acceptor: End | None = None
