"""Actual results as text, for unmet expectations. Pure.

Kafka's error names; epochs as `1@2` (leader epoch 1 begins at offset 2).
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from emulator.scenario.expectations import NOTHING
from protocol.errors import error_name

NAMES = {"isr": "ISR", "high_watermark": "high watermark", "leader_epoch": "leader epoch"}
ABSENT = "nothing"


def seen_words(seen: Any) -> str:
    """`seen` as an expectation's verdict has it."""
    if seen is None or seen in ([], {}):
        return ABSENT
    match seen:
        case {"verdict": verdict, **rest}:
            return str(verdict) + (f", {rest['count']} found" if rest.get("count") else "")
        case {"error": error, **rest} if error not in (0, None):
            known: dict[str, Any] = {str(key): value for key, value in rest.items() if value is not None}
            return ", ".join([_error(error), *([_named(known)] if known else [])])
        case list() if all(isinstance(one, Mapping) and "value" in one for one in seen):
            return "; ".join(_attempts(list(alike)) for _, alike in groupby(seen, _outcome))
        case Mapping() if any(value is None or isinstance(value, Mapping) for value in seen.values()) and all(
            str(key).startswith("broker-") for key in seen
        ):
            return _replicas(seen)
        case Mapping():
            return _named({key: value for key, value in seen.items() if key != "error"}) or "no error"
    return _value("", seen)


def saw_words(held: object, seen: Any) -> str:
    """Text of an unmet expectation's actual result.

    A reason for an unknown result stays unchanged.
    """
    return seen if held == "unknown" and isinstance(seen, str) else f"saw {seen_words(seen)}"


def _outcome(attempt: Mapping[str, Any]) -> tuple[Any, Any, bool]:
    return attempt.get("error"), attempt.get("tries"), attempt["value"] is None


def _attempts(alike: Sequence[Mapping[str, Any]]) -> str:
    """Some with the same outcome."""
    first = alike[0]
    if first["value"] is None:
        return "no such attempt" if len(alike) == 1 else f"no such attempt, {len(alike)} times"
    words = " ".join(str(one["value"]) for one in alike)
    if "error" in first:
        words += " acknowledged" if first["error"] == 0 else f" {_error(first['error'])}"
    if first.get("tries", 1) != 1:
        words += f" after {first['tries']} tries"
    offsets = [one["offset"] for one in alike if one.get("offset") is not None and one["offset"] >= 0]
    if offsets:
        words += f" at offset{'' if len(offsets) == 1 else 's'} {' '.join(map(str, offsets))}"
    return words


def _replicas(seen: Mapping[str, Any]) -> str:
    """{node: data of its replica}; equal ones share a line."""
    alike: dict[str, list[str]] = {}
    for node, replica in seen.items():
        alike.setdefault("no replica" if replica is None else _replica(replica), []).append(node)
    return "; ".join(f"{', '.join(nodes)}: {words}" for words, nodes in alike.items())


def _replica(replica: Any) -> str:
    if not isinstance(replica, Mapping):
        return _value("", replica)
    parts = []
    for key, value in replica.items():
        match key, value:
            case "values", _:
                parts.append(" ".join(map(str, value)) or "no records")
            case "epochs", _:
                parts.append("epochs " + (" ".join(f"{epoch}@{offset}" for epoch, offset in value) or "none"))
            case _:
                parts.append(_named({key: value}))
    return ", ".join(parts)


def _named(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"{NAMES.get(key, str(key).replace('_', ' '))} {_value(key, one)}" for key, one in fields.items())


def _value(key: str, value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}" if value < 1e6 else f"{value:.0f}"
        case list() | tuple():
            between = " " if key in ("values", "resets") else ","
            return between.join(_value("", one) for one in value) or "none"
        case Mapping():
            return _named(value)
    return "none" if value == NOTHING else str(value)


def _error(error: Any) -> str:
    return f"{error_name(error)} (error {error})" if isinstance(error, int) else str(error)
