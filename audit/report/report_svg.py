"""A timeline as SVG, with the positions of `page_layout`.

A broker's lane shows its log as a stepped area (log end) with the high watermark as a line in it, on the colour of the
leader epoch while it leads; above them the writes that it acknowledged. Every element has its description in
`data-tip`. Dense marks become one mark with a count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from audit.report.marks import PATTERNS, exact, marked, tip_of, writes
from audit.report.page_layout import BAND_HEIGHT, ISR_HEIGHT, LEFT, RIGHT, WIDTH, Lane, Layout
from audit.report.report_timeline import Operation, Replica, Span, Timeline
from audit.report.thinning import clusters, ticks
from protocol.ids import TopicPartition, topic_partition_text

MARKS_HEIGHT = 24
EPOCH_COLOURS = 4
COLUMN_PX = 1.5
"""Points of a series closer than this are one."""
LABELS_MAX = 90
"""With more marks than this, values are only in the tips."""
MARKS_MAX = 60
"""Maximum of a lane's marks; with more, overlapping marks of one kind are one."""
MARK_PX = 5.0
BAND_CHAR_PX = 6.2
"""Maximum width of a character in a band's head."""
FINEST_ZOOM = 2_000
"""Writes that are one mark even at this zoom stay one; others split (`view.js`: FINE)."""
FINE_MAX = 600
"""Maximum of such marks in a picture; with more, a mark stays one."""


class Picture:
    """One partition's picture of a run."""

    def __init__(
        self,
        timeline: Timeline,
        topic_partition: TopicPartition | None,
        dual: Sequence[Span] = (),
        outside: Iterable[str] = (),
    ) -> None:
        """`dual`: windows with two leaders of the partition, as in the verdict.

        `outside`: nodes that send or receive messages; those without a lane share one.
        """
        self.timeline = timeline
        self.topic_partition = topic_partition
        self.dual = dual
        self.replicas = timeline.replicas.get(topic_partition, {}) if topic_partition else {}
        self.layout = Layout(timeline, topic_partition, dual=bool(dual), outside=outside)
        self.x = self.layout.x
        self.parts: list[str] = []
        self.labels: list[str] = []

    def svg(self) -> str:
        """The whole picture for a page, which can be zoomed."""
        fine = self._fine()
        self._draw(distinguished=bool(fine))
        for lane, several in fine:
            self._add(writes(several, lane, self.x, labelled=True, css=" fine"))
        body, labels = "\n".join(self.parts), "\n".join(self.labels)
        height = f"{self.layout.height:.0f}"
        return (
            f'<svg class="plot" data-left="{LEFT}" data-right="{RIGHT}" data-end="{self.timeline.end_ms:.3f}" '
            f'data-axis="{self.layout.top}" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{self._title()}" '
            f'preserveAspectRatio="xMinYMin meet">{body}</svg>\n'
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
            f'<rect width="{WIDTH}" height="{height}" class="back"/>{PATTERNS}\n'
            + "\n".join((*self.parts, *self.labels))
            + "\n</svg>\n"
        )

    def _title(self) -> str:
        of = topic_partition_text(*self.topic_partition) if self.topic_partition else "the cluster"
        return escape(f"Timeline of {of}")

    def _draw(self, *, distinguished: bool = False) -> None:
        assert not self.parts, "drawn once"
        self._frame()
        self._rows_above()
        for _, lanes in self.layout.groups:
            for lane in lanes:
                self._lane(lane)
        self._bands()
        self._operations(distinguished)
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
            self._add(f'<rect class="az" x="4" y="{top:.0f}" width="{WIDTH - 8}" height="{bottom - top:.0f}" rx="8"/>')
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
            self._name(span, self.layout.top + 14.5, 8 * len(isr) + 10, "isrname", isr)

        for span in self.dual:
            y = self.layout.top + ISR_HEIGHT
            self._span(span, y, ISR_HEIGHT - 6, "dual", span.text)
            self._name(span, y + 13, 90, "dualname", "two leaders")

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
            self._controls(lane)
        drawn_px: dict[str, float] = {}
        for mark in lane.node.marks:
            x = self.x(mark.at_ms)
            if len(lane.node.marks) > MARKS_MAX and x - drawn_px.get(mark.kind, -MARK_PX) < MARK_PX:
                continue
            drawn_px[mark.kind] = x
            self._add(marked(mark, lane, self.x))

    def _controls(self, lane: Lane) -> None:
        for span in lane.node.controls:
            self._span(span, lane.bottom - 5, 5, "controls", f"{lane.node.name}: {span.text}, {_seconds(span)}")

    def _broker(self, lane: Lane) -> None:
        replica = self.replicas.get(lane.node.name, Replica())
        for span in replica.leads:
            text = f"{lane.node.name} {span.text}: {_seconds(span)}"
            self._span(span, lane.top, lane.height, f"leads e{_colour(span.epoch)}", text)
            if _colour(span.epoch):
                x, width = self.x(span.from_ms), max(1.0, self.layout.width(span))
                self._add(
                    f'<rect class="p{_colour(span.epoch)}" x="{exact(x)}" y="{lane.top:.1f}" width="{exact(width)}" '
                    f'height="{lane.height:.1f}"/>'
                )
        self._controls(lane)
        self._log(lane, replica)
        for span in replica.leads:
            self._name(span, lane.bottom - 9, 92, "epoch", f"leader, epoch {span.epoch}")
        for mark in replica.truncations:
            x, y = self.x(mark.at_ms), lane.top + MARKS_HEIGHT
            self._add(
                f'<g class="truncation" data-tip="{tip_of(mark.at_ms, f"{lane.node.name} {mark.text}")}">'
                f'<line x1="{exact(x)}" x2="{exact(x)}" y1="{y:.0f}" y2="{lane.bottom:.0f}"/>'
                f'<path d="M{exact(x - 5)} {y:.0f}h10l-5 8z"/></g>'
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
            path = f"M{exact(steps[0][0])} " + (f"{floor:.1f}" if css == "logend" else f"{steps[0][1]:.1f}")
            died_ms = max((span.to_ms for span in lane.node.alive), default=self.timeline.end_ms)
            path += "".join(f"H{exact(x)}V{y:.1f}" for x, y in steps) + f"H{exact(max(self.x(died_ms), steps[-1][0]))}"
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
            x, width = exact(self.x(band.from_ms)), max(2.0, self.x(band.to_ms) - self.x(band.from_ms))
            across = f'x="{x}" width="{exact(width)}"'
            until = f"healed at {band.to_ms / 1000:.2f} s" if band.healed else "not healed"
            tip = tip_of(band.from_ms, f"{band.text}, {until}")
            for top, bottom in self.layout.struck(band):
                self._add(f'<rect class="cut" {across} y="{top:.0f}" height="{bottom - top:.0f}"/>')
            y = 4 + BAND_HEIGHT * self.layout.rows[number]
            self._add(f'<rect class="cuthead" {across} y="{y}" height="14" rx="3" data-tip="{tip}"/>')
            span = Span(band.from_ms, max(band.to_ms, self._next_head_ms(number)), -1, "")
            self._name(span, y + 10.5, 8 + BAND_CHAR_PX * len(band.text), "cutname", band.text)

    def _next_head_ms(self, number: int) -> float:
        """Begin of the next head in a band's row: its text may extend to there."""
        rows = self.layout.rows
        later = zip(self.timeline.bands[number + 1 :], rows[number + 1 :], strict=True)
        return next((band.from_ms for band, row in later if row == rows[number]), self.timeline.end_ms)

    def _operations(self, distinguished: bool) -> None:
        labelled = len(self.layout.operations) <= LABELS_MAX
        for lane, operations in self.layout.answered():
            for cluster in clusters(operations, self.x):
                css = " coarse" if distinguished and len(cluster) > 1 else ""
                self._add(writes(cluster, lane, self.x, labelled=labelled, css=css))

    def _fine(self) -> list[tuple[Lane, list[Operation]]]:
        """The single writes behind marks of several; the page shows them instead when zoomed in."""
        fine = [
            (lane, several)
            for lane, operations in self.layout.answered()
            for cluster in clusters(operations, self.x)
            if len(cluster) > 1
            for several in clusters(cluster, lambda at_ms: self.x(at_ms) * FINEST_ZOOM)
        ]
        return fine if len(fine) <= FINE_MAX else []

    def _steps(self) -> None:
        for mark in self.timeline.steps:
            x = self.x(mark.at_ms)
            tip = tip_of(mark.at_ms, mark.text)
            self._add(f'<path class="step" d="M{exact(x - 3.5)} {self.layout.top - 8}h7l-3.5 6z" data-tip="{tip}"/>')

    def _span(self, span: Span, top: float, height: float, css: str, text: str) -> None:
        x, width = self.x(span.from_ms), max(1.0, self.layout.width(span))
        self._add(
            f'<rect class="{css}" x="{exact(x)}" y="{top:.1f}" width="{exact(width)}" '
            f'height="{height:.1f}" rx="2" data-tip="{tip_of(span.from_ms, text)}"/>'
        )

    def _name(self, span: Span, y: float, room_px: float, css: str, text: str) -> None:
        """A text in an interval; without room for it, the page shows it when there is more."""
        x, to_x = self.x(span.from_ms) + 6, self.x(span.to_ms)
        tight = " tight" if to_x - x < room_px - 6 else ""
        self._add(
            f'<text class="{css}{tight}" x="{exact(x)}" y="{y:g}" data-to="{exact(to_x)}" data-room="{room_px:.0f}">'
            f"{escape(text)}</text>"
        )

    def _add(self, part: str) -> None:
        self.parts.append(part)


def _colour(epoch: int) -> int:
    return epoch % EPOCH_COLOURS


def _seconds(span: Span) -> str:
    return f"{span.from_ms / 1000:.2f} to {span.to_ms / 1000:.2f} s"
