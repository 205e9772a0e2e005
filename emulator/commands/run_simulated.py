"""`faultline run SCENARIO --world sim`: one seed, its directory, the oracle's verdict."""

import sys
from pathlib import Path

import msgspec
from rich.console import Console

from emulator.commands.exit_codes import UNKNOWN, UNUSABLE
from emulator.commands.verdict_text import print_verdict
from emulator.observations.files import load
from emulator.observations.races import nearest_with_races
from emulator.player.steps import StepFailed
from emulator.runs.directory import NotEmpty, prepare, write_simulated, write_verdict
from emulator.runs.judged import JudgedRun, play_and_judge
from emulator.runs.resolve import Resolved
from emulator.runs.sources import recordings_of
from emulator.runs.verdict import exit_code
from emulator.world.simulated.world import RunTooLong


def run_simulated(
    resolved: Resolved,
    seed: int,
    directory: Path,
    *,
    with_oracle: bool = True,
    json: bool = False,
    wire_events: bool = True,
) -> int:
    """Plays, writes the run's directory and prints the verdict; returns the exit code.

    `with_oracle` False: nothing is judged but the observations. `json`: the verdict on stdout, nothing else.
    """
    try:
        prepare(directory)
    except (NotEmpty, OSError) as error:
        print(f"faultline run: {error}", file=sys.stderr)
        return UNUSABLE
    try:
        run = simulate_into(directory, resolved, seed, with_oracle=with_oracle, wire_events=wire_events)
    except (StepFailed, RunTooLong) as error:
        print(f"faultline run: {resolved.scenario.id} could not be played to its end: {error}", file=sys.stderr)
        return UNKNOWN
    if json:
        print(msgspec.json.encode(run.verdict).decode())
    else:
        console = Console(soft_wrap=not sys.stdout.isatty())
        console.print(f"{resolved.scenario.id} on Kafka {resolved.spec.kafka_version}, simulated with seed {seed}")
        print_verdict(console, run.verdict, recording_equalled(resolved, run))
        console.print(str(directory), highlight=False)
    return exit_code(run.verdict)


def simulate_into(
    directory: Path, resolved: Resolved, seed: int, *, with_oracle: bool = True, wire_events: bool = True
) -> JudgedRun:
    """Play a seed and write all of its run's directory, which is prepared. Raises StepFailed, RunTooLong, OSError."""
    run = play_and_judge(resolved, seed, run=directory.name, wire_events=wire_events, with_oracle=with_oracle)
    write_simulated(directory, resolved, run.played.world, run.observations)
    write_verdict(directory, run.verdict)
    return run


def recording_equalled(resolved: Resolved, run: JudgedRun) -> str | None:
    """Its name; "" if the run differs from all, None if real Kafka was not recorded."""
    files = recordings_of(resolved.scenario.id, resolved.spec.kafka_version)
    if not files:
        return None
    recordings = {f"{path.parent.name}/{path.name}": load(path) for path in files}
    match = nearest_with_races(run.observations, recordings, resolved.scenario.races)
    if not match.equal:
        return ""
    by = "".join(f", by race {race.name} ({race.rule})" for race in match.races)
    return f"{match.recording}{by}"
