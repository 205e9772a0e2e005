"""`faultline run SCENARIO`: plays it, judges it, prints the verdict.

In the network world Spark starts before the cluster and plans the audit while the cluster runs, at a low priority. So
the verdict comes shortly after the last step.
"""

import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import trio
from rich.console import Console
from rich.markup import escape

from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.commands.place_arguments import check_places
from emulator.cli.commands.progress import Progress
from emulator.cli.commands.spark_ahead import Spark, spark_ahead
from emulator.cli.commands.unusable import UNUSABLE_RUN
from emulator.cli.commands.verdict_text import against_kafka, print_account, print_verdict, versions_shown
from emulator.cli.on_spark import SparkMissing, require_spark
from emulator.cluster.command_execution import playing
from emulator.exit_codes import HELD, INTERRUPTED, UNKNOWN
from emulator.judging.ci_reports import NO_REPORTS, CiReports
from emulator.judging.recording_match import equal_recording
from emulator.run_layout import shown
from emulator.runs.deployment_options import KERNEL_SPEED, Driver, Engine, UnusableOption, check_seed, check_speed
from emulator.runs.directory import fresh, prepare, write_observations, write_scenario
from emulator.runs.engine_choice import UNUSABLE_MACHINES, MakeCluster, machines_for, require_machines
from emulator.runs.finished import RUNS
from emulator.runs.network_run import play_network
from emulator.runs.resolve import Resolved
from emulator.runs.resolve_named import resolve_named
from emulator.runs.scenario_sources import place_of_step
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


class RunOptions(msgspec.Struct, frozen=True):
    """Options of `faultline run`. `of_network`: given options without effect on simulated runs."""

    scenario: str
    world: str
    engine: Engine
    driver: Driver
    seed: int
    speed: float | None
    kafka_version: str | None
    settings: tuple[str, ...]
    out: Path | None
    audit: str | None
    json: bool
    settings_files: tuple[str, ...] = ()
    of_network: tuple[str, ...] = ()
    ci_reports: CiReports = NO_REPORTS
    parameters: tuple[str, ...] = ()
    verbose: bool = False


@reports_errors("run", *UNUSABLE_INPUT)
def run_command(options: RunOptions) -> int:
    """Play and judge; returns the exit code of a run (see exit_codes)."""
    resolved = checked(options)
    judge = _judge_of(options)
    directory = options.out or fresh(resolved.scenario.id)
    if options.world == "sim":
        from emulator.cli.commands.run_simulated import run_simulated

        if judge == "spark":
            return _simulated_for_spark(options, resolved, directory)
        oracle, given = judge == "oracle", options.scenario
        return run_simulated(
            resolved, options.seed, directory, with_oracle=oracle, json=options.json, given=given,
            ci_reports=options.ci_reports, verbose=options.verbose,
        )  # fmt: skip
    prepare(directory)
    return _run_network(options, resolved, directory.resolve())


def checked(options: RunOptions) -> Resolved:
    """The scenario of options that can be played here. Raises the exceptions of UNUSABLE_INPUT."""
    resolved = resolved_from(
        options.scenario, options.kafka_version, options.settings, options.settings_files, options.parameters
    )
    check_seed(options.seed)
    if options.world == "sim" and options.of_network:
        words = ", ".join(options.of_network)
        raise UnusableOption(f"{words}: no effect on a simulated run; leave it out, or give --world network")
    if options.world == "network" and options.audit == "oracle":
        raise UnusableOption("--audit oracle: judges only simulated runs; give --world sim, or --audit spark or none")
    if options.ci_reports.options and options.audit == "none":
        words = ", ".join(options.ci_reports.options)
        raise UnusableOption(f"{words}: no verdict to write with --audit none; leave out one of them")
    if options.speed is not None:
        check_speed(options.speed, options.driver)
    if options.world != "sim":
        require_machines(options.engine, options.driver)
    check_places(options.ci_reports.places, options.out or RUNS)
    _require_judge(_judge_of(options))
    return resolved


def _judge_of(options: RunOptions) -> str:
    return options.audit or ("oracle" if options.world == "sim" else "spark")


def _require_judge(judge: str) -> None:
    """Before anything is played. Raises SparkMissing."""
    if judge != "spark":
        return
    try:
        require_spark("local[*]")
    except SparkMissing as error:
        raise SparkMissing(f"{error} Or play without Spark: --audit oracle (--world sim) or --audit none") from error


def _simulated_for_spark(options: RunOptions, resolved: Resolved, directory: Path) -> int:
    """Play a run in the simulated world and judge it with Spark from its events."""
    from audit.commands import audit_command
    from emulator.cli.commands.run_simulated import simulate_into

    prepare(directory)
    simulate_into(directory, resolved, options.seed)
    return audit_command(
        [str(directory)], json=options.json, ci_reports=options.ci_reports, verbose=options.verbose
    )


def resolved_from(
    scenario: str,
    kafka_version: str | None,
    settings: tuple[str, ...],
    files: tuple[str, ...] = (),
    parameters: tuple[str, ...] = (),
) -> Resolved:
    """The scenario with its settings and parameters. Raises the exceptions of UNUSABLE_INPUT."""
    overrides = dict(parse_assignment(text) for text in settings)
    return resolve_named(scenario, kafka_version, overrides, files, parameters)


# --- the network world ----------------------------------------------------------------------------------------------


def _run_network(options: RunOptions, resolved: Resolved, directory: Path) -> int:
    console = for_lines(stderr=options.json)
    began = time.monotonic()
    try:
        observations, judged = play_and_audit(options, resolved, directory, console)
    except NOT_PLAYED as error:
        print(not_played(options.scenario, error), file=sys.stderr)
        options.ci_reports.write_not_played(resolved.scenario.id, str(error))
        return UNKNOWN
    except KeyboardInterrupt:
        print(f"faultline run: interrupted; its files are in {directory}", file=sys.stderr)
        return INTERRUPTED
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
        console.print(
            f"[dim]{time.monotonic() - began:.1f} s; report:[/] {escape(shown(directory))}/report.html"
        )
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
        playing(directory, resolved.scenario.id, options.engine, options.driver),
        spark_ahead(directory, wanted=_judge_of(options) == "spark") as spark,
    ):
        observations = _play(options, resolved, directory, speed, console, spark)
        if spark is None:
            return observations, None
        played_s = round(time.monotonic() - began, 3)
        with Progress(console, text="Spark judges"):
            return observations, spark.judge(resolved.scenario.id, began, played_s)


def not_played(scenario: str, error: BaseException) -> str:
    """One line about a scenario that ended early; begins with the step's place in its file."""
    place = place_of_step(scenario, error.step) if isinstance(error, StepFailed) else ""
    return f"{place}faultline run: the scenario was not played to its end: {error}"


def speed_of(options: RunOptions, of_scenario: float | None) -> float:
    """The clock's factor, by decreasing priority.

    1. the driver's, 2. the command's, 3. the scenario's, which in containers is limited to CONTAINER_SPEED.
    """
    if options.driver == "kernel":
        return KERNEL_SPEED
    if options.speed is not None:
        return options.speed
    usual = of_scenario or DEFAULT_SPEED
    return min(usual, CONTAINER_SPEED) if options.engine == "docker" else usual


def _play(
    options: RunOptions, resolved: Resolved, directory: Path, speed: float, console: Console, spark: Spark | None
) -> Observations:
    if not options.json:
        title = f"[bold]{resolved.scenario.id}[/] on Kafka {versions_shown(resolved)}"
        console.print(f"{title}: {escape(resolved.scenario.title)}")
        cuts = ", cuts by the kernel" if options.driver == "kernel" else ""
        console.print(f"[dim]{LIVING[options.engine]}{cuts}, clock x{speed:g}, seed {options.seed}[/]")
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

    machines = machines_for(resolved.spec.topology, directory, engine=options.engine, driver=options.driver)
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
