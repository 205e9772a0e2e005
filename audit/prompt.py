"""The prompt of `faultline sql`: editing, history by arrow keys, completion of names by Tab.

The history is kept between sessions in the folder of a user's running clusters; without that folder, or if it cannot be
written, only while the prompt lasts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from emulator.cluster.state_home import state_home
from emulator.interrupt_redelivery import interrupts_end_the_wait

PROMPT: Final = "sql> "
HISTORY_FILE: Final = "sql_history"
HISTORY_LINES_MAX: Final = 1_000
BETWEEN_WORDS: Final = " \t\n,()=<>+-*/.;"
KEYWORDS: Final = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN", "ON", "AND", "OR", "NOT",
    "IN", "LIKE", "BETWEEN", "IS NULL", "DISTINCT", "COUNT", "SUM", "MIN", "MAX", "AVG", "AS", "DESC", "UNION ALL",
    "SHOW TABLES", "DESCRIBE",
)  # fmt: skip


def typed(words: Sequence[str], history: Path | None = None) -> Iterator[str]:
    """Lines typed at a prompt; Ctrl-D ends it.

    `words`: completions of Tab; `history`: its file, else the user's.
    """
    with _edited(words, history or _history()):
        while True:
            try:
                with interrupts_end_the_wait():
                    line = input(PROMPT).strip().rstrip(";")
            except EOFError:
                print()
                return
            except KeyboardInterrupt:
                print()  # later output begins on a line of its own
                raise
            if line in ("exit", "quit"):
                return
            if line:
                yield line


def completer(words: Sequence[str]) -> Callable[[str, int], str | None]:
    """Completer for readline: the N-th word that begins with `text` in any case; None: no more."""

    def complete(text: str, number: int) -> str | None:
        found = [word for word in words if word.lower().startswith(text.lower())]
        return found[number] if number < len(found) else None

    return complete


@contextlib.contextmanager
def _edited(words: Sequence[str], history: Path | None) -> Iterator[None]:
    try:
        import readline
    except ImportError:  # a Python without it takes lines as they come
        yield
        return
    before = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(completer([*words, *KEYWORDS]))
    readline.set_completer_delims(BETWEEN_WORDS)
    readline.parse_and_bind("tab: complete")
    readline.set_history_length(HISTORY_LINES_MAX)
    if history is not None:
        with contextlib.suppress(OSError):
            readline.read_history_file(history)
    try:
        yield
    finally:
        readline.set_completer(before[0])
        readline.set_completer_delims(before[1])
        if history is not None:
            with contextlib.suppress(OSError):  # a history is not worth an error
                readline.write_history_file(history)
                history.chmod(0o600)


def _history() -> Path | None:
    try:
        home = state_home()
        home.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return home / HISTORY_FILE
