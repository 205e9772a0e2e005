"""`faultline log NODE PARTITION`: one replica's records beside the others'."""

import sys
from pathlib import Path

import msgspec
from rich.table import Table
from rich.text import Text

from emulator.cli.command_options import LOG, LogOptions
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.commands.log_as_kafka import as_kafka_command
from emulator.cluster.cluster_registry import NoCluster, run_of
from emulator.exit_codes import HELD
from emulator.runs.finished import ANOTHER, NoRun, NoSuchPart, find_run
from emulator.runs.replica_files import (
    DIFFERS,
    MISSING,
    SAME,
    DamagedReplica,
    Entry,
    Row,
    SideBySide,
    rows_of,
    side_by_side,
)
from emulator.scenario.observations.recording_parsing import Malformed
from emulator.screen import Screen
from emulator.storage.files import StorageError

UNUSABLE_INPUT = (NoRun, NoSuchPart, Malformed, DamagedReplica, StorageError)

ROWS_MAX = 400
"""Maximum offsets shown.

Of more, rows with equal records are left out, except near differences.
"""
AROUND = 3
VALUE_MAX = 40
"""Maximum characters of a value shown."""
PIPE_WIDTH = 10_000
"""Columns; on a terminal the columns of values wrap instead."""


@reports_errors("log", NoCluster)
def either_log_command(node: str | None = None, partition: str | None = None, /, *, options: LogOptions = LOG) -> int:
    """Records of a replica, or with `as_kafka` a broker's log lines.

    Parameters
    ----------
    node
        A broker, such as broker-0.
    partition
        A partition, such as t-0; __cluster_metadata is the metadata log.
    """
    if options.run is not None and options.cluster is not None:
        raise CommandFailed(f"--run {options.run} and --cluster {options.cluster}: one of them")
    run = options.run or run_of(options.cluster)
    if options.as_kafka is not None and node is None:
        return as_kafka_command(options.as_kafka, run, options.file, options.json)
    if options.as_kafka is not None or node is None or partition is None or options.file is not None:
        one, other = "log NODE PARTITION [--run DIR]", "log --as-kafka NODE [--file FILE] [--run DIR]"
        raise CommandFailed(f"give either {one} or {other}")
    return log_command(node, partition, run, options.json)


@reports_errors("log", *UNUSABLE_INPUT)
def log_command(node: str, partition: str, run: Path | None, json: bool) -> int:
    """Exit code 0, also where replicas differ; 2 without such a run, node or partition."""
    beside = side_by_side(find_run(run), node, partition)
    rows = rows_of(beside)
    if json:
        print(msgspec.json.encode(_as_json(beside, rows)).decode())
        return HELD
    console = Screen(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)
    newest = f" (the newest run; {ANOTHER})" if run is None else ""
    console.print(
        f"{partition} of {node} beside the others, from {beside.source} of {beside.run}{newest}", markup=False
    )
    console.print(_table(beside, rows))
    console.print(_summary(rows), markup=False)
    return HELD


def _as_json(beside: SideBySide, rows: list[Row]) -> dict[str, object]:
    """All rows; `differs`, `missing`: offsets with different records, or without some replica's."""
    marked = {mark: [row.offset for row in rows if row.mark == mark] for mark in (DIFFERS, MISSING)}
    return {**msgspec.to_builtins(beside), **marked}


def _table(beside: SideBySide, rows: list[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for node in beside.replicas:
        table.add_column(node, overflow="fold")
    table.add_column("", no_wrap=True)
    replicas = beside.replicas.values()
    table.add_row("log start", *(_number(replica.log_start) for replica in replicas))
    table.add_row("log end", *(_number(replica.log_end) for replica in replicas))
    table.add_row("high watermark checkpoint", *(_number(r.high_watermark_checkpoint) for r in replicas))
    epochs = [" ".join(f"{epoch}@{start}" for epoch, start in r.leader_epochs) or "none" for r in replicas]
    with_snapshots = any(replica.snapshots for replica in replicas)
    table.add_row("epoch@start offset", *epochs, end_section=not with_snapshots)
    if with_snapshots:
        snapshots = [" ".join(map(_snapshot, replica.snapshots)) or "none" for replica in replicas]
        table.add_row("snapshots", *snapshots, end_section=True)
    table.add_row("offset", *("epoch value" for _ in replicas), style="dim")
    shown, left_out = _shown(rows)
    for row in shown:
        if row.offset in left_out:
            table.add_row("...", Text(f"{left_out[row.offset]} offsets alike"), style="dim")
        table.add_row(*_cells(row))
    return table


def _cells(row: Row) -> list[Text]:
    texts = [" / ".join(map(_entry, cell)) or "-" for cell in row.cells]
    first = row.cells[0]
    styles = ["" if cell == first or row.mark == SAME else "bold red" if cell else "yellow" for cell in row.cells]
    cells = [Text(text, style) for text, style in zip(texts, styles, strict=True)]
    return [Text(str(row.offset)), *cells, Text(row.mark, "bold red" if row.mark == DIFFERS else "yellow")]


def _entry(entry: Entry) -> str:
    _, epoch, value = entry
    text = "null" if value is None else str(value)
    text = text if len(text) <= VALUE_MAX else text[: VALUE_MAX - 1] + "…"
    return f"{'' if epoch is None else epoch} {text}".lstrip()


def _snapshot(name: str) -> str:
    """`58@2` of `00000000000000000058-0000000002`: end offset and epoch."""
    end, _, epoch = name.partition("-")
    return f"{int(end)}@{int(epoch)}"


def _number(value: int | None) -> str:
    return "none" if value is None else str(value)


def _shown(rows: list[Row]) -> tuple[list[Row], dict[int, int]]:
    """(rows to show, {offset: number of rows left out before it})."""
    if len(rows) <= ROWS_MAX:
        return rows, {}
    kept: set[int] = set(range(AROUND)) | set(range(len(rows) - AROUND, len(rows)))
    for index, row in enumerate(rows):
        if row.mark != SAME:
            kept |= set(range(max(0, index - AROUND), min(len(rows), index + AROUND + 1)))
    shown, left_out, before = [], {}, -1
    for index in sorted(kept)[:ROWS_MAX]:
        if index - before > 1:
            left_out[rows[index].offset] = index - before - 1
        shown.append(rows[index])
        before = index
    return shown, left_out


def _summary(rows: list[Row]) -> str:
    differ = [row.offset for row in rows if row.mark == DIFFERS]
    missing = [row.offset for row in rows if row.mark == MISSING]
    parts = [
        f"the replicas differ at {_ranges(differ)}" if differ else "",
        f"not every replica has {_ranges(missing)}" if missing else "",
    ]
    text = "; ".join(filter(None, parts)) or "the replicas are equal"
    more = len(differ) + len(missing) > ROWS_MAX
    return text + (f" (shows at most {ROWS_MAX} offsets; --json lists all)" if more else "")


def _ranges(offsets: list[int]) -> str:
    """`offset 7`, `offsets 2-4, 7`."""
    ranges: list[list[int]] = []
    for offset in offsets:
        if ranges and ranges[-1][1] == offset - 1:
            ranges[-1][1] = offset
        else:
            ranges.append([offset, offset])
    text = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)
    return f"offset{'' if len(offsets) == 1 else 's'} {text}"
