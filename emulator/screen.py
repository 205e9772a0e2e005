"""Rich's console, which sends no control characters but its own (see `emulator.terminal`)."""

import sys
from collections.abc import Iterable
from typing import IO, Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from emulator.terminal import HELD_BACK, Shown, shown_plainly


class Screen(Console):
    """A console that sends no control characters but its own. Takes rich's arguments."""

    def __init__(self, *, file: IO[str] | None = None, stderr: bool = False, **options: Any) -> None:
        beneath: TextIO = sys.stderr if stderr else sys.stdout
        super().__init__(file=file or _beneath(beneath), stderr=stderr, **options)

    def on_broken_pipe(self) -> None:
        """Left to the caller, which knows the exit code."""
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or not HELD_BACK.search(segment.text):
                yield segment
            else:
                yield Segment(shown_plainly(segment.text), segment.style)


def for_lines(*, stderr: bool = False) -> Screen:
    """Wraps on a terminal only: lines stay whole in a pipe."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Screen(stderr=stderr, highlight=False, soft_wrap=not terminal)


def _beneath(stream: TextIO) -> IO[str]:
    """The stream below a console: its own control characters must pass."""
    return cast(IO[str], stream.sending()) if isinstance(stream, Shown) else stream
