"""`faultline sweep SCENARIO --set NAME=A,B ...`: a matrix of settings, versions, parameters.

A sweep reports outcomes. A scenario's expectations hold for its own settings only, so no cell is valid or invalid. The
exit code is 0; 3 if a cell has no conclusive run, 70 if a run met a bug of faultline.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from time import perf_counter

import msgspec

from emulator.cli.command_options import SweepOptions
from emulator.cli.commands.campaign_playing import play_campaign
from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.commands.place_arguments import check_places
from emulator.cli.commands.sweep_tables import as_csv, as_json, summary_of, table_of
from emulator.cli.commands.unusable import UNUSABLE_CAMPAIGN, UNUSABLE_SCENARIO
from emulator.cli.on_spark import NotOnSpark, require_spark
from emulator.exit_codes import BUG, HELD, UNKNOWN
from emulator.judging.campaigns.campaign_runs import CampaignOptions, about_of, check_cells, notes_of
from emulator.judging.campaigns.cells import Cell, add_to
from emulator.judging.campaigns.report import page
from emulator.judging.campaigns.row import Row
from emulator.judging.campaigns.space import Space, UnusableSpace, all_of, parse_seeds, some_of
from emulator.judging.campaigns.sweeps import Sweep, find_sweep, measure_named, shipped, sweep_of
from emulator.regular_files import write_whole
from emulator.runs.scenario_sources import catalogue
from emulator.screen import Screen, for_lines

SEEDS = "1..10"


class Summary(msgspec.Struct):
    """Cells of all rows, by number; it keeps no row.

    `bugs`: whether a run met a bug of faultline.
    """

    cells: dict[int, Cell] = {}
    bugs: bool = False

    def add(self, row: Row) -> None:
        add_to(self.cells, row)
        self.bugs |= row.code == BUG


@reports_errors("sweep", *UNUSABLE_CAMPAIGN, unknown=(NotOnSpark,))
def sweep_command(scenario: str, options: SweepOptions) -> int:
    """Write the table to stdout, errors and progress to stderr.

    An interrupt leaves no process. Of a campaign (`out`), the rows so far are kept.
    """
    began_s = perf_counter()
    sweep = _sweep(scenario, options)
    space = sweep.space
    if options.runs is not None and options.runs < 1:
        raise UnusableSpace(f"--runs {options.runs}: at least 1")
    check_places({"--csv": options.csv, "--html": options.html}, options.out)
    require_spark(options.master)
    campaign = CampaignOptions(space)
    try:
        found = check_cells(campaign).scenario
    except UNUSABLE_SCENARIO as error:
        raise sweep.placed(error) from error
    only = min(options.runs or 0, space.runs)
    numbers: Sequence[int] = some_of(space, only) if only else all_of(space)
    summary = Summary()
    before = play_campaign(
        campaign, numbers, lambda: about_of("sweep", space, only), summary.add,
        title=f"{found.id}: {space.cells} cells", out=options.out, master=options.master,
    )  # fmt: skip
    wall_s = perf_counter() - began_s
    cells = [summary.cells[number] for number in sorted(summary.cells)]
    code = BUG if summary.bugs else UNKNOWN if any(not cell.judged for cell in cells) else HELD
    if options.csv is not None:
        write_whole(options.csv, as_csv(cells).encode())
    if options.html is not None:
        write_whole(options.html, page(space, cells, only).encode())
    if options.json:
        _print_json(found.id, space, cells, wall_s, code, only, before)
    else:
        _print(sweep, found.title, cells, wall_s, only, before)
    return code


def _sweep(scenario: str, options: SweepOptions) -> Sweep:
    """The sweep of the options; without an axis, the sweep of that name.

    Raises UnusableSpace and the exceptions of reading a sweep.
    """
    seeds = None if options.seeds is None else parse_seeds(options.seeds)
    measures = tuple(map(measure_named, options.measure))
    if not options.overrides and not options.parameters and not options.kafka_version:
        found = find_sweep(scenario, seeds)
        if found is not None:
            space = msgspec.structs.replace(
                found.space, settings_files=options.files, metadata=options.metadata or found.space.metadata
            )
            shown = tuple(dict.fromkeys((*found.measures, *measures)))
            return msgspec.structs.replace(found, space=space, measures=shown)
        raise UnusableSpace(_no_axis(scenario))
    space = sweep_of(
        scenario,
        sets=options.overrides,
        parameters=options.parameters,
        versions=options.kafka_version,
        seeds=seeds or parse_seeds(SEEDS),
        settings_files=options.files,
        metadata=options.metadata or "",
    )
    return Sweep(space, measures=measures)


def _no_axis(given: str) -> str:
    """Error for a scenario without an axis that is no sweep."""
    close = get_close_matches(given, shipped(), n=1)
    if close and given not in catalogue() and not Path(given).exists():
        return f"no sweep or scenario {given!r}; nearest: {close[0]}"
    return (
        f"{given}: no axis; give --set NAME=A,B, --param NAME=A,B or --kafka-version A,B, or a shipped sweep: "
        f"{', '.join(shipped())}"
    )


def _print(sweep: Sweep, title: str, cells: Sequence[Cell], wall_s: float, only: int, before: int) -> None:
    """Print the table: coloured on a terminal, a line per row in a pipe. `before`: earlier runs."""
    space = sweep.space
    lines = for_lines()
    seeds = f"{space.seeds} seeds each" if space.seeds > 1 else f"seed {space.first_seed}"
    version = cells[0].kafka_version if len({cell.kafka_version for cell in cells}) == 1 else "of several versions"
    head = f"{cells[0].scenario} on Kafka {version}: {sweep.title or title}"
    lines.print(head, style="bold", markup=False)
    for note in notes_of(space):
        lines.print(f"warning: {note}", markup=False)
    table, same = table_of(cells, sweep.measures)
    console = Screen(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 10_000
    if len(cells) > 1 or table.row_count:
        console.print(table)
    if same:
        lines.print(f"in every cell: {', '.join(same)}", markup=False)
    for line in summary_of(cells):
        lines.print(line, markup=False)
    runs = sum(cell.runs for cell in cells)
    drawn = f", drawn from {space.runs}," if only else ""
    drawn += f"{'' if drawn else ','} {before} of them played before," if before else ""
    lines.print(f"{len(cells)} cells, {seeds}: {runs} runs{drawn} in {wall_s:.1f} s", style="dim", markup=False)


def _print_json(
    scenario: str, space: Space, cells: Sequence[Cell], wall_s: float, code: int, only: int, before: int
) -> None:
    """Print the sweep as JSON.

    `of`: runs of the matrix; `drawn`: whether the runs are a sample of it; `played_before`: number of runs of earlier
    commands, which are not part of `wall_s`.
    """
    document = {
        "scenario": scenario,
        "axes": {axis.name: axis.values for axis in space.axes},
        "settings": space.overrides,
        "parameters": space.parameters,
        "seeds": [space.first_seed, space.first_seed + space.seeds - 1],
        "runs": sum(cell.runs for cell in cells),
        "of": space.runs,
        "drawn": bool(only),
        "played_before": before,
        "wall_s": round(wall_s, 2),
        "exit_code": code,
        "cells": as_json(cells),
    }
    print(msgspec.json.encode(document).decode())
