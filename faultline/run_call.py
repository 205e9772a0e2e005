"""Scenarios played from a program: one run, or many seeds of one scenario."""

import io
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from emulator.cli.command_options import RunOptions
from emulator.cli.commands.run_scenario import NOT_PLAYED, UNUSABLE_INPUT, checked, play_and_audit
from emulator.cli.commands.run_simulated import judge_into
from emulator.cli.commands.verdict_text import not_played
from emulator.cli.play_options import Metadata
from emulator.judging.judged import play_and_judge
from emulator.run_layout import VERDICT_FILE
from emulator.runs.directory import prepare
from emulator.runs.resolve import Resolved
from emulator.runs.resolve_named import resolve_named
from emulator.runs.verdict_file import from_json
from emulator.scenario.player.steps import StepFailed
from emulator.screen import Screen
from emulator.worlds.simulated.heap import RunTooLong
from faultline.errors import Refused
from faultline.settings_arguments import Setting, options_of
from faultline.verdict import Verdict


def run(
    scenario: str | Path,
    *,
    world: Literal["sim", "network"] = "sim",
    kafka_version: str | None = None,
    settings: Mapping[str, Setting] | None = None,
    metadata: Metadata | None = None,
    seed: int = 1,
    directory: Path | str | None = None,
) -> Verdict:
    """Play a scenario and judge it. Raises Refused: it cannot be read or played.

    `metadata`: by default the scenario's for its own versions, else ZooKeeper up to 3.2 and KRaft from 3.3 on.
    `scenario`: an id of the catalogue, a file, or a recording. The oracle judges a simulated run, Spark one with real
    processes. `directory`: the run's, new or empty.
    """
    place = Path(tempfile.mkdtemp(prefix="faultline-") if directory is None else directory)
    given = options_of(kafka_version, settings, metadata)
    options = RunOptions(world=world, seed=seed, settings=given, out=place, json=True)
    try:
        resolved = checked(str(scenario), options)
        prepare(place)
        if world == "sim":
            judge_into(place, resolved, seed)
        else:
            play_and_audit(options, resolved, place.resolve(), Screen(quiet=True, file=io.StringIO()))
    except UNUSABLE_INPUT as error:
        raise Refused(f"faultline run: {error}") from error
    except (*NOT_PLAYED, RunTooLong) as error:
        raise Refused(not_played(str(scenario), error), unknown=True) from error
    return Verdict(from_json((place / VERDICT_FILE).read_bytes()), place)


def simulate(
    scenario: str | Path,
    seeds: Iterable[int],
    *,
    kafka_version: str | None = None,
    settings: Mapping[str, Setting] | None = None,
    metadata: Metadata | None = None,
) -> dict[int, Verdict]:
    """Verdicts by seed; writes no files. `metadata` as of `run`. Raises Refused."""
    try:
        resolved = resolve_named(str(scenario), kafka_version, settings, metadata=metadata or "")
        return {seed: _simulated(resolved, seed) for seed in seeds}
    except (ValueError, StepFailed, RunTooLong) as error:
        raise Refused(str(error)) from error


def _simulated(resolved: Resolved, seed: int) -> Verdict:
    name = f"{resolved.scenario.id}-{seed}"
    return Verdict(play_and_judge(resolved, seed, run=name).verdict, None)
