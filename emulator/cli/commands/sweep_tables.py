"""A sweep's cells as a table for a terminal, as CSV and as JSON. Pure."""

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from emulator.judging.campaigns.cell_text import ABSENT, percent, spread_words, title_of
from emulator.judging.campaigns.cells import HARM, PROMISES, UNAVAILABLE, Cell, axes_of, choice_of, measures_of

SHOWN = ("acknowledged", *HARM, UNAVAILABLE, "time_to_new_leader_ms")
"""Measures in every sweep's table; CSV, JSON and the page have the others."""
BROKEN_MAX = 6
REASONS_MAX = 4


def table_of(cells: Sequence[Cell], more: Sequence[str]) -> tuple[Table, list[str]]:
    """(a row per cell, measures that are equal in all cells)."""
    axes = axes_of(cells)
    shown = [name for name in measures_of(cells) if name.partition(".")[0] in (*SHOWN, *more)]
    words = {name: [spread_words(name, cell.spread(name), cell.judged) for cell in cells] for name in shown}
    same = [name for name in shown if len(set(words[name])) == 1 and len(cells) > 1 and name not in more]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for axis in axes:
        table.add_column("Kafka" if axis == "kafka_version" else axis, overflow="fold")
    columns = [name for name in shown if name not in same]
    for name in columns:
        table.add_column(title_of(name), justify="right")
    telling = any(cell.judged < cell.runs for cell in cells)
    if telling:
        table.add_column("tell", justify="right")
    for number, cell in enumerate(cells):
        chosen = choice_of(cell)
        row = [Text(chosen.get(name, ABSENT)) for name in axes]
        row += [_coloured(name, words[name][number]) for name in columns]
        row += [Text(f"{cell.judged} of {cell.runs}")] if telling else []
        table.add_row(*row)
    return table, [f"{title_of(name)} {words[name][0]}" for name in same]


def _coloured(measure: str, words: str) -> Text:
    if words in ("0", "0 s", ABSENT):
        return Text(words, style="dim")
    return Text(words, style="bold red" if measure in HARM else "")


def summary_of(cells: Sequence[Cell]) -> list[str]:
    """Broken promises, numbers of cells, and replay commands of the worst; inconclusive runs."""
    lines = []
    telling = sum(bool(cell.judged) for cell in cells)
    of = f"{telling} cells" + (" with a conclusive run" if telling < len(cells) else "")
    for name in PROMISES:
        found = [(broken, cell) for cell in cells for broken in cell.broken if broken.check == name]
        if found:
            worst, _ = max(found, key=lambda one: (one[0].runs / one[0].of, -one[1].number))
            share = f", of the worst in {percent(worst.runs, worst.of)} of the runs" if worst.of > 1 else ""
            lines.append(f"{name}: broken in {len(found)} of {of}{share}")
            lines.append(f"  {worst.replay}")
    if len(lines) > 2 * BROKEN_MAX:
        rest = (len(lines) - 2 * BROKEN_MAX) // 2
        lines = [*lines[: 2 * BROKEN_MAX], f"and {rest} more promises; --html, --json or --out lists all"]
    return [*lines, *_untold(cells)]


def _untold(cells: Sequence[Cell]) -> Iterator[str]:
    why: dict[str, list[Cell]] = {}
    for cell in cells:
        for reason in cell.unknown:
            why.setdefault(reason, []).append(cell)
    for reason, found in list(why.items())[:REASONS_MAX]:
        runs = sum(cell.unknown[reason] for cell in found)
        yield f"{runs} runs in {len(found)} cells are inconclusive: {reason}"
        yield f"  {found[0].replay}"
    if len(why) > REASONS_MAX:
        yield f"and {len(why) - REASONS_MAX} more reasons"


def as_csv(cells: Sequence[Cell]) -> str:
    """The table as CSV: a line per cell, first its choices.

    Then of each measure: number of runs with it, share of those above zero, and its least, median and largest value.
    """
    axes, measures = axes_of(cells), measures_of(cells)
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    parts = ("measured", "share", "low", "median", "high")
    writer.writerow([*axes, "runs", "told", *(f"{name}.{part}" for name in measures for part in parts), "replay"])
    for cell in cells:
        values: list[Any] = [choice_of(cell).get(name, "") for name in axes]
        values += [cell.runs, cell.judged]
        for name in measures:
            spread = cell.spread(name)
            values += [spread.runs, round(spread.share, 4), spread.low, spread.median, spread.high]
        writer.writerow([*values, cell.replay])
    return file.getvalue()


def as_json(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Cells as JSON.

    `measures`: {name: spread and share}; `broken`: promises; `unknown`: {reason: inconclusive runs}.
    """
    return [
        {
            "kafka": cell.kafka_version,
            "settings": cell.settings,
            "parameters": cell.parameters,
            "runs": cell.runs,
            "told": cell.judged,
            "unknown": dict(cell.unknown),
            "measures": {name: _spread(cell, name) for name in cell.measures},
            "broken": msgspec.to_builtins(cell.broken),
            "replay": cell.replay,
        }
        for cell in cells
    ]


def _spread(cell: Cell, name: str) -> dict[str, Any]:
    spread = cell.spread(name)
    return {**msgspec.to_builtins(spread), "share": round(spread.share, 4)}
