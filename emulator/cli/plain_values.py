"""Bounds of every value on the command line: numbers are finite, texts are valid text."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

TEXT_CHARACTERS_MAX: Final = 100_000


def require_plain(_: object, value: object) -> None:
    """Raise ValueError with the problem; the parser names the option."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not finite; give a finite number")
    if isinstance(value, str | Path):
        _require_text(str(value))
    elif isinstance(value, Sequence):
        for one in value:
            require_plain(_, one)


def _require_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!a} holds bytes that are not UTF-8; give text in UTF-8") from None
    if "\0" in text:
        raise ValueError(f"{text!a} holds a NUL character; leave it out")
    if len(text) > TEXT_CHARACTERS_MAX:
        raise ValueError(f"{text[:40]!a}... is longer than {TEXT_CHARACTERS_MAX} characters")
