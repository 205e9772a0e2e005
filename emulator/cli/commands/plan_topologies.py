"""`faultline plan topologies [FILES]`: layouts over data centers, and the loss of one.

The exit code is 0 if some layout keeps writing and every promise through every loss, 1 if none does, 3 if no loss has a
conclusive run, 70 if a run met a bug of faultline.
"""

from time import monotonic
from typing import Any, Final

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table

from emulator.cli.command_options import PlanTopologiesOptions
from emulator.cli.commands.advise_cluster import for_all_brokers
from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.commands.plan_cluster import plan_screen
from emulator.cli.commands.progress_bar import progress_of
from emulator.cli.commands.unusable import UNUSABLE_CAMPAIGN
from emulator.cli.on_spark import NotOnSpark, players_of, require_spark
from emulator.exit_codes import BROKEN, BUG, HELD, UNKNOWN
from emulator.judging.advice.advice_runs import Choice, FaultPlayer
from emulator.judging.advice.outcomes import PROMISES
from emulator.judging.campaigns.space import UnusableSpace, parse_seeds
from emulator.judging.layouts.known_layouts import LAYOUTS, Layout
from emulator.judging.layouts.layout_runs import LOSSES, Loss, base_of_layout, losses_of, play_losses
from emulator.runs.metadata_mode import mode_of_files
from emulator.runs.settings_files import read_settings_files
from emulator.screen import for_lines
from emulator.topology import KRAFT, default_metadata, metadata_of
from protocol.versions import DEFAULT_VERSION, KRAFT_LADDER, ladder_name

SEEDS: Final = "1..2"
LAST_S: Final = "stop"
"""A cell where clients wait as long as the loss lasts."""


class LayoutPlan(msgspec.Struct, frozen=True):
    """A layout with its losses. `replicas`, `min_isr`: with the user's settings."""

    layout: Layout
    replicas: int
    min_isr: int
    losses: list[Loss]

    @property
    def survives(self) -> bool:
        """Whether writes go on and every promise is kept through every loss."""
        return all(not one.inconclusive and not one.broken and one.writes_ms is not None for one in self.losses)


@reports_errors("plan topologies", *UNUSABLE_CAMPAIGN, unknown=(NotOnSpark,))
def plan_topologies_command(files: tuple[str, ...], options: PlanTopologiesOptions) -> int:
    """Print a table to stdout; errors and progress to stderr."""
    began_s = monotonic()
    seeds = parse_seeds(options.seeds or SEEDS)
    require_spark(options.master)
    mode = options.metadata or mode_of_files(read_settings_files(files), options.kafka_version)
    version = options.kafka_version or (KRAFT_LADDER[-1] if mode == KRAFT else DEFAULT_VERSION)
    metadata = metadata_of(version, mode or default_metadata(version))
    files, notes = for_all_brokers(files)
    choice = Choice(ladder_name(version), options.overrides, files)
    layouts = _chosen(options.layouts)
    plans = []
    with players_of(options.master) as players:
        player = FaultPlayer(players)
        for layout in layouts:
            base, with_own = base_of_layout(layout, choice, metadata)
            with progress_of(layout.name, len(losses_of(base)) * len(seeds)) as ended:
                losses = play_losses(base, with_own, seeds, player, ended)
            min_isr = int(base.settings.get("min.insync.replicas", layout.min_isr))
            plans.append(LayoutPlan(layout, base.replicas, min_isr, losses))
    if options.json:
        print(msgspec.json.encode(_as_json(choice, metadata, plans, notes)).decode())
    else:
        _print(choice, metadata, plans, notes, monotonic() - began_s)
    if player.bugs:
        return BUG
    if all(one.inconclusive for plan in plans for one in plan.losses):
        return UNKNOWN
    return HELD if any(plan.survives for plan in plans) else BROKEN


def _chosen(names: tuple[str, ...]) -> tuple[Layout, ...]:
    """Layouts of these names; all without names. Raises UnusableSpace."""
    by_name = {layout.name: layout for layout in LAYOUTS}
    for name in names:
        if name not in by_name:
            raise UnusableSpace(f"--layouts {name}: unknown; one of {', '.join(by_name)}")
    return tuple(by_name[name] for name in names) or LAYOUTS


# --- output ---


def _print(choice: Choice, metadata: str, plans: list[LayoutPlan], notes: tuple[str, ...], wall_s: float) -> None:
    lines = for_lines()
    mode = "in KRaft mode" if metadata == KRAFT else "with ZooKeeper"
    title = f"Kafka {choice.kafka_version} {mode}: writes with acks=all while a data center is lost."
    lines.print(title, style="bold", markup=False)
    for note in notes:
        lines.print(f"warning: {note}", markup=False)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in ("layout", "brokers", "voters", "copies", *(f"a DC {kind}" for kind in LOSSES), ""):
        table.add_column(name, no_wrap=name in ("layout", "brokers", "voters", ""))
    for plan in plans:
        layout = plan.layout
        cells = [_cell([one for one in plan.losses if one.kind == kind]) for kind in LOSSES]
        copies = f"{plan.replicas}, {plan.min_isr} in sync"
        brokers, voters = ("+".join(map(str, counts)) for counts in (layout.brokers, layout.voters))
        table.add_row(layout.name, brokers, voters, copies, *cells, "✓" if plan.survives else "✗")
    plan_screen().print(table)
    broken = sorted({(name, plan.layout.name) for plan in plans for one in plan.losses for name in one.broken})
    for name, layout_name in broken:
        lines.print(f"{layout_name}: broken: {PROMISES[name]} ({name})", markup=False, soft_wrap=True)
    unknown = [(plan.layout.name, one) for plan in plans for one in plan.losses if one.inconclusive]
    for name, one in unknown[:4]:
        lines.print(f"{name}: {one.az} {one.kind}: inconclusive: {one.inconclusive}", markup=False, soft_wrap=True)
    runs = f"{sum(len(plan.losses) for plan in plans)} losses in {wall_s:.0f} s. Seeds are a sample, not a proof"
    lines.print(runs, style="dim", markup=False)


def _cell(losses: list[Loss]) -> str:
    """The longest wait of writes elsewhere, and the data centers with whose loss they stop."""
    known = [one for one in losses if not one.inconclusive]
    stopped = [one.az for one in known if one.writes_ms is None]
    waits = [one.writes_ms for one in known if one.writes_ms is not None]
    parts = [f"{max(waits) / 1000:.1f} s" if max(waits) else "no wait"] if waits else []
    if stopped:
        parts.append(f"{LAST_S} without {', '.join(stopped)}")
    if any(one.broken for one in known):
        parts.append("broken")
    return "; ".join(parts) or "inconclusive"


def _as_json(choice: Choice, metadata: str, plans: list[LayoutPlan], notes: tuple[str, ...]) -> dict[str, Any]:
    return {
        "kafka": choice.kafka_version,
        "metadata": metadata,
        "layouts": [
            {
                "name": plan.layout.name, "text": plan.layout.text, "brokers": plan.layout.brokers,
                "voters": plan.layout.voters, "replicas": plan.replicas, "min_isr": plan.min_isr,
                "survives": plan.survives, "losses": [msgspec.to_builtins(one) for one in plan.losses],
            }
            for plan in plans
        ],
        "warnings": notes,
    }  # fmt: skip
