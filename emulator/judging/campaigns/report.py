"""Writes `report.html` of a campaign's directory, from its rows."""

from collections.abc import Sequence
from pathlib import Path

from emulator.judging.campaigns.campaign_page import page_of
from emulator.judging.campaigns.cells import Cell, cells_of
from emulator.judging.campaigns.dataset import UnusableCampaign, about, rows_of
from emulator.judging.campaigns.space import Space
from emulator.regular_files import write_whole

REPORT_FILE = "report.html"


def write_report(directory: Path) -> Path:
    """Write the report. Raises UnusableCampaign without any run; OSError."""
    found = about(directory)
    cells = cells_of(rows_of(directory))
    if not cells:
        raise UnusableCampaign(f"{directory}: has no run yet")
    path = directory / REPORT_FILE
    write_whole(path, page(found.space, cells, found.only).encode())
    return path


def page(space: Space, cells: Sequence[Cell], only: int = 0) -> str:
    """The page of a finished or partial campaign. `only`: size of a random sample of the space."""
    versions = ", ".join(dict.fromkeys(cell.kafka_version for cell in cells))
    last = space.first_seed + space.seeds - 1
    seeds = f"seed {last}" if space.seeds == 1 else f"seeds {space.first_seed} to {last}"
    seeds_text = f"{seeds} of each cell"
    if only:
        seeds_text = f"{only} of {space.runs} runs, drawn at random from {seeds_text}"
    runs = sum(cell.runs for cell in cells)
    if runs < (only or space.runs):
        seeds_text += f", of which {runs} are there" if only else f", of which {runs} of {space.runs} runs are there"
    description = [f"Kafka {versions}; {seeds_text}; simulated, judged by the oracle"]
    fixed = [*space.overrides, *space.parameters, *space.settings_files]
    if fixed:
        description.append(f"in every cell: {', '.join(fixed)}")
    return page_of(f"{cells[0].scenario}: results", description, cells)
