"""docs/imported-lines.md, from emulator/runs/importing: the table of log lines."""

from collections.abc import Iterator
from pathlib import Path

from docs.generate.markdown_tables import code, notice, table
from emulator.runs.importing.evidence_limits import NEEDED, WHAT_IS_MISSING
from emulator.runs.importing.line_forms import LineForm
from emulator.runs.importing.line_layouts import KNOWN_PATTERNS
from emulator.runs.importing.line_table import FORMS

_SOURCE = "emulator/runs/importing"

_HEAD = """# Log lines of an import

`faultline import` reads the lines below ([after an incident](after-an-incident.md)). All other lines are counted, and
show that their process ran.

- *since*: the first version that writes the line in this form; a later form is a row of its own.
- *becomes*: an [event](events.md), or with a colon the part of one. *incident*: for `faultline incident` alone.
- Names in braces are fields. `{tp}` is a partition such as `t-0`, `{isr}` a list such as `0,1,2`, `{rest}` any text.
  Most others are numbers.

Lines of the emulator's own `log --as-kafka` have the same form ([Kafka's log lines](kafka-logs.md)), so its output can
be imported, too.
"""

_COLUMNS = ("line", "since", "logger", "text", "becomes")


def page(root: Path) -> str:
    del root
    layouts = "\n".join(f"- {code(one)}" for one in KNOWN_PATTERNS)
    evidence = [
        (code(check), "; ".join(WHAT_IS_MISSING[one].partition(";")[0] for one in needed))
        for check, needed in NEEDED.items()
    ]
    return "\n".join(
        [
            notice(_SOURCE),
            _HEAD,
            f"## Layouts\n\nLines in these layouts are recognized; `--pattern` names another one.\n\n{layouts}\n",
            "## Lines\n",
            table(_COLUMNS, list(_rows())),
            "## Evidence\n\nA check is *unknown* while one of these is so:\n",
            table(("check", "missing"), evidence),
        ]
    )


def _rows() -> Iterator[tuple[str, ...]]:
    before = ""
    for form in sorted(FORMS, key=lambda form: form.name):
        yield _row(form, form.name == before)
        before = form.name


def _row(form: LineForm, again: bool) -> tuple[str, ...]:
    logger = "state.change.logger" if form.logger == "logger" else form.logger.partition("|")[0]
    text = form.text.replace("{{", "{").replace("}}", "}")
    return ("" if again else code(form.name), form.since, code(logger), code(text), form.says)
