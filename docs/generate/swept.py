"""Cells of shipped sweeps, from verification/results/shipped_sweeps.json, for pages."""

import json
from pathlib import Path
from typing import Any

SOURCE = "verification/results/shipped_sweeps.json"

Cell = dict[str, Any]


def cells(root: Path, name: str) -> list[Cell]:
    """Cells of a sweep, in the order of its axes.

    `verification.shipped_sweeps.Cell` defines a cell.
    """
    found: dict[str, list[Cell]] = json.loads((root / SOURCE).read_text(encoding="utf-8"))
    return found[name]


def seconds(ms: float) -> str:
    """`5.3 s`; `–` for none that counts."""
    return f"{ms / 1000:.1f} s" if ms else "–"
