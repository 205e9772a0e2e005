"""Leaders, high watermarks and committed batches of KRaft's metadata log. Pure.

The rules are those of the checks dual-quorum-leader, quorum-high-watermark and metadata-divergence. An incarnation
reads the metadata log in order, so a batch behind its position is one that it has read, or one that it lacks. Neither
can change later: no finding is withdrawn. Batches below a snapshot that it has loaded are none that it lacks.

Epochs, incarnations and batches are bounded: the oldest are forgotten.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Hashable
from typing import Final, NamedTuple

from audit.following.event import Event
from audit.following.finding import Seen
from protocol.ids import NO_LEADER

EPOCHS_MAX: Final = 1_000
INCARNATIONS_MAX: Final = 1_000
BATCHES_MAX: Final = 50_000
NOWHERE: Final = -1

Incarnation = tuple[str, int]


class Batch(NamedTuple):
    """A committed batch, [base, end). Sorts by its end."""

    end: int
    base: int
    epoch: int
    digest: int


class _Lacking(NamedTuple):
    """A batch that nodes read on without: the event that showed it, epochs and nodes so far."""

    at_ms: float
    name: str
    epochs: set[int]
    nodes: set[str]


class Quorum:
    """State of all nodes of the quorum. `touched`: whether there may be a new finding."""

    def __init__(self) -> None:
        self.touched = False
        self._leaders: dict[int, dict[int, Event]] = {}
        self._knowing: dict[int, set[str]] = {}
        self._highest: dict[Incarnation, int] = {}
        self._reached: dict[Incarnation, int] = {}
        self._loaded: dict[Incarnation, int] = {}
        self._fallen: dict[Incarnation, Seen] = {}
        self._batches: list[Batch] = []
        self._known: set[Batch] = set()
        self._lacking: dict[int, _Lacking] = {}

    def state_changed(self, event: Event) -> None:
        """Take a node's new state: epoch, leader, log end and high watermark."""
        if event.leader is not None and event.epoch is not None and event.leader > NO_LEADER:
            leaders = self._leaders.setdefault(event.epoch, {})
            self._knowing.setdefault(event.epoch, set()).add(event.node)
            leaders.setdefault(event.leader, event)
            self.touched |= len(leaders) > 1
            if len(self._leaders) > EPOCHS_MAX:
                oldest = min(self._leaders)
                del self._leaders[oldest], self._knowing[oldest]
        place = (event.node, event.incarnation)
        log_end, mark = event.log_end or 0, event.high_watermark
        reached = min(mark, log_end) if mark is not None and mark >= 0 else log_end
        highest = self._highest_of(place, event.highest_watermark)
        if reached < highest and place not in self._fallen:
            self._fallen[place] = _fallen(event, highest, reached)
            self.touched = True

    def committed(self, event: Event) -> None:
        """Take a batch that a node has read below its high watermark."""
        assert event.offset is not None and event.base_offset is not None
        assert event.epoch is not None and event.digest is not None
        place = (event.node, event.incarnation)
        self._highest_of(place, event.offset)
        batch = Batch(event.offset, event.base_offset, event.epoch, event.digest)
        before, is_new = self._reached.get(place, NOWHERE), batch not in self._known
        first, last = (bisect_right(self._batches, (end + 1,)) for end in (before, batch.end))
        for other in self._batches[first:last]:
            if other != batch:
                self._lacks(event, other, place)
        if is_new:
            for other_place, reached in self._reached.items():
                if reached >= batch.end:
                    self._lacks(event, batch, other_place)
            self._known.add(batch)
            insort(self._batches, batch)
            if len(self._batches) > BATCHES_MAX:
                self._known.discard(self._batches.pop(0))
        self._reached[place] = max(before, batch.end)
        _forget_oldest(self._reached)

    def snapshot(self, event: Event) -> None:
        """Take a snapshot that a node has loaded, written or downloaded."""
        if event.action != "loaded" or event.offset is None:
            return
        place = (event.node, event.incarnation)
        self._loaded[place] = max(event.offset, self._loaded.get(place, 0))
        _forget_oldest(self._loaded)

    def seen(self) -> dict[Hashable, Seen]:
        """All findings."""
        found: dict[Hashable, Seen] = {("fell", *place): seen for place, seen in self._fallen.items()}
        for epoch, leaders in self._leaders.items():
            if len(leaders) > 1:
                found["leaders", epoch] = _leaders(epoch, leaders, self._knowing[epoch])
        for base, lacking in self._lacking.items():
            found["lacking", base] = _lacking(base, lacking)
        return found

    def _highest_of(self, place: Incarnation, offset: int | None) -> int:
        """The highest offset that the incarnation has known to be committed."""
        highest = max(self._highest.get(place, NOWHERE), NOWHERE if offset is None else offset)
        self._highest[place] = highest
        _forget_oldest(self._highest)
        return highest

    def _lacks(self, event: Event, batch: Batch, place: Incarnation) -> None:
        """Record a batch that the incarnation has read on without, unless a snapshot has it."""
        if batch.end <= self._loaded.get(place, 0):
            return
        lacking = self._lacking.setdefault(batch.base, _Lacking(event.at_ms, event.name, set(), set()))
        lacking.epochs.add(batch.epoch)
        lacking.nodes.add(place[0])
        self.touched = True


def _forget_oldest(offsets: dict[Incarnation, int]) -> None:
    """Drop the incarnation that came first, beyond the bound."""
    if len(offsets) > INCARNATIONS_MAX:
        del offsets[next(iter(offsets))]


def _leaders(epoch: int, leaders: dict[int, Event], nodes: set[str]) -> Seen:
    at_ms, ids = max(event.at_ms for event in leaders.values()), sorted(leaders)
    return Seen(
        finding="dual-quorum-leader",
        at_ms=at_ms,
        to_ms=at_ms,
        violation=True,
        who=tuple(sorted(nodes)),
        text=f"the quorum had {' and '.join(map(str, ids))} as leaders of one epoch, {epoch}",
        details={"epoch": epoch, "leaders": ids, "nodes": sorted(nodes)},
        events=tuple(leaders[one].name for one in ids),
    )


def _fallen(event: Event, was: int, now: int) -> Seen:
    return Seen(
        finding="quorum-high-watermark",
        at_ms=event.at_ms,
        to_ms=event.at_ms,
        violation=True,
        who=(event.node,),
        text=f"{event.node}, in incarnation {event.incarnation}, had a high watermark of {was} in the metadata log, "
        f"and then {now}",
        details={"offset": now, "node": event.node, "incarnation": event.incarnation, "was": was, "now": now},
        events=(event.name,),
    )


def _lacking(base: int, lacking: _Lacking) -> Seen:
    nodes, epochs = sorted(lacking.nodes), sorted(lacking.epochs)
    return Seen(
        finding="metadata-divergence",
        at_ms=lacking.at_ms,
        to_ms=lacking.at_ms,
        violation=True,
        who=tuple(nodes),
        text=f"the batch at offset {base} of the metadata log, of epoch {epochs[0]}, was committed; "
        f"{' and '.join(nodes)} read on without it",
        details={"offset": base, "nodes": nodes, "epochs": epochs},
        events=(lacking.name,),
    )
