"""Plays many simulated deaths on all cores: a result and a replay command per seed."""

import shlex
import traceback
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter

import msgspec

from emulator.judging.crash_testing.crash_judge import judge_death
from emulator.judging.crash_testing.crash_plan import Plan, drawn, stop_drawn
from emulator.judging.crash_testing.crash_run import play_death

FAILED_MAX = 5
"""Maximum of broken promises in a result."""


class DeathsOptions(msgspec.Struct, frozen=True):
    """Options of a worker: scenarios and versions from which plans are drawn (all if empty).

    `orderly`: no death; a broker is stopped and started between two steps.
    """

    scenarios: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    orderly: bool = False

    def plan(self, seed: int) -> Plan:
        return (stop_drawn if self.orderly else drawn)(seed, self.scenarios, self.versions)


class DeathResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one seed.

    `deaths`: count of the victim's deaths. `failed`: what no rule allows. `allowed`: rules that were used. `events`:
    descriptions of the events that removed allowed losses. `error`: why there is no judgement, such as an assertion.
    """

    seed: int
    plan: Plan
    deaths: int = 0
    failed: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    error: str = ""
    settled_s: float = 0.0
    simulated_s: float = 0.0
    wall_s: float = 0.0

    @property
    def good(self) -> bool:
        return not self.failed and not self.error


class DeathWorker:
    """Player of seeds. One per process."""

    def __init__(self, options: DeathsOptions) -> None:
        self._options = options

    def play(self, seed: int) -> DeathResult:
        return play_seed(self._options.plan(seed))


def play_seed(plan: Plan, machines: AbstractContextManager[None] | None = None) -> DeathResult:
    """Play and judge one run; an error becomes its result, so that the other seeds go on.

    `machines`: changes the machines while the run is played; the judgement uses the correct ones.
    """
    began_s = perf_counter()
    try:
        with machines or nullcontext():
            died = play_death(plan)
        judged = judge_death(died)
    except Exception as error:
        return DeathResult(seed=plan.seed, plan=plan, error=_error_text(error))
    return DeathResult(
        seed=plan.seed,
        plan=plan,
        deaths=died.attendant.deaths,
        failed=tuple(f"{broken.what}: {broken.text}" for broken in judged.failed[:FAILED_MAX]),
        allowed=tuple(sorted(judged.allowed)),
        events=tuple(judged.events[:FAILED_MAX]),
        settled_s=round(died.settled_ms / 1000.0, 3),
        simulated_s=round(died.world.now_ms / 1000.0, 3),
        wall_s=perf_counter() - began_s,
    )


def play_network_seed(plan: Plan, run_dir: Path, speed: float) -> DeathResult:
    """Play and judge one run with real processes, in an empty directory."""
    import trio

    from emulator.judging.crash_testing.crash_network import play_network_death
    from emulator.judging.crash_testing.network_judge import judge_network_death

    began_s = perf_counter()
    try:
        died = trio.run(
            lambda: play_network_death(plan, run_dir, speed=speed), restrict_keyboard_interrupt_to_checkpoints=True
        )
        judged = judge_network_death(died, run_dir)
    except Exception as error:
        return DeathResult(seed=plan.seed, plan=plan, error=_error_text(error))
    return DeathResult(
        seed=plan.seed,
        plan=plan,
        deaths=died.deaths,
        failed=tuple(f"{broken.what}: {broken.text}" for broken in judged.failed[:FAILED_MAX]),
        allowed=tuple(sorted(judged.allowed)),
        events=tuple(judged.events[:FAILED_MAX]),
        wall_s=perf_counter() - began_s,
    )


def _error_text(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {error}"


def replay_command(options: DeathsOptions, seed: int, world: str = "sim") -> str:
    """Command line that replays one seed."""
    words = ["python", "-m", "verification.kill_anywhere", "--runs", "1", "--first", str(seed), "--world", world]
    words += ["--orderly"] if options.orderly else []
    for scenario in options.scenarios:
        words += ["--scenario", scenario]
    for version in options.versions:
        words += ["--kafka-version", version]
    return shlex.join(words)
