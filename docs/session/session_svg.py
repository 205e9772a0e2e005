"""Parts of a terminal session as one SVG: a window for each, below each other.

Every letter has its own position, so that columns stay aligned in any monospaced font, without relying on blanks.
Windows have their own background, and the space between them is transparent: a page may be light or dark.
"""

from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby
from pathlib import Path

from docs.session.borders import LINES, strokes
from docs.session.cast import parsed
from docs.session.story import STORY
from docs.session.terminal_screen import Cell, Line, Part, parts_of

CAST = "docs/session.cast"
CELL_WIDTH, CELL_HEIGHT = 8, 18
FONT_PX = 13.3
"""Its letters are 0.6 of that wide, a cell's width, in nearly all monospaced fonts."""
BASE_LINE = 13
SIDE, TOP, BOTTOM, BAR, GAP = 16, 10, 12, 34, 14

GROUND, BAR_GROUND, FRAME, INK = "#0d1117", "#161b22", "#3d444d", "#d1d7e0"
COLORS = {
    "default": INK,
    "ink": INK,
    "paper": GROUND,
    "black": "#7d8590",
    "red": "#ff7b72",
    "green": "#56d364",
    "brown": "#e3b341",
    "blue": "#79c0ff",
    "magenta": "#d2a8ff",
    "cyan": "#56d4dd",
    "white": "#ffffff",
}
"""pyte calls yellow brown, as terminals once did."""
GROUNDS = {"red": "#b62324", "green": "#196c2e", "brown": "#845306", "blue": "#1158c7", "cyan": "#1b7c83"}
FONTS = "ui-monospace,SFMono-Regular,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"


def page(root: Path) -> str:
    """docs/session.svg from the recording: its subject, in a screen's height or two."""
    cast = parsed((root / CAST).read_text(encoding="utf-8"))
    drawn = [part.caption for part in STORY if part.drawn]
    parts = [part for part in parts_of(cast) if part.caption in drawn]
    return picture(cast.header.title, parts, cast.header.width)


def picture(title: str, parts: list[Part], columns: int) -> str:
    """The whole file."""
    width = columns * CELL_WIDTH + 2 * SIDE
    shapes: list[str] = []
    y = 0.0
    for number, part in enumerate(parts, start=1):
        height = BAR + TOP + len(part.lines) * CELL_HEIGHT + BOTTOM
        shapes += _window(y, width, height, number, part.caption)
        for row, line in enumerate(part.lines):
            shapes += _drawn(line, SIDE, y + BAR + TOP + row * CELL_HEIGHT)
        y += height + GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y - GAP:g}" width="{width}" '
        f'height="{y - GAP:g}" role="img" aria-label="{escape(title)}">\n<title>{escape(title)}</title>\n'
        f"<style>{_style()}</style>\n" + "\n".join(shapes) + "\n</svg>\n"
    )


def _style() -> str:
    return (
        f"text{{font:{FONT_PX}px {FONTS};fill:{INK}}}"
        ".c{font:600 13.5px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#e6edf3}"
        ".n{font:700 12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#0d1117;text-anchor:middle}"
        ".b{font-weight:700}path{fill:none}"
    )


def _window(y: float, width: float, height: float, number: int, caption: str) -> list[str]:
    right, below = width - 0.5, y + BAR
    return [
        f'<rect x=".5" y="{y + 0.5:g}" width="{width - 1:g}" height="{height - 1:g}" rx="8" fill="{GROUND}"/>',
        f'<path d="M.5 {below:g}V{y + 8.5:g}a8 8 0 0 1 8 -8H{right - 8:g}a8 8 0 0 1 8 8V{below:g}z" '
        f'style="fill:{BAR_GROUND}"/>',
        f'<path d="M.5 {below:g}H{right:g}" stroke="{FRAME}"/>',
        f'<rect x=".5" y="{y + 0.5:g}" width="{width - 1:g}" height="{height - 1:g}" rx="8" fill="none" '
        f'stroke="{FRAME}"/>',
        f'<circle cx="{SIDE + 9}" cy="{y + BAR / 2:g}" r="9" fill="#79c0ff"/>',
        f'<text class="n" x="{SIDE + 9}" y="{y + BAR / 2 + 4.3:g}">{number}</text>',
        f'<text class="c" x="{SIDE + 28}" y="{y + BAR / 2 + 4.7:g}">{escape(caption)}</text>',
    ]


def _drawn(line: Line, left: float, y: float) -> Iterator[str]:
    """Grounds first, then frames, then letters."""
    placed = [(left + column * CELL_WIDTH, cell) for column, cell in enumerate(line)]
    for ground, cells in groupby(placed, key=lambda item: item[1].ground):
        run = list(cells)
        if ground != "default":
            fill = GROUNDS.get(ground) or _color(ground)
            yield (
                f'<rect x="{run[0][0]:g}" y="{y:g}" width="{len(run) * CELL_WIDTH}" height="{CELL_HEIGHT}" '
                f'fill="{fill}"/>'
            )
    yield from _frames(placed, y)
    for (color, bold, blank), cells in groupby(placed, key=lambda item: _style_of(item[1])):
        if not blank:
            yield _text(list(cells), y, color, bold)


def _style_of(cell: Cell) -> tuple[str, bool, bool]:
    """(colour, bold, whether nothing is written there)."""
    return cell.color, cell.bold, not cell.char.strip() or cell.char in LINES


def _text(run: list[tuple[float, Cell]], y: float, color: str, bold: bool) -> str:
    places = " ".join(f"{x:g}" for x, _ in run)
    letters = escape("".join(cell.char for _, cell in run), quote=False)
    weight = ' class="b"' if bold else ""
    fill = "" if color == "default" else f' style="fill:{_color(color)}"'
    return f'<text{weight}{fill} y="{y + BASE_LINE:g}" x="{places}">{letters}</text>'


def _frames(placed: Iterable[tuple[float, Cell]], y: float) -> Iterator[str]:
    """One path for each colour and width, in the order in which they come."""
    paths: dict[tuple[str, float], list[str]] = {}
    for x, cell in placed:
        if cell.char in LINES:
            for path, width in strokes(cell.char, x, y, CELL_WIDTH, CELL_HEIGHT):
                paths.setdefault((cell.color, width), []).append(path)
    for (color, width), found in paths.items():
        yield f'<path d="{"".join(found)}" stroke="{_color(color)}" stroke-width="{width:g}"/>'


def _color(name: str) -> str:
    """A colour of pyte's name, or of six hexadecimal digits.

    (Bright ones are as the others, which are bright already.)
    """
    plain = name.removeprefix("bright")
    if name == "brightblack":
        return COLORS["black"]
    return COLORS.get(plain, f"#{name}")
