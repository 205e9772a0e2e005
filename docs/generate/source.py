"""Data from a module's text: docstrings below fields, comments beside them, headings."""

import ast
import re
from pathlib import Path

import msgspec

_HEADING = re.compile(r"^\s*# --- (.+?) -*$")


class Field(msgspec.Struct, frozen=True):
    """An annotated name of a class.

    `text`: the docstring below or the comment beside it; `heading`: the one above.
    """

    name: str
    kind: str
    text: str
    heading: str


def fields_of(path: Path, class_name: str) -> list[Field]:
    """The annotated names of a class, in order, as the file has them."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    body = next(
        node.body for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == class_name
    )
    found: list[Field] = []
    for index, node in enumerate(body):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        comment = _docstring_after(body, index) or _comment_beside(lines[node.lineno - 1])
        heading = _heading_above(lines, node.lineno - 1)
        found.append(Field(node.target.id, ast.unparse(node.annotation), comment, heading))
    return found


def _docstring_after(body: list[ast.stmt], index: int) -> str:
    following = body[index + 1] if index + 1 < len(body) else None
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        return " ".join(str(following.value.value).split())
    return ""


def _comment_beside(line: str) -> str:
    _, _, comment = line.partition("  # ")
    return comment.strip()


def _heading_above(lines: list[str], number: int) -> str:
    for line in reversed(lines[:number]):
        if match := _HEADING.match(line):
            return match.group(1)
    return ""


def docstring_of(path: Path) -> str:
    """A module's docstring; "" without one."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
