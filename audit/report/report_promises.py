"""Results of each check.

Broken and unknown ones come first and in full; a held one is a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from audit.checks.check_registry import CHECKS
from audit.report.claims import Claims
from audit.report.report_links import Links
from emulator.runs.verdict_file import CheckVerdict, Verdict, evidence_text, promises_text

EVIDENCE_SHOWN_MAX = 20

PILLS = {
    "held": ("good", "✓ held"),
    "violated": ("bad", "✗ violated"),
    "meant": ("meant", "! violated"),
    "unknown": ("unsure", "? unknown"),
    "skipped": ("quiet", "– skipped"),
}
"""{verdict: (its colour, its words)}; `meant`: violated as the scenario expects.

Each has a sign for readers who do not see colours.
"""
_CODE = re.compile(r"`([^`]+)`")
_AS_CODE = r"<code>\1</code>"
_ORDER = ("violated", "unknown", "held", "skipped")


def promises(verdict: Verdict, claims: Claims, links: Links) -> str:
    expects = bool(verdict.scenario)
    named = sorted(verdict.checks.items(), key=lambda one: _ORDER.index(one[1].verdict))
    cards = "".join(_card(name, check, expects, claims, links) for name, check in named)
    return f'<section id="promises"><h2>Promises</h2><div class="cards">{cards}</div></section>'


def pill(kind: str) -> str:
    css, words = PILLS[kind]
    return f'<span class="pill {css}">{words}</span>'


def counted(check: CheckVerdict) -> str:
    """Count of violations, and of judged subjects."""
    if check.verdict == "held":
        return f"{check.judged:,} {check.subject}"
    by_acks = ", ".join([*(f"{n} with acks={acks}" for acks, n in check.by_acks.items()), *promises_text(check)])
    return f"{check.count:,} found" + (f" ({by_acks})" if by_acks else "") + f" among {check.judged:,} {check.subject}"


def meant(checks: Mapping[str, CheckVerdict]) -> list[str]:
    """Checks that are violated as the scenario expects."""
    return [name for name, check in checks.items() if check.verdict == "violated" and check.expected]


def _card(name: str, check: CheckVerdict, expects: bool, claims: Claims, links: Links) -> str:
    """A check's card. `expects`: whether the run has expectations."""
    known = CHECKS.get(name)
    on_purpose = check.expected and check.verdict == "violated"
    surprise = check.expected != (check.verdict == "violated") and check.verdict in ("held", "violated")
    remark = "as expected" if on_purpose else "not expected" if surprise and expects else ""
    about = "; ".join(filter(None, (counted(check) if check.verdict in ("held", "violated") else "", check.reason)))
    shown = check.evidence[:EVIDENCE_SHOWN_MAX]
    evidence = "".join(f"<li>{escape(evidence_text(one))}{links.of(claims.of_evidence(one))}</li>" for one in shown)
    more = check.count - len(shown)
    evidence += f"<li>and {more:,} more: <code>faultline sql</code> has all of them</li>" if more > 0 else ""
    parts = known.definition.strip().split("\n\n") if known else []
    definition = "".join(f"<p>{_CODE.sub(_AS_CODE, escape(part))}</p>" for part in parts)
    quiet = check.verdict in ("held", "skipped") and not surprise
    return (
        f'<details class="check{" quiet" if quiet else ""}" id="check-{escape(name)}"'
        f"{' open' if check.verdict == 'violated' else ''}><summary>{pill('meant' if on_purpose else check.verdict)}"
        f"<strong>{escape(known.title if known else name)}</strong> <code>{escape(name)}</code>"
        + (f' <em class="{"bad" if surprise else "meant"}">{remark}</em>' if remark else "")
        + f' <span class="about">{escape(about)}</span></summary>'
        + (f"<ul>{evidence}</ul>" if evidence else "")
        + f'<div class="definition">{definition}</div></details>'
    )
