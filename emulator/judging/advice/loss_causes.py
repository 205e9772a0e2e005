"""Groups violations of many pairs by their cause. Pure."""

import re
from collections.abc import Iterable

import msgspec

from emulator.judging.advice.summary import FaultSummary

NUMBERED_NAME = re.compile(r"\S*\d\S*")
"""Names with a number in a reason: records, brokers, offsets, epochs."""
LIST = re.compile(r"…(?: (?:and |of epoch )?…)+")
"""Lists of such names: the members of an ISR, or a batch's holders, are no part of a cause."""


class Cause(msgspec.Struct, frozen=True):
    """A cause.

    `text`: the reason without names and numbers; `faults`: their names, in the order of play.
    """

    check: str
    text: str
    faults: tuple[str, ...]


def causes_of(summaries: Iterable[FaultSummary]) -> list[Cause]:
    """Causes, those of most faults first."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in summaries:
        for broken in one.broken:
            found.setdefault((broken.check, LIST.sub("…", NUMBERED_NAME.sub("…", broken.reason))), []).append(
                one.fault.name
            )
    causes = [Cause(check, text, tuple(faults)) for (check, text), faults in found.items()]
    return sorted(causes, key=lambda cause: -len(cause.faults))
