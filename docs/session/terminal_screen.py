"""A terminal's content after a recording, in parts; a marker begins a part.

The terminal is so high that nothing ever scrolls out at the top. Programs that redraw their output (`status --watch`)
move up by lines, never to an absolute line, so they cannot notice.
"""

from typing import Any, NamedTuple

import pyte

from docs.session.cast import Cast

LINES_MAX = 1_000
FAINT = 2
GREY = 90
PROMPT = "$ "


class Cell(NamedTuple):
    """A cell of the terminal.

    `color`, `ground`: a name such as "red", six hexadecimal digits, or "default". Reversed cells have swapped colours:
    then they may also be "paper" and "ink", the defaults of ground and letters.
    """

    char: str
    color: str
    ground: str
    bold: bool


Line = list[Cell]


class Part(NamedTuple):
    """Content from one marker to the next."""

    caption: str
    lines: list[Line]


class TooLong(ValueError):
    """A recording that does not fit."""


class _Screen(pyte.Screen):
    """Knows faint letters too: as grey ones."""

    def select_graphic_rendition(self, *attrs: int, **kwargs: Any) -> None:
        super().select_graphic_rendition(*(GREY if attr == FAINT else attr for attr in attrs), **kwargs)


def parts_of(cast: Cast) -> list[Part]:
    """Raises TooLong."""
    screen = _Screen(cast.header.width, LINES_MAX)
    stream = pyte.Stream(screen)
    begins: list[tuple[int, str]] = []
    for event in cast.events:
        if event.kind == "m":
            begins.append((screen.cursor.y, event.text))
        else:
            stream.feed(event.text)
        if screen.cursor.y >= LINES_MAX - 1:
            raise TooLong(f"a recording of more than {LINES_MAX} lines")
    ends = [begin for begin, _ in begins[1:]] + [screen.cursor.y]
    return [
        Part(caption, _trimmed([_line(screen, y) for y in range(begin, end)]))
        for (begin, caption), end in zip(begins, ends, strict=True)
    ]


def text_of(line: Line) -> str:
    return "".join(cell.char for cell in line).rstrip()


def commands_of(parts: list[Part]) -> list[str]:
    """Typed commands, in order."""
    texts = [text_of(line) for part in parts for line in part.lines]
    return [text.removeprefix(PROMPT) for text in texts if text.startswith(PROMPT)]


def _line(screen: pyte.Screen, y: int) -> Line:
    cells = []
    for x in range(screen.columns):
        char = screen.buffer[y][x]
        color, ground = char.fg, char.bg
        if char.reverse:
            color = "paper" if char.bg == "default" else char.bg
            ground = "ink" if char.fg == "default" else char.fg
        cells.append(Cell(char.data, color, ground, char.bold))
    return cells


def _trimmed(lines: list[Line]) -> list[Line]:
    """Without the empty ones at the end."""
    last = max((number for number, line in enumerate(lines, start=1) if text_of(line)), default=0)
    return lines[:last]
