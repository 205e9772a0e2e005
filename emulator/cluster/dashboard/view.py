"""The whole picture: contradictions, the map, faults, partitions, figures.

    title                         always
    DUAL LEADER, DUAL CONTROLLER  a line each, if there is one
    the map                       as high as its fullest AZ
    faults in force               at most three
    findings of a live audit      the newest three, if one runs
    partitions | figures          the rest; below each other, and the figures as words, on a narrow terminal
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from rich.console import Group as Stack
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from emulator.cluster.cluster_status import ClusterStatus, FaultView
from emulator.cluster.dashboard.az_box import BAD, DOUBT, FAINT, GOOD
from emulator.cluster.dashboard.az_map import az_map
from emulator.cluster.dashboard.contradictions import Claim, controllers, dual_leaders
from emulator.cluster.dashboard.dashboard_figures import figures_table, figures_width, figures_words, in_kraft
from emulator.cluster.dashboard.partitions import Group, groups, partition_table

BANNER = "bold white on red"
BANNERS_MAX = 3
FAULTS_MAX = 3
FINDINGS_MAX = 3
WAITING_SHOWN_MAX = 3
PARTITIONS_MAX = 200
"""Limit without a height."""
TABLE_MIN = 52
"""Columns that the partitions need beside the figures."""
FIGURES_AS_WORDS = 4
LEGEND = Text.from_markup(
    "[grey50]clients [green]✓[/] acked [bold red]✗[/] failed [yellow]?[/] unknown [cyan]↓[/] read"
    "   [green]★[/] says it leads   session [green]●[/] connected [yellow]○[/] lost [bold red]✕[/] expired[/]",
    overflow="ellipsis",
)
LEGEND.no_wrap = True
LEGEND_IN_KRAFT = Text.from_markup(
    "[grey50]clients [green]✓[/] acked [bold red]✗[/] failed [yellow]?[/] unknown [cyan]↓[/] read"
    "   [green]★[/] says it leads   quorum [medium_purple1]L[/] leader [green]f[/] follower [green]o[/] observer[/]",
    overflow="ellipsis",
)
LEGEND_IN_KRAFT.no_wrap = True
ROOMY = 30
"""Lines from which on there is room for an empty one and the legend."""
LINES_MIN = 5
"""Minimum for the partitions."""


def view(
    status: ClusterStatus | Mapping[str, Any],
    width: int,
    height: int | None = None,
    previous: ClusterStatus | Mapping[str, Any] | None = None,
) -> RenderableType:
    """Draw `status`, as `status_of` returns it, or its JSON.

    `height` None: as many lines as it takes. `previous`: an earlier look, for clients' rates since. Raises
    msgspec.ValidationError for a mapping that is no status.
    """
    now, before = _typed(status), _typed(previous) if previous is not None else None
    parts: list[RenderableType] = [_title(now, width), *_banners(now, width)]
    faults = _faults(now, width)
    faults += _findings(now, width)
    legend = LEGEND_IN_KRAFT if in_kraft(now) else LEGEND
    after: list[RenderableType] = [legend] if height is None or height >= ROOMY else []
    if after:
        faults.append(Text(""))
    room = height - len(parts) - len(faults) - len(after) if height is not None else None
    drawn = az_map(now, width, before, height_max=max(6, room - LINES_MIN) if room is not None else 40)
    parts += [drawn, *faults]
    left = max(LINES_MIN, room - len(drawn.plain.splitlines())) if room is not None else None
    return Stack(*parts, _lower(now, width, left), *after)


def _typed(status: ClusterStatus | Mapping[str, Any]) -> ClusterStatus:
    return status if isinstance(status, ClusterStatus) else msgspec.convert(dict(status), ClusterStatus)


# --- above the map --------------------------------------------------------------------------------------------------


def _title(status: ClusterStatus, width: int) -> Text:
    nodes = status.nodes.values()
    new = sum(not node.alive and not node.incarnation for node in nodes)
    dead = sum(not node.alive for node in nodes) - new
    paused = sum(node.alive and node.paused for node in nodes)
    silent = sum(node.alive and not node.paused and not node.answered for node in nodes)
    text = Text(" faultline", style="bold reverse", no_wrap=True)
    text.append(f" {status.name}" if status.name else "")
    text.append(f"   {len(status.nodes)} nodes")
    for count, word in ((new, "not started"), (dead, "dead"), (paused, "paused"), (silent, "without an answer")):
        text.append(f", {count} {word}" if count else "")
    clock = f"{status.at_ms / 1000:.1f} s "
    text.append(clock.rjust(max(len(clock) + 1, width - text.cell_len)))
    text.truncate(width)
    return text


def _banners(status: ClusterStatus, width: int) -> list[Text]:
    """Contradictions that no cluster should have."""
    lines = []
    ruling = controllers(status)
    if len(ruling) > 1:
        lines.append(f"DUAL CONTROLLER  {_claims(ruling)}")
    lines += [f"DUAL LEADER of {place}  {_claims(claims)}" for place, claims in dual_leaders(status).items()]
    if len(lines) > BANNERS_MAX:
        more = len(lines) - BANNERS_MAX + 1
        lines = [*lines[: BANNERS_MAX - 1], f"and {more} more partitions with two leaders"]
    return [Text(f" {line}"[:width].ljust(width), style=BANNER, no_wrap=True) for line in lines]


def _claims(claims: list[Claim]) -> str:
    return " and ".join(f"{claim.node} (epoch {claim.epoch})" for claim in claims)


def _faults(status: ClusterStatus, width: int) -> list[Text]:
    """Faults in force, the newest first."""
    in_force = [fault for fault in reversed(status.faults) if fault.in_force_ms is not None and fault.healed_ms is None]
    lines = _first([_fault(fault, status.at_ms) for fault in in_force], FAULTS_MAX, "faults")
    lines += [*_hardware(status), *_waiting(status)]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def _findings(status: ClusterStatus, width: int) -> list[Text]:
    """Findings, the newest first.

    Those that are no violation are faint, and give way to violations.
    """
    newest = sorted(reversed(status.findings), key=lambda finding: not finding.violation)[:FINDINGS_MAX]
    lines = []
    for finding in newest:
        lasts = "  lasts" if finding.lasts else ""
        where = f"{finding.partition}: " if finding.partition else ""
        text = Text(no_wrap=True, style="" if finding.violation else FAINT)
        text.append("✗ " if finding.violation else "· ", style=BAD if finding.violation else FAINT)
        text.append(f"{finding.at_ms / 1000:.1f} s {finding.finding}{lasts}  {where}{finding.text}")
        text.truncate(width, overflow="ellipsis")
        lines.append(text)
    return lines


def _hardware(status: ClusterStatus) -> list[Text]:
    """Machines with changed hardware; as few as faults are."""
    changed = [(name, node.hardware.text) for name, node in status.nodes.items() if node.hardware.text]
    lines = [Text.assemble(("◆ ", BAD), (name, "bold"), (f"  {text}", FAINT)) for name, text in changed]
    return _first(lines, FAULTS_MAX, "machines")


def _waiting(status: ClusterStatus) -> list[Text]:
    """Threads and producers that wait; fetches always do."""
    waiting = [
        (name, one)
        for name, node in status.nodes.items()
        for one in node.waiting
        if one.since_ms >= 0.0 or one.does == "Produce"
    ]
    lines = []
    for name, one in waiting:
        for_s = f" for {max(0.0, status.at_ms - one.since_ms) / 1000:.1f} s" if one.since_ms >= 0.0 else ""
        lines.append(Text.assemble(("… ", DOUBT), (name, "bold"), f" {one.does} waits{for_s}: {one.waits_for}"))
    return _first(lines, WAITING_SHOWN_MAX, "that wait")


def _first(lines: list[Text], count_max: int, what: str) -> list[Text]:
    """The first lines, and the number of further ones."""
    more = len(lines) - count_max
    return [*lines[:count_max], Text(f"  and {more} more {what}", FAINT)] if more > 0 else lines


def _fault(fault: FaultView, at_ms: float) -> Text:
    assert fault.in_force_ms is not None
    text = Text(no_wrap=True)
    text.append("✂ " if fault.rule.startswith("cut") else "◆ ", BAD)
    text.append(fault.rule, "bold")
    text.append(f"  for {max(0.0, at_ms - fault.in_force_ms) / 1000:.1f} s, ", FAINT)
    text.append(f"{fault.frames_stopped} frames stopped", DOUBT if fault.frames_stopped else FAINT)
    return text


# --- below the map --------------------------------------------------------------------------------------------------


def _lower(status: ClusterStatus, width: int, lines: int | None) -> RenderableType:
    beside = figures_width(status)
    if width - beside - 2 >= TABLE_MIN:
        left = _partitions(status, width - beside - 2, lines)
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=width - beside - 2)
        grid.add_column(width=beside)
        grid.add_row(left, figures_table(status, lines if lines is not None else 100))
        return grid
    words = figures_words(status, width, FIGURES_AS_WORDS)
    return Stack(*words, _partitions(status, width, lines - len(words) if lines is not None else None))


def _partitions(status: ClusterStatus, width: int, lines: int | None) -> RenderableType:
    """As many partitions as there is room for, and the number of further ones."""
    every = groups(status)
    if not every:
        return Text("no partition yet", FAINT)
    shown = every[:PARTITIONS_MAX] if lines is None else _fitting(every, lines - 1)
    left_out = every[len(shown) :]
    rows = sum(len(group.rows) for group in shown)
    apart = lines is None or rows + len(shown) - 1 + bool(left_out) < lines
    table = partition_table(shown, width, apart=apart)
    if not left_out:
        return table
    worst = sum(group.worry < 3 for group in left_out)
    text = Text(f"and {len(left_out)} more partitions", FAINT)
    text.append(f", {worst} of them not in order" if worst else ", all in order", DOUBT if worst else GOOD)
    return Stack(table, text)


def _fitting(every: list[Group], lines: int) -> list[Group]:
    """The first groups that fit into that many lines, with one kept for the rest."""
    used, shown = 0, 0
    for number, group in enumerate(every, start=1):
        used += len(group.rows)
        if used + (number < len(every)) > lines:
            break
        shown = number
    return every[: max(1, shown)]
