"""A canvas: cells of one character, each with a style. Cells outside are dropped.

Characters are those that terminals draw one column wide.
"""

from itertools import groupby

from rich.text import Text

BLANK = (" ", "")


class Canvas:
    """`width` columns by `height` lines; (0, 0) is at the top left."""

    def __init__(self, width: int, height: int) -> None:
        assert width > 0 and height > 0, (width, height)
        self.width, self.height = width, height
        self._lines = [[BLANK] * width for _ in range(height)]

    def put(self, x: int, y: int, text: str, style: str = "") -> None:
        """Put text from (x, y) to the right."""
        if not 0 <= y < self.height:
            return
        line = self._lines[y]
        for column, character in enumerate(text, start=x):
            if 0 <= column < self.width:
                line[column] = (character, style)

    def centre(self, x: int, y: int, width: int, text: str, style: str = "") -> None:
        """Put text in the middle of `width` columns from x."""
        shown = text[:width]
        self.put(x + (width - len(shown)) // 2, y, shown, style)

    def box(self, x: int, y: int, width: int, height: int, title: str, style: str, title_style: str) -> None:
        """A frame with round corners and its title in the upper edge."""
        self.put(x, y, "╭" + "─" * (width - 2) + "╮", style)
        for line in range(y + 1, y + height - 1):
            self.put(x, line, "│", style)
            self.put(x + width - 1, line, "│", style)
        self.put(x, y + height - 1, "╰" + "─" * (width - 2) + "╯", style)
        self.put(x + 2, y, f" {title[: width - 6]} ", title_style)

    def text(self) -> Text:
        """All lines, without blanks at their ends."""
        text = Text(no_wrap=True)
        for number, line in enumerate(self._lines):
            text.append("\n" if number else "")
            end = max((column + 1 for column, cell in enumerate(line) if cell != BLANK), default=0)
            for style, cells in groupby(line[:end], key=lambda cell: cell[1]):
                text.append("".join(character for character, _ in cells), style or None)
        return text
