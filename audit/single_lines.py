"""Single lines of refused blocks: an event, or the reason why a line is none.

The rules are those of `protocol.events.event_parsing`, and a line must be of its file's node, incarnation and run, as
`audit.event_lines` has Spark check it. Values are checked strictly: Spark takes a number for a text, and this does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from audit.blocks import Source
from audit.line_ranges import Block
from protocol.events import FIELDS
from protocol.events.event_parsing import LINE_BYTES_MAX, NAME_SHOWN_MAX, object_in, problem_of, problem_of_values

NO_OBJECT: Final = "no JSON object of the schema's types"
TOO_LONG: Final = f"longer than {LINE_BYTES_MAX} bytes"
_LINE: Final = re.compile(rb"[^\r\n]+")
"""Spark, too, takes a carriage return for a line's end."""
_BLANK: Final = b" "


class SingleLine(NamedTuple):
    """A line that is not blank.

    `begin`: its first byte in the file. `event`: its fields; `problem`: the reason why it is no event, "" for an event.
    `torn`: it is no JSON, and the file ends in it: its writer died.
    """

    begin: int
    text: bytes
    event: dict[str, Any]
    problem: str
    torn: bool


def single_lines(block: Block) -> Iterator[SingleLine]:
    """The lines of a refused block, one by one."""
    for found in _LINE.finditer(block.lines):
        line = found[0]
        if line.strip(_BLANK):
            event, problem = _read(line, block.of.source)
            torn = block.unended and problem == NO_OBJECT
            yield SingleLine(block.begin + found.start(), line, event, problem, torn)


def _read(line: bytes, source: Source) -> tuple[dict[str, Any], str]:
    """(the fields, why they are no event)."""
    fields = object_in(line)
    if fields is None:
        return {}, NO_OBJECT
    problem = problem_of(fields) or problem_of_values(fields) or _of_another(fields, source)
    return {name: fields.get(name) for name in FIELDS}, problem


def _of_another(fields: dict[str, Any], source: Source) -> str:
    """Reason why an event is not of its file; "": it is."""
    node, incarnation = fields["node"], fields["incarnation"]
    if not source.file.startswith(f"{node}.{incarnation}."):
        return f"of {node[:NAME_SHOWN_MAX]}, incarnation {incarnation}, in the file {source.file}"
    return "" if fields["run"] == source.run else f"of another run, {fields['run'][:NAME_SHOWN_MAX]}"
