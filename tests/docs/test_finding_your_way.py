"""docs/finding-your-way.md: each answer is at its link, and the folder's page leads there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(
    r"^\| (?P<question>[^|`]*(?:`[^`]*`[^|`]*)*) \| `(?P<grep>[^`|]+)` \| `(?P<folder>[\w/]+)` \| "
    r"`(?P<module>\w+)` \| `(?P<what>[\w ]+)` \|$"
)
FOUND_MAX = 6
TEXT = (ROOT / "docs" / "finding-your-way.md").read_text(encoding="utf-8")
ROWS = [match.groupdict() for line in TEXT.splitlines() if (match := ROW.match(line))]


def test_there_are_twenty_and_more() -> None:
    assert len(ROWS) >= 20 and len(ROWS) == TEXT.count("\n| ") - 1, "every line of the table is read, but its head"


@pytest.mark.parametrize("row", ROWS, ids=[row["question"] for row in ROWS])
def test_two_steps_lead_to_the_answer(row: dict[str, str]) -> None:
    folder = ROOT / row["folder"]
    output = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert f"`{row['module']}`" in output, f"{row['folder']}/__init__.py does not name {row['module']}"
    path = folder / f"{row['module']}.py"
    assert re.search(rf"\b{row['what']}\b", path.read_text(encoding="utf-8")), f"no {row['what']} in {path.name}"


@pytest.mark.parametrize("row", ROWS, ids=[row["question"] for row in ROWS])
def test_one_grep_leads_to_the_answer(row: dict[str, str]) -> None:
    rooms = ("emulator", "controller", "protocol", "audit")
    paths = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    found = [path for path in paths if row["grep"] in path.read_text(encoding="utf-8")]
    assert ROOT / row["folder"] / f"{row['module']}.py" in found
    assert len(found) <= FOUND_MAX
