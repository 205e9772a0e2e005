"""Progress bar of many runs, with an estimate of the rest; no output in a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from emulator.screen import Screen


@contextmanager
def progress_of(
    title: str, total: int, done: int = 0, limit_s: float | None = None
) -> Iterator[Callable[[], bool]]:
    """Yield a function to call for each run that ends.

    It returns whether the time limit allows another run. `done`: runs that ended before.
    """
    began_s = monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Screen(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(title, total=total, completed=done)

        def ended() -> bool:
            progress.advance(bar)
            return limit_s is None or monotonic() - began_s < limit_s

        yield ended


@contextmanager
def resume_hint(command: str, directory: Path) -> Iterator[None]:
    """On an interrupt, print that the command can be resumed."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"faultline {command}: interrupted; the same command resumes from {directory}", file=sys.stderr)
        raise
