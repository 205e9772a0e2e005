"""`faultline run SCENARIO`: plays it, judges it, prints the verdict.

In the network world Spark starts before the cluster and plans the audit while the cluster runs, at a low priority. So
the verdict comes shortly after the last step.
"""

import time
from pathlib import Path
from typing import Any

import msgspec
import trio
from rich.console import Console
from rich.markup import escape

from emulator.cli.command_options import RunOptions
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.commands.place_arguments import check_places
from emulator.cli.commands.progress import Progress
from emulator.cli.commands.spark_ahead import Spark, spark_ahead
from emulator.cli.commands.unusable import UNUSABLE_RUN
from emulator.cli.commands.verdict_text import against_kafka, end_early, print_account, print_verdict, versions_shown
from emulator.cli.on_spark import SparkMissing, require_spark
from emulator.cluster.command_execution import playing
from emulator.exit_codes import HELD, INTERRUPTED
from emulator.judging.recording_match import equal_recording
from emulator.run_layout import shown
from emulator.runs.deployment_options import KERNEL_SPEED, UnusableOption, check_seed, check_speed
from emulator.runs.directory import fresh, prepare, write_observations, write_scenario
from emulator.runs.engine_choice import UNUSABLE_MACHINES, MakeCluster, machines_for, require_machines
from emulator.runs.finished import RUNS
from emulator.runs.network_run import play_network
from emulator.runs.resolve import Resolved
from emulator.runs.resolve_named import resolve_named
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.player.steps import StepFailed
from emulator.screen import for_lines
from emulator.settings.setting_registry import parse_assignment
from emulator.toplevel_errors import leaves
from emulator.worlds.network.forking import ForkServerLost
from emulator.worlds.network.node_supervisor import ClusterError
from emulator.worlds.network.ports import PortInUse

DEFAULT_SPEED = 5.0
"""Default factor of the clock.

Measured (benchmarks/spike): beside a starting Spark, timers at this speed are late by less than a tenth of the shortest
time-out.
"""
CONTAINER_SPEED = 2.0
"""Factor of the clock in containers: each has its own CPU quota, so timers are later."""
LIVING = {"process": "real processes", "docker": "containers"}

UNUSABLE_INPUT = (*UNUSABLE_RUN, PortInUse, *UNUSABLE_MACHINES)
NOT_PLAYED = (StepFailed, ClusterError, ForkServerLost, trio.TooSlowError)
"""Exceptions that end a scenario early."""


@reports_errors("run", *UNUSABLE_INPUT)
def run_command(scenario: str, options: RunOptions) -> int:
    """Play and judge; returns the exit code of a run (see exit_codes)."""
    resolved = checked(scenario, options)
    directory = options.out or fresh(resolved.scenario.id)
    if options.world != "sim":
        prepare(directory)
        return _run_network(scenario, options, resolved, directory.resolve())
    from emulator.cli.commands.run_simulated import run_simulated, simulate_into

    if options.judge != "spark":
        return run_simulated(resolved, directory, options, scenario)
    from audit.commands import audit_command

    prepare(directory)
    simulate_into(directory, resolved, options.seed)
    return audit_command(
        [str(directory)], json=options.json, ci_reports=options.ci_reports, verbose=options.verbose
    )


def checked(scenario: str, options: RunOptions) -> Resolved:
    """The scenario with its options, if it can be played here.

    Raises the exceptions of UNUSABLE_INPUT.
    """
    given = options.settings
    resolved = resolve_named(
        scenario, given.kafka_version, dict(map(parse_assignment, given.overrides)), given.files, given.parameters,
        given.metadata or "",
    )
    check_seed(options.seed)
    of_network = {"--engine": options.engine, "--driver": options.driver, "--speed": options.speed}
    if options.world == "sim" and (words := ", ".join(name for name, one in of_network.items() if one is not None)):
        raise UnusableOption(f"{words}: no effect on a simulated run; leave it out, or give --world network")
    if options.world == "network" and options.audit == "oracle":
        raise UnusableOption("--audit oracle: judges only simulated runs; give --world sim, or --audit spark or none")
    if options.ci_reports.options and options.audit == "none":
        words = ", ".join(options.ci_reports.options)
        raise UnusableOption(f"{words}: no verdict to write with --audit none; leave out one of them")
    engine, driver = options.machines
    if options.speed is not None:
        check_speed(options.speed, driver)
    if options.world != "sim":
        require_machines(engine, driver)
    check_places(options.ci_reports.places, options.out or RUNS)
    _require_judge(options.judge)
    return resolved


def _require_judge(judge: str) -> None:
    """Before anything is played. Raises SparkMissing."""
    if judge != "spark":
        return
    try:
        require_spark("local[*]")
    except SparkMissing as error:
        raise SparkMissing(f"{error} Or play without Spark: --audit oracle (--world sim) or --audit none") from error


# --- the network world ----------------------------------------------------------------------------------------------


def _run_network(scenario: str, options: RunOptions, resolved: Resolved, directory: Path) -> int:
    console = for_lines(stderr=options.json)
    began = time.monotonic()
    try:
        observations, judged = play_and_audit(options, resolved, directory, console)
    except NOT_PLAYED as error:
        return end_early(scenario, resolved, error, options.ci_reports)
    except KeyboardInterrupt:
        raise CommandFailed(f"interrupted; its files are in {directory}", INTERRUPTED) from None
    if judged is None:
        equals = equal_recording(resolved.scenario, resolved.spec.kafka_version, observations)
        where = escape(shown(directory))
        console.print(f"not judged; the run is in {where}" + (f"; it equals {equals}" if equals else ""))
        return HELD
    verdict, code = judged
    options.ci_reports.write([verdict])
    if options.json:
        print(msgspec.json.encode(verdict).decode())
    else:
        print_verdict(console, verdict, against_kafka(resolved, observations), verbose=options.verbose)
        console.print(f"[dim]{time.monotonic() - began:.1f} s; report:[/] {escape(shown(directory))}/report.html")
    return code


def play_and_audit(
    options: RunOptions, resolved: Resolved, directory: Path, console: Console
) -> tuple[Observations, tuple[dict[str, Any], int] | None]:
    """Play into a prepared directory; with the verdict and its exit code, or None.

    None: `--audit none`. `console`: shows the progress. Raises the exceptions of NOT_PLAYED and UNUSABLE_INPUT.
    """
    speed = speed_of(options, resolved.scenario.speed)
    began = time.monotonic()
    write_scenario(directory, resolved, seed=options.seed, speed=speed)
    with (
        playing(directory, resolved.scenario.id, *options.machines),
        spark_ahead(directory, wanted=options.judge == "spark") as spark,
    ):
        observations = _play(options, resolved, directory, speed, console, spark)
        if spark is None:
            return observations, None
        played_s = round(time.monotonic() - began, 3)
        with Progress(console, text="Spark judges"):
            return observations, spark.judge(resolved.scenario.id, began, played_s)


def speed_of(options: RunOptions, of_scenario: float | None) -> float:
    """The clock's factor, by decreasing priority.

    1. the driver's, 2. the command's, 3. the scenario's, which in containers is limited to CONTAINER_SPEED.
    """
    engine, driver = options.machines
    if driver == "kernel":
        return KERNEL_SPEED
    if options.speed is not None:
        return options.speed
    usual = of_scenario or DEFAULT_SPEED
    return min(usual, CONTAINER_SPEED) if engine == "docker" else usual


def _play(
    options: RunOptions, resolved: Resolved, directory: Path, speed: float, console: Console, spark: Spark | None
) -> Observations:
    engine, driver = options.machines
    if not options.json:
        title = f"[bold]{resolved.scenario.id}[/] on Kafka {versions_shown(resolved)}"
        console.print(f"{title}: {escape(resolved.scenario.title)}")
        cuts = ", cuts by the kernel" if driver == "kernel" else ""
        console.print(f"[dim]{LIVING[engine]}{cuts}, clock x{speed:g}, seed {options.seed}[/]")
        print_account(console, resolved.account)

    async def play(make_cluster: MakeCluster) -> Observations:
        async with trio.open_nursery() as nursery:
            if spark is not None:
                nursery.start_soon(trio.to_thread.run_sync, spark.get_ready)
            try:
                played = await play_network(
                    resolved, directory, seed=options.seed, speed=speed, began=progress.began, make_cluster=make_cluster
                )
            except BaseException:
                if spark is not None:
                    spark.abandon()
                raise
            if spark is not None:
                spark.hurry()
                progress.say("played; Spark starts" if not spark.ready_s else "played")
        return played.observations

    machines = machines_for(resolved.spec.topology, directory, engine=engine, driver=driver)
    progress = Progress(console, spark)
    try:
        with progress, machines as make:
            # An interrupt arrives where the player waits, never during a machine's step or the ending.
            observations = trio.run(play, make, restrict_keyboard_interrupt_to_checkpoints=True)
    except BaseExceptionGroup as errors:
        raise _meant(errors) from None
    write_observations(directory, observations)
    return observations


def _meant(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The most significant error of a group: an interrupt, an unexpected one, or the first.
    first."""
    found = list(leaves(errors))
    interrupts = [error for error in found if isinstance(error, KeyboardInterrupt)]
    others = [error for error in found if not isinstance(error, (*NOT_PLAYED, *UNUSABLE_INPUT))]
    return (interrupts or others or found)[0]
