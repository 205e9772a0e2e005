"""docs/figures.md: last results of benchmarks and verification beside their budgets."""

import json
from pathlib import Path
from typing import Any

from docs.generate.markdown_tables import notice, table

_HEAD = """# Figures

Last measurements of `make bench` (`benchmarks/results/`) and of the campaigns (`verification/results/`), beside their
budgets. The last column has what bounds a
figure. *Load* is the number of runnable processes before the benchmark began. Above the number of cores the machine was
busy with other work, and the figures are worse than on an idle machine.
"""


def page(root: Path) -> str:
    parts = [notice("benchmarks/results and verification/results"), _HEAD]
    measured = [path for room in ("benchmarks", "verification") for path in (root / room / "results").glob("*.json")]
    for path in sorted(measured, key=lambda path: path.name):
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or "figures" not in found:
            continue
        parts.append(f"## {path.stem.replace('_', ' ')}\n")
        parts.append(_machine(found["machine"]))
        head = ("what", "measured", "target", "stretch", "met", "bounded by")
        parts.append(table(head, [_row(figure) for figure in found["figures"]]))
    return "\n".join(parts)


def _machine(machine: dict[str, Any]) -> str:
    load = f", load {machine['load_before']:.1f}" if "load_before" in machine else ""
    return f"{machine['cores']} cores, {machine['memory_gib']} GiB, Python {machine['python']}{load}.\n"


def _row(figure: dict[str, Any]) -> tuple[object, ...]:
    sign = "at least" if figure["higher_is_better"] else "at most"
    unit = figure["unit"]
    target = f"{sign} {_number(figure['target'])} {unit}" if figure["target"] is not None else ""
    stretch = f"{_number(figure['stretch'])} {unit}" if figure["stretch"] is not None else ""
    met = "" if figure["met"] is None else "yes" if figure["met"] else "**no**"
    return (figure["line"], f"{_number(figure['value'])} {unit}", target, stretch, met, figure["bound"])


def _number(value: float) -> str:
    """Three digits that count; thousands apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
