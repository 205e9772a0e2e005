"""Frames and links of a terminal's picture, drawn as lines.

As letters they meet in some fonts only.
"""

from typing import Final

THIN, THICK = 1.2, 2.2

_STRAIGHT: Final = {
    # (left, right, up, down), each the width of a stroke from the middle of the cell; 0: none
    "─": (THIN, THIN, 0, 0),
    "━": (THICK, THICK, 0, 0),
    "│": (0, 0, THIN, THIN),
    "┬": (THIN, THIN, 0, THIN),
    "┴": (THIN, THIN, THIN, 0),
    "├": (0, THIN, THIN, THIN),
    "┤": (THIN, 0, THIN, THIN),
}
_DASHED: Final = {"╌": (THIN, 2), "╍": (THICK, 2)}
"""(width, dashes in a cell)"""
_ROUND: Final = {"╭": (1, 1), "╮": (-1, 1), "╰": (1, -1), "╯": (-1, -1)}
"""(to the right or left, down or up) from the middle."""
RADIUS: Final = 4.0

LINES: Final = frozenset((*_STRAIGHT, *_DASHED, *_ROUND))


def strokes(char: str, x: float, y: float, width: float, height: float) -> list[tuple[str, float]]:
    """[(path, stroke width)] of one of LINES in the cell with its corner at `x`, `y`."""
    middle, center = x + width / 2, y + height / 2
    if char in _DASHED:
        stroke, count = _DASHED[char]
        step = width / count
        dashes = "".join(f"M{x + number * step + step / 4:g} {center:g}h{step / 2:g}" for number in range(count))
        return [(dashes, stroke)]
    if char in _ROUND:
        across, along = _ROUND[char]
        path = (
            f"M{middle + across * width / 2:g} {center:g}L{middle + across * RADIUS:g} {center:g}"
            f"Q{middle:g} {center:g} {middle:g} {center + along * RADIUS:g}V{center + along * height / 2:g}"
        )
        return [(path, THIN)]
    left, right, up, down = _STRAIGHT[char]
    if left and right == left and not up and not down:
        return [(f"M{x:g} {center:g}h{width:g}", left)]
    found = []
    for stroke, to in ((left, f"H{x:g}"), (right, f"H{x + width:g}"), (up, f"V{y:g}"), (down, f"V{y + height:g}")):
        if stroke:
            found.append((f"M{middle:g} {center:g}{to}", stroke))
    return found
