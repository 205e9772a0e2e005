"""Rules of docs/semantics.md that a docstring names.

"semantics 1.5" names one; "semantics 1.2, 1.9" and "semantics 1.3 to 1.5" name several."""

import re
from collections.abc import Iterator

NUMBER = r"\d+(?:\.\d+)?(?!\.?\d)"
_CITED = re.compile(
    rf"semantics(?:\.md)? ({NUMBER}(?:(?:, and |, | and | to )(?:section )?{NUMBER})*)", re.IGNORECASE
)


def cited(text: str) -> set[str]:
    """Numbers of the rules that a text names; a chapter's number means the chapter as a whole."""
    found: set[str] = set()
    for match in _CITED.finditer(text):
        parts = re.split(rf"(?=(?:, and |, | and | to )(?:section )?{NUMBER})", match.group(1))
        before = ""
        for part in parts:
            number = re.findall(NUMBER, part)[0]
            found |= set(_between(before, number)) if part.lstrip().startswith("to ") else {number}
            before = number
    return found


def _between(first: str, last: str) -> Iterator[str]:
    """Numbers from `1.2` to `1.4`, both included; across chapters only the two ends."""
    yield from (first, last)
    (chapter, _, low), (other, _, high) = first.partition("."), last.partition(".")
    if chapter == other and low and high:
        yield from (f"{chapter}.{number}" for number in range(int(low), int(high) + 1))
