"""`python -m verification.shipped_sweeps`: data of isr-flapping.md and incident-remedies.md.

Every cell of the sweeps below, each with the first seed of its file, to verification/results/shipped_sweeps.json. The
two pages are made from it, and tests/test_shipped_sweeps.py plays cells of it again. Half a minute on two cores.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.judging.advice.availability import writes_of
from emulator.judging.campaigns.campaign_runs import CampaignOptions, CampaignWorker
from emulator.judging.campaigns.sweeps import find_sweep
from emulator.judging.judged import JudgedRun
from emulator.runs.cores import in_order, on_all_cores
from emulator.runs.simulated import collector_disabled
from emulator.toplevel_errors import ended

RESULTS = Path(__file__).parent / "results" / "shipped_sweeps.json"
NAMES: Final = ("isr-flapping", "isr-lag-time", "incident-remedies", "incident-reversed")
NO_LEADER: Final = -1


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell.

    `chosen`: {axis: value}. `broken`: {check: violations}. `leader_changes`: of the first partition, to another leader
    than the last one. `longest_wait_ms`: of a write, from its send to its end; 0 below a second. `unavailable_ms`:
    duration of failing writes, of the worst client.
    """

    chosen: dict[str, str]
    kafka: str
    acknowledged: int
    refused: int
    undecided: int
    broken: dict[str, int]
    isr_shrinks: int
    isr_expands: int
    leader_changes: int
    longest_wait_ms: float
    unavailable_ms: float
    replay: str


class CellWorker:
    """Plays cells of one sweep by their numbers."""

    def __init__(self, name: str) -> None:
        sweep = find_sweep(name)
        assert sweep is not None, name
        self.space = sweep.space
        self._worker = CampaignWorker(CampaignOptions(self.space))

    def play(self, task: int) -> tuple[int, Cell]:
        """Play a cell. `task`: its number. Returns it with its cell; propagates exceptions."""
        number = task * self.space.seeds
        with collector_disabled():
            row, run = self._worker.played(number)
        assert run is not None and row.judged, row.error or row.unknown_because
        waits = writes_of(run.played.world).waited_ms
        return task, Cell(
            chosen=self.space.draw(number).chosen,
            kafka=row.kafka_version,
            acknowledged=row.acknowledged or 0,
            refused=row.refused or 0,
            undecided=row.undecided or 0,
            broken={one.check: one.count for one in row.checks if one.verdict == "violated"},
            isr_shrinks=row.isr_shrinks or 0,
            isr_expands=row.isr_expands or 0,
            leader_changes=leader_changes(run),
            longest_wait_ms=max(waits.values(), default=0.0),
            unavailable_ms=max((ms or 0.0 for ms in row.unavailable_ms.values()), default=0.0),
            replay=row.replay,
        )


def leader_changes(run: JudgedRun) -> int:
    states: Sequence[dict[str, Any]] = run.observations.partition_states
    led = [state["leader"] for state in states if state["leader"] != NO_LEADER]
    return sum(before != after for before, after in pairwise(led))


def cells_of(name: str, processes: int | None = None) -> Iterator[Cell]:
    """In their order."""
    count = CellWorker(name).space.cells
    with closing(on_all_cores(CellWorker, name, range(count), processes)) as playing:
        yield from (cell for _, cell in in_order(playing, lambda one: one[0]))


def main() -> int:
    found = {name: list(cells_of(name)) for name in NAMES}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    for name, cells in found.items():
        for cell in cells:
            print(f"{name} {cell.chosen}: acknowledged {cell.acknowledged}, refused {cell.refused}, {cell.broken}")
    return 0


if __name__ == "__main__":
    sys.exit(ended("verification.shipped_sweeps", main))
