"""`report.html` of a campaign's directory, from its rows."""

from collections.abc import Sequence
from pathlib import Path

from emulator.judging.campaigns.cells import Cell, cells_of
from emulator.judging.campaigns.dataset import UnusableCampaign, about, rows_of
from emulator.judging.campaigns.page import page_of
from emulator.judging.campaigns.space import Space
from emulator.regular_files import write_whole

REPORT_FILE = "report.html"


def write_report(directory: Path) -> Path:
    """Raises UnusableCampaign where there is no run in it yet; OSError."""
    found = about(directory)
    cells = cells_of(rows_of(directory))
    if not cells:
        raise UnusableCampaign(f"{directory}: has no run yet")
    path = directory / REPORT_FILE
    write_whole(path, page(found.space, cells, found.only).encode())
    return path


def page(space: Space, cells: Sequence[Cell], only: int = 0) -> str:
    """Of a campaign that is over, or of what there is of it. `only`: so many runs of the space were asked for."""
    versions = ", ".join(dict.fromkeys(cell.kafka_version for cell in cells))
    last = space.first_seed + space.seeds - 1
    seeds = f"seed {last}" if space.seeds == 1 else f"seeds {space.first_seed} to {last}"
    asked = f"{seeds} of each cell"
    if only:
        asked = f"{only} of {space.runs} runs, drawn by chance from {asked}"
    runs = sum(cell.runs for cell in cells)
    if runs < (only or space.runs):
        asked += f", of which {runs} are there" if only else f", of which {runs} of {space.runs} runs are there"
    told = [f"Kafka {versions}; {asked}; simulated, judged by the oracle"]
    fixed = [*space.overrides, *space.parameters, *space.settings_files]
    if fixed:
        told.append(f"in every cell: {', '.join(fixed)}")
    return page_of(f"{cells[0].scenario}: what came of it", told, cells)
