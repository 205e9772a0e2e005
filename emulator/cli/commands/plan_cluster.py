"""The cluster and settings of a plan, by the options of its command."""

import msgspec

from emulator.cli.command_options import AdviseOptions, PlanRollOptions, PlanTimeoutsOptions
from emulator.cli.commands.advise_cluster import for_all_brokers, requested_cluster
from emulator.judging.advice.advice_runs import Base, Choice, base_of
from emulator.runs.settings_files import read_settings_files


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
