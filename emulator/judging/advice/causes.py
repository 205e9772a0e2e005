"""What breaks in many pairs for one cause is told once. Pure."""

import re
from collections.abc import Iterable

import msgspec

from emulator.judging.advice.summary import FaultSummary

WHO = re.compile(r"\S*\d\S*")
"""Whoever and whatever is named in a reason has a number in its name: records, brokers, offsets, epochs."""
LIST = re.compile(r"…(?: (?:and |of epoch )?…)+")
"""Of several: an ISR of two and one of three, or replicas that hold a batch, are circumstances and no cause."""


class Cause(msgspec.Struct, frozen=True):
    """`text`: the reason without names and numbers; `faults`: their names, the first as it was asked for."""

    check: str
    text: str
    faults: tuple[str, ...]


def causes_of(summaries: Iterable[FaultSummary]) -> list[Cause]:
    """Those of most faults first."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in summaries:
        for broken in one.broken:
            found.setdefault((broken.check, LIST.sub("…", WHO.sub("…", broken.reason))), []).append(one.fault.name)
    causes = [Cause(check, text, tuple(faults)) for (check, text), faults in found.items()]
    return sorted(causes, key=lambda cause: -len(cause.faults))
