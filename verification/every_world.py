"""`python -m verification.every_world [SCENARIO...] [--worlds WORLD,...]`: all worlds.

Worlds: simulation, local processes and containers, these two with cuts by the nodes and by the kernel. Each run must
equal a recording of real Kafka (or one by a race that the scenario names), and Spark must find it valid; a run whose
timers were late is played again, slower, and counts as late if it stays so. The table is printed and written to
verification/results/every_world.json. Exit code 1 if a run differs, 3 if one was late to the end.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import trio
from rich.console import Console
from rich.table import Table

from emulator.cli.commands.run_scenario import CONTAINER_SPEED, DEFAULT_SPEED
from emulator.cli.commands.run_simulated import simulate_into
from emulator.judging.recording_match import equal_recording
from emulator.run_layout import OBSERVATIONS_FILE
from emulator.runs.deployment_options import KERNEL_SPEED, Driver, Engine
from emulator.runs.directory import prepare, write_observations, write_scenario
from emulator.runs.engine_choice import machines_for
from emulator.runs.network_run import play_network
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import find_scenario, recordings_of
from emulator.runs.timeout_limits import timer_limit_ms
from emulator.scenario.observations.recording_files import load
from emulator.toplevel_errors import ended
from verification.network_runs import lateness_ms

RESULTS: Final = Path(__file__).parent / "results" / "every_world.json"
SECTION_A: Final = (
    "link-follower-leader",
    "link-broker-controller",
    "az-isolated-follower",
    "az-isolated-leader",
    "az-isolated-leader-acks-all",
    "az-isolated-leader-direct-zk",
    "az-isolated-controller",
    "az-isolated-leader-and-controller",
)
"""Of scenarios.md, those that have a recording."""
VERSIONS: Final = ("2.6", "2.8")


class World(NamedTuple):
    """A world.

    `speeds`: the first, and the one of a second attempt after late timers.
    """

    engine: Engine
    driver: Driver
    speeds: tuple[float, ...]


WORLDS: Final[dict[str, World | None]] = {
    "simulation": None,
    "processes": World("process", "nodes", (DEFAULT_SPEED, 2.0, 1.0)),
    "processes, kernel": World("process", "kernel", (KERNEL_SPEED, KERNEL_SPEED)),
    "containers": World("docker", "nodes", (CONTAINER_SPEED, 1.0, 1.0)),
    "containers, kernel": World("docker", "kernel", (KERNEL_SPEED, KERNEL_SPEED)),
}


class Outcome(msgspec.Struct):
    """One run. `equals`: the recording. `late`: p99.9 of its timers was above the limit."""

    scenario: str
    kafka: str
    world: str
    equals: str = ""
    late: bool = False
    late_ms: float = 0.0
    speed: float = 0.0
    wall_s: float = 0.0
    verdict: str = ""
    run: str = ""

    @property
    def good(self) -> bool:
        return bool(self.equals) and self.verdict in ("held", "")


def versions_of(scenario: str) -> tuple[str, ...]:
    """Those of VERSIONS at which real Kafka was recorded; two where there are two."""
    return tuple(version for version in VERSIONS if recordings_of(scenario, version))


def play(scenario: str, version: str, world: str, directory: Path) -> Outcome:
    """One run in `directory`, and again if it was late and equals no recording. Not judged yet."""
    resolved = resolve(find_scenario(scenario), version)
    outcome = Outcome(scenario, version, world)
    where = WORLDS[world]
    began = time.monotonic()
    if where is None:
        outcome.run = str(directory)
        prepare(directory)
        simulate_into(directory, resolved, 1)
        observations = load(directory / OBSERVATIONS_FILE)
        outcome.equals = equal_recording(resolved.scenario, resolved.spec.kafka_version, observations) or ""
    else:
        for attempt, speed in enumerate(where.speeds):
            run = directory.with_name(f"{directory.name}-{attempt}")
            outcome.run, outcome.speed = str(run), speed
            outcome.equals = _played(resolved, run, where, speed)
            outcome.late_ms = round(lateness_ms(run), 1)
            outcome.late = outcome.late_ms > timer_limit_ms(resolved)
            if outcome.equals or not outcome.late:  # where it equals a recording, lateness changed nothing
                break
    outcome.wall_s = round(time.monotonic() - began, 1)
    return outcome


def _played(resolved: Resolved, directory: Path, where: World, speed: float) -> str:
    prepare(directory)
    write_scenario(directory, resolved)
    with machines_for(resolved.spec.topology, directory, engine=where.engine, driver=where.driver) as make:
        played = trio.run(lambda: play_network(resolved, directory, seed=1, speed=speed, make_cluster=make))
    write_observations(directory, played.observations)
    return equal_recording(resolved.scenario, resolved.spec.kafka_version, played.observations) or ""


def judge(outcomes: Sequence[Outcome], scratch: Path) -> None:
    """All runs in one audit: `verdict` is held, violated or unknown."""
    from audit.audited_run import audit_runs
    from audit.warm_spark import own_session

    with own_session(scratch / "spark") as spark:
        verdicts = audit_runs(spark, [outcome.run for outcome in outcomes], scratch=str(scratch))
    for outcome, verdict in zip(outcomes, verdicts, strict=True):
        outcome.verdict = {0: "held", 1: "violated"}.get(verdict.exit_code, "unknown")


def show(outcomes: Sequence[Outcome], worlds: Sequence[str]) -> None:
    """Print a table: scenarios down, worlds across.

    A cell has the number of the equal recording, and Spark's verdict.
    """
    by_place = {(outcome.scenario, outcome.kafka, outcome.world): outcome for outcome in outcomes}
    table = Table("scenario", "Kafka", *worlds, box=None)
    for scenario, kafka in dict.fromkeys((outcome.scenario, outcome.kafka) for outcome in outcomes):
        table.add_row(scenario, kafka, *(cell(by_place.get((scenario, kafka, world))) for world in worlds))
    Console(width=160, highlight=False).print(table)


def cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return ""
    same = f"= {outcome.equals.partition('/')[2].removesuffix('.json')}" if outcome.equals else "differs"
    return f"{same}, {outcome.verdict or 'not judged'}{', late' if outcome.late else ''} ({outcome.wall_s:g} s)"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", help="of section A; all if none is given")
    parser.add_argument("--worlds", default=",".join(name.replace(", ", "/") for name in WORLDS))
    parser.add_argument("--versions", default="2.6,2.8", help="of Kafka, as far as they were recorded")
    parser.add_argument("--keep", type=Path, help="where the runs' directories stay")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file that is written")
    parser.add_argument("--unjudged", action="store_true", help="without Spark")
    given = parser.parse_args(arguments)
    worlds = [name.replace("/", ", ") for name in given.worlds.split(",")]
    for world in worlds:
        if world not in WORLDS:
            parser.error(f"no world {world!r}; there is {', '.join(known.replace(', ', '/') for known in WORLDS)}")
    for scenario in given.scenarios:
        if scenario not in SECTION_A:
            parser.error(f"no scenario {scenario!r} in section A with a recording; there is {', '.join(SECTION_A)}")
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        place = given.keep or Path(name)
        place.mkdir(parents=True, exist_ok=True)
        outcomes: list[Outcome] = []
        for scenario in given.scenarios or SECTION_A:
            for version in versions_of(scenario):
                if version not in given.versions.split(","):
                    continue
                for world in worlds:
                    run = place / f"{scenario}-{version}-{world.replace(', ', '-')}"
                    outcomes.append(play(scenario, version, world, run))
                    print(msgspec.json.encode(outcomes[-1]).decode(), flush=True)
        if not given.unjudged:
            scratch = Path(name) / "spark"
            scratch.mkdir()
            judge(outcomes, scratch)
    show(outcomes, worlds)
    write(outcomes, given.results)
    if not all(outcome.good or outcome.late for outcome in outcomes):
        return 1
    return 3 if any(outcome.late for outcome in outcomes) else 0


def write(outcomes: Sequence[Outcome], results: Path) -> None:
    table: list[dict[str, Any]] = [msgspec.to_builtins(outcome) for outcome in outcomes]
    for row in table:
        del row["run"]
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_bytes(msgspec.json.format(msgspec.json.encode(table)) + b"\n")


if __name__ == "__main__":
    sys.exit(ended("verification.every_world", main))
