"""`faultline doctor`: checks of this machine, each with advice."""

from collections.abc import Callable
from pathlib import Path

import msgspec
from rich.console import Console
from rich.text import Text

from emulator.cli.commands.run_scenario import DEFAULT_SPEED
from emulator.cli.doctor.looking import facts_of_this_machine
from emulator.cli.doctor.machine_facts import Facts
from emulator.cli.doctor.machine_findings import Finding, examine, usable
from emulator.exit_codes import BROKEN, HELD
from emulator.screen import Screen

MARKS = {"ok": ("✓", "green"), "limited": ("!", "yellow"), "missing": ("✗", "red")}
OPTIONAL_MISSING = ("-", "yellow")
"""Mark and style of a missing thing that only some commands need."""
SUBJECT_WIDTH = 16
FORMAT = 1
RUNS = Path("runs")


def doctor_command(
    json: bool, *, look: Callable[[Path], Facts] = facts_of_this_machine, console: Console | None = None
) -> int:
    """Exit code 1 only where `make demo` cannot work."""
    facts = look(RUNS)
    findings = examine(facts, DEFAULT_SPEED)
    fine = usable(findings)
    if json:
        print(msgspec.json.encode({"format": FORMAT, "usable": fine, "findings": findings}).decode())
    else:
        _print(console or Screen(highlight=False), findings, fine, "make demo" if facts.tree else "faultline")
    return HELD if fine else BROKEN


def _print(console: Console, findings: list[Finding], fine: bool, what: str) -> None:
    for finding in findings:
        optional = finding.state == "missing" and not finding.required
        mark, style = OPTIONAL_MISSING if optional else MARKS[finding.state]
        line = Text(f"{mark} ", style)
        console.print(_line(line, finding), soft_wrap=True)
        if finding.advice:
            console.print(Text(f"  {'':{SUBJECT_WIDTH}} → {finding.advice}", style), soft_wrap=True)
    if fine:
        console.print(Text(f"{what} works here", "bold green"))
    else:
        console.print(Text(f"{what} cannot work here; first fix each line marked ✗", "bold red"))


def _line(line: Text, finding: Finding) -> Text:
    text = Text()
    text.append_text(line)
    text.append(f"{finding.subject:{SUBJECT_WIDTH}} ", "bold")
    text.append(finding.found)
    return text
