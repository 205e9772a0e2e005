"""Markdown as our pages use it: a notice, tables, and text that cannot break out of a cell."""

from collections.abc import Iterable, Sequence


def notice(source: str) -> str:
    """First line of every generated page."""
    return f"<!-- Generated from {source} by `make docs`. Edit that, not this. -->\n"


def cell(text: object) -> str:
    """One line, without bars and without a YAML reader's marks of folds."""
    return " ".join(str(text).replace("\a", "").split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table, with a line break at its end."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        assert len(row) == len(head), (head, row)
        lines.append(f"| {' | '.join(cell(value) for value in row)} |")
    return "\n".join(lines) + "\n"


def code(text: object) -> str:
    """As code; nothing for nothing."""
    return f"`{text}`" if str(text) else ""


def prose(text: str) -> str:
    """A docstring as it stands, without the blanks around it."""
    return text.strip() + "\n"
