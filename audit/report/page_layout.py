"""Positions in a picture. Time runs to the right; nodes are lanes, grouped by AZ."""

from __future__ import annotations

from collections.abc import Iterable

from audit.report.report_timeline import Band, Node, Operation, Span, Timeline
from audit.report.thinning import band_rows
from protocol.ids import TopicPartition

WIDTH = 1180
LEFT = 122
RIGHT = 14
BAND_HEIGHT = 17
AXIS_HEIGHT = 40
BROKER_HEIGHT = 92
SESSION_HEIGHT = 22
CLIENT_HEIGHT = 26
OUTSIDE = "clients"
ISR_HEIGHT = 24
GROUP_GAP = 16
LANE_GAP = 6


class Lane:
    """Lane of one node."""

    def __init__(self, node: Node, kind: str, top: float, height: float) -> None:
        self.node, self.kind, self.top, self.height = node, kind, top, height

    @property
    def bottom(self) -> float:
        return self.top + self.height


class Layout:
    """Layout of one partition's picture, or of the cluster's (`topic_partition` None).

    `dual`: there is a row for two leaders. `outside`: nodes that need a place; those without a lane share the last one.

    `groups`: [(AZ, its lanes)]; `rows`: the row above the axis for each of the timeline's bands.
    """

    def __init__(
        self, timeline: Timeline, topic_partition: TopicPartition | None, *, dual: bool, outside: Iterable[str] = ()
    ) -> None:
        self.operations = [one for one in timeline.operations if one.topic_partition == topic_partition]
        self.rows = band_rows(timeline.bands)
        self.top = BAND_HEIGHT * (1 + max(self.rows, default=-1)) + AXIS_HEIGHT
        self.groups: list[tuple[str, list[Lane]]] = []
        self._span_ms = max(1.0, timeline.end_ms)
        rows_above = (ISR_HEIGHT if topic_partition else 0) + (ISR_HEIGHT if dual else 0)
        self.height = self._lay_out(timeline, self.top + rows_above + GROUP_GAP, frozenset(outside))

    def x(self, at_ms: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(1.0, max(0.0, at_ms / self._span_ms))

    def width(self, span: Span) -> float:
        return self.x(span.to_ms) - self.x(span.from_ms)

    def struck(self, band: Band) -> list[tuple[float, float]]:
        """(top, bottom) of the AZs and nodes that the fault's text names, or of everything."""
        words = set(band.words)
        struck = [(lanes[0].top - 7, lanes[-1].bottom + 7) for az, lanes in self.groups if az in words]
        struck += [(lane.top, lane.bottom) for _, lanes in self.groups for lane in lanes if lane.node.name in words]
        return struck or [(self.top, self.height - GROUP_GAP)]

    def answered(self) -> Iterable[tuple[Lane, list[Operation]]]:
        """Operations by lane: at the responding broker, or at the client without a response."""
        for _, lanes in self.groups:
            for lane in lanes:
                of = [one for one in self.operations if lane.node.name in (f"broker-{one.broker}", one.client)]
                if lane.kind == "client":
                    of = [one for one in of if one.broker < 0]
                if of:
                    yield lane, of

    def places(self) -> dict[str, tuple[float, float]]:
        """{node: (top, bottom)}; nodes without a lane have the last one's name."""
        return {lane.node.name: (lane.top, lane.bottom) for _, lanes in self.groups for lane in lanes}

    def _lay_out(self, timeline: Timeline, y: float, outside: frozenset[str]) -> float:
        """Place lanes from `y` down; returns the total height."""
        by_az: dict[str, list[tuple[int, Node, str, float]]] = {}
        for node in timeline.nodes.values():
            kind, height = self._kind(node)
            if kind != "idle":
                order = ("broker", "session", "client").index(kind)
                by_az.setdefault(node.az, []).append((order, node, kind, height))
        for az in sorted(by_az, key=lambda name: (name == "", name)):
            lanes = []
            for _, node, kind, height in sorted(by_az[az], key=lambda one: (one[0], one[1].name)):
                lanes.append(Lane(node, kind, y, height))
                y += height + LANE_GAP
            self.groups.append((az, lanes))
            y += GROUP_GAP
        if outside - self.places().keys():
            self.groups.append(("", [Lane(Node(OUTSIDE), "outside", y, CLIENT_HEIGHT)]))
            y += CLIENT_HEIGHT + GROUP_GAP
        return y + 4

    def _kind(self, node: Node) -> tuple[str, float]:
        if node.ensemble and "broker" not in node.roles:  # a ZooKeeper server, or a voter of KRaft
            return "session", SESSION_HEIGHT
        if "broker" in node.roles or "controller" in node.roles:
            return "broker", BROKER_HEIGHT
        if "session" in node.roles:
            return "session", SESSION_HEIGHT
        unanswered = any(one.client == node.name and one.broker < 0 for one in self.operations)
        return ("client", CLIENT_HEIGHT) if unanswered or node.marks else ("idle", 0)
