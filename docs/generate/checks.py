"""docs/checks.md, from the audit's registry: each check's anomaly, and its needed data."""

from pathlib import Path

from audit.checks.check_registry import CHECKS
from docs.generate.markdown_tables import code, notice, prose

_HEAD = """# Checks

The audit reads a run's events and answers each of these questions with *held*, *violated* (with evidence),
*unknown* (evidence is missing) or *skipped* (the run has nothing to judge). Verdicts compose worst first,
and the exit code of the command follows them. A scenario may expect a violation: then a held check would be
the surprise.

A check is a module in audit/checks: its docstring defines the anomaly, its query turns events into rows. No
rows: held. A place whose evidence is missing is not reported as violated, because what is missing may be
what would refute it.

Beside it stands the oracle (emulator/judging/oracle). It is plain Python that shares no code with the checks and
reads the simulated world's true state, never its events. It answers to the same names, judges the thousands
of runs of sweeps, and keeps the checks honest.

A topic that was deleted is another one than what is called so afterwards (semantics 4.5). Both judges tell their lives
apart: the last has the topic's name, those before are `t#1`, `t#2`. What a life that has ended held was deleted on
request: it is not lost, doubled or divergent. What was done wrong while it lived (leaders, epochs, high watermarks)
still is. A write counts for the life in which it was begun, or, if it waited for the next of that name, for the one
whose log has its record; what was read late counts for the life that had it. Not told apart: a write that a log took
which outlived its topic and goes on in the next, and whose answer came after the deletion, counts for the next.

How to write one: [how-to-add-a-check.md](how-to-add-a-check.md).
"""


def page(root: Path) -> str:
    del root
    parts = [notice("audit/checks"), _HEAD]
    for check in CHECKS.values():
        parts.append(f"## {check.name}\n")
        parts.append(f"**{check.title}.**\n")
        parts.append(prose(check.definition))
        needs = ", ".join(code(name) for name in check.needs) or "no event in particular"
        evidence = "yes" if check.evidence else "no"
        parts.append(
            f"- judges: {check.subject}; levels: {', '.join(check.levels)}\n"
            f"- cannot judge without: {needs}\n"
            f"- needs complete logs: {evidence}\n"
        )
    return "\n".join(parts)
