"""A real terminal: bash on a pty, typed into letter by letter, recorded with times."""

import time
from pathlib import Path
from types import TracebackType
from typing import Self

import pexpect

from docs.session.cast import Event

PROMPT_ENDS = "\x1b]133;B\x07"
"""Sequence by which shells tell terminals that a prompt is ready for a command.

Invisible.
"""
PROMPT = r"\n\e[1;32m$\e[0;1m \e]133;B\a"
AFTER_TYPING = r"\e[0m"
ECHO_LIMIT_S = 5.0
LETTER_S, READING_S = 0.04, 1.5
"""Times that a person takes to type a letter, and to read output, in seconds.

Added to the recording's clock, not waited for.
"""


class NotSeen(RuntimeError):
    """A command's required output is missing; the actual output."""


class Terminal:
    """A shell in `directory`, with a width and height in cells.

    `events`: output since it began.
    """

    def __init__(self, directory: Path, env: dict[str, str], columns: int, lines: int) -> None:
        self.events: list[Event] = []
        self._began = time.monotonic()
        self._added_s = 0.0
        self._shell = pexpect.spawn(
            "bash",
            ["--norc", "--noprofile", "--noediting"],
            cwd=str(directory),
            env={**env, "PS1": PROMPT, "PS0": AFTER_TYPING, "TERM": "xterm-256color"},
            dimensions=(lines, columns),
            encoding="utf-8",
            timeout=ECHO_LIMIT_S,
        )
        self._shell.delaybeforesend = None
        self._shell.logfile_read = _Recorder(self)
        self._until(PROMPT_ENDS, ECHO_LIMIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shell.close(force=True)

    def mark(self, caption: str) -> None:
        self.events.append(Event(self._now_s(), "m", caption))

    def run(self, command: str, shows: str, limit_s: float, *, interrupt: str = "") -> None:
        """Type `command`; return after `shows` and the next prompt. Raises NotSeen.

        `interrupt`: then Ctrl-C, after this output as well (the end of a picture, which should be complete).
        """
        for letter in command:
            self._added_s += LETTER_S
            self._shell.send(letter)
            self._until(letter, ECHO_LIMIT_S)
        self._shell.send("\n")
        deadline = time.monotonic() + limit_s
        self._until(shows, limit_s)
        if interrupt:
            self._until(interrupt, limit_s)
            self._added_s += READING_S
            self._shell.sendintr()
        self._until(PROMPT_ENDS, deadline - time.monotonic())
        self._added_s += READING_S

    def record(self, text: str) -> None:
        self.events.append(Event(self._now_s(), "o", text))

    def _now_s(self) -> float:
        return round(time.monotonic() - self._began + self._added_s, 3)

    def _until(self, text: str, limit_s: float) -> None:
        try:
            found = self._shell.expect_exact([text, PROMPT_ENDS], timeout=limit_s)
        except (pexpect.TIMEOUT, pexpect.EOF) as error:
            raise NotSeen(f"{text!r} was not shown within {limit_s:.0f} s, but {self._tail()}") from error
        if found and text != PROMPT_ENDS:
            raise NotSeen(f"{text!r} was not shown, but {self._tail()}")

    def _tail(self) -> str:
        return repr("".join(event.text for event in self.events[-20:])[-800:])


class _Recorder:
    """Receives the output that pexpect has read."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def write(self, text: str) -> None:
        self._terminal.record(text)

    def flush(self) -> None:
        """Nothing is held back."""
