"""Regular expressions of log lines, made from texts with fields in braces.

    "[Broker id={broker}] Follower {tp} starts at leader epoch {leader_epoch} ..."

A field's name decides its characters: `{tp}` is a partition such as `t-0`, `{isr}` a list such as `0,1`, most are
numbers. So no text of a line reaches an event except through such a field.
"""

import re
from collections import Counter
from string import Formatter
from typing import Final, NamedTuple

TOPIC: Final = r"[a-zA-Z0-9._-]{1,249}"
TOPIC_PARTITION: Final = rf"{TOPIC}-\d{{1,9}}"
_NUMBER: Final = r"-?\d{1,16}"
_IDS: Final = r"[\d, ]{0,4000}"
_REST: Final = r"[^\r\n]{0,4000}?"
FIELD_PATTERNS: Final[dict[str, str]] = {
    "tp": TOPIC_PARTITION,
    "old_tp": rf"\[{TOPIC},\d{{1,9}}\]",
    "any_tp": rf"(?:{TOPIC_PARTITION}|\[{TOPIC},\d{{1,9}}\])",
    "topic": TOPIC,
    "topic_id": r"(?:Some\()?[\w-]{1,40}\)?",
    "id_or_none": r"(?:Some\(-?\d{1,10}\)|None)",
    "previous": r"(?:Some\(-?\d{1,10}\)|None)",
    "under": r"(?:\(under-min-isr\))?",
    "done": r"\d{1,9}(?:/\d{1,9})?",
    "isr_epochs": _REST,
    "recovery": r"[A-Z]{1,12}",
    "dir": r"[^\]\r\n]{0,1000}?",
    "dirs": _REST,
    "host": r"[^\s,()]{1,255}",
    "position": r"\w{1,40}",
    "name": r"[\w.$ -]{1,120}?",
    "word": r"\w{1,60}",
    "old_leader": r"-?\d{1,10}|\(none\)",
    "rest": _REST,
    "partitions": _REST,
    "places": _REST,
    "places_apart": _REST,
    "replica_ends": _REST,
    "session": r"0x[0-9a-fA-F]{1,16}",
    **dict.fromkeys(
        ("isr", "isr_list", "was", "now", "adding", "removing", "added", "removed", "bounced", "live", "brokers",
         "replicas", "old_isr", "elr"),
        _IDS,
    ),
}  # fmt: skip
"""{field: pattern}; every other field is a number."""
NEEDLE_BYTES_MIN: Final = 4


class LineForm(NamedTuple):
    """The form of one line.

    `logger`: the last part of its logger's name. `since`: first version that writes it, `text`: it with fields in
    braces; `says`: what it becomes.
    """

    name: str
    logger: str
    since: str
    text: str
    says: str


class Found(NamedTuple):
    """A matched line.

    `form`: its name in the table; `line`: its number in the file, from 1; `before_ms`: of a process's start, the time
    of the entry before it.
    """

    wall_ms: float
    form: str
    fields: dict[str, str]
    line: int
    before_ms: float


class Matcher(NamedTuple):
    """A form, compiled. `needle`: bytes that each of its lines contains."""

    form: LineForm
    needle: bytes
    expression: re.Pattern[bytes]


def literals_of(form: LineForm) -> list[str]:
    """The texts between a form's fields that are long enough to be searched."""
    found = (literal for literal, *_ in Formatter().parse(form.text))
    return [literal for literal in found if len(literal) >= NEEDLE_BYTES_MIN]


def matcher(form: LineForm, common: Counter[str]) -> Matcher:
    """Compile a form. `common`: how many forms of its loggers have a literal.

    The needle is the rarest literal, of equally rare ones the longest: a prefix that all lines have tells nothing.
    """
    parts: list[str] = []
    seen: set[str] = set()
    needle = min(literals_of(form), key=lambda literal: (common[literal], -len(literal)))
    for literal, field, _, _ in Formatter().parse(form.text):
        parts.append(re.escape(literal))
        if field is None:
            continue
        pattern = FIELD_PATTERNS.get(field, _NUMBER)
        parts.append(f"(?:{pattern})" if field in seen else f"(?P<{field}>{pattern})")
        seen.add(field)
    return Matcher(form, needle.encode(), re.compile("".join(parts).encode() + rb"\s*\Z", re.DOTALL))


def fields_of(matched: Matcher, message: bytes) -> dict[str, str] | None:
    """The fields of a message in this form; None: it is of another."""
    found = matched.expression.match(message)
    if found is None:
        return None
    return {name: value.decode("utf-8", "replace") for name, value in found.groupdict().items()}
