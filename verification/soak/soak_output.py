"""A soak's outcome: a table for people, JSON for comparison with the next."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.figure_records import machine
from verification import RESULTS
from verification.soak.process_memory import SUPERVISOR, Trend
from verification.soak.soak_plan import SoakOptions
from verification.soak.soak_run import Played
from verification.soak.soak_verdict import Judgement, Outside

MARKS = {True: "[green]✓[/]", False: "[red]✗[/]", "unknown": "[yellow]?[/]"}
RESULT_FILE = RESULTS / "soak.json"


def show(
    judgements: Sequence[Judgement], trends: Mapping[str, Trend | None], late_ms: Mapping[str, float], out: Console
) -> None:
    """One row for each judgement, then one for each node."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("what must hold")
    table.add_column("what was seen", overflow="fold")
    for one in judgements:
        table.add_row(MARKS[one.held], one.name, one.text)
    out.print(table)
    nodes = Table(box=None, pad_edge=False)
    for heading in ("node", "first third", "last third", "highest", "slope MiB/h", "timers late, p99.9"):
        nodes.add_column(heading, justify="left" if heading == "node" else "right")
    for name, trend in trends.items():
        late = f"{late_ms[name]:.0f} ms" if name in late_ms else ""
        if trend is None:
            nodes.add_row(name, "", "", "", "", late)
            continue
        figures = (f"{trend.first:.1f} MiB", f"{trend.last:.1f} MiB", f"{trend.highest:.1f} MiB")
        nodes.add_row(name, *figures, f"{trend.slope_per_h:+.1f}", late)
    out.print()
    out.print(nodes)


def document(
    options: SoakOptions,
    played: Played,
    judgements: Sequence[Judgement],
    trends: Mapping[str, Trend | None],
    late_ms: Mapping[str, float],
    outside: Outside,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """The document of soak.json."""
    given = {name: value for name, value in msgspec.structs.asdict(options).items() if name != "out"}
    return {
        "machine": machine(),
        "asked": {**given, "margin_s": options.margin_s, "outside_share": round(options.outside_share, 3)},
        "judgements": msgspec.to_builtins(judgements),
        "records": {**msgspec.to_builtins(played.reported), "read": played.read},
        "rate_per_s": round(played.reported.sent / (played.hours * 3600.0), 1) if played.hours else 0.0,
        "outside": msgspec.to_builtins(outside),
        "hours": round(played.hours, 4),
        "cuts": len(played.cuts),
        "timers_late_ms": dict(late_ms),
        "memory_mib": {name: msgspec.to_builtins(trend) for name, trend in trends.items()},
        "series_mib": {
            name: [[round(one.at_s), round(one.mib, 2)] for one in samples[:: max(1, len(samples) // 60)]]
            for name, samples in played.samples.items()
            if name != SUPERVISOR
        },
        **more,
    }


def write(found: Mapping[str, Any]) -> None:
    """verification/results/soak.json, one line for each list of figures."""
    RESULTS.mkdir(exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(found), indent=1).decode()
    RESULT_FILE.write_text(text + "\n", encoding="utf-8")
