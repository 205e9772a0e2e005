"""docs/errors.md, from protocol/errors.py."""

from pathlib import Path

from docs.generate.markdown_tables import code, notice, table
from protocol.errors import TRAITS, ErrorCode

_HEAD = """# Error codes

Kafka's codes, under the names of 2.6 and later. (Code 6 was NOT_LEADER_FOR_PARTITION before 2.6; texts use
the name of the emulated version.)

- *retriable*: a producer may try again.
- *definite*: the operation certainly did not take effect. After another code the record may be in a log: after codes
  7 and 20 it *is* in the leader's.
- *refresh*: the client requests new metadata before it retries.

A client's event has code -2 if no response came: the connection was refused, lost or timed out
([events.md](events.md), `attempt_ended`).
"""


def page(root: Path) -> str:
    del root
    rows = [
        (
            int(error),
            code(error.name),
            *(_yes(value) for value in (traits.retriable, traits.definite, traits.refresh)),
            traits.meaning,
        )
        for error, traits in ((error, TRAITS[error]) for error in ErrorCode)
    ]
    head = ("code", "name", "retriable", "definite", "refresh", "meaning")
    return "\n".join((notice("protocol/errors.py"), _HEAD, table(head, rows)))


def _yes(value: bool) -> str:
    return "yes" if value else ""
