"""Picture: a timeline as SVG, drawn where `layout` puts things.

A broker's lane shows its log as a stepped area (log end) with the high watermark as a line in it, on the colour of the
leader epoch while it leads; above them the writes it answered. Everything carries its story in `data-tip`.
What is too dense to be seen is drawn as one mark that says how many it stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from audit.report.layout import BAND_HEIGHT, ISR_HEIGHT, LEFT, RIGHT, WIDTH, Lane, Layout
from audit.report.thinning import clusters, result_of, ticks
from audit.report.timeline import Mark, Operation, Replica, Span, Timeline
from protocol.errors import error_name
from protocol.ids import TopicPartition, topic_partition_text

MARKS_HEIGHT = 24
EPOCH_COLOURS = 4
COLUMN_PX = 1.5
"""Points of a series closer than this are one."""
LABELS_MAX = 90
"""With more marks than this, values are only in the tips."""
LABEL_CHARS_MAX = 11
VALUE_CHARS_MAX = 32
"""Of a value in a tip."""
MARKS_MAX = 60
"""Of a lane: with more, marks of one kind that would lie on each other are one."""
MARK_PX = 5.0
BAND_CHAR_PX = 6.2
"""What a character of a band's head takes at most."""
FINE_ZOOM = 8
"""From this zoom on (`zoom.js` has the same), writes that were one mark are told apart."""
FINE_MAX = 400
"""Marks for that, in a picture. With more, a mark stays one."""


class Picture:
    """One partition's picture of a run."""

    def __init__(self, timeline: Timeline, topic_partition: TopicPartition | None, dual: Sequence[Span] = ()) -> None:
        """`dual`: windows in which the partition had two leaders, as the verdict has them."""
        self.timeline = timeline
        self.topic_partition = topic_partition
        self.dual = dual
        self.replicas = timeline.replicas.get(topic_partition, {}) if topic_partition else {}
        self.layout = Layout(timeline, topic_partition, dual=bool(dual))
        self.x = self.layout.x
        self.parts: list[str] = []
        self.labels: list[str] = []

    def svg(self) -> str:
        """The whole picture, for a page, which can be zoomed."""
        fine = self._fine()
        self._draw(told_apart=bool(fine))
        for lane, several in fine:
            self._cluster(lane, several, labelled=True, css=" fine")
        body, labels = "\n".join(self.parts), "\n".join(self.labels)
        height = f"{self.layout.height:.0f}"
        return (
            f'<svg class="plot" data-left="{LEFT}" data-right="{RIGHT}" data-end="{self.timeline.end_ms:.0f}" '
            f'data-axis="{self.layout.top}" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{self._title()}" '
            f'preserveAspectRatio="xMinYMin meet">{_PATTERNS}{body}</svg>\n'
            # Names in a picture of their own, which stays when the other is scrolled.
            f'<svg class="labels" viewBox="0 0 {LEFT - 6} {height}" aria-hidden="true" '
            f'preserveAspectRatio="xMinYMin meet"><rect class="back" width="{LEFT - 6}" height="{height}"/>'
            f"{labels}</svg>"
        )

    def alone(self, style: str) -> str:
        """The whole picture as a file, with its style."""
        self._draw()
        height = f"{self.layout.height:.0f}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-label="{self._title()}">\n<style>\n{style}</style>\n'
            f'<rect width="{WIDTH}" height="{height}" style="fill:var(--card)"/>{_PATTERNS}\n'
            + "\n".join((*self.parts, *self.labels))
            + "\n</svg>\n"
        )

    def _title(self) -> str:
        of = topic_partition_text(*self.topic_partition) if self.topic_partition else "the cluster"
        return escape(f"Timeline of {of}")

    def _draw(self, *, told_apart: bool = False) -> None:
        assert not self.parts, "drawn once"
        self._frame()
        self._rows_above()
        for _, lanes in self.layout.groups:
            for lane in lanes:
                self._lane(lane)
        self._bands()
        self._operations(told_apart)
        self._steps()

    # --- parts, back to front ---

    def _frame(self) -> None:
        axis = self.layout.top
        for at_ms in ticks(self.timeline.end_ms):
            x = self.x(at_ms)
            self._add(f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{axis - 8}" y2="{self.layout.height:.0f}"/>')
            self._add(f'<text class="axis" x="{x:.1f}" y="{axis - 14}" text-anchor="middle">{at_ms / 1000:g} s</text>')
        for az, lanes in self.layout.groups:
            top, bottom = lanes[0].top - 7, lanes[-1].bottom + 7
            name = escape(az or "outside")
            self._add(
                f'<rect class="az" x="4" y="{top:.0f}" width="{WIDTH - 8}" height="{bottom - top:.0f}" rx="8"/>'
            )
            self.labels.append(
                f'<text class="azname" x="14" y="{top + (bottom - top) / 2:.0f}" text-anchor="middle" '
                f'transform="rotate(-90 14 {top + (bottom - top) / 2:.0f})">{name}</text>'
            )

    def _rows_above(self) -> None:
        if self.topic_partition is None:
            return
        self.labels.append(f'<text class="name" x="30" y="{self.layout.top + 15}">in sync</text>')
        for span in self.timeline.isr.get(self.topic_partition, []):
            isr, _, text = span.text.partition("|")
            self._span(
                span, self.layout.top, ISR_HEIGHT - 4, f"isr e{_colour(span.epoch)}" if span.epoch >= 0 else "isr", text
            )
            if self.layout.width(span) > 8 * len(isr) + 10:
                x = self.x(span.from_ms) + 6
                self._add(f'<text class="isrname" x="{x:.1f}" y="{self.layout.top + 14.5}">{escape(isr)}</text>')

        for span in self.dual:
            y = self.layout.top + ISR_HEIGHT
            self._span(span, y, ISR_HEIGHT - 6, "dual", span.text)
            if self.layout.width(span) > 150:
                self._add(f'<text class="dualname" x="{self.x(span.from_ms) + 6:.1f}" y="{y + 13}">two leaders</text>')

    def _lane(self, lane: Lane) -> None:
        middle = lane.top + lane.height / 2
        name = escape(lane.node.name)
        self.labels.append(f'<text class="name {lane.kind}" x="30" y="{middle + 4:.0f}">{name}</text>')
        for span in lane.node.alive:
            self._span(span, lane.top, lane.height, "alive", f"{lane.node.name}: {span.text}")
        if lane.kind == "broker":
            self._broker(lane)
        elif lane.kind == "session":
            for span in lane.node.ensemble:
                css = "leading" if span.text == "leading" else "following" if span.text == "following" else "looking"
                self._span(span, lane.top + 5, lane.height - 10, f"ensemble {css}", f"{lane.node.name}: {span.text}")
        drawn_px: dict[str, float] = {}
        for mark in lane.node.marks:
            x = self.x(mark.at_ms)
            if len(lane.node.marks) > MARKS_MAX and x - drawn_px.get(mark.kind, -MARK_PX) < MARK_PX:
                continue
            drawn_px[mark.kind] = x
            self._mark(lane, mark)

    def _broker(self, lane: Lane) -> None:
        replica = self.replicas.get(lane.node.name, Replica())
        for span in replica.leads:
            text = f"{lane.node.name} {span.text}: {_seconds(span)}"
            self._span(span, lane.top, lane.height, f"leads e{_colour(span.epoch)}", text)
            if self.layout.width(span) > 84:
                x = self.x(span.from_ms) + 7
                self._add(
                    f'<text class="epoch" x="{x:.1f}" y="{lane.bottom - 9:.0f}">leader, epoch {span.epoch}</text>'
                )
        for span in lane.node.controls:
            self._span(span, lane.bottom - 5, 5, "controls", f"{lane.node.name}: {span.text}, {_seconds(span)}")
        self._log(lane, replica)
        for mark in replica.truncations:
            x, y = self.x(mark.at_ms), lane.top + MARKS_HEIGHT
            self._add(
                f'<g class="truncation" data-tip="{_tip(mark.at_ms, f"{lane.node.name} {mark.text}")}">'
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y:.0f}" y2="{lane.bottom:.0f}"/>'
                f'<path d="M{x - 5:.1f} {y:.0f}h10l-5 8z"/></g>'
            )

    def _log(self, lane: Lane, replica: Replica) -> None:
        highest = max((end for one in self.replicas.values() for _, end in one.log_ends), default=0)
        if not highest:
            return
        floor, room = lane.bottom - 6, lane.height - MARKS_HEIGHT - 14
        for points, css in ((replica.log_ends, "logend"), (replica.high_watermarks, "watermark")):
            steps = self._steps_of(points, floor, room / highest)
            if not steps:
                continue
            path = f"M{steps[0][0]:.1f} {floor:.1f}" if css == "logend" else f"M{steps[0][0]:.1f} {steps[0][1]:.1f}"
            died_ms = max((span.to_ms for span in lane.node.alive), default=self.timeline.end_ms)
            path += "".join(f"H{x:.1f}V{y:.1f}" for x, y in steps) + f"H{max(self.x(died_ms), steps[-1][0]):.1f}"
            closed = f"V{floor:.1f}Z" if css == "logend" else ""
            last = points[-1][1]
            what = "log end" if css == "logend" else "high watermark"
            tip = escape(f"{lane.node.name}: {what}, {last} at the end of the run")
            self._add(f'<path class="{css}" d="{path}{closed}" data-tip="{tip}"/>')

    def _steps_of(self, points: Sequence[tuple[float, int]], floor: float, scale: float) -> list[tuple[float, float]]:
        """Points as (x, y); of those in one column of pixels the last, and any that goes down."""
        steps: list[tuple[float, float]] = []
        for at_ms, offset in points:
            x, y = self.x(at_ms), floor - offset * scale
            if steps and x - steps[-1][0] < COLUMN_PX and y <= steps[-1][1]:
                steps[-1] = steps[-1][0], y
            else:
                steps.append((x, y))
        return steps

    def _bands(self) -> None:
        for number, band in enumerate(self.timeline.bands):
            lanes = self.layout.struck(band)
            x, width = self.x(band.from_ms), max(2.0, self.x(band.to_ms) - self.x(band.from_ms))
            until = f"healed at {band.to_ms / 1000:.2f} s" if band.healed else "not healed"
            tip = _tip(band.from_ms, f"{band.text}, {until}")
            for top, bottom in lanes:
                self._add(
                    f'<rect class="cut" x="{x:.1f}" y="{top:.0f}" width="{width:.1f}" height="{bottom - top:.0f}"/>'
                )
            y = 4 + BAND_HEIGHT * self.layout.rows[number]
            self._add(
                f'<g data-tip="{tip}">'
                f'<rect class="cuthead" x="{x:.1f}" y="{y}" width="{width:.1f}" height="14" rx="3"/>'
                + (
                    f'<text class="cutname" x="{x + 5:.1f}" y="{y + 10.5}">{escape(band.text)}</text></g>'
                    if self._has_room(number)
                    else "</g>"
                )
            )

    def _has_room(self, number: int) -> bool:
        """For the text of a band's head, before the next head in its row."""
        bands, rows = self.timeline.bands, self.layout.rows
        later = (self.x(band.from_ms) for band, row in zip(bands[number + 1 :], rows[number + 1 :], strict=True)
                 if row == rows[number])  # fmt: skip
        next_px = next(later, float(WIDTH))
        return next_px - self.x(bands[number].from_ms) >= 8 + BAND_CHAR_PX * len(bands[number].text)

    def _operations(self, told_apart: bool) -> None:
        labelled = len(self.layout.operations) <= LABELS_MAX
        for lane, operations in self.layout.answered():
            for cluster in clusters(operations, self.x):
                self._cluster(lane, cluster, labelled, " coarse" if told_apart and len(cluster) > 1 else "")

    def _fine(self) -> list[tuple[Lane, list[Operation]]]:
        """What marks for several writes stand for. The page shows it in their place when it is zoomed in."""
        fine = [
            (lane, several)
            for lane, operations in self.layout.answered()
            for cluster in clusters(operations, self.x)
            if len(cluster) > 1
            for several in clusters(cluster, lambda at_ms: self.x(at_ms) * FINE_ZOOM)
        ]
        return fine if len(fine) <= FINE_MAX else []

    def _cluster(self, lane: Lane, cluster: list[Operation], labelled: bool, css: str = "") -> None:
        kinds = [result_of(one) for one in cluster]
        # A mark that stands for several shows the worst of them.
        kind = next(kind for kind in ("lost", "unknown", "failed", "kept") if kind in kinds)
        x, y = self.x(cluster[0].at_ms), lane.top + 9
        if len(cluster) == 1:
            one = cluster[0]
            said = f"{_short(one.value)!r} {_SAID[kind]}"
            at = f" at offset {one.offset}" if one.offset >= 0 else ""
            error = f", {error_name(one.error)}" if one.error > 0 else ", no answer" if one.error else ""
            tip = _tip(one.at_ms, f"{said}{at}{error}; acks={'all' if one.acks == -1 else one.acks}, {lane.node.name}")
        else:
            some = ", ".join(_short(one.value) for one in cluster[:8]) + (", …" if len(cluster) > 8 else "")
            numbers = ", ".join(f"{kinds.count(k)} {k}" for k in ("kept", "lost", "failed", "unknown") if k in kinds)
            tip = _tip(cluster[0].at_ms, f"{len(cluster)} writes ({numbers}): {some}")
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.6"/>'
        if kind == "lost":
            shape += f'<path d="M{x - 2.1:.1f} {y - 2.1:.1f}l4.2 4.2m0 -4.2l-4.2 4.2"/>'
        label = ""
        if labelled or len(cluster) > 1:
            text = " ".join(one.value for one in cluster)
            if len(text) > LABEL_CHARS_MAX:
                text = f"{cluster[0].value}…{cluster[-1].value}"
            if len(text) <= LABEL_CHARS_MAX:
                label = f'<text x="{x:.1f}" y="{y + 14:.1f}" text-anchor="middle">{escape(text)}</text>'
        self._add(f'<g class="op {kind}{css}" data-tip="{tip}">{shape}{label}</g>')

    def _mark(self, lane: Lane, mark: Mark) -> None:
        x, y = self.x(mark.at_ms), lane.top + lane.height / 2
        tip = _tip(mark.at_ms, f"{lane.node.name}: {mark.text}")
        shape = f'<path d="{_SHAPES.get(mark.kind, _DIAMOND).format(x=x, y=y)}"/>'
        self._add(f'<g class="mark {mark.kind}" data-tip="{tip}">{shape}</g>')

    def _steps(self) -> None:
        for mark in self.timeline.steps:
            x = self.x(mark.at_ms)
            tip = _tip(mark.at_ms, mark.text)
            self._add(f'<path class="step" d="M{x - 3.5:.1f} {self.layout.top - 8}h7l-3.5 6z" data-tip="{tip}"/>')

    def _span(self, span: Span, top: float, height: float, css: str, text: str) -> None:
        x, width = self.x(span.from_ms), max(1.0, self.layout.width(span))
        self._add(
            f'<rect class="{css}" x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="2" data-tip="{_tip(span.from_ms, text)}"/>'
        )

    def _add(self, part: str) -> None:
        self.parts.append(part)


_CROSS = "M{x:.1f} {y:.1f}m-6 -6l12 12m0 -12l-12 12"
_DIAMOND = "M{x:.1f} {y:.1f}m0 -5l5 5l-5 5l-5 -5z"
_SHAPES = {
    "machine": _CROSS,
    "death": _CROSS,
    "stop": "M{x:.1f} {y:.1f}m-4 -4h8v8h-8z",
    "start": "M{x:.1f} {y:.1f}m-4 -5l9 5l-9 5z",
}
"""How a mark of each kind is drawn; a session's end and a refused ISR change are diamonds."""

_SAID = {
    "kept": "acknowledged",
    "lost": "acknowledged and LOST",
    "failed": "failed",
    "unknown": "unanswered: nobody knows",
}

_PATTERNS = (
    '<defs><pattern id="hatch" width="7" height="7" patternTransform="rotate(45)" patternUnits="userSpaceOnUse">'
    '<rect class="hatchback" width="7" height="7"/>'
    '<line class="hatchline" x1="0" y1="0" x2="0" y2="7"/></pattern></defs>'
)


def _short(value: str) -> str:
    return value if len(value) <= VALUE_CHARS_MAX else f"{value[: VALUE_CHARS_MAX - 1]}…"


def _colour(epoch: int) -> int:
    return epoch % EPOCH_COLOURS


def _seconds(span: Span) -> str:
    return f"{span.from_ms / 1000:.2f} to {span.to_ms / 1000:.2f} s"


def _tip(at_ms: float, text: str) -> str:
    return escape(f"{at_ms / 1000:.2f} s  {text}")
