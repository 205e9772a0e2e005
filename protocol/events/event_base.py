"""The base of all events, and the levels at which they are written."""

from collections.abc import Sequence
from typing import ClassVar, Literal, get_args

import msgspec

EVENT_FORMAT = 1

Level = Literal["client", "replica", "wire"]
LEVELS: tuple[str, ...] = get_args(Level)


class Event(msgspec.Struct, omit_defaults=False, gc=False):
    """Base of all events."""

    NAME: ClassVar[str] = ""
    LEVEL: ClassVar[Level] = "replica"


def ids_text(ids: Sequence[int]) -> str:
    """Spelling of broker lists in events: `[0, 2, 1]` -> `0,2,1`."""
    return ",".join(map(str, ids))
