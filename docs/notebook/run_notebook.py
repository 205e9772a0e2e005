"""Executes a notebook's code cells in order, in this process.

Their output and last values become the notebook's outputs.
"""

import ast
import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

NOTEBOOK = Path(__file__).with_name("five-questions.ipynb")
Notebook = dict[str, Any]


def read(path: Path = NOTEBOOK) -> Notebook:
    found: Notebook = msgspec.json.decode(path.read_bytes())
    return found


def written(notebook: Notebook) -> bytes:
    """As the file is: indented by one, as Jupyter does."""
    return msgspec.json.format(msgspec.json.encode(notebook), indent=1) + b"\n"


def played(notebook: Notebook) -> Notebook:
    """The notebook with new outputs. Exceptions of cells propagate.

    It runs in an empty directory of its own.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    with _elsewhere():
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                outputs = list(_outputs("".join(cell["source"]), names, count))
                cell = {**cell, "execution_count": count, "outputs": outputs}
            cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    if printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())}
    if value is not None:
        html = getattr(value, "_repr_html_", None)
        data = {**({"text/html": _lines(html())} if html else {}), "text/plain": _lines(repr(value))}
        yield {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
