"""Builds a run's verdict from its parts, for both worlds.

Pure. `emulator.runs.verdict_file` has the verdict's shape and says how parts compose.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from emulator.judging.recording_match import equal_recording
from emulator.runs.verdict_file import CheckVerdict, ExpectationVerdict, FaultVerdict, Verdict, compose, doubt
from emulator.scenario.expect import judge
from emulator.scenario.missed_waits import missed_waits
from emulator.scenario.observations.comparable import version_name
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.scenario_model import ExpectedViolation, Scenario
from emulator.settings.account import Account

NOTHING_TO_SAY = Account()


def assemble(
    *,
    run: str,
    world: str,
    scenario: Scenario,
    observations: Observations,
    checks: Mapping[str, Mapping[str, Any]],
    faults: Sequence[FaultVerdict],
    measures: Mapping[str, Any],
    unknown_because: Iterable[str] = (),
    settings: Account = NOTHING_TO_SAY,
    lasted_ms: float = 0.0,
) -> Verdict:
    """The verdict of one run.

    `observations`: as read (`reading.plain`). `checks`: {check: CheckVerdict without `expected`}. `unknown_because`:
    reasons beside those of faults, waits and settings. `lasted_ms`: length of the run.
    """
    version = version_name(observations.kafka)
    expected = scenario.violations_expected(version)
    all_violations = scenario.as_recorded and bool(equal_recording(scenario, version, observations))
    judged = {
        name: CheckVerdict(expected=_expected(check, expected.get(name), all_violations), **check)
        for name, check in checks.items()
    }
    missed = missed_waits(scenario.steps, observations.timeline)
    unknown = [*doubts_about(faults), *missed, *unknown_because, *doubt(judged, settings, lasted_ms)]
    check_fields = {name: msgspec.to_builtins(check) for name, check in judged.items()}
    expectations = [ExpectationVerdict(**one) for one in judge(scenario, observations, check_fields, measures)]
    return Verdict(
        run=run,
        scenario=scenario.id,
        world=world,
        valid=compose(expectations, judged.values(), unknown),
        expectations=expectations,
        faults=list(faults),
        checks=judged,
        measures=dict(measures),
        unknown_because=unknown,
        settings=settings,
    )


def _expected(check: Mapping[str, Any], wanted: ExpectedViolation | None, all_violations: bool) -> bool:
    """Whether the scenario expects the violation. `all_violations`: it expects every violation."""
    if check["verdict"] == "violated":
        return all_violations or wanted is not None
    return wanted is not None and not wanted.sometimes


def doubts_about(faults: Iterable[FaultVerdict]) -> list[str]:
    """Differences between the configured faults and the faults that took effect."""
    found = []
    for fault in faults:
        if fault.in_force_ms is None:
            found.append(f"fault {fault.rule!r} was requested but was in force nowhere")
        elif not fault.took_effect:
            found.append(f"fault {fault.rule!r} stopped nothing: no traffic met it")
        if fault.healed is False:
            found.append(f"fault {fault.rule!r} did not heal: still in force at {', '.join(fault.nodes)}")
        elif fault.healed == "unknown":
            found.append(f"fault {fault.rule!r} was healed, but nothing that was sent since has arrived")
    return found
