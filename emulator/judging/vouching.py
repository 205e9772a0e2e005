"""Whether a run whose timers were late says what a punctual one says: then lateness has changed nothing of it.

A late run is held against recordings of real Kafka that were made of its script with its settings, and against the
scenario's simulated seeds, which are punctual. Equal is stricter here than for `compare`: what a recording may lack
because it was sampled, and what a race allows, may be just what lateness did. So every result, every state, every
controller and every truncation must be the same, in order; and with a seed, which has all that a run has, also roles,
log ends at role changes, ISR changes asked for, registrations, how much was acknowledged, and what checks and
expectations found.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import chain
from time import monotonic
from typing import Any

import msgspec

from emulator.judging.judged import play_and_judge
from emulator.judging.seeds import outcome_of
from emulator.runs.cores import on_all_cores
from emulator.runs.directory import settings_in_force
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.sources import recordings_of
from emulator.runs.verdict import CheckVerdict, ExpectationVerdict, Valid
from emulator.scenario.load import load_scenario
from emulator.scenario.model import Scenario
from emulator.scenario.observations.comparable import comparable
from emulator.scenario.observations.files import load
from emulator.scenario.observations.model import Entry, Observations
from emulator.scenario.player.steps import StepFailed
from emulator.scenario.recorded import scenario_of_recording
from emulator.scenario.write import written
from emulator.worlds.simulated.heap import RunTooLong
from protocol.events import OperationEnded

SEEDS = 200
AT_ONCE = 4
"""Seeds that are played here first: most late runs equal one of them, and other processes take a second to begin."""
LIMIT_S = 10.0
"""Real seconds. A big scenario is held against fewer seeds."""
OF_TIME = "measure"
"""What such an expectation is about, no recording has."""


class Vouched(msgspec.Struct, frozen=True):
    """`by`: what shows the same, "" if nothing does. `compared`: what was looked at, in words."""

    by: str = ""
    compared: str = ""


class Told(msgspec.Struct, frozen=True):
    """What a run says beside its observations. `checks`: (verdict, count) by name; `held`: of each expectation."""

    checks: dict[str, tuple[str, int]]
    held: tuple[Valid, ...]
    acknowledged: int

    @classmethod
    def of(
        cls, checks: Mapping[str, CheckVerdict], expectations: Sequence[ExpectationVerdict], acknowledged: int
    ) -> "Told":
        found: dict[str, tuple[str, int]] = {
            name: ("held" if check.verdict == "skipped" else check.verdict, check.count)
            for name, check in checks.items()
        }
        return cls(found, tuple(one.held for one in expectations), acknowledged)


def vouch(scenario: Scenario, observations: Observations, nodes: Mapping[str, Any], told: Told) -> Vouched:
    """Of a finished run. `scenario`: as it was played; `observations` as read; `nodes`: {node: settings in force}, as
    settings.json has them. Raises what resolving a scenario raises: every one a ValueError."""
    resolved = resolve(scenario)
    if msgspec.to_builtins(settings_in_force(resolved)) != nodes:
        return Vouched(compared="nothing, for its settings are not what its scenario gives now")
    recording, count = _recording(resolved, observations)
    if recording:
        return Vouched(f"recording {recording}", "recordings")
    seed, played = _seed(resolved, observations, told)
    if seed is not None:
        return Vouched(f"seed {seed} of {SEEDS} simulated", "simulated seeds")
    recordings = f"{count} recording{'s' if count != 1 else ''} of real Kafka and " if count else ""
    return Vouched(compared=f"{recordings}{played} simulated seeds")


def _recording(resolved: Resolved, observations: Observations) -> tuple[str, int]:
    """(the one that the run equals, "" if none; how many there are of this script)."""
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


class _Asked(msgspec.Struct, frozen=True):
    """What a worker is told; `scenario`: its YAML."""

    scenario: str
    outcome: str
    told: Told


class _Worker:
    def __init__(self, asked: _Asked) -> None:
        self._asked = asked
        self._resolved = resolve(load_scenario(asked.scenario, "scenario.yaml"))

    def play(self, seed: int) -> tuple[int, bool]:
        """(the seed, whether it says the same). One that does not end says nothing."""
        try:
            run = play_and_judge(self._resolved, seed, run=str(seed))
        except (StepFailed, RunTooLong):
            return seed, False
        events = (entry[5] for entry in run.played.world.trace.entries)
        acknowledged = sum(
            isinstance(event, OperationEnded) and event.kind == "produce" and event.outcome == "ok" for event in events
        )
        told = Told.of(run.verdict.checks, run.verdict.expectations, acknowledged)
        return seed, told == self._asked.told and whole_outcome(run.observations) == self._asked.outcome


def _seed(resolved: Resolved, observations: Observations, told: Told) -> tuple[int | None, int]:
    """(the first found that says the same, how many were played)."""
    asked = _Asked(written(resolved.scenario), whole_outcome(observations), told)
    began_s, played = monotonic(), 0
    here, others = range(1, AT_ONCE + 1), range(AT_ONCE + 1, SEEDS + 1)
    with (
        closing(on_all_cores(_Worker, asked, here, processes=1)) as first,
        closing(on_all_cores(_Worker, asked, others)) as rest,
    ):
        for seed, same in chain(first, rest):
            played += 1
            if same:
                return seed, played
            if monotonic() - began_s > LIMIT_S:
                break
    return None, played


def whole_outcome(observations: Observations) -> str:
    """The same for two runs in which everything that is observed is the same, but for times."""
    of_replicas = {
        "roles": _by_replica(observations.role_changes, "role", "leader_epoch", "log_end"),
        "ISR changes": _by_replica(observations.isr_changes, "was", "now"),
    }
    registered = [entry["live"] for entry in observations.live_brokers]
    more = msgspec.json.encode([of_replicas, registered]).decode()
    return f"{outcome_of(comparable(observations))} {more}"


def _by_replica(entries: Sequence[Entry], *keys: str) -> list[tuple[str, list[list[Any]]]]:
    """Entries of different brokers have no order."""
    found: dict[str, list[list[Any]]] = {}
    for entry in entries:
        replica = f"{entry['broker']} {entry.get('partition') or ''}"
        found.setdefault(replica, []).append([entry[key] for key in keys])
    return sorted(found.items())
