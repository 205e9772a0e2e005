"""What an audit says of a run."""

from pathlib import Path
from typing import Any, Literal

import msgspec

from emulator.runs.verdict import Verdict as Audited
from emulator.runs.verdict import evidence_text
from faultline.errors import FaultlineError


class AuditFailed(FaultlineError, AssertionError):
    """A check was violated, or the audit cannot tell: the message is the whole verdict."""


class Finding(msgspec.Struct, frozen=True):
    """What one check found. `count`: violations, of which `evidence` has the first, one line each, and `details` the
    same as data. `by_acks`: violations told apart by the producers' acks."""

    check: str
    result: Literal["held", "violated", "unknown", "skipped"]
    count: int
    by_acks: dict[int, int]
    evidence: tuple[str, ...]
    details: tuple[dict[str, Any], ...]
    reason: str


class Verdict:
    """`str(verdict)` is what `faultline audit` prints."""

    def __init__(self, audited: Audited, directory: Path | None) -> None:
        self.directory = directory
        """The run's: events, verdict.json, report.html. None: nothing was written."""
        self.unknown_because = tuple(audited.unknown_because)
        """Why nothing can be said of the run at all; empty: something can."""
        self.findings = {
            name: Finding(
                name,
                one.verdict,
                one.count,
                {int(acks): count for acks, count in one.by_acks.items()},
                tuple(evidence_text(each) for each in one.evidence),
                tuple(one.evidence),
                one.reason,
            )
            for name, one in audited.checks.items()
        }
        """By the checks' names (docs/checks.md)."""
        self._audited = audited

    @property
    def violated(self) -> tuple[str, ...]:
        """Names of the checks that were violated."""
        return tuple(name for name, one in self.findings.items() if one.result == "violated")

    @property
    def lost(self) -> Finding:
        """Acknowledged records that are gone."""
        return self.findings["lost-acknowledged"]

    def require_held(self, *, except_: tuple[str, ...] = ()) -> None:
        """Every check held, but for those of `except_`, and the evidence is whole. Raises AuditFailed."""
        if self.unknown_because or any(name not in except_ for name in self.violated):
            raise AuditFailed(str(self))

    def __str__(self) -> str:
        from audit.commands import verdict_text

        text = verdict_text(self._audited)
        return text if self.directory is None else f"{text}\nreport: {self.directory / 'report.html'}"

    def __repr__(self) -> str:
        return f"<Verdict of {self._audited.run}: violated {', '.join(self.violated) or 'nothing'}>"
