"""Changes between two states of plain JSON values. Pure.

A change is `set` (a path and its new value) or `remove` (a path). A path is a list of keys of objects. Objects are
compared key by key; every other value, lists included, is replaced as a whole.
"""

from typing import Any, Final

import msgspec

Path = list[str]
DEPTH_MAX: Final = 8
"""Objects below this depth are replaced as a whole."""


class Delta(msgspec.Struct, frozen=True):
    """The changes from one state to the next: first the removals, then the new values."""

    set: list[tuple[Path, Any]] = []
    remove: list[Path] = []

    def __bool__(self) -> bool:
        return bool(self.set or self.remove)


def difference(before: dict[str, Any], after: dict[str, Any]) -> Delta:
    """The changes that make `after` of `before`."""
    delta = Delta([], [])
    _compare(before, after, [], delta)
    return delta


def applied(state: dict[str, Any], delta: Delta) -> dict[str, Any]:
    """The state with the changes. `state` stays as it is."""
    result = dict(state)
    copied: dict[tuple[str, ...], dict[str, Any]] = {(): result}
    for path in delta.remove:
        _inside(copied, path[:-1]).pop(path[-1], None)
    for path, value in delta.set:
        _inside(copied, path[:-1])[path[-1]] = value
    return result


def _inside(copied: dict[tuple[str, ...], dict[str, Any]], path: Path) -> dict[str, Any]:
    """The object at the path, copied before its first change."""
    place = tuple(path)
    if place not in copied:
        outer = _inside(copied, path[:-1])
        outer[path[-1]] = dict(outer[path[-1]])
        copied[place] = outer[path[-1]]
    return copied[place]


def _compare(before: dict[str, Any], after: dict[str, Any], path: Path, delta: Delta) -> None:
    delta.remove.extend([*path, key] for key in before if key not in after)
    for key, value in after.items():
        if key not in before:
            delta.set.append(([*path, key], value))
            continue
        old = before[key]
        if isinstance(old, dict) and isinstance(value, dict) and len(path) + 1 < DEPTH_MAX:
            if old is not value:
                _compare(old, value, [*path, key], delta)
        elif type(old) is not type(value) or old != value:
            delta.set.append(([*path, key], value))
