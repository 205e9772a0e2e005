"""Safe output to a terminal: control characters and escape sequences are shown, not sent.

A terminal would obey those in a record's value, a scenario's title, a node's reason. `Shown` wraps standard output and
standard error; `emulator.screen` is the same for rich's console. Both write such a character as `\\u001b`, which in
JSON means the same character.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

HELD_BACK: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters to show: C0 without tab and line feed, DEL, C1, bidirectional controls.

And halves of surrogate pairs.
"""
PLAIN: Final = str.maketrans({"✓": "+", "✗": "x", "→": "->", "…": "...", "–": "-", "—": "-", "·": "-", "×": "x"})
"""For a terminal that knows no more than ASCII."""


def shown_plainly(text: str) -> str:
    """`text` with every character that a terminal would obey written out."""
    return HELD_BACK.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Shown:
    """A stream that passes only safe and encodable characters to another one.

    `sends`: control characters pass, for a console's own ones.
    """

    def __init__(self, beneath: TextIO, *, sends: bool = False) -> None:
        self.beneath = beneath
        self._sends = sends
        self._ascii = not speaks_unicode(beneath)

    def sending(self) -> "Shown":
        """The same for a console."""
        return Shown(self.beneath, sends=True)

    def write(self, text: str) -> int:
        held = text if self._sends else shown_plainly(text)
        with self._named():
            self.beneath.write(held.translate(PLAIN) if self._ascii else held)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with self._named():
            self.beneath.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Add the file's name to errors: its disk may be full."""
        try:
            yield
        except OSError as error:
            error.filename = error.filename or self.beneath.name
            raise


@contextmanager
def shown_streams() -> Iterator[None]:
    """Print through `Shown` within."""
    before = sys.stdout, sys.stderr
    for stream in before:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # a stream of the interpreter's own, not a test's
            reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = Shown(before[0]), Shown(before[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def speaks_unicode(stream: TextIO) -> bool:
    """False of a terminal that is set to ASCII, say."""
    return (stream.encoding or "utf-8").lower().replace("-", "").replace("_", "").startswith("utf")
