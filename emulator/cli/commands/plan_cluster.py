"""The cluster and settings of a plan, and the parts of its output that all plans have."""

from typing import Final

import msgspec

from emulator.cli.command_options import AdviseOptions, PlanRollOptions, PlanTimeoutsOptions
from emulator.cli.commands.advise_cluster import for_all_brokers, requested_cluster
from emulator.judging.advice.advice_runs import Base, Choice, base_of
from emulator.runs.settings_files import read_settings_files
from emulator.screen import Screen, for_lines

WIDTH: Final = 110
"""Width of tables where the output is no terminal."""


def base_of_plan(files: tuple[str, ...], options: PlanRollOptions | PlanTimeoutsOptions) -> tuple[Base, Choice]:
    """(facts known before any run, the choice of settings with its version).

    Raises the errors of reading and resolving settings and topologies.
    """
    of_cluster = AdviseOptions(
        kafka_version=options.kafka_version, metadata=options.metadata, controllers=options.controllers,
        topology=options.topology, brokers=options.brokers, azs=options.azs,
    )  # fmt: skip
    cluster = requested_cluster(of_cluster, read_settings_files(files))
    files, notes = for_all_brokers(files)
    choice = Choice(options.kafka_version or cluster.version, options.overrides, files)
    base = base_of(choice, options.kafka_version, cluster)
    base = msgspec.structs.replace(base, warnings=(*notes, *base.warnings))
    return base, msgspec.structs.replace(choice, kafka_version=base.version)


def print_remarks(base: Base) -> None:
    """Print warnings, and the settings left to Kafka's defaults."""
    lines = for_lines()
    for warning in base.warnings:
        lines.print(f"warning: {warning}", markup=False)
    for name, value in base.left_open.items():
        lines.print(f"{name} not set; using Kafka's default {value}", markup=False)


def plan_screen() -> Screen:
    """The screen for tables."""
    console = Screen(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = WIDTH
    return console
