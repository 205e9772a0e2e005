"""Reads the settings files that `--settings` or a scenario names."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from emulator.regular_files import open_regular, other_than_regular, reason
from emulator.run_layout import shown
from emulator.settings.properties import FILE_BYTES_MAX
from emulator.settings.properties_files import (
    FILES_MAX,
    SettingsFile,
    UnusableFile,
    nearest_word,
    settings_file,
    wanted,
)


def read_settings_files(words: Iterable[str], scope: str = "") -> tuple[SettingsFile, ...]:
    """Read each file in the syntax of `wanted`. `scope`: default scope of files without one.

    Raises UnusableFile with every file that cannot be used, one line each.
    """
    words, found, problems = list(words), [], []
    if len(words) > FILES_MAX:
        raise UnusableFile(f"--settings: {len(words)} files; at most {FILES_MAX}")
    for word in words:
        try:
            found.append(_read(word, scope))
        except UnusableFile as error:
            problems.append(str(error))
    if problems:
        raise UnusableFile("\n".join(problems))
    return tuple(found)


def _read(word: str, scope: str) -> SettingsFile:
    requested = wanted(word)
    requested = msgspec.structs.replace(requested, scope=requested.scope or scope)
    path = Path(requested.path)
    try:
        with open_regular(path, follow=True) as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        why = other_than_regular(path) or reason(error) if isinstance(error, OSError) else error
        near = nearest_word(word) if isinstance(error, FileNotFoundError) else ""
        raise UnusableFile(f"--settings {word}: cannot be read: {why}{near}") from error
    name = shown(path) if path.is_absolute() else str(path)
    return settings_file(requested, name, data)


def anchored(words: Iterable[str], folder: Path) -> tuple[str, ...]:
    """The same words with paths from `folder`, the folder of the file that names them."""
    anchored = []
    for word in words:
        path = wanted(word).path
        anchored.append(f"{word.removesuffix(path)}{folder / path}")
    return tuple(anchored)
