"""Numbers in untrusted text: a directory's name, a znode's, a word of a command.

Python's own tests are no guards of `int`: `²` is a digit and no number, and `int` refuses some thousand digits.
"""

from typing import Final

DIGITS_MAX: Final = 18
"""Maximum digits of a number that always fits into 64 bits."""


def number_in(text: str | bytes) -> int | None:
    """A number of 0 or more in ASCII digits; None: the text is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX else None
