"""Output of the live audit: a line per finding, as text or JSON, and the newest ones.

Text has at most SHOWN_MAX lines of a kind at once; JSON has every line. Only the newest findings are kept.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from audit.following.finding import FINDING_FORMAT, Line
from emulator.cluster.cluster_status import FindingView
from emulator.cluster.newest_findings import FINDINGS_MAX, TEXT_MAX, NewestFindings, forget_newest, write_newest

SHOWN_MAX: Final = 10
"""Maximum of lines of one kind and state at once."""
EVENTS_SHOWN_MAX: Final = 3
MARKS: Final = {True: "✗", False: "·"}
WORDS: Final = {"ended": "over: ", "withdrawn": "withdrawn by later lines: "}


class End(msgspec.Struct, frozen=True, kw_only=True):
    """The last line.

    `state`: over (the run has ended) or interrupted. `counts`, `violations`: by kind, without withdrawn ones.
    `lacking`: reasons why a violation may be missing. `unavailable_ms`: as in verdict.json.
    """

    format: int = FINDING_FORMAT
    state: str
    run: str
    read_to_ms: float
    events: int
    counts: dict[str, int]
    violations: dict[str, int]
    withdrawn: int
    late: int
    unavailable_ms: dict[str, float | None]
    lacking: list[str]
    exit_code: int


class Telling:
    """Writer of findings. `write`: takes a text with its line's end.

    `warn`: takes a line for standard error.
    """

    def __init__(self, run: Path, write: Callable[[str], None], warn: Callable[[str], None], *, json: bool) -> None:
        self._run = run
        self._write = write
        self._warn = warn
        self._json = json
        self._newest: deque[Line] = deque(maxlen=FINDINGS_MAX)
        self._unwritable = False

    def begin(self, about: dict[str, Any], words: str) -> None:
        self._write(_json({"format": FINDING_FORMAT, "state": "following", **about}) if self._json else f"{words}\n")

    def lines(self, lines: Sequence[Line], violations: Counter[str], read_to_ms: float) -> None:
        """Write the lines of one look."""
        if not lines:
            return
        for line in lines:
            numbers = [one.number for one in self._newest]
            if line.number in numbers:
                del self._newest[numbers.index(line.number)]
            if line.state != "withdrawn":
                self._newest.append(line)
        self._write_newest(violations, read_to_ms)
        self._write("".join(map(_json, lines)) if self._json else "".join(_shown(lines)))

    def end(self, end: End) -> None:
        self._write(_json(end) if self._json else _end(end))

    def close(self) -> None:
        """Remove the findings for `status`."""
        forget_newest(self._run)

    def _write_newest(self, violations: Counter[str], read_to_ms: float) -> None:
        newest = [
            FindingView(one.at_ms, one.finding, one.partition, one.violation, one.to_ms is None, one.text[:TEXT_MAX])
            for one in self._newest
        ]
        try:
            write_newest(self._run, NewestFindings(read_to_ms, +violations, newest))
        except OSError as error:
            if not self._unwritable:
                self._unwritable = True
                self._warn(f"{error.filename}: {error.strerror}: faultline status does not show these findings")


def text_of(line: Line) -> str:
    """A finding as text."""
    where = f"{line.partition}: " if line.partition else ""
    names = ", ".join(line.events[:EVENTS_SHOWN_MAX])
    evidence = f"  [{names}]" if names else ""
    what = WORDS.get(line.state, "")
    return f"{line.at_ms / 1000:9.3f} s  {MARKS[line.violation]} {line.finding:<17} {where}{what}{line.text}{evidence}"


def _shown(lines: Sequence[Line]) -> list[str]:
    shown: list[str] = []
    count: Counter[tuple[str, str]] = Counter()
    for line in lines:
        kind = (line.finding, line.state)
        count[kind] += 1
        if count[kind] <= SHOWN_MAX:
            shown.append(text_of(line) + "\n")
    for (finding, state), number in count.items():
        if number > SHOWN_MAX:
            shown.append(f"{'':>13}and {number - SHOWN_MAX} more of {finding}, {state}\n")
    return shown


def _end(end: End) -> str:
    how = {"over": "the run is over", "interrupted": "interrupted"}[end.state]
    found = ", ".join(f"{finding} {count}" for finding, count in end.violations.items() if count)
    others = ", ".join(
        f"{finding} {rest}" for finding, count in end.counts.items() if (rest := count - end.violations.get(finding, 0))
    )
    lines = [f"{how}, read to {end.read_to_ms / 1000:.3f} s; violated so far: {found or 'nothing that is followed'}"]
    lines += [f"  also found: {others}"] if others else []
    measured = {az: ms for az, ms in end.unavailable_ms.items() if ms}
    lines += [f"  unavailable: {', '.join(f'{az} {ms:.0f} ms' for az, ms in measured.items())}"] if measured else []
    lines += [f"  lacking: {why}" for why in end.lacking]
    lines.append(f"  this is provisional; the verdict is: faultline audit {end.run}")
    return "\n".join(lines) + "\n"


def _json(line: object) -> str:
    return msgspec.json.encode(line).decode() + "\n"
