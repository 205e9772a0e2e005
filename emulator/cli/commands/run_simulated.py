"""`faultline run SCENARIO --world sim`: one seed, its directory, the oracle's verdict."""

from pathlib import Path
from time import perf_counter

import msgspec
from rich.markup import escape

from emulator.cli.command_options import RunOptions
from emulator.cli.commands.verdict_text import against_kafka, end_early, print_account, print_verdict, versions_shown
from emulator.exit_codes import HELD
from emulator.judging.judged import JudgedRun, play_and_judge
from emulator.runs.directory import prepare, write_simulated, write_verdict
from emulator.runs.resolve import Resolved
from emulator.runs.simulated import play
from emulator.scenario.observations.recording_parsing import plain
from emulator.scenario.player.steps import StepFailed
from emulator.screen import for_lines
from emulator.worlds.simulated.heap import RunTooLong


def run_simulated(resolved: Resolved, directory: Path, options: RunOptions, scenario: str = "") -> int:
    """Play, write the run's directory and print the verdict; returns the exit code.

    `scenario`: as the command line names it, an id or a file; by default its id. Raises NotEmpty, OSError.
    """
    began_s = perf_counter()
    prepare(directory)
    try:
        run = None
        if options.judge == "oracle":
            run = judge_into(directory, resolved, options.seed)
        else:
            simulate_into(directory, resolved, options.seed)
    except (StepFailed, RunTooLong) as error:
        return end_early(scenario or resolved.scenario.id, resolved, error, options.ci_reports)
    console = for_lines(stderr=options.json)
    if run is None:
        console.print(f"not judged; the run is in {escape(str(directory))}")
        return HELD
    options.ci_reports.write([msgspec.to_builtins(run.verdict)])
    if options.json:
        print(msgspec.json.encode(run.verdict).decode())
        return run.verdict.exit_code
    title = f"[bold]{resolved.scenario.id}[/] on Kafka {versions_shown(resolved)}, simulated with seed {options.seed}"
    console.print(f"{title}: {escape(resolved.scenario.title)}")
    print_account(console, resolved.account)
    compared = against_kafka(resolved, run.observations)
    print_verdict(console, msgspec.to_builtins(run.verdict), compared, verbose=options.verbose)
    console.print(f"[dim]{perf_counter() - began_s:.2f} s; the run is in[/] {escape(str(directory))}")
    return run.verdict.exit_code


def simulate_into(directory: Path, resolved: Resolved, seed: int) -> None:
    """Play a seed and write its run's directory, which is prepared, without the oracle.

    Raises StepFailed, RunTooLong, OSError.
    """
    played = play(resolved, seed, wire_events=True)
    write_simulated(directory, resolved, seed, played.world, plain(played.observations))


def judge_into(directory: Path, resolved: Resolved, seed: int) -> JudgedRun:
    """Like `simulate_into`, with the oracle's verdict. Raises the exceptions of `simulate_into`."""
    run = play_and_judge(resolved, seed, run=directory.name, wire_events=True)
    write_simulated(directory, resolved, seed, run.played.world, run.observations)
    write_verdict(directory, run.verdict)
    return run
