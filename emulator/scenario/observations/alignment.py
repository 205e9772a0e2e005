"""Alignment of two sequences: pairs of entries, and the differences within each pair.

Entries are first paired by their subject (their identity), then compared leaf by leaf. One superfluous entry
is one difference, not a difference of every later entry. Every pairing is complete: two sequences
without a difference are equal.
"""

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, TypeVar

import msgspec

from emulator.scenario.observations.comparable import same, token

T = TypeVar("T")


class Nothing(msgspec.Struct, frozen=True):
    """Stands for an entry or a leaf that is not there (null is a value)."""

    def __str__(self) -> str:
        return "nothing"


NOTHING = Nothing()


class Difference(msgspec.Struct, frozen=True):
    """A difference.

    `where`: the leaf, `timeline[17].error`, in the recording (in the run, if the recording has no such entry). `about`:
    text of the entry.
    """

    where: str
    expected: Any
    seen: Any
    about: str = ""

    def __str__(self) -> str:
        about = f" ({self.about})" if self.about else ""
        return f"{self.where}{about}: expected {shown(self.expected)}, saw {shown(self.seen)}"

    def as_json(self) -> dict[str, Any]:
        """For `--json`: a missing side has no key."""
        sides = {"expected": self.expected, "seen": self.seen}
        return {
            "where": self.where,
            "about": self.about,
            **{key: value for key, value in sides.items() if value is not NOTHING},
        }


def shown(value: object) -> str:
    if value is NOTHING:
        return "nothing"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 160 else text[:157] + "..."


def pairs(
    expected: Sequence[T], seen: Sequence[T], identity: Callable[[T], object], alike: Callable[[T, T], bool]
) -> Iterator[tuple[T | None, T | None]]:
    """Pairs in order; None where one side has no entry.

    `identity` is hashable. Where identities differ, entries that are `alike` are still paired, so that one altered key
    is one difference and not two.
    """
    matcher = SequenceMatcher(None, [identity(e) for e in expected], [identity(s) for s in seen], autojunk=False)
    for _, e_from, e_to, s_from, s_to in matcher.get_opcodes():
        left, right = list(expected[e_from:e_to]), list(seen[s_from:s_to])
        while left or right:
            if left and right and alike(left[0], right[0]):
                yield left.pop(0), right.pop(0)
            elif left and (len(left) >= len(right) or not right):
                yield left.pop(0), None
            else:
                yield None, right.pop(0)


def leaf_differences(path: str, expected: Any, seen: Any, about: str) -> Iterator[Difference]:
    """Differences inside one pair of values."""
    if same(expected, seen):
        return
    if isinstance(expected, dict) and isinstance(seen, dict):
        for key in dict.fromkeys((*expected, *seen)):
            yield from leaf_differences(f"{path}.{key}", expected.get(key, NOTHING), seen.get(key, NOTHING), about)
    elif isinstance(expected, list) and isinstance(seen, list):
        yield from _list_differences(path, expected, seen, about)
    else:
        yield Difference(path, expected, seen, about)


def _list_differences(path: str, expected: list[Any], seen: list[Any], about: str) -> Iterator[Difference]:
    if not any(isinstance(item, list | dict) for item in (*expected, *seen)):
        yield Difference(path, expected, seen, about)  # [0, 1, 2] reads better whole
        return
    numbered = (list(enumerate(expected)), list(enumerate(seen)))
    for left, right in pairs(*numbered, identity=lambda n: token(n[1]), alike=lambda _a, _b: True):
        if left is not None and right is not None:
            yield from leaf_differences(f"{path}[{left[0]}]", left[1], right[1], about)
        elif left is not None:
            yield Difference(f"{path}[{left[0]}]", left[1], NOTHING, about)
        elif right is not None:
            yield Difference(f"{path}[{right[0]}]", NOTHING, right[1], about)
