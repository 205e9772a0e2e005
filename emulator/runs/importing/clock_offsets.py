"""Offsets between the nodes' clocks, from pairs of events of which one caused the other.

An event at X before one at Y says: the clock of Y is ahead of that of X by at most the difference of their times. All
pairs together are difference constraints. Shortest paths from one node give the bounds of each other node's clock. A
clock that may be right counts as right; otherwise the middle of its bounds is taken.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from emulator.runs.importing.line_events import NodeEvent, Notice
from protocol import events as e

TOLERANCE_MS: Final = 250.0
"""A line is written some time after what it reports."""
MARKS_MAX: Final = 200_000
"""Of all nodes together; later ones are left out."""


class Mark(NamedTuple):
    """A node's time of something that other nodes' events come before or after.

    `key`: the same at all of them.
    """

    node: str
    wall_ms: float
    key: tuple[object, ...]
    is_cause: bool


class Offset(NamedTuple):
    """`ahead_ms`: of a node's clock, against `reference`. `pairs`: constraints that concern it."""

    node: str
    ahead_ms: float
    reference: str
    pairs: int


class ClockMarks:
    """Collects marks, and solves for the offsets."""

    def __init__(self) -> None:
        self._causes: dict[tuple[object, ...], Mark] = {}
        self._effects: dict[tuple[tuple[object, ...], str], Mark] = {}

    def note(self, node: str, timed: NodeEvent) -> None:
        """An event of a node, perhaps a mark."""
        for mark in _marks_of(node, timed):
            self.add(mark)

    def note_committed(self, timed: NodeEvent, node: str) -> None:
        """A state in the metadata log, with its leader's clock."""
        event = timed.event
        if isinstance(event, e.PartitionStateCommitted):
            place = (event.topic, event.partition)
            self.add(Mark(node, timed.wall_ms, ("epoch", *place, event.leader_epoch), True))
            self.add(Mark(node, timed.wall_ms, ("isr", *place, event.partition_epoch), True))

    def add(self, mark: Mark) -> None:
        if len(self._causes) + len(self._effects) > MARKS_MAX:
            return
        if mark.is_cause:
            known = self._causes.get(mark.key)
            if known is None or mark.wall_ms < known.wall_ms:
                self._causes[mark.key] = mark
        else:
            key = (mark.key, mark.node)
            if key not in self._effects or mark.wall_ms < self._effects[key].wall_ms:
                self._effects[key] = mark

    def offsets(self, nodes: Iterable[str]) -> tuple[list[Offset], list[str]]:
        """(offsets of the nodes whose clock is ahead or behind, sentences about contradictions)."""
        bounds: dict[tuple[str, str], float] = {}
        pairs: defaultdict[str, int] = defaultdict(int)
        for (key, node), effect in self._effects.items():
            cause = self._causes.get(key)
            if cause is None or cause.node == node:
                continue
            edge = (cause.node, node)  # the clock of `node` is ahead of the cause's by at most this
            bounds[edge] = min(bounds.get(edge, effect.wall_ms - cause.wall_ms), effect.wall_ms - cause.wall_ms)
            pairs[cause.node] += 1
            pairs[node] += 1
        names = sorted(nodes)
        if not bounds:
            return [], []
        reference = max(names, key=lambda name: (pairs[name], name))
        upper, contradicts = _shortest(reference, names, bounds)
        lower, _ = _shortest(reference, names, {(b, a): bound for (a, b), bound in bounds.items()})
        if contradicts:
            return [], [f"the clocks contradict one another, as if one had been set: {contradicts}"]
        found = []
        for name in names:
            least, most = -lower.get(name, float("inf")), upper.get(name, float("inf"))
            if least <= TOLERANCE_MS and most >= -TOLERANCE_MS:
                continue
            ends = [bound for bound in (least, most) if abs(bound) < float("inf")]
            found.append(Offset(name, sum(ends) / len(ends), reference, pairs[name]))
        return found, []


def _shortest(
    start: str, names: Iterable[str], edges: Mapping[tuple[str, str], float]
) -> tuple[dict[str, float], str]:
    """(shortest distances, a node on a negative cycle or "")."""
    distance = {start: 0.0}
    changed = ""
    for _ in range(len(list(names))):
        changed = ""
        for (a, b), length in edges.items():
            if a in distance and distance[a] + length < distance.get(b, float("inf")) - 1e-9:
                distance[b] = distance[a] + length
                changed = b
        if not changed:
            return distance, ""
    return distance, changed


def _marks_of(node: str, timed: NodeEvent) -> Iterable[Mark]:
    event, at = timed.event, timed.wall_ms
    if isinstance(event, e.QuorumStateChanged):
        if event.state == "leader":
            yield Mark(node, at, ("quorum", event.epoch), True)
        elif event.state == "follower" or (event.state == "observer" and event.leader >= 0):
            yield Mark(node, at, ("quorum", event.epoch), False)
    elif isinstance(event, e.StateDecided) and event.leader_epoch >= 0:
        yield Mark(node, at, ("epoch", event.topic, event.partition, event.leader_epoch), True)
    elif isinstance(event, e.RoleChanged) and event.leader_epoch >= 0:
        yield Mark(node, at, ("epoch", event.topic, event.partition, event.leader_epoch), False)
    elif isinstance(event, e.IsrChangeEnded) and event.result == "done":
        yield Mark(node, at, ("isr", event.topic, event.partition, event.zk_version), False)
    elif isinstance(event, e.BrokersSeen):
        for broker in filter(None, event.added.split(",")):
            yield Mark(node, at, ("registered", f"broker-{broker}"), False)


def starts(node: str, times: Sequence[float], registered: Sequence[tuple[str, float]]) -> Iterable[Mark]:
    """A broker of KRaft starts before its registration is in the metadata log.

    `registered`: (node of the log's clock, time) of each; as many as starts, or none is paired.
    """
    if len(times) != len(registered):
        return
    for number, (start_ms, (clock, at_ms)) in enumerate(zip(times, registered, strict=True)):
        yield Mark(node, start_ms, ("started", node, number), True)
        yield Mark(clock, at_ms, ("started", node, number), False)


def registrations(node: str, notices: Iterable[Notice]) -> Iterable[Mark]:
    """A broker registers with ZooKeeper before the controller sees it."""
    for notice in notices:
        if notice.what == "registered":
            yield Mark(node, notice.wall_ms, ("registered", node), True)
            return
