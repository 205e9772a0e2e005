"""Numbers in text that anybody may have written: a directory's name, a znode's, a word of a command.

Python's own tests are no guards of `int`: `²` is a digit and no number, and of some thousand digits it makes none."""

from typing import Final

DIGITS_MAX: Final = 18
"""As many as always fit into 64 bits."""


def number_in(text: str | bytes) -> int | None:
    """0 or more, in ASCII's digits and nothing else; None: there is no such number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX else None
