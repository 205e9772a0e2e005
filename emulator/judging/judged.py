"""A simulated run, played and judged by the oracle."""

from collections.abc import Callable
from time import perf_counter

import msgspec

from emulator.exit_codes import BUG, UNKNOWN, UNUSABLE
from emulator.judging.oracle.gathering import truth_of
from emulator.judging.oracle.judge import judge_truth, unknown_outcomes
from emulator.judging.oracle.probe import Probe
from emulator.judging.oracle.truth import Truth
from emulator.judging.simulated_measures import deaths_of, faults_of, measures_of
from emulator.judging.verdict_builder import assemble
from emulator.machines.client.client_operations import KeptOperations
from emulator.runs.resolve import Resolved
from emulator.runs.simulated import Played, collector_disabled, play
from emulator.runs.verdict_file import Verdict
from emulator.scenario.observations.comparable import version_name
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.observations.recording_parsing import plain
from emulator.scenario.player.steps import StepFailed
from emulator.worlds.simulated.heap import RunTooLong
from emulator.worlds.simulated.latencies import Latencies

WORLD = "sim"


class JudgedRun(msgspec.Struct):
    """A simulated run with its verdict. `observations`: as read, entries as plain dicts.

    `truth`: as judged.
    """

    played: Played
    observations: Observations
    verdict: Verdict
    truth: Truth


class NotJudged(msgspec.Struct, frozen=True):
    """Reason why a seed has no verdict.

    `code`: the run's exit code. `step`: number of the step that failed, 0 if none did.
    """

    code: int
    why: str
    step: int = 0


def judge_seed(resolve: Callable[[], Resolved], seed: int) -> JudgedRun | NotJudged:
    """Play one of many seeds and judge it. A failure is a result, so that the other seeds go on.

    `resolve`: returns what is played; it raises ValueError for contradictory settings.
    """
    try:
        resolved = resolve()
    except ValueError as error:
        return NotJudged(UNUSABLE, " ".join(str(error).split()))
    try:
        return play_and_judge(resolved, seed, run=str(seed))
    except StepFailed as error:
        return NotJudged(UNKNOWN, f"not played to its end: {error}", error.step)
    except RunTooLong as error:
        return NotJudged(UNKNOWN, f"{type(error).__name__}: {error}")
    except Exception as error:  # a bug of this program; a replay of the seed writes the traceback
        return NotJudged(BUG, f"{type(error).__name__}: {error}")


def play_and_judge(
    resolved: Resolved, seed: int, *, run: str, latencies: Latencies | None = None, wire_events: bool = False
) -> JudgedRun:
    """Play one seed and judge it; `run`: its name in the verdict. Raises the errors of `play`.

    Measures beside those of `measures_of`: `wall_s`, real seconds to play it, and `audit_s`, to judge it.
    """
    operations = KeptOperations()
    probe = Probe(operations)
    began_s = perf_counter()
    with collector_disabled():  # once: at its end the collector visits all that the run has made
        played = play(
            resolved, seed, latencies=latencies, wire_events=wire_events, after_step=probe.look, operations=operations
        )
        played_s = perf_counter()
        truth = truth_of(played.world, played.operations, probe)
        checks, outcomes = judge_truth(truth), unknown_outcomes(truth)
    judged_s = perf_counter()
    observations = plain(played.observations)
    measures = measures_of(played.world, probe) | {"unknown_outcomes": outcomes}
    measures |= {"wall_s": round(played_s - began_s, 4), "audit_s": round(judged_s - played_s, 4)}
    exits = resolved.scenario.exits_expected(version_name(observations.kafka))
    verdict = assemble(
        run=run,
        world=WORLD,
        scenario=resolved.scenario,
        observations=observations,
        checks=checks,
        faults=faults_of(played.world),
        measures=measures,
        unknown_because=deaths_of(played.world, expected=exits),
        settings=resolved.account,
        lasted_ms=played.world.now_ms,
    )
    return JudgedRun(played, observations, verdict, truth)
