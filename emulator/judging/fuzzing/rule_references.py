"""Rules that a docstring names, by the page that has them.

"semantics 1.5" names a rule of docs/semantics.md; docs/kraft-semantics.md has its rules under its own name, with up to
three numbers. "semantics 1.2, 1.9" and "semantics 1.3 to 1.5" name several."""

import re
from collections.abc import Iterator
from typing import Final, Literal

Page = Literal["semantics", "kraft-semantics"]
_LEVELS: Final[dict[Page, int]] = {"semantics": 2, "kraft-semantics": 3}
"""Most numbers of a rule; a longer number is a version."""


def cited(text: str, page: Page = "semantics") -> set[str]:
    """Numbers of a page's rules that a text names.

    A chapter's number means the chapter as a whole.
    """
    number = rf"\d+(?:\.\d+){{0,{_LEVELS[page] - 1}}}(?!\.?\d)"
    another = rf"(?:, and |, | and | to )(?:section )?{number}"
    found: set[str] = set()
    for match in re.finditer(rf"(?<![\w-]){page}(?:\.md)? ({number}(?:{another})*)", text, re.IGNORECASE):
        before = ""
        for part in re.split(rf"(?={another})", match.group(1)):
            rule = re.findall(number, part)[0]
            found |= set(_between(before, rule)) if part.lstrip().startswith("to ") else {rule}
            before = rule
    return found


def _between(first: str, last: str) -> Iterator[str]:
    """Numbers from `1.2` to `1.4`, or `3` to `5`, both included.

    Across chapters only the two ends.
    """
    yield from (first, last)
    (above, _, low), (other, _, high) = first.rpartition("."), last.rpartition(".")
    if above == other:
        yield from (f"{above}.{number}".lstrip(".") for number in range(int(low), int(high) + 1))
