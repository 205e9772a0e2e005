"""The verdict of a run: the shape of verdict.json (docs: contract), composition, exit code.

The worst comes first. A run without reliable evidence (a fault without effect, late timers, a node that died by itself,
lost or broken events) is *unknown*, whatever was found in it: neither right nor wrong. Otherwise one broken
expectation, or one unexpected violation of a check, makes it invalid. Otherwise an undecided check makes it unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, get_args

import msgspec

from emulator.settings.account import Account

FORMAT = 1

EXIT_VALID = 0
EXIT_BROKEN = 1
EXIT_UNUSABLE = 2
EXIT_UNKNOWN = 3

LEADER_ALONE = "acks<=1"
"""Reason that allows a loss of records that the leader alone acknowledged."""

CheckResult = Literal["held", "violated", "unknown", "skipped"]
Valid = bool | Literal["unknown"]


class ExpectationVerdict(msgspec.Struct):
    """`held` "unknown": its subject is missing. `seen`: the value found instead."""

    text: str
    held: Valid
    seen: Any = None


class FaultVerdict(msgspec.Struct, rename={"requested_ms": "asked_ms"}):
    """One rule of the injector. Times in scenario ms; null: never.

    `in_force_ms`, `healed_ms`: at the last of its nodes. `healed`: null before a heal is requested; "unknown" while no
    traffic has proved it.
    """

    rule: str
    requested_ms: float | None
    in_force_ms: float | None
    healed_ms: float | None
    frames_stopped: int
    took_effect: bool
    healed: bool | Literal["unknown"] | None
    id: str = ""
    nodes: list[str] = []


Rank = Literal["broken", "unknown", "expected", "held", "skipped"]
"""Group of checks on a screen.

`broken`: a violation, or a missing one, that the scenario does not expect.
"""
RANKS: Final[tuple[Rank, ...]] = get_args(Rank)
"""Order of printing."""
USUAL: Final[tuple[Rank, ...]] = ("held", "skipped")
"""Ranks printed as counts."""


class CheckVerdict(msgspec.Struct):
    """Result of one check.

    - `expected`: the scenario is made to violate it. `count`: violations, of which `evidence` has the first.
    - `by_acks`: violations by acks; `allowed`: those that Kafka's settings allow, by the rule that allows them.
    - `judged`: number of examined items. `reason`: of unknown or skipped, and of violated if events are missing.
    """

    verdict: CheckResult
    expected: bool
    count: int
    evidence: list[dict[str, Any]]
    by_acks: dict[str, int] = {}
    judged: int = 0
    subject: str = ""
    reason: str = ""
    allowed: dict[str, int] = {}


class Quarantine(msgspec.Struct):
    """Lines that are no events.

    `lines` were put into `file`; `torn` were cut off by a death; `reasons`: {reason: lines}.
    """

    lines: int = 0
    torn: int = 0
    reasons: dict[str, int] = {}
    file: str | None = None


class Verdict(msgspec.Struct):
    """verdict.json.

    `unknown_because`: each reason that makes the whole run unknown. `vouched_by`: of a run with late timers, the
    evidence that they changed nothing (emulator.judging.lateness_check); "" otherwise. `settings`: remarks on them
    (emulator.settings.account).
    """

    run: str
    scenario: str
    world: str
    valid: Valid
    expectations: list[ExpectationVerdict]
    faults: list[FaultVerdict]
    checks: dict[str, CheckVerdict]
    measures: dict[str, Any]
    quarantine: Quarantine = msgspec.field(default_factory=Quarantine)
    unknown_because: list[str] = []
    settings: Account = Account()
    vouched_by: str = ""
    format: int = FORMAT

    @property
    def exit_code(self) -> int:
        return exit_code([self.valid])


def doubt(checks: dict[str, CheckVerdict], settings: Account, lasted_ms: float) -> list[str]:
    """Make each check unknown that an unmodelled setting could change; return the reasons.

    `lasted_ms`: duration of the run in scenario time.
    """
    reasons: dict[str, None] = {}
    for name, check in checks.items():
        why = settings.doubts_about(name, lasted_ms)
        if why and check.verdict != "skipped":
            check.verdict, check.reason = "unknown", "; ".join(word for word in (why, check.reason) if word)
            reasons |= dict.fromkeys(settings.reasons_about(name, lasted_ms))
    return list(reasons)


def compose(
    expectations: Iterable[ExpectationVerdict], checks: Iterable[CheckVerdict], unknown_because: Iterable[str]
) -> Valid:
    """Compose the parts to one verdict."""
    if any(unknown_because):
        return "unknown"
    checks, expectations = list(checks), list(expectations)
    if any(e.held is False for e in expectations):
        return False
    if any(check.verdict == "violated" and not check.expected for check in checks):
        return False
    if any(check.verdict == "unknown" for check in checks) or any(e.held == "unknown" for e in expectations):
        return "unknown"
    return True


def exit_code(valid: Iterable[Valid]) -> int:
    """Exit code of several verdicts: the worst."""
    seen = list(valid)
    if any(v is False for v in seen):
        return EXIT_BROKEN
    return EXIT_UNKNOWN if "unknown" in seen else EXIT_VALID


def promises_text(check: CheckVerdict) -> list[str]:
    """Losses with acks=all: those allowed, by rule, and the number of broken promises.

    Losses of records that the leader alone acknowledged are left out: they surprise no reader.
    """
    allowed = [f"allowed by {rule}: {count}" for rule, count in check.allowed.items() if rule != LEADER_ALONE]
    broken = check.count - sum(check.allowed.values()) if check.by_acks else 0
    return [*allowed, *([f"broken promises: {broken}"] if broken else [])]


def rank_of(verdict: CheckResult, *, expected: bool) -> Rank:
    """Group of a check with this result; `expected`: the scenario expects a violation."""
    if verdict == "violated":
        return "expected" if expected else "broken"
    return "broken" if verdict == "held" and expected else verdict


def usual_text(counts: Mapping[Rank, int], *, verbose: bool) -> str:
    """`24 held, 5 skipped (-v names them)`; empty if no check held or was skipped."""
    words = [f"{counts[rank]} {rank}" for rank in USUAL if counts.get(rank)]
    return ", ".join(words) + ("" if verbose or not words else " (-v names them)")


def evidence_text(one: Mapping[str, Any]) -> str:
    """One piece of a check's evidence as text, with its partition."""
    return f"{one['partition']}: {one['text']}" if one.get("partition") else str(one["text"])


def to_json(verdict: Verdict) -> bytes:
    """Indented JSON with a newline at its end. Numbers that JSON lacks (infinity) do not occur."""
    return msgspec.json.format(msgspec.json.encode(verdict), indent=2) + b"\n"


def from_json(data: bytes) -> Verdict:
    """Raises msgspec.DecodeError."""
    return msgspec.json.decode(data, type=Verdict)
