"""The map: AZs as boxes, and the links between them. Up to three AZs stand in a row.

More AZs have their links as words. A line is one link with equal directions; two lines with heads are two different
directions. Green is open.
"""

from itertools import pairwise

from rich.text import Text

from emulator.cluster.cluster_status import ClusterStatus, LinkView, NodeView
from emulator.cluster.dashboard.az_box import BAD, DOUBT, FRAME, GOOD, TITLE, draw_box, lines_needed, quorum_of
from emulator.cluster.dashboard.canvas import Canvas
from emulator.cluster.dashboard.contradictions import controllers
from emulator.cluster.dashboard.rates import client_figures
from emulator.faults.link_fault_kinds import shown_bytes

WIDTH_MAX = 132
IN_A_ROW_MAX = 3
BOX_MIN = 26
GAP_MIN = 7
"""Columns for `50±10ms`."""
ROOMY = 96
LINKS_AS_WORDS_MAX = 4
SIGNS = {"cut": "✂", "hold": "‖"}
STYLES = {"cut": BAD}


def az_map(status: ClusterStatus, width: int, previous: ClusterStatus | None = None, height_max: int = 40) -> Text:
    """Draw the map with that many columns, and at most that many lines (at least 6)."""
    width = min(width, WIDTH_MAX)
    azs: dict[str, dict[str, NodeView]] = {}
    for name, node in status.nodes.items():
        if node.az:
            azs.setdefault(node.az, {})[name] = node
    if not azs:
        return Text("no node has an AZ", style=DOUBT)
    figures = client_figures(status, previous)
    names = sorted(azs)
    in_a_row = len(names) if len(names) <= IN_A_ROW_MAX else max(1, width // BOX_MIN)
    rows = -(-len(names) // in_a_row)
    joined = len(names) <= IN_A_ROW_MAX
    under = 1 if len(names) == IN_A_ROW_MAX or not joined else 0
    tallest = max(lines_needed(nodes, figures.get(az)) for az, nodes in azs.items())
    box_height = max(4, min(tallest, (height_max - under) // rows))
    gap = (width // 8 if width >= ROOMY else GAP_MIN) if joined else 1
    box_width = (width - gap * (in_a_row - 1)) // in_a_row
    canvas = Canvas(width, box_height * rows + under)
    contradicted = len(controllers(status)) > 1
    quorum = quorum_of(status.nodes)
    places: dict[str, tuple[int, int]] = {}
    for number, az in enumerate(names):
        x, y = number % in_a_row * (box_width + gap), number // in_a_row * box_height
        places[az] = (x, y)
        draw_box(
            canvas, x, y, box_width, box_height, az, azs[az], figures.get(az), quorum, contradicted=contradicted
        )
    ways = {(link.from_az, link.to_az): link for link in status.links}
    if not joined:
        _draw_words(canvas, box_height * rows, [link for link in status.links if link.from_az != link.to_az])
        return canvas.text()
    for left, right in pairwise(names):
        x = places[left][0] + box_width
        _draw_link(canvas, x, box_height // 2 - 1, gap, ways.get((left, right)), ways.get((right, left)))
    if len(names) == IN_A_ROW_MAX:
        first, last = names[0], names[-1]
        starts, ends = places[first][0] + box_width // 2, places[last][0] + box_width // 2
        _draw_way_round(canvas, starts, ends, box_height, ways.get((first, last)), ways.get((last, first)))
    return canvas.text()


def _alike(there: LinkView | None, back: LinkView | None) -> bool:
    if there is None or back is None:
        return there is back
    fields = ("kind", "whole", "delay_ms", "jitter_ms", "loss", "bytes_per_s")
    return all(getattr(there, field) == getattr(back, field) for field in fields)


def label(link: LinkView | None) -> str:
    """The fault on a link, in a few characters."""
    if link is None:
        return ""
    if link.kind == "delay":
        amount = f"{link.delay_ms:g}±{link.jitter_ms:g}ms" if link.jitter_ms else f"{link.delay_ms:g} ms"
    elif link.kind == "loss":
        amount = f"{link.loss:.0%} lost"
    elif link.kind == "bandwidth":
        amount = f"{shown_bytes(link.bytes_per_s)}/s"
    else:
        amount = {"hold": "held"}.get(link.kind, link.kind)
    return amount if link.whole else f"part {amount}"


def _line(length: int, link: LinkView | None, head: str = "") -> str:
    """`head`: "▶" at its right end, "◀" at its left."""
    passes = link is None or link.kind in ("delay", "bandwidth")
    body = "━" if link is None or passes else "╍" if link.kind == "loss" else "╌" if link.whole else "─"
    cells = [body] * (length - len(head))
    sign = SIGNS.get(link.kind, "") if link is not None else ""
    if sign:
        middle = len(cells) // 2
        cells[middle - 1 : middle + 2] = [" ", sign, " "]
    line = "".join(cells)
    return head + line if head == "◀" else line + head


def _style(link: LinkView | None) -> str:
    return STYLES.get(link.kind, DOUBT) if link is not None else GOOD


def _draw_link(canvas: Canvas, x: int, y: int, width: int, there: LinkView | None, back: LinkView | None) -> None:
    """Draw the link between two boxes beside each other, from line y on."""
    if _alike(there, back):
        canvas.centre(x, y, width, label(there), _style(there))
        canvas.put(x, y + 1, _line(width, there), _style(there))
        return
    canvas.centre(x, y - 1, width, label(there), _style(there))
    canvas.put(x, y, _line(width, there, "▶"), _style(there))
    canvas.put(x, y + 1, _line(width, back, "◀"), _style(back))
    canvas.centre(x, y + 2, width, label(back), _style(back))


def _draw_way_round(
    canvas: Canvas, starts: int, ends: int, y: int, there: LinkView | None, back: LinkView | None
) -> None:
    """Draw the link from below the first box to below the last."""
    length = ends - starts - 1
    canvas.put(starts, y - 1, "┬", FRAME)
    canvas.put(ends, y - 1, "┬", FRAME)
    if _alike(there, back):
        canvas.put(starts, y, "╰" + _line(length, there) + "╯", _style(there))
        if there is not None:
            canvas.centre(starts + 1, y, length, f" {_words(there)} ", _style(there))
        return
    canvas.put(starts, y, "╰" + _line(length // 2, None), _style(there))
    canvas.put(starts + 1 + length // 2, y, _line(length - length // 2, None) + "╯", _style(back))
    parts = [(f" {_words(there)} ▶ ", _style(there)), (f"◀ {_words(back)} ", _style(back))]
    x = starts + 1 + (length - sum(len(text) for text, _ in parts)) // 2
    for text, style in parts:
        canvas.put(x, y, text, style)
        x += len(text)


def _words(link: LinkView | None) -> str:
    return "open" if link is None else f"{SIGNS.get(link.kind, '')} {label(link)}".strip()


def _draw_words(canvas: Canvas, y: int, links: list[LinkView]) -> None:
    """One line: the links that are not open."""
    if not links:
        canvas.put(0, y, "every link is open", GOOD)
        return
    x = 0
    for link in links[:LINKS_AS_WORDS_MAX]:
        text = f"{link.from_az} {_words(link)} ▶ {link.to_az}   "
        canvas.put(x, y, text, _style(link))
        x += len(text)
    more = len(links) - LINKS_AS_WORDS_MAX
    canvas.put(x, y, f"and {more} more" if more > 0 else "", TITLE)
