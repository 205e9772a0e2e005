"""A run's verdict, put together from its parts as the audit does it (`audit.verdict`: its shape, and how parts
compose).

Pure: whoever judged, and in whichever world.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from audit.verdict import CheckVerdict, ExpectationVerdict, FaultVerdict, Verdict, compose, doubt
from emulator.observations.comparable import version_name
from emulator.observations.model import Observations
from emulator.scenario.expect import judge
from emulator.scenario.missed_waits import missed_waits
from emulator.scenario.model import Scenario
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
    """`observations` as read (`reading.plain`); `checks`: the fields of CheckVerdict but `expected`; `unknown_because`
    beside what the faults, the waits and the settings say; `lasted_ms`: the run."""
    expected = scenario.violations_expected(version_name(observations.kafka))
    judged = {
        name: CheckVerdict(
            expected=name in expected and (check["verdict"] == "violated" or not expected[name].sometimes), **check
        )
        for name, check in checks.items()
    }
    missed = missed_waits(scenario.steps, observations.timeline)
    unknown = [*doubts_about(faults), *missed, *unknown_because, *doubt(judged, settings, lasted_ms)]
    told = {name: msgspec.to_builtins(check) for name, check in judged.items()}
    expectations = [ExpectationVerdict(**one) for one in judge(scenario, observations, told, measures)]
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


def doubts_about(faults: Iterable[FaultVerdict]) -> list[str]:
    """Why the faults that were asked for are not those that the run has met."""
    found = []
    for fault in faults:
        if fault.in_force_ms is None:
            found.append(f"fault {fault.rule!r} was asked for but was in force nowhere")
        elif not fault.took_effect:
            found.append(f"fault {fault.rule!r} stopped nothing: no traffic met it")
        if fault.healed is False:
            found.append(f"fault {fault.rule!r} did not heal: still in force at {', '.join(fault.nodes)}")
        elif fault.healed == "unknown":
            found.append(f"fault {fault.rule!r} was healed, but nothing that was sent since has arrived")
    return found
