"""`faultline plan roll [FILES]`: order, cost and risk of a rolling restart or upgrade.

The exit code is 0 if the best order keeps every promise without a fault, 1 if it breaks one, 3 if it has no conclusive
run, 70 if a run met a bug of faultline.
"""

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table

from emulator.cli.command_options import PlanRollOptions
from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.commands.place_arguments import check_places
from emulator.cli.commands.plan_cluster import base_of_plan, plan_screen, print_remarks
from emulator.cli.commands.progress_bar import progress_of
from emulator.cli.commands.replay_command import written_replay
from emulator.cli.commands.unusable import UNUSABLE_CAMPAIGN
from emulator.cli.on_spark import NotOnSpark, players_of, require_spark
from emulator.exit_codes import BROKEN, BUG, HELD, UNKNOWN
from emulator.judging.advice.advice_runs import Base, Choice
from emulator.judging.campaigns.space import parse_seeds
from emulator.judging.rolls.roll_runs import RollOptions, RollOutcome, play_rolls, roll_options_text
from emulator.judging.rolls.roll_steps import Roll, orders, strikes
from emulator.screen import for_lines
from emulator.topology import metadata_of
from emulator.worlds.cluster_file.compose_files import NoClusterFile
from protocol.versions import ladder_name

FOLDER = "runs/roll"
SEEDS = "1..2"
RISKS_MAX = 8
"""Maximum of broken promises in the text; JSON has all."""


class Plan(msgspec.Struct, frozen=True):
    """Results: each order with its outcomes, the best one, and the faults during it."""

    options: RollOptions
    base: Base
    orders: list[tuple[Roll, list[RollOutcome]]]
    best: int
    risks: list[tuple[Roll, list[RollOutcome]]]


@reports_errors("plan roll", *UNUSABLE_CAMPAIGN, NoClusterFile, unknown=(NotOnSpark,))
def plan_roll_command(files: tuple[str, ...], options: PlanRollOptions) -> int:
    """Print order, cost and risk to stdout; errors and progress to stderr."""
    began_s = monotonic()
    seeds = parse_seeds(options.seeds or SEEDS)
    folder = options.out or Path(FOLDER)
    check_places({}, folder)
    require_spark(options.master)
    base, choice = base_of_plan(files, options)
    to = ladder_name(options.to or base.version)
    metadata_of(to, base.cluster.topology.metadata)
    plan = _planned(base, choice, to, seeds, options)
    written = _written(plan, folder)
    if options.json:
        print(msgspec.json.encode(_as_json(plan, written)).decode())
    else:
        _print(plan, written, monotonic() - began_s)
    _, best = plan.orders[plan.best]
    every = [one.outcome for _, outcomes in (*plan.orders, *plan.risks) for one in outcomes]
    if any(one.bug for one in every):
        return BUG
    if any(one.outcome.broken for one in best):
        return BROKEN
    return UNKNOWN if all(one.outcome.inconclusive for one in best) else HELD


def _planned(base: Base, choice: Choice, to: str, seeds: range, options: PlanRollOptions) -> Plan:
    possible = orders(base.cluster)
    about = RollOptions(
        cluster=base.cluster, choice=choice, to=to, replicas=base.replicas, left_open=base.left_open, rolls=possible,
        runs=tuple((place, seed) for place in range(len(possible)) for seed in seeds),
    )  # fmt: skip
    with players_of(options.master) as players:
        with progress_of(f"{len(possible)} orders", len(about.runs)) as ended:
            found = play_rolls(about, players, ended)
        best = min(range(len(possible)), key=lambda place: _cost(found[place]))
        session_s, client_s = base.faults[0].lasts_s, max(fault.lasts_s for fault in base.faults)
        faults = tuple(strikes(possible[best], base.cluster, session_s, client_s))
        struck = msgspec.structs.replace(about, rolls=faults, runs=tuple((place, 1) for place in range(len(faults))))
        risks: list[list[RollOutcome]] = []
        if faults and options.faults:
            with progress_of(f"{len(faults)} faults during it", len(faults)) as ended:
                risks = play_rolls(struck, players, ended)
    pairs = list(zip(faults, risks, strict=False))
    return Plan(about, base, list(zip(possible, found, strict=True)), best, pairs)


def _cost(outcomes: Sequence[RollOutcome]) -> tuple[int, int, float, float]:
    """Inconclusive runs, broken promises, the longest wait of a write, and of a read."""
    unknown = sum(bool(one.outcome.inconclusive) for one in outcomes)
    broken = sum(len(one.outcome.broken) for one in outcomes)
    return unknown, broken, _longest_ms(outcomes, "writes"), _longest_ms(outcomes, "reads")


def _longest_ms(outcomes: Sequence[RollOutcome], kind: str) -> float:
    waits = (ms for one in outcomes for ms in getattr(one.outcome, kind).waited_ms.values())
    return max(waits, default=0.0)


def _written(plan: Plan, folder: Path) -> dict[str, str]:
    """{roll: its replay command}, of the best order and of each fault that breaks a promise."""
    best, _ = plan.orders[plan.best]
    broken = [roll for roll, outcomes in plan.risks if any(one.outcome.broken for one in outcomes)]
    commands = {}
    for roll in (best, *broken):
        text = roll_options_text(plan.options, roll)
        replay = written_replay(folder / f"{roll.name}.yaml", text, plan.options.choice)
        commands[roll.name] = f"{replay} --seed 1"
    return commands


# --- output ---


def _print(plan: Plan, written: dict[str, str], wall_s: float) -> None:
    lines, base = for_lines(), plan.base
    mode = "in KRaft mode" if base.cluster.in_kraft else "with ZooKeeper"
    upgrade = f" to {plan.options.to}" if plan.options.to != base.version else ""
    best, outcomes = plan.orders[plan.best]
    what = "Upgrade" if upgrade else "Restart"
    lines.print(f"{what} of Kafka {base.version}{upgrade} {mode}: {best.text}.", style="bold", markup=False)
    lines.print(f"  {', '.join(best.order)}", markup=False, soft_wrap=True)
    print_remarks(base)
    console = plan_screen()
    console.print(_steps_table(best, outcomes))
    console.print(_orders_table(plan))
    for line in _broken_lines(best, outcomes):
        lines.print(f"broken without a fault: {line}", markup=False, soft_wrap=True)
    _print_risks(plan, written)
    lines.print(f"replay: {written[best.name]}", markup=False, soft_wrap=True)
    runs = sum(len(found) for _, found in (*plan.orders, *plan.risks))
    lines.print(f"{runs} runs in {wall_s:.0f} s. Seeds are a sample, not a proof", style="dim", markup=False)


def _print_risks(plan: Plan, written: dict[str, str]) -> None:
    """A fault while a node is down: broken promises with their reason, and the longest waits."""
    if not plan.risks:
        return
    lines = for_lines()
    broken = [(roll, found) for roll, found in plan.risks if any(one.outcome.broken for one in found)]
    text = f"A fault while a node is down: {len(broken)} of {len(plan.risks)} break a promise."
    lines.print(text, style="bold", markup=False)
    for roll, found in broken[:RISKS_MAX]:
        for line in _broken_lines(roll, found):
            lines.print(f"  {line}", markup=False, soft_wrap=True)
        lines.print(f"    replay: {written[roll.name]}", markup=False, soft_wrap=True)
    if broken[RISKS_MAX:]:
        lines.print(f"  and {len(broken) - RISKS_MAX} more; --json has all", markup=False)
    unknown = [(roll, found[0].outcome.inconclusive) for roll, found in plan.risks if found[0].outcome.inconclusive]
    if unknown:
        first, why = unknown[0]
        lines.print(f"  {len(unknown)} are inconclusive, the first: {first.text}: {why}", markup=False, soft_wrap=True)
    worst, found = max(plan.risks, key=lambda risk: _longest_ms(risk[1], "writes"))
    longest = _longest_ms(found, "writes")
    if longest:
        lines.print(f"  Longest wait of a write: {longest / 1000:.1f} s ({worst.text}).", markup=False)


def _broken_lines(roll: Roll, outcomes: Sequence[RollOutcome]) -> list[str]:
    first = {check: one.outcome.reasons[check] for one in reversed(outcomes) for check in one.outcome.broken}
    return [f"{check}: {roll.text}: {reason}" for check, reason in first.items()]


def _steps_table(roll: Roll, outcomes: Sequence[RollOutcome]) -> Table:
    """A row for each node: how long it is down, and the longest write that begins meanwhile."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in ("step", "node", "down, s", "longest write, s"):
        table.add_column(name, justify="left" if name == "node" else "right")
    for place, node in enumerate(roll.order):
        found = [one.steps[place] for one in outcomes if len(one.steps) > place]
        down, write = (max((getattr(one, name) for one in found), default=0.0) for name in ("down_ms", "write_ms"))
        table.add_row(str(place + 1), node, f"{down / 1000:.1f}", f"{write / 1000:.1f}")
    return table


def _orders_table(plan: Plan) -> Table:
    """A row for each order, the best one first."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in ("order", "writes wait, s", "reads wait, s", "broken promises"):
        table.add_column(name, justify="left" if name == "order" else "right")
    for roll, outcomes in sorted(plan.orders, key=lambda one: _cost(one[1])):
        unknown, broken, writes, reads = _cost(outcomes)
        shown = f"{unknown} inconclusive" if unknown else str(broken)
        table.add_row(roll.text, *(f"{ms / 1000:.1f}" if ms else "–" for ms in (writes, reads)), shown)
    return table


def _as_json(plan: Plan, written: dict[str, str]) -> dict[str, Any]:
    """All results. `faults`: of the best order alone."""

    def of(roll: Roll, outcomes: Sequence[RollOutcome]) -> dict[str, Any]:
        return {
            "name": roll.name,
            "text": roll.text,
            "order": roll.order,
            "runs": [msgspec.to_builtins(one) for one in outcomes],
            "replay": written.get(roll.name, ""),
        }

    best, _ = plan.orders[plan.best]
    return {
        "kafka": plan.base.version,
        "to": plan.options.to,
        "metadata": plan.base.cluster.topology.metadata,
        "best": best.name,
        "orders": [of(roll, outcomes) for roll, outcomes in plan.orders],
        "faults": [of(roll, outcomes) for roll, outcomes in plan.risks],
        "warnings": plan.base.warnings,
    }
