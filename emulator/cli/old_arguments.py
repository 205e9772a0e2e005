"""Renames old commands and options in arguments; shows notices as lines of stderr."""

import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

from emulator.old_names import OldName, notice, renamed_key, renamed_verb

KAFKA: Final = "--kafka"
KAFKA_VERSION: Final = "--kafka-version"
VERSION: Final = re.compile(r"\d+(\.\d+)+(,\d+(\.\d+)+)*")
"""A version, or several of a sweep."""


def current_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments by the names of now. Gives a notice of each old name."""
    if not arguments:
        return []
    command, *rest = arguments
    rest = with_version(rest)
    if (one := renamed_verb("command", command)) is not None:
        warnings.warn(OldName(notice(one)), stacklevel=2)
        return [one.name, *rest, *one.arguments]
    return [command, *(_current_option(command, word) for word in rest)]


def with_version(words: Sequence[str]) -> list[str]:
    """`--kafka 4.4` as `--kafka-version 4.4`; `--kafka` alone is a flag of `up`."""
    found: list[str] = []
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        following = value if equals else next(iter(words[position + 1 :]), "")
        is_version = name == KAFKA and VERSION.fullmatch(following) is not None
        found.append(f"{KAFKA_VERSION}{equals}{value}" if is_version else word)
    return found


def _current_option(command: str, word: str) -> str:
    name, equals, value = word.partition("=")
    one = renamed_key("command", command, name.removeprefix("--").replace("-", "_")) if name.startswith("--") else None
    if one is None:
        return word
    old, now = (f"--{key.replace('_', '-')}" for key in (one.old, one.name))
    warnings.warn(OldName(f"{command}: {old} is the old name of {now}; write {now}"), stacklevel=2)
    return f"{now}{equals}{value}"


@contextmanager
def old_names_shown() -> Iterator[None]:
    """Show notices of old names as lines without the place in the code."""
    shown = warnings.showwarning

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None,
        line: str | None = None,
    ) -> None:  # fmt: skip
        if issubclass(category, OldName):
            print(f"faultline: warning: {message}", file=file or sys.stderr)
        else:
            shown(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
