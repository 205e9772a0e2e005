"""docs/checks.md, from the audit's registry: each check's anomaly, and its needed data."""

from pathlib import Path

from audit.check_tables import MEANINGS, tables_read
from audit.checks.check_registry import CHECKS
from docs.generate.markdown_tables import code, notice, prose, table

_HEAD = """# Checks

The audit reads a run's events and decides each check:

- *held*;
- *violated*, with evidence;
- *unknown*: evidence is missing;
- *skipped*: the run has nothing to judge.

The worst verdict decides the run's verdict and the command's exit code. A scenario may expect a violation; then a held
check is not as expected.

A check is a module in audit/checks. Its docstring defines the anomaly; its query turns events into rows. Without rows
the check held. If evidence about a place is missing, the check does not report it as violated, because the missing
events may refute the violation.

The oracle (emulator/judging/oracle) is the second judge. It is plain Python, shares no code with the checks, and reads
the simulated world's true state instead of events. It has the same checks, judges the thousands of runs of sweeps, and
verifies the audit.

A topic that is created again under a deleted topic's name is another incarnation (semantics 4.5). Both judges separate
incarnations: the last one has the topic's name, those before are `t#1`, `t#2`.

- Records of a deleted incarnation were deleted on request: they are not lost, duplicate or divergent.
- Its other violations (leaders, epochs, high watermarks) count.
- A write counts for the incarnation in which it began. If it waited for the next topic of that name, it counts for the
  incarnation whose log has its record.
- A late read counts for the incarnation that had the record.
- One case is not separated: a log outlives its topic and continues in the next one. If the response to a write into it
  comes after the deletion, the write counts for the next incarnation.

`faultline checks` lists the checks, `faultline checks show NAME` prints one with its SQL. How to write a check:
[how-to-add-a-check.md](how-to-add-a-check.md).
"""

_TABLES = """## Tables that checks read

The audit makes these tables for the checks. `faultline sql` has [tables of its own](views.md), some with the same name.
A table of one event has that event's fields ([events](events.md)).
"""


def page(root: Path) -> str:
    del root
    parts = [notice("audit/checks"), _HEAD]
    for check in CHECKS.values():
        parts.append(f"## {check.name}\n")
        parts.append(f"**{check.title}.**\n")
        parts.append(prose(check.definition))
        needs = ", ".join(code(name) for name in check.needs) or "no particular event"
        evidence = "yes" if check.evidence else "no"
        parts.append(
            f"- judges: {check.subject}; levels: {', '.join(check.levels)}\n"
            f"- needs: {needs}\n"
            f"- needs complete logs: {evidence}\n"
            f"- reads: {', '.join(map(code, tables_read(check.violations, check.evidence, check.counted)))}\n"
        )
    rows = [(code(name), meaning) for name, meaning in MEANINGS.items()]
    return "\n".join([*parts, _TABLES, table(("table", "a row is"), rows)])
