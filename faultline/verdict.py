"""Verdict of an audit."""

from pathlib import Path
from typing import Any, Literal

import msgspec

from emulator.runs.verdict_file import Verdict as Audited
from emulator.runs.verdict_file import evidence_text
from faultline.errors import FaultlineError


class AuditFailed(FaultlineError, AssertionError):
    """A check was violated, or the audit is inconclusive: the message is the whole verdict."""


class Finding(msgspec.Struct, frozen=True):
    """Result of one check.

    `count`: number of violations; `evidence` has the first of them, one line each, and `details` the same as data.
    `by_acks`: violations by the producers' acks.
    """

    check: str
    result: Literal["held", "violated", "unknown", "skipped"]
    count: int
    by_acks: dict[int, int]
    evidence: tuple[str, ...]
    details: tuple[dict[str, Any], ...]
    reason: str


class Verdict:
    """All findings of an audit. `str(verdict)` is the output of `faultline audit`."""

    def __init__(self, audited: Audited, directory: Path | None) -> None:
        self.directory = directory
        """The run's directory: events, verdict.json, report.html. None: no files were written."""
        self.unknown_because = tuple(audited.unknown_because)
        """Reasons why the run cannot be judged at all; empty: it can."""
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
        """Findings by the checks' names (docs/checks.md)."""
        self._audited = audited

    @property
    def violated(self) -> tuple[str, ...]:
        """Names of the checks that were violated."""
        return tuple(name for name, one in self.findings.items() if one.result == "violated")

    @property
    def lost(self) -> Finding:
        """Finding about acknowledged records that are gone."""
        return self.findings["lost-acknowledged"]

    def require_held(self, *, except_: tuple[str, ...] = ()) -> None:
        """Raise AuditFailed unless all checks but `except_` held, with complete evidence."""
        if self.unknown_because or any(name not in except_ for name in self.violated):
            raise AuditFailed(str(self))

    def __str__(self) -> str:
        from audit.commands import verdict_text

        text = verdict_text(self._audited)
        return text if self.directory is None else f"{text}\nreport: {self.directory / 'report.html'}"

    def __repr__(self) -> str:
        return f"<Verdict of {self._audited.run}: violated {', '.join(self.violated) or 'nothing'}>"
