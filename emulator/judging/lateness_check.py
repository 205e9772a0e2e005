"""Compares a late run to punctual runs: an equal one shows that lateness changed nothing.

The comparison covers recordings of real Kafka with the run's script and settings, and the scenario's simulated seeds,
which are punctual. Equality is stricter than for `recording_comparison`, because lateness may cause the same
differences as sampling or a race. So every result, state, controller and truncation must be equal, in order. A seed
has all that a run has. There these must be equal too: roles, log ends at role changes, requested ISR changes,
registrations, the count of acknowledged records, and the results of checks and expectations.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import chain
from time import monotonic
from typing import Any

import msgspec

from emulator.judging.judged import play_and_judge
from emulator.judging.run_outcome import outcome_of
from emulator.runs.cores import on_all_cores
from emulator.runs.directory import settings_in_force
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import recordings_of
from emulator.runs.verdict_file import CheckVerdict, ExpectationVerdict, Valid
from emulator.scenario.load import load_scenario
from emulator.scenario.observations.comparable import comparable
from emulator.scenario.observations.observation_model import Entry, Observations
from emulator.scenario.observations.recording_files import load
from emulator.scenario.player.steps import StepFailed
from emulator.scenario.recorded import scenario_of_recording
from emulator.scenario.scenario_model import Scenario
from emulator.scenario.write import written
from emulator.worlds.simulated.heap import RunTooLong
from protocol.events import OperationEnded

SEEDS = 200
AT_ONCE = 4
"""Seeds that this process plays itself.

Most late runs equal one of them, and workers start slowly.
"""
LIMIT_S = 10.0
"""Limit of the comparison in real seconds; a big scenario is compared with fewer seeds."""
OF_TIME = "measure"
"""Subject of an expectation that no recording can show."""


class Vouched(msgspec.Struct, frozen=True):
    """Result of the comparison. `by`: the equal run, "" if none.

    `compared`: text of the compared runs.
    """

    by: str = ""
    compared: str = ""


class RunResults(msgspec.Struct, frozen=True):
    """Results of a run beside its observations.

    `checks`: {name: (verdict, count)}; `held`: by expectation.
    """

    checks: dict[str, tuple[str, int]]
    held: tuple[Valid, ...]
    acknowledged: int

    @classmethod
    def of(
        cls, checks: Mapping[str, CheckVerdict], expectations: Sequence[ExpectationVerdict], acknowledged: int
    ) -> "RunResults":
        found: dict[str, tuple[str, int]] = {
            name: ("held" if check.verdict == "skipped" else check.verdict, check.count)
            for name, check in checks.items()
        }
        return cls(found, tuple(one.held for one in expectations), acknowledged)


def vouch(scenario: Scenario, observations: Observations, nodes: Mapping[str, Any], results: RunResults) -> Vouched:
    """Compare a finished run with recordings, then with simulated seeds.

    `scenario`: as played. `observations`: as read. `nodes`: {node: settings in force}, as in settings.json. Raises
    ValueError, as resolving a scenario does.
    """
    resolved = resolve(scenario)
    if msgspec.to_builtins(settings_in_force(resolved)) != nodes:
        return Vouched(compared="nothing, for its settings are not what its scenario gives now")
    recording, count = _recording(resolved, observations)
    if recording:
        return Vouched(f"recording {recording}", "recordings")
    seed, played = _seed(resolved, observations, results)
    if seed is not None:
        return Vouched(f"seed {seed} of {SEEDS} simulated", "simulated seeds")
    recordings = f"{count} recording{'s' if count != 1 else ''} of real Kafka and " if count else ""
    return Vouched(compared=f"{recordings}{played} simulated seeds")


def _recording(resolved: Resolved, observations: Observations) -> tuple[str, int]:
    """(the recording that the run equals, "" if none; count of this script's recordings)."""
    scenario = resolved.scenario
    if any(expectation.of == OF_TIME for expectation in scenario.expectations):
        return "", 0
    wanted, count = outcome_of(comparable(observations)), 0
    for path in recordings_of(scenario.id, resolved.spec.kafka_version):
        recording = load(path)
        if resolve(scenario_of_recording(recording)).spec != resolved.spec:
            continue
        count += 1
        if outcome_of(comparable(recording)) == wanted:
            return f"{path.parent.name}/{path.name}", count
    return "", count


# --- simulated seeds ---


class _Reference(msgspec.Struct, frozen=True):
    """Input of a worker; `scenario`: its YAML."""

    scenario: str
    outcome: str
    results: RunResults


class _Worker:
    def __init__(self, reference: _Reference) -> None:
        self._reference = reference
        self._resolved = resolve(load_scenario(reference.scenario, "scenario.yaml"))

    def play(self, seed: int) -> tuple[int, bool]:
        """(the seed, whether its run equals the late one). A run without an end does not."""
        try:
            run = play_and_judge(self._resolved, seed, run=str(seed))
        except (StepFailed, RunTooLong):
            return seed, False
        events = (entry[5] for entry in run.played.world.trace.entries)
        acknowledged = sum(
            isinstance(event, OperationEnded) and event.kind == "produce" and event.outcome == "ok" for event in events
        )
        results = RunResults.of(run.verdict.checks, run.verdict.expectations, acknowledged)
        return seed, results == self._reference.results and whole_outcome(run.observations) == self._reference.outcome


def _seed(resolved: Resolved, observations: Observations, results: RunResults) -> tuple[int | None, int]:
    """(the first seed with an equal run, count of seeds that were played)."""
    reference = _Reference(written(resolved.scenario), whole_outcome(observations), results)
    began_s, played = monotonic(), 0
    here, others = range(1, AT_ONCE + 1), range(AT_ONCE + 1, SEEDS + 1)
    with (
        closing(on_all_cores(_Worker, reference, here, processes=1)) as first,
        closing(on_all_cores(_Worker, reference, others)) as rest,
    ):
        for seed, same in chain(first, rest):
            played += 1
            if same:
                return seed, played
            if monotonic() - began_s > LIMIT_S:
                break
    return None, played


def whole_outcome(observations: Observations) -> str:
    """Text of all observations but times; equal for two runs that differ in times alone."""
    of_replicas = {
        "roles": _by_replica(observations.role_changes, "role", "leader_epoch", "log_end"),
        "ISR changes": _by_replica(observations.isr_changes, "was", "now"),
    }
    registered = [entry["live"] for entry in observations.live_brokers]
    more = msgspec.json.encode([of_replicas, registered]).decode()
    return f"{outcome_of(comparable(observations))} {more}"


def _by_replica(entries: Sequence[Entry], *keys: str) -> list[tuple[str, list[list[Any]]]]:
    """Entries by replica, because entries of different brokers have no order."""
    found: dict[str, list[list[Any]]] = {}
    for entry in entries:
        replica = f"{entry['broker']} {entry.get('partition') or ''}"
        found.setdefault(replica, []).append([entry[key] for key in keys])
    return sorted(found.items())
