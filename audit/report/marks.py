"""Marks of single events as SVG: writes by outcome, deaths, starts; and patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from html import escape

from audit.report.page_layout import Lane
from audit.report.report_timeline import Mark, Operation
from audit.report.thinning import result_of
from protocol.errors import error_name

LABEL_CHARS_MAX = 11
VALUE_CHARS_MAX = 32
"""Maximum of a value's characters in a tip."""

Where = Callable[[float], float]
"""Maps a time in ms to a position."""

_CROSS = "M{x} {y:.1f}m-6 -6l12 12m0 -12l-12 12"
_DIAMOND = "M{x} {y:.1f}m0 -5l5 5l-5 5l-5 -5z"
_SHAPES = {
    "machine": _CROSS,
    "death": _CROSS,
    "stop": "M{x} {y:.1f}m-4 -4h8v8h-8z",
    "start": "M{x} {y:.1f}m-4 -5l9 5l-9 5z",
}
"""{kind of mark: its path}; a session's end and a refused ISR change are diamonds."""

_RESULTS = {
    "kept": "acknowledged",
    "lost": "acknowledged and LOST",
    "failed": "failed",
    "unknown": "unanswered: outcome unknown",
}

PATTERNS = (
    '<defs><pattern id="hatch" width="7" height="7" patternTransform="rotate(45)" patternUnits="userSpaceOnUse">'
    '<rect class="hatchback" width="7" height="7"/><path class="hatchline" d="M0 0V7"/></pattern>'
    '<pattern id="p1" width="9" height="9" patternTransform="rotate(-45)" patternUnits="userSpaceOnUse">'
    '<path class="e1 line" d="M0 0V9"/></pattern>'
    '<pattern id="p2" width="8" height="8" patternTransform="rotate(0)" patternUnits="userSpaceOnUse">'
    '<circle class="e2" cx="2" cy="2" r="1.3"/></pattern>'
    '<pattern id="p3" width="8" height="8" patternTransform="rotate(0)" patternUnits="userSpaceOnUse">'
    '<path class="e3 line" d="M0 0V8M0 0H8"/></pattern></defs>'
)
"""Patterns of cuts, and of leader epochs beside their colours: lines, dots, squares.

One definition for all pictures of a page, where it is never hidden.
"""


def exact(value: float) -> str:
    """A horizontal position, as precise as the closest zoom needs."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def _short(value: str) -> str:
    return value if len(value) <= VALUE_CHARS_MAX else f"{value[: VALUE_CHARS_MAX - 1]}…"


def tip_of(at_ms: float, text: str) -> str:
    return escape(f"{at_ms / 1000:.2f} s  {text}")


def writes(cluster: list[Operation], lane: Lane, x: Where, *, labelled: bool, css: str = "") -> str:
    """One mark for one write, or for several that lie too close."""
    kinds = [result_of(one) for one in cluster]
    # A mark that stands for several shows the worst of them.
    kind = next(kind for kind in ("lost", "unknown", "failed", "kept") if kind in kinds)
    at_x, y = x(cluster[0].at_ms), lane.top + 9
    at = exact(at_x)
    if len(cluster) == 1:
        one = cluster[0]
        described = f"{_short(one.values[0])!r} {_RESULTS[kind]}"
        if len(one.values) > 1:
            described = f"{len(one.values)} records of one batch, {_short(one.values[0])!r} the first, {_RESULTS[kind]}"
        described += f" at offset {one.offset}" if one.offset >= 0 else ""
        described += f", {error_name(one.error)}" if one.error > 0 else ", no answer" if one.error else ""
        tip = tip_of(one.at_ms, f"{described}; acks={'all' if one.acks == -1 else one.acks}, {lane.node.name}")
    else:
        some = ", ".join(_short(one.value) for one in cluster[:8]) + (", …" if len(cluster) > 8 else "")
        counts = Counter[str]()
        for one, of_kind in zip(cluster, kinds, strict=True):
            counts[of_kind] += len(one.values)
        numbers = ", ".join(f"{counts[k]} {k}" for k in ("kept", "lost", "failed", "unknown") if k in counts)
        tip = tip_of(cluster[0].at_ms, f"{counts.total()} writes ({numbers}): {some}")
    shape = f'<circle cx="{at}" cy="{y:.1f}" r="4.6"/>'
    if kind == "lost":
        shape += f'<path d="M{exact(at_x - 2.1)} {y - 2.1:.1f}l4.2 4.2m0 -4.2l-4.2 4.2"/>'
    elif kind == "unknown":
        shape += f'<text class="asks" x="{at}" y="{y + 3:.1f}" text-anchor="middle">?</text>'
    label = ""
    if labelled or len(cluster) > 1:
        text = " ".join(one.value for one in cluster)
        if len(text) > LABEL_CHARS_MAX:
            text = f"{cluster[0].value}…{cluster[-1].value}"
        if len(text) <= LABEL_CHARS_MAX:
            label = f'<text x="{at}" y="{y + 14:.1f}" text-anchor="middle">{escape(text)}</text>'
    return f'<g class="op {kind}{css}" data-tip="{tip}">{shape}{label}</g>'


def marked(mark: Mark, lane: Lane, x: Where) -> str:
    """Mark of an event of a node."""
    at, y = exact(x(mark.at_ms)), lane.top + lane.height / 2
    tip = tip_of(mark.at_ms, f"{lane.node.name}: {mark.text}")
    shape = f'<path d="{_SHAPES.get(mark.kind, _DIAMOND).format(x=at, y=y)}"/>'
    return f'<g class="mark {mark.kind}" data-tip="{tip}">{shape}</g>'
