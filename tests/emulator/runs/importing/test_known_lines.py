"""Lines of every version, as Kafka's source has them, each read by its form."""

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import NamedTuple

import pytest

from emulator.runs.importing.byte_lines import ByteLines
from emulator.runs.importing.line_forms import Found
from emulator.runs.importing.line_layouts import KNOWN_PATTERNS
from emulator.runs.importing.line_table import FORMS
from emulator.runs.importing.log_reader import DISPATCH, LogReader, known_layouts
from protocol.versions import releases

TABLE = Path(__file__).parent / "known_lines.txt"


class Known(NamedTuple):
    """A line of `version`, the form that reads it, and some of its fields."""

    version: str
    form: str
    fields: dict[str, str]
    logger: str
    message: str


def known_lines() -> Iterator[Known]:
    for row in TABLE.read_text(encoding="utf-8").splitlines():
        if not row.startswith("#"):
            version, form, fields, logger, message = (part.strip() for part in row.split("|", 4))
            yield Known(version, form, _fields(fields), logger, message)


def _fields(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in text.split():
        name, sign, value = word.partition("=")
        if sign:
            found[name] = value
        else:  # a value with a space
            last = next(reversed(found))
            found[last] += f" {word}"
    return found


KNOWN = list(known_lines())


def test_each_line_has_its_form_and_fields() -> None:
    wrong = []
    for known in KNOWN:
        name, fields = DISPATCH.match(known.logger.encode(), known.message.encode()) or ("no form", {})
        found = {field: fields.get(field) for field in known.fields}
        if (name, found) != (known.form, known.fields):
            wrong.append((known, name, found))
    assert wrong == []


@pytest.mark.parametrize("pattern", KNOWN_PATTERNS)
def test_the_reader_finds_each_line(pattern: str, tmp_path: Path) -> None:
    """In Kafka's layout by the lines' last bytes, in others by their header."""
    path = tmp_path / "server.log"
    text = pattern.removesuffix("%n").replace("%-5p", "%p")
    for converter in ("%d{ISO8601}", "%d"):
        text = text.replace(converter, "2026-11-29 03:38:53,658")
    with path.open("w", encoding="utf-8") as file:
        for one in KNOWN:
            line = text.replace("%p", "INFO").replace("%t", "main").replace("%c", one.logger)
            file.write(line.replace("%m", one.message) + "\n")
    layout = next(one for one in known_layouts(None, UTC) if one.pattern == pattern)
    found: list[Found] = list(LogReader(ByteLines(path), layout).found())
    assert [one.form for one in found] == [one.form for one in KNOWN]


def test_a_line_is_no_older_than_its_form() -> None:
    """Versions of the table are releases, and some row of the line's form is that old."""
    order = releases()
    since: dict[str, int] = {}
    for form in FORMS:
        at = order.index(form.since)
        since[form.name] = min(since.get(form.name, at), at)
    assert [one for one in KNOWN if order.index(one.version) < since[one.form]] == []
