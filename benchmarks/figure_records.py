"""A figure of the budget: measurement, target, and the bound where the target is missed."""

import json
import platform
from collections.abc import Sequence
from pathlib import Path

import msgspec
import psutil
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).with_name("results")


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure.

    `target`, `stretch`: the budget's, in `unit`. `higher_is_better`: of rates; not of times and sizes.

    `bound`: the reason why it is not better, where known.
    """

    line: str
    value: float
    unit: str
    target: float
    stretch: float | None = None
    higher_is_better: bool = False
    bound: str = ""

    @property
    def met(self) -> bool:
        return self.value >= self.target if self.higher_is_better else self.value <= self.target


def machine() -> dict[str, object]:
    """The machine of the measurement."""
    return {
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "load_before": psutil.getloadavg()[0],
    }


def write(
    name: str, figures: Sequence[Figure], more: dict[str, object] | None = None, *, results: Path = RESULTS
) -> None:
    """Write NAME.json of the folder `results`."""
    results.mkdir(exist_ok=True)
    document = {
        "machine": machine(),
        "figures": [{**msgspec.to_builtins(f), "met": f.met} for f in figures],
        **(more or {}),
    }
    (results / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def show(figures: Sequence[Figure]) -> None:
    """The table, the budget beside each figure."""
    table = Table(box=None, pad_edge=False)
    for heading in ("", "what", "figure", "budget", "stretch", "bound by"):
        table.add_column(heading, justify="right" if heading in ("figure", "budget", "stretch") else "left")
    for figure in figures:
        stretch = "" if figure.stretch is None else f"{figure.stretch:g}"
        mark = "[green]✓[/]" if figure.met else "[red]✗[/]"
        sign = "≥" if figure.higher_is_better else "≤"
        value = f"{figure.value:,.4g} {figure.unit}"
        table.add_row(mark, figure.line, value, f"{sign} {figure.target:g}", stretch, figure.bound)
    Console().print(table)
