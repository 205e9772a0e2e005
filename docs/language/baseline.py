"""Counts of known offences per file and rule. A count may decrease, never increase."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from docs.language.language_rules import Offence

Counts = Mapping[str, Mapping[str, int]]
"""{path: {rule: offences}}"""


def counts_of(found: Iterable[tuple[str, Offence]]) -> dict[str, dict[str, int]]:
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path, offence in found:
        counted[path][offence.rule] += 1
    return {path: dict(sorted(of.items())) for path, of in sorted(counted.items())}


def more_than_known(found: Iterable[tuple[str, Offence]], known: Counts) -> list[str]:
    """A line for each offence of a file and rule that has more offences than the baseline."""
    found = list(found)
    counted = counts_of(found)
    lines = []
    for path, offence in found:
        allowed = known.get(path, {}).get(offence.rule, 0)
        if counted[path][offence.rule] > allowed:
            also = f" (one of {counted[path][offence.rule]}, {allowed} known)" if allowed else ""
            lines.append(f"{path}:{offence.line}: {offence.rule}: {offence.text}{also}")
    return lines


def fewer_than_known(found: Iterable[tuple[str, Offence]], known: Counts) -> list[str]:
    """Entries of the baseline that allow more than there is."""
    counted = counts_of(found)
    return [
        f"{path}: {rule}: {allowed} known, {counted.get(path, {}).get(rule, 0)} found"
        for path, rules in known.items()
        for rule, allowed in rules.items()
        if counted.get(path, {}).get(rule, 0) < allowed
    ]


def read(path: Path) -> dict[str, dict[str, int]]:
    """Raises msgspec.DecodeError: the file is no baseline."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, int]])


def write(path: Path, counts: Counts) -> None:
    lines = [f"{msgspec.json.encode(name).decode()}: {msgspec.json.encode(of).decode()}" for name, of in counts.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
