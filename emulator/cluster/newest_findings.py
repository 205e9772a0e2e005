"""`following.json` in a run's directory: the newest that `faultline audit --follow` has told, while it follows.

It is written whole whenever something is told, has at most FINDINGS_MAX of them, and is removed when the follow ends.
`faultline status` shows them, so it needs no Spark for that.
"""

from pathlib import Path
from typing import Final

import msgspec

from emulator.cluster.status import FindingView
from emulator.regular_files import read_regular, write_whole
from protocol.undecodable import UNDECODABLE

FOLLOWING_FILE: Final = "following.json"
FINDINGS_MAX: Final = 20
TEXT_MAX: Final = 300
BYTES_MAX: Final = 64 * 1024


class NewestFindings(msgspec.Struct, frozen=True):
    """`read_to_ms`: up to when the events were read; `violations`: {check: how many}; the newest comes last."""

    read_to_ms: float
    violations: dict[str, int]
    newest: list[FindingView]


def write_newest(run: Path, findings: NewestFindings) -> None:
    """Raises OSError."""
    write_whole(run / FOLLOWING_FILE, msgspec.json.encode(findings))


def read_newest(run: Path) -> NewestFindings | None:
    """None: nobody follows the run, or what is there says nothing."""
    try:
        return msgspec.json.decode(read_regular(run / FOLLOWING_FILE, BYTES_MAX), type=NewestFindings)
    except (OSError, *UNDECODABLE):
        return None


def forget_newest(run: Path) -> None:
    """Nobody follows it any more."""
    (run / FOLLOWING_FILE).unlink(missing_ok=True)
