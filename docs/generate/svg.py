"""Shapes of SVG, with the styles of both pictures.

Plain system fonts, no script; light, or dark by the reader's preference.
"""

from collections.abc import Iterable
from html import escape

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1b1f24; }
  .title { font-weight: 600; }
  .small { font-size: 11px; fill: #57606a; }
  .box { fill: #ffffff; stroke: #57606a; rx: 5; }
  .pure { fill: #e6f4ea; stroke: #2d7d46; }
  .shell { fill: #e8f0fe; stroke: #3367a8; }
  .judge { fill: #fef3e0; stroke: #b26a00; }
  .area { fill: #f6f8fa; stroke: #d0d7de; rx: 8; }
  .edge { stroke: #8c959f; fill: none; marker-end: url(#arrow); }
  .cut { stroke: #cf222e; fill: none; stroke-dasharray: 5 4; stroke-width: 2; }
  .paper { fill: #ffffff; }
  .head { fill: #8c959f; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #9da7b3; }
    .box { fill: #161b22; stroke: #8b949e; }
    .pure { fill: #12291c; stroke: #4cc38a; }
    .shell { fill: #14233b; stroke: #62a3e6; }
    .judge { fill: #33250c; stroke: #e5b045; }
    .area { fill: #11161c; stroke: #30363d; }
    .edge { stroke: #7d8590; }
    .cut { stroke: #ff7b72; }
    .paper { fill: #0d1117; }
    .head { fill: #7d8590; }
  }
"""

_ARROW = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 L8 4 L0 8 z" class="head"/></marker>'
)


def picture(width: int, height: int, title: str, shapes: Iterable[str]) -> str:
    """A whole file."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}">\n<title>{escape(title)}</title>\n<style>{STYLE}</style>\n'
        f'<defs>{_ARROW}</defs>\n<rect width="{width}" height="{height}" class="paper"/>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """One line of text; `y` is its base line."""
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{style} text-anchor="{anchor}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, lines: Iterable[str], kind: str = "") -> str:
    """A rectangle with centred lines, the first one stronger."""
    written = list(lines)
    top = y + height / 2 - (len(written) - 1) * 8 + 4
    parts = [f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="box {kind}"/>']
    for number, line in enumerate(written):
        parts.append(text(x + width / 2, top + number * 16, line, "small" if number else "title", "middle"))
    return "\n".join(parts)


def area(x: float, y: float, width: float, height: float, title: str) -> str:
    """A background with a title in its corner."""
    shape = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="area"/>'
    return shape + "\n" + text(x + 12, y + 20, title, "title")


def edge(points: Iterable[tuple[float, float]], kind: str = "edge") -> str:
    """A line through points, with an arrow at its end."""
    way = " L".join(f"{x:g} {y:g}" for x, y in points)
    return f'<path d="M{way}" class="{kind}"/>'
