"""`faultline checks`: the checks of the audit, or one check with its tables and SQL."""

import textwrap

import msgspec

from audit.check_tables import MEANINGS, tables_read
from audit.checks.check import Check
from audit.checks.check_registry import check_named
from audit.checks.own import all_checks
from audit.input import AuditInputError
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.exit_codes import HELD

WIDTH = 100
HINTS = "Comments such as /*few(TABLE)*/ are hints for Spark; a line that begins with --big is for big runs only."


@reports_errors("checks", AuditInputError)
def list_command(*, json: bool = False) -> int:
    """Print every check and its title, in the order of verdicts."""
    checks = all_checks(())
    if json:
        print(msgspec.json.encode([{"name": check.name, "title": check.title} for check in checks]).decode())
        return HELD
    width = max(len(check.name) for check in checks)
    for check in checks:
        print(f"{check.name:<{width}}  {check.title}")
    return HELD


@reports_errors("checks show", AuditInputError)
def show_command(name: str, /, *, json: bool = False) -> int:
    """Print a check.

    Parameters
    ----------
    name
        Name of a check, as verdicts have it.
    json
        Print the check as JSON.
    """
    try:
        check = check_named(name, {check.name: check for check in all_checks(())})
    except KeyError as error:
        raise CommandFailed(error.args[0]) from None
    if json:
        print(msgspec.json.format(msgspec.json.encode(_as_object(check)), indent=2).decode())
    else:
        print(check_text(check))
    return HELD


def _queries(check: Check) -> dict[str, str]:
    """{field: SQL} of those that the check has."""
    fields = {"violations": check.violations, "evidence": check.evidence, "counted": check.counted}
    return {name: query.strip("\n") for name, query in fields.items() if query}


def _as_object(check: Check) -> dict[str, object]:
    queries = _queries(check)
    return {
        "name": check.name,
        "title": check.title,
        "definition": check.definition.strip(),
        "judges": check.subject,
        "levels": check.levels,
        "needs": check.needs,
        "tables": {table: MEANINGS[table] for table in tables_read(*queries.values())},
        **queries,
    }


def check_text(check: Check) -> str:
    """The check for a terminal."""
    queries = _queries(check)
    tables = tables_read(*queries.values())
    width = max((len(table) for table in tables), default=0) + 4
    heads = {
        "violations": "SQL of violations, a row each:",
        "evidence": "SQL of places that cannot be judged, because evidence is missing:",
        "counted": "SQL of the things to judge:",
    }
    return "\n".join(
        (
            f"{check.name}: {check.title}",
            "",
            check.definition.strip(),
            "",
            f"judges: {check.subject}",
            f"levels: {', '.join(check.levels)}",
            f"needs:  {', '.join(check.needs) or 'no particular event'}",
            "tables:",
            *(
                textwrap.fill(f"{f'  {table}':<{width}}{MEANINGS[table]}", WIDTH, subsequent_indent=" " * width)
                for table in tables
            ),
            *(("", HINTS) if any("/*" in query or "--big" in query for query in queries.values()) else ()),
            *(line for name, query in queries.items() for line in ("", heads[name], query)),
        )
    )
