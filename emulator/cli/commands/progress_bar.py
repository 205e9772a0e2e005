"""How far many runs are, with an estimate of the rest: on a terminal; nothing in a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from emulator.screen import Screen


@contextmanager
def progress_of(title: str, total: int, done: int = 0) -> Iterator[Callable[[], None]]:
    """What is given is called once for each run that has ended. `done`: those that had before."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Screen(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(title, total=total, completed=done)
        yield lambda: progress.advance(bar)


@contextmanager
def said_to_go_on(command: str, directory: Path) -> Iterator[None]:
    """Whoever interrupts what writes a campaign is told that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"faultline {command}: what was played is in {directory}; the same command goes on", file=sys.stderr)
        raise
