"""`following.json` in a run's directory: the newest findings of `faultline audit --follow`.

The live audit writes it whole at each finding, with at most FINDINGS_MAX of them, and removes it at its end.
`faultline status` shows them without Spark.
"""

from pathlib import Path
from typing import Final

import msgspec

from emulator.cluster.cluster_status import FindingView
from emulator.regular_files import read_regular, write_whole
from protocol.undecodable import UNDECODABLE

FOLLOWING_FILE: Final = "following.json"
FINDINGS_MAX: Final = 20
TEXT_MAX: Final = 300
BYTES_MAX: Final = 64 * 1024


class NewestFindings(msgspec.Struct, frozen=True):
    """`read_to_ms`: time of the last event read; `violations`: {check: number}.

    The newest comes last.
    """

    read_to_ms: float
    violations: dict[str, int]
    newest: list[FindingView]


def write_newest(run: Path, findings: NewestFindings) -> None:
    """Raises OSError."""
    write_whole(run / FOLLOWING_FILE, msgspec.json.encode(findings))


def read_newest(run: Path) -> NewestFindings | None:
    """The findings. None: no live audit runs, or the file is unreadable."""
    try:
        return msgspec.json.decode(read_regular(run / FOLLOWING_FILE, BYTES_MAX), type=NewestFindings)
    except (OSError, *UNDECODABLE):
        return None


def forget_newest(run: Path) -> None:
    """Remove the file at the end of a live audit."""
    (run / FOLLOWING_FILE).unlink(missing_ok=True)
