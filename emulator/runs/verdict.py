"""verdict.json, format 1: what a run is worth, put together from its parts. Pure: whoever judged, and in whichever world.

`valid` is about the scenario: true when what it expects happened and nothing else did, false when something did not or a check
is violated that it does not expect, "unknown" when that cannot be said. What makes a run unknown as a whole (`unknown_because`: a fault
that stopped nothing, a heal that did not heal, a node that died by itself) comes before everything else, for expectations then judge
another run than the one that was meant.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from emulator.commands.exit_codes import BROKEN, HELD, UNKNOWN
from emulator.observations.comparable import version_name
from emulator.observations.model import Observations
from emulator.scenario.expect import judge
from emulator.scenario.model import Scenario

FORMAT = 1


class Fault(msgspec.Struct, kw_only=True):
    """A rule on links. Times in ms of the scenario, None: not (yet). `frames_stopped`: at all nodes together.

    `took_effect`: it stopped something, or was not expected to. `healed`: traffic flowed again afterwards; None: it was not
    lifted, or nothing has been sent over those links since.
    """

    rule: str
    asked_ms: float
    in_force_ms: float | None
    healed_ms: float | None
    frames_stopped: int
    took_effect: bool
    healed: bool | None


def assemble(
    *,
    run: str,
    world: str,
    scenario: Scenario,
    observations: Observations,
    checks: Mapping[str, Mapping[str, Any]],
    faults: Sequence[Fault],
    measures: Mapping[str, Any],
    unknown_because: Iterable[str] = (),
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """`observations` as read (`reading.plain`); `checks` without `expected`; `unknown_because` beside what the
    faults say."""
    version = version_name(observations.kafka)
    expected = scenario.violations_expected(version)
    judged = {
        name: {"verdict": check["verdict"], "expected": name in expected, **_rest(check)}
        for name, check in checks.items()
    }
    unknown = [*doubts_about(faults), *unknown_because]
    expectations = judge(scenario, observations, judged, measures)
    return {
        "format": FORMAT,
        "run": run,
        "scenario": scenario.id,
        "world": world,
        "kafka": version,
        **(more or {}),
        "valid": _valid(expectations, judged, unknown),
        "unknown_because": unknown,
        "expectations": expectations,
        "faults": [msgspec.to_builtins(fault) for fault in faults],
        "checks": judged,
        "measures": dict(measures),
    }


def _rest(check: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in check.items() if key not in ("verdict", "expected")}


def _valid(
    expectations: Sequence[Mapping[str, Any]], checks: Mapping[str, Mapping[str, Any]], unknown: Sequence[str]
) -> bool | str:
    if unknown:
        return "unknown"
    held = [expectation["held"] for expectation in expectations]
    if False in held or unexpected_violations(checks):
        return False
    missing = any(check["verdict"] == "unknown" for check in checks.values())
    return "unknown" if missing or not all(one is True for one in held) else True


def doubts_about(faults: Iterable[Fault]) -> list[str]:
    """Why the faults that were asked for are not those that the run has met."""
    found = []
    for fault in faults:
        if fault.in_force_ms is None:
            found.append(f"{fault.rule}: was asked for and never in force")
        elif not fault.took_effect:
            found.append(f"{fault.rule}: stopped nothing, though those links were expected to be in use")
        if fault.healed is False:
            found.append(f"{fault.rule}: was healed, and yet something is still stopped")
    return found


def unexpected_violations(checks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Checks that are violated though the scenario does not expect it."""
    return [name for name, check in checks.items() if check["verdict"] == "violated" and not check["expected"]]


def exit_code(verdict: Mapping[str, Any]) -> int:
    """HELD, BROKEN or UNKNOWN."""
    return {True: HELD, False: BROKEN, "unknown": UNKNOWN}[verdict["valid"]]
