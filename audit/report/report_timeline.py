"""Data of a picture of a run: intervals, series and marks. Built by `report_input`."""

from __future__ import annotations

import msgspec

from protocol.ids import TopicPartition


class Span(msgspec.Struct):
    """An interval. `to_ms`: its end, by default the run's."""

    from_ms: float
    to_ms: float
    epoch: int
    text: str


class Mark(msgspec.Struct):
    """An event at one time."""

    at_ms: float
    kind: str
    text: str


class Operation(msgspec.Struct):
    """A produce.

    `values`: of its records. `outcome`: ok, failed, unknown, or "" while it lasts. `lost`: acknowledged and gone at the
    end.
    """

    identifier: str
    values: list[str]
    acks: int
    broker: int
    at_ms: float
    client: str = ""
    outcome: str = ""
    error: int = 0
    offset: int = -1
    digest: int = 0
    topic_partition: TopicPartition = ("", 0)
    lost: bool = False

    @property
    def value(self) -> str:
        """Its values in short."""
        return self.values[0] if len(self.values) == 1 else f"{self.values[0]}…{self.values[-1]}"


class LogStep(msgspec.Struct):
    """A change of a replica's log.

    `kind`: append (of [base, last]), cut (to `base`), load (of all below `base`), create (empty, whatever was there),
    delete (with its topic, or for another replica).
    """

    at_ms: float
    kind: str
    base: int = 0
    last: int = -1
    epoch: int = -1
    digest: int = 0


class Replica(msgspec.Struct):
    """One replica's log over time: [(ms, log end)], [(ms, high watermark)], and its truncations."""

    log_ends: list[tuple[float, int]] = []
    high_watermarks: list[tuple[float, int]] = []
    truncations: list[Mark] = []
    leads: list[Span] = []
    batches: list[tuple[int, int, int]] = []
    """Batches that survive so far: (base offset, last offset, digest)."""
    steps: list[LogStep] = []


class Node(msgspec.Struct):
    """One process. `alive`: its incarnations."""

    name: str
    roles: str = ""
    az: str = ""
    alive: list[Span] = []
    controls: list[Span] = []
    marks: list[Mark] = []
    ensemble: list[Span] = []


class Band(msgspec.Struct):
    """A fault while it was in force. `words`: of its text, which name nodes and AZs.

    `rule`: its name in the run.
    """

    text: str
    from_ms: float
    to_ms: float
    healed: bool
    rule: str = ""

    @property
    def words(self) -> list[str]:
        return self.text.replace("->", " ").replace(",", " ").split()


class Timeline(msgspec.Struct):
    """Data of a run's picture. Times are scenario ms."""

    nodes: dict[str, Node] = {}
    replicas: dict[TopicPartition, dict[str, Replica]] = {}
    isr: dict[TopicPartition, list[Span]] = {}
    bands: list[Band] = []
    steps: list[Mark] = []
    operations: list[Operation] = []
    end_ms: float = 0.0
    complete: bool = True
    events: int = 0
